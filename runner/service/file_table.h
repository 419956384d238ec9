// The files of one container: what lies in its workdir, by ids that last. What is there was
// arranged by code nobody has read; it is looked at as workdir.h says. One thread.
#pragma once

#include <sys/stat.h>

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "jail/fd.h"
#include "runner/service.h"
#include "runner/service/hasher.h"
#include "runner/session/workdir.h"

namespace runner {

// A file in a workdir that has no name yet: whole before anybody sees it.
struct StagedFile {
  jail::Fd file;
  std::uint64_t bytes = 0;
  std::string sha256;
  int error = 0;  // errno: it could not be written
};
// Where there is no room, what is called `name` makes some: it would be replaced anyway. Any
// thread; it takes as long as its size wants.
StagedFile stage(const jail::Fd& workdir, const std::string& name, std::string_view content);

class FileTable {
 public:
  FileTable(std::string container_id, std::string workdir, CollectLimits limits)
      : container_id_(std::move(container_id)), workdir_(std::move(workdir)), limits_(limits) {}

  struct Changes {
    std::vector<File> files;  // made or changed since the last look
    std::vector<Skipped> skipped;
  };
  // Looks through the workdir. Files that are gone leave the table.
  Changes look(const jail::Fd& workdir, std::int64_t now);

  // What a file that was written again has not in common with what it was.
  struct Version {
    Version() = default;
    explicit Version(const struct stat& st)
        : inode(st.st_ino), changed_s(st.st_ctim.tv_sec), changed_ns(st.st_ctim.tv_nsec) {}
    bool operator==(const Version&) const = default;
    std::uint64_t inode = 0;
    std::int64_t changed_s = 0;
    std::int64_t changed_ns = 0;
  };
  // Too large to be read within the call: to be hashed elsewhere, and told by hashed().
  struct Unhashed {
    std::string id;
    Version version;
    std::uint64_t size = 0;
    jail::Fd file;
  };
  std::vector<Unhashed> take_unhashed() { return std::exchange(unhashed_, {}); }
  // False: it is gone or has changed since.
  bool hashed(const std::string& id, const Version& version, Digest digest);
  void give_up(const std::string& id, const std::string& why);  // it stays without one

  // Why a file cannot be put in: kInvalid for a name that is none, kTooLarge over max_file.
  [[nodiscard]] std::optional<Refusal> wrong(const std::string& name, std::uint64_t bytes) const;
  // Gives a file that was written into the workdir its name there.
  Answer<File> put(const jail::Fd& workdir, const std::string& name, StagedFile staged,
                   std::int64_t now);
  [[nodiscard]] const File* find(std::string_view id) const;
  [[nodiscard]] const File* find_path(std::string_view path) const;  // absolute
  [[nodiscard]] Answer<std::string> content(const jail::Fd& workdir, std::string_view id) const;
  Answer<void> remove(const jail::Fd& workdir, std::string_view id);
  // In the order of their making.
  [[nodiscard]] std::vector<File> all() const;

 private:
  struct Known {
    File file;
    Version version;
    std::uint64_t order = 0;
    bool seen = false;
  };
  using Entries = std::map<std::string, Known>;  // by path below the workdir
  [[nodiscard]] Entries::const_iterator entry_of(std::string_view id) const;

  void digest(Known& known, const jail::Fd& file, std::uint64_t& budget);
  static void take(File& file, Digest digest);

  std::string container_id_;
  std::string workdir_;
  CollectLimits limits_;
  Entries known_;
  std::uint64_t last_order_ = 0;
  std::vector<Unhashed> unhashed_;
};

// "cfile_" and the like, and 128 random bits in hex.
std::string new_id(std::string_view prefix);

}  // namespace runner
