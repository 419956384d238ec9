// Each argument's content, or "PATH: ERRNO".
#include <fcntl.h>
#include <unistd.h>

#include <tuple>

#include "report.h"

int main(int argc, char** argv) {
  for (int i = 1; i < argc; ++i) {
    const int file = ::open(argv[i], O_RDONLY);
    if (file < 0) {
      std::printf("%s: %s\n", argv[i], payload::word(errno));
      continue;
    }
    char buffer[4096];
    ssize_t n = 0;
    while ((n = ::read(file, buffer, sizeof(buffer))) > 0)
      std::ignore = std::fwrite(buffer, 1, static_cast<std::size_t>(n), stdout);
    if (n < 0) std::printf("%s: %s\n", argv[i], payload::word(errno));
  }
}
