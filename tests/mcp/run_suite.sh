#!/bin/sh
# Runs one suite with the installed clients:  tests/mcp/run_suite.sh FOLDER SUITE.mjs
set -eu

here=$(CDPATH='' cd -- "$(dirname -- "$0")" && pwd)
folder=${1:?usage: run_suite.sh FOLDER SUITE.mjs}
# shellcheck disable=SC1091  # it is checked by itself
. "$here/skip.sh"

[ -e "$folder/stamp" ] || skip "the official MCP clients (npm)"
major=$(node -p 'process.versions.node.split(".")[0]' 2>/dev/null || echo 0)
[ "$major" -ge 20 ] || skip "node 20 or newer, which the official MCP clients want"
MCP_CLIENTS=$folder exec node "$here/$2"
