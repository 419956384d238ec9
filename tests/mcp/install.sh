#!/bin/sh
# Installs the official MCP clients that package-lock.json names into a build folder:
#   tests/mcp/install.sh FOLDER
# Done already: nothing happens. 77, loudly, where npm or its registry cannot be had; under
# SANDGLASS_MUST_WORK that is a failure.
set -eu

here=$(CDPATH='' cd -- "$(dirname -- "$0")" && pwd)
folder=${1:?usage: install.sh FOLDER}
# shellcheck disable=SC1091  # it is checked by itself
. "$here/skip.sh"

wanted=$(sha256sum <"$here/package-lock.json")
[ "$(cat "$folder/stamp" 2>/dev/null)" != "$wanted" ] || exit 0
command -v npm >/dev/null || skip "npm in PATH"
mkdir -p "$folder" 2>/dev/null || skip "a build folder that may be written to"
cp "$here/package.json" "$here/package-lock.json" "$folder/"
# No scripts of packages run here, and what comes is what the lock file's hashes say.
npm ci --prefix "$folder" --ignore-scripts --no-audit --no-fund >"$folder/npm.log" 2>&1 || {
  tail -n 5 "$folder/npm.log" >&2
  skip "the npm registry"
}
printf '%s\n' "$wanted" >"$folder/stamp"
