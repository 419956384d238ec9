#!/bin/sh
# run.sh FOLDER: installs the pinned client into FOLDER, unless it is there, and runs the tests with
# it against $SANDGLASS_BIN. Exit 77: this host can't; an error with SANDGLASS_MUST_WORK.
set -eu

here=$(CDPATH='' cd -- "$(dirname -- "$0")" && pwd)
folder=$1

missing() {
  line="SKIPPED: this host has no $1"
  [ -z "${SANDGLASS_MUST_WORK:-}" ] || line="FAILED: this host has no $1"
  printf '%s\n' "$line" >&2
  [ -z "${SANDGLASS_SKIPS:-}" ] || printf '%s\n' "$line" >>"$SANDGLASS_SKIPS"
  [ -z "${SANDGLASS_MUST_WORK:-}" ] || exit 1
  exit 77
}

command -v node >/dev/null || missing 'node in PATH'
# Another user's tests may have installed it already.
if ! cmp -s "$here/package-lock.json" "$folder/installed"; then
  if [ ! -w "$(dirname -- "$folder")" ]; then
    folder=$(mktemp -d "${TMPDIR:-/tmp}/sandglass-openai.XXXXXX")
    trap 'rm -rf "$folder"' EXIT
  fi
  command -v npm >/dev/null || missing 'npm in PATH'
  mkdir -p "$folder"
  cp "$here/package.json" "$folder/"
  cp "$here/package-lock.json" "$folder/"
  npm ci --prefix "$folder" --ignore-scripts --no-audit --no-fund >"$folder/npm.log" 2>&1 || {
    cat "$folder/npm.log" >&2
    missing 'way to the npm registry (npm ci failed)'
  }
  cp "$here/package-lock.json" "$folder/installed"
fi
NODE_PATH=$folder/node_modules node "$here/containers_test.cjs"
