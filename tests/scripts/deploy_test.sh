#!/bin/sh
# The unit is one that systemd understands, its score stays, and its calls suffice for every policy; the
# settings are ones that `serve` takes; the Dockerfile's steps exist.
#   sh deploy_test.sh SOURCES SANDGLASS
set -eu
deploy=$1/scripts/deploy
sandglass=$2
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
fail() { printf 'deploy_test: %s\n' "$*" >&2; exit 1; }

# systemd-analyze(1) looks for the program and refuses a unit whose program is missing.
sed 's|^ExecStart=/usr/local/bin/sandglass|ExecStart=/bin/true|' "$deploy/sandglass.service" >"$work/sandglass.service"
systemd-analyze --no-pager --man=no verify "$work/sandglass.service" 2>"$work/verify" || fail "$(cat "$work/verify")"
[ ! -s "$work/verify" ] || fail "$(cat "$work/verify")"
systemd-analyze --no-pager security --offline=yes --threshold=33 "$work/sandglass.service" >"$work/score" 2>&1 ||
  fail "more exposed than 3.3: $(tail -n 1 "$work/score")"
grep -q 'Overall exposure level' "$work/score" || fail "no score: $(cat "$work/score")"

for policy in tight standard loose; do
  "$sandglass" policy show "$policy" >"$work/$policy.toml"
done
systemd-analyze --no-pager syscall-filter >"$work/sets"
python3 "$(dirname -- "$0")/unit_calls.py" "$deploy/sandglass.service" "$work/sets" "$1/policies/syscalls.toml" \
  "$work/tight.toml" "$work/standard.toml" "$work/loose.toml"

# The settings, with a port of their own and then a wrong key, so that it ends.
sed 's|^listen = .*|listen = "127.0.0.1:0"|; s|^# \(allow_host\)|\1|' "$deploy/sandglass.toml" >"$work/good.toml"
sed 's|^policy = .*|polcy = "standard"|' "$work/good.toml" >"$work/wrong.toml"
code=0; timeout 60 "$sandglass" serve --config "$work/wrong.toml" 2>"$work/said" || code=$?
[ "$code" = 125 ] || fail "a wrong key ends with $code"
grep -q 'did you mean "policy"' "$work/said" || fail "a wrong key: $(cat "$work/said")"
grep -q '^allow_host' "$work/good.toml" || fail "allow_host is not among the settings"
"$sandglass" serve --config "$work/good.toml" 2>"$work/said" & server=$!
tries=0
until grep -q '^sandglass: try: ' "$work/said"; do
  tries=$((tries + 1)); [ $tries -lt 300 ] || { kill "$server"; fail "it does not serve: $(cat "$work/said")"; }
  sleep 0.1
done
kill "$server"; wait "$server" || fail "SIGTERM gave $?"

# What the Dockerfile calls is there.
grep -o 'scripts/[a-z-]*' "$deploy/Dockerfile" | sort -u >"$work/words"
[ -s "$work/words" ] || fail "the Dockerfile calls no script"
while read -r word; do [ -e "$1/$word" ] || fail "the Dockerfile wants $word"; done <"$work/words"
sed -n '/^RUN/s/.*install-deps \([a-z]*\).*/\1/p' "$deploy/Dockerfile" >"$work/groups"
[ -s "$work/groups" ] || fail "the Dockerfile installs nothing"
while read -r group; do
  grep -q "^    $group) " "$1/scripts/install-deps" || fail "install-deps has no group $group"
done <"$work/groups"
