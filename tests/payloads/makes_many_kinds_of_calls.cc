// 300 calls of socket(2), no two with the same arguments.
#include <sys/socket.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "report.h"

int main() {
  int refused = 0;
  for (int i = 0; i < 300; ++i)
    if (::syscall(SYS_socket, 1000 + i, 1, 0) < 0 && errno == EPERM) ++refused;
  payload::say("refused", refused);
}
