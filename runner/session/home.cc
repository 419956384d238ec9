#include "runner/session/home.h"

#include <unistd.h>

#include <array>
#include <cerrno>
#include <climits>

namespace runner {

Result<Home> find_home() {
  std::array<char, PATH_MAX> buffer{};
  const ssize_t length = ::readlink("/proc/self/exe", buffer.data(), buffer.size());
  if (length <= 0 || static_cast<std::size_t>(length) == buffer.size()) {
    return fail(ErrorKind::kHost,
                "cannot read /proc/self/exe: " + jail::errno_name(errno) + "; mount /proc");
  }
  const std::string self(buffer.data(), static_cast<std::size_t>(length));
  const std::string bin = self.substr(0, self.rfind('/'));
  const std::string prefix = bin.substr(0, bin.rfind('/'));
  const std::string share = prefix + "/share/sandglass";
  return Home{bin + "/sandglass-spawner", share + "/policies", share,
              prefix + "/lib/sandglass/sandglass-join.so"};
}

}  // namespace runner
