// Each argument's entries as "PATH/NAME", or "PATH: ERRNO".
#include <dirent.h>

#include "report.h"

int main(int argc, char** argv) {
  for (int i = 1; i < argc; ++i) {
    DIR* folder = ::opendir(argv[i]);
    if (folder == nullptr) {
      std::printf("%s: %s\n", argv[i], payload::word(errno));
      continue;
    }
    while (const dirent* entry = ::readdir(folder))
      if (entry->d_name[0] != '.') std::printf("%s/%s\n", argv[i], entry->d_name);
    ::closedir(folder);
  }
}
