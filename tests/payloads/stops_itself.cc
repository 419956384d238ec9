#include <unistd.h>

#include <csignal>

#include "report.h"

int main() {
  payload::ready();
  std::raise(SIGSTOP);
  while (true) ::pause();
}
