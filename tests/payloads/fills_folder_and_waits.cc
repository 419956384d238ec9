// fills_folder_and_waits DIR: 100 MiB in one file, then waits for its end.
#include <fcntl.h>
#include <unistd.h>

#include <string>

#include "report.h"

int main(int, char** argv) {
  const int file = ::open((std::string(argv[1]) + "/big").c_str(), O_CREAT | O_WRONLY, 0644);
  static char block[1 << 20] = {1};
  for (int i = 0; i < 100; ++i)
    if (::write(file, block, sizeof(block)) < 0) payload::say("write", payload::word(errno));
  payload::ready();
  ::alarm(10);
  while (true) ::pause();
}
