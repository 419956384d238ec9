#!/bin/sh
# install-deps against a false dpkg-query, apt-get and sudo: what it asks of them.
set -eu
root=$1
box=$(mktemp -d)
trap 'rm -rf "$box"' EXIT
mkdir "$box/bin"
PATH=$box/bin:$PATH
export TMPDIR="$box"

fake() { printf '#!/bin/sh\n%s\n' "$2" >"$box/bin/$1"; chmod +x "$box/bin/$1"; }
fail() { printf 'FAILED: %s\n' "$1" >&2; cat "$box/out" >&2; exit 1; }
# shellcheck disable=SC2016
fake apt-get 'echo "apt-get $*" >>"'"$box"'/calls"'
fake sudo 'exec "$@"'
calls() { cat "$box/calls" 2>/dev/null || :; }

# shellcheck disable=SC2016
fake dpkg-query 'shift 2; for p; do printf "installed:%s " "$p"; done'
"$root/scripts/install-deps" run test check bench >"$box/out" 2>&1 || fail "all present, yet it fails"
[ ! -s "$box/out" ] || fail "all present, yet it talks"
[ -z "$(calls)" ] || fail "all present, yet it calls apt-get"

# shellcheck disable=SC2016
fake dpkg-query 'shift 2; for p; do case $p in g++|catch2) printf "not-installed:%s " "$p" ;;
  perl) ;; *) printf "installed:%s " "$p" ;; esac; done; exit 1'
"$root/scripts/install-deps" run test >"$box/out" 2>&1 || fail "it fails to install"
calls | grep -q 'install .* g++ catch2 perl$' || fail "it does not install exactly what is missing"
grep -Eq '^(installing:|running: sudo )' "$box/out" || fail "it does not say what it does"

rm "$box/calls"
# shellcheck disable=SC2016
fake apt-get 'echo "E: no such package" >&2; exit 100'
! "$root/scripts/install-deps" test >"$box/out" 2>&1 || fail "apt-get fails unnoticed"
grep -q 'E: no such package' "$box/out" || fail "apt-get's complaint is hidden"
! "$root/scripts/install-deps" tset >"$box/out" 2>&1 || fail "an unknown group passes"

fake id 'echo 1000'
fake apt-get 'exit 0'
"$root/scripts/install-deps" test >"$box/out" 2>&1 || fail "sudo is not used"
grep -q "^running: sudo sh -c '.*apt-get .*install" "$box/out" || fail "the sudo command is not shown"
