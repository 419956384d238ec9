#!/bin/sh
# The systemd unit under a real systemd, in a Debian 12 of its own; as root, minutes.
#   sh unit_in_systemd.sh SOURCES FOLDER     SOURCES with build/release; FOLDER must not exist, and stays, to look at
# Packages come from where this machine's apt gets its own. No part of the tests that run each time.
set -eu
sources=$(realpath "$1"); mkdir "$2"; work=$(realpath "$2"); root=$work/root
for tool in debootstrap systemd-nspawn nsenter; do
  command -v "$tool" >/dev/null || { echo "needs $tool" >&2; exit 1; }
done
fail() { printf 'unit_in_systemd: %s\n' "$*" >&2; exit 1; }

# shellcheck disable=SC2016  # apt reads it
mirror=$(apt-get indextargets --format '$(SITE)' 'Created-By: Packages' | head -n 1)
# shellcheck disable=SC2016  # sed reads it
serve=$(sed -n 's/^serve="$python \(.*\)"/\1/p; s/^python="\(.*\)"/\1/p' "$sources/scripts/install-deps" | tr '\n ' ',,')
debootstrap --variant=minbase --include="systemd,systemd-sysv,dbus,procps,curl,libseccomp2,libcap2,libmd0,${serve%,}" \
  bookworm "$root" "$mirror" >"$work/debootstrap.log" 2>&1
DESTDIR=$root cmake --install "$sources/build/release" >"$work/install.log"
mkdir "$root/src"; cp -a "$sources/scripts" "$root/src/"

# As a machine has it: a /proc that nothing covers, all capabilities.
SYSTEMD_NSPAWN_API_VFS_WRITABLE=1 SYSTEMD_SECCOMP=0 systemd-nspawn --quiet --directory="$root" --register=no \
  --keep-unit --capability=all --private-network --boot </dev/null >"$work/boot.log" 2>&1 & nspawn=$!
trap 'kill "$nspawn" 2>/dev/null; wait "$nspawn" || :' EXIT
init=
inside() { nsenter --target "$init" --all --root --wd env -i PATH="$PATH" sh -euc "$1"; }
tries=0
until [ -n "$init" ] && inside 'systemctl is-system-running' 2>/dev/null | grep -qE '^(running|degraded)'; do
  tries=$((tries + 1)); [ $tries -lt 300 ] || fail "it does not boot: $(tail -n 3 "$work/boot.log")"
  sleep 0.2
  init=$(pgrep --parent "$nspawn" | head -n 1); init=${init:+$(pgrep --parent "$init" --exact systemd || echo "$init")}
done
inside 'umount /proc/kmsg /proc/sys/kernel/random/boot_id'

# What the unit's own first lines say.
sed -n 's/^#   \(useradd\|install\)/\1/p' "$sources/scripts/deploy/sandglass.service" >"$root/src/steps"
[ "$(wc -l <"$root/src/steps")" = 3 ] || fail "its first lines are other ones by now"
inside 'cd /src; sh -eu steps'
cat >"$root/src/check" <<'EOF'
fail() { echo "FAILED: $*; $(journalctl --no-pager -u sandglass -n 5)"; exit 1; }
ask() { curl -s --retry 30 --retry-delay 1 --retry-connrefused "http://127.0.0.1:8611/v1/$1" -H 'Content-Type: application/json' -d "$2"; }
main() { systemctl show -P MainPID sandglass; }
for policy in tight standard loose; do
  ask execute "{\"policy\":\"$policy\",\"code\":\"import pandas; int(pandas.Series([40, 2]).sum())\"}" | grep -q '"text":"42"' ||
    fail "$policy: $(ask execute "{\"policy\":\"$policy\",\"code\":\"1\"}")"
done
for language in node bash; do
  ask execute "{\"language\":\"$language\",\"code\":\"$([ $language = node ] && echo 'console.log(42)' || echo 'echo 42')\"}" |
    grep -q '"stdout":"42\\n"' || fail "$language"
done
ask execute '{"code":"import time; print(1, flush=True); time.sleep(60)"}' >told & client=$!
sleep 2; systemctl restart sandglass; wait $client
grep -q '"ending":"stopped"' told || fail "who waited was told: $(cat told)"
for whom in main all; do
  before=$(main); systemctl kill --kill-whom=$whom -s KILL sandglass; sleep 3
  [ "$(main)" != "$before" ] && [ "$(main)" != 0 ] || fail "killed ($whom), it stays away"
  ask execute '{"code":"6 * 7"}' | grep -q '"text":"42"' || fail "killed ($whom), it does not serve again"
done
systemctl stop sandglass
[ "$(systemctl show -P Result sandglass)" = success ] || fail "it does not stop well"
[ -z "$(pgrep -u sandglass)" ] || fail "left behind: $(pgrep -a -u sandglass)"
[ ! -e /run/sandglass ] || fail "/run/sandglass is left behind"
EOF
inside 'cd /src; sh -eu check'
