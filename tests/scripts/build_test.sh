#!/bin/sh
# build in a checkout that another user has built: it is used as it is, until a source is newer.
set -eu
root=$1
box=$(mktemp -d)
trap 'rm -rf "$box"' EXIT
dir=$box/build/release
mkdir -p "$box/scripts" "$box/jail" "$box/policies" "$box/runner" "$dir"
cp "$root/scripts/build" "$box/scripts/build"
touch -d '1 hour ago' "$box/CMakeLists.txt" "$box/jail/a.cc"
touch "$dir/build.ninja" "$dir/.ninja_log"
chmod 755 "$box"
chmod 555 "$dir"

other=
[ "$(id -u)" != 0 ] || other='setpriv --reuid=64321 --regid=64321 --clear-groups'
build() { $other "$box/scripts/build" release >"$box/out" 2>&1; }
fail() { printf 'FAILED: %s\n' "$1" >&2; cat "$box/out" >&2; exit 1; }

build || fail "nothing is newer, yet it wants to build"
[ ! -s "$box/out" ] || fail "nothing is newer, yet it talks"
touch -d '1 hour' "$box/jail/a.cc"
! build || fail "a source is newer, yet it is content"
grep -q 'out of date and not yours' "$box/out" || fail "it does not say what is wrong"
