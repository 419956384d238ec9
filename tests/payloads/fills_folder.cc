// fills_folder DIR bytes: one file until it is full. fills_folder DIR files: empty files until no
// more can be made. Says how many, and why it ended.
#include <fcntl.h>
#include <unistd.h>

#include <string>

#include "report.h"

int main(int, char** argv) {
  const std::string folder = argv[1];
  long long n = 0;
  int error = 0;
  if (std::strcmp(argv[2], "files") == 0) {
    for (int file = 0; file >= 0; n += file >= 0 ? 1 : 0) {
      file = ::open((folder + "/" + std::to_string(n)).c_str(), O_CREAT | O_WRONLY, 0644);
      error = file < 0 ? errno : 0;
      if (file >= 0) ::close(file);
    }
  } else {
    const int file = ::open((folder + "/big").c_str(), O_CREAT | O_WRONLY, 0644);
    char block[4096] = {1};
    for (ssize_t w = 1; w > 0; n += w > 0 ? w : 0) {
      w = ::write(file, block, sizeof(block));
      error = w < 0 ? errno : 0;
    }
  }
  payload::say(argv[2], n);
  payload::say("end", payload::word(error));
}
