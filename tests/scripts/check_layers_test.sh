#!/bin/sh
# check_layers on a small tree: it passes as it is, and each planted violation is named.
set -eu
root=$1
box=$(mktemp -d)
trap 'rm -rf "$box"' EXIT
failures=0

make_plain_tree() {
  mkdir -p "$box/plain/scripts" "$box/plain/tests" "$box/plain/build"
  cd "$box/plain"
  for room in jail policies runner/arithmetic runner/session runner/wire runner/http runner/reach; do
    mkdir -p "$room"
  done
  touch CMakeLists.txt CMakePresets.json README.md CHANGELOG.md .clang-tidy
  printf '#include <sys/prctl.h>\n#include <seccomp.h>\n#include <vector>\n#include "jail/spec.h"\n' >jail/init.cc
  printf 'void reset() { if (fd_ >= 0) ::close(fd_); }\n' >jail/fd.h
  printf '#include "jail/spec.h"\n#include <toml++/toml.h>\n' >policies/parse.cc
  printf '#include <boost/multiprecision/cpp_int.hpp>\n' >runner/arithmetic/eval.cc
  printf '#include "jail/client.h"\n#include "policies/load.h"\n#include <boost/asio/io_context.hpp>\n' >runner/session/launcher.cc
  printf '#include "runner/service/session.h"\n#include "runner/arithmetic/eval.h"\n#include "runner/service.h"\n' >runner/wire/native.cc
  printf '#include "runner/wire/native.h"\n#include <CLI/CLI.hpp>\n#include "runner/service/session.h"\n' >runner/main.cc
  # words that look like violations and are none
  cat >>runner/main.cc <<'CODE'
// a new Thing, close(fd), malloc(3)
const char* kText = "a new thing; close(fd)";
const char* kRaw = R"(
  a new thing; malloc(3)
)";
void close(Session& session);
auto x = session.close(id) + file->close(0) + freeze(1) + is_free(3);
bool is_open();
void require(bool condition);
void set(bool& out, std::vector<bool> all);
CODE
}

plain_tree() {
  cd "$box"
  rm -rf tree
  cp -r plain tree
  cd tree
}

# violation FILE LINE TEXT: the line appended to FILE must be refused with TEXT.
violation() {
  plain_tree
  mkdir -p "$(dirname "$1")"
  printf '%s\n' "$2" >>"$1"
  if "$root/scripts/check_layers" "$box/tree" >"$box/out" 2>&1; then
    printf 'NOT REFUSED: %s in %s\n' "$2" "$1"; failures=$((failures + 1))
  elif ! grep -qF "$3" "$box/out" || [ "$(grep -c . "$box/out")" != 2 ]; then
    printf 'WRONG REPORT for %s in %s:\n' "$2" "$1"; cat "$box/out"; failures=$((failures + 1))
  fi
}

make_plain_tree
plain_tree
"$root/scripts/check_layers" "$box/tree" || { echo 'the plain tree is refused'; exit 1; }

violation jail/a.cc '#include "policies/policy.h"' 'jail/a.cc:1: jail/ may not include policies/policy.h'
violation jail/a.cc '#include "runner/service.h"' 'may not include runner/service.h'
violation jail/a.cc '#include <boost/json.hpp>' 'may not include <boost/json.hpp>'
violation jail/a.cc '#include <toml++/toml.h>' 'may not include <toml++/toml.h>'
violation jail/a.cc '#  include "spec.h"' 'write the path from the top'
violation policies/a.cc '#include "jail/client.h"' 'policies/ may not include jail/client.h'
violation policies/a.h '#include "runner/main.h"' 'may not include runner/main.h'
violation policies/a.cc '#include <seccomp.h>' 'may not include <seccomp.h>'
violation runner/a.cc '#include "jail/mounts.h"' 'runner/ may not include jail/mounts.h'
violation runner/a.cc '#include <sys/capability.h>' 'may not include <sys/capability.h>'
violation runner/arithmetic/a.cc '#include "jail/units.h"' 'may not include jail/units.h'
violation runner/arithmetic/a.cc '#include <boost/asio.hpp>' 'may not include <boost/asio.hpp>'
violation runner/arithmetic/a.cc '#include "runner/session/x.h"' 'may not include runner/session/x.h'
violation runner/session/a.cc '#include "runner/wire/x.h"' 'may not include runner/wire/x.h'
violation runner/session/a.cc '#include "runner/cli.h"' 'may not include runner/cli.h'
violation runner/session/a.cc '#include "runner/arithmetic/x.h"' 'may not include runner/arithmetic/x.h'
violation runner/service.cc '#include "runner/wire/x.h"' 'may not include runner/wire/x.h'
violation runner/wire/a.cc '#include "runner/http/x.h"' 'may not include runner/http/x.h'
violation runner/wire/a.cc '#include "jail/client.h"' 'may not include jail/client.h'
violation runner/http/a.cc '#include "runner/cli.h"' 'may not include runner/cli.h'
violation notes.txt 'x' 'notes.txt: not one of the top entries'
violation jail/a.cc '  ::close(fd);' 'close(2) is called by jail::Fd only'
violation runner/a.cc 'if (x) close(fds[0]);' 'close(2) is called by jail::Fd only'
violation runner/a.cc 'return close(fd);' 'close(2) is called by jail::Fd only'
violation runner/a.cc 'auto* p = new Thing();' 'no raw new'
violation jail/a.cc 'char* p = static_cast<char*>(malloc(3));' 'no raw malloc'
violation jail/a.h 'void set(int x, bool on);' 'no bool among several'
violation jail/a.h 'void set(bool on, int x);' 'no bool among several'

[ "$failures" = 0 ]
