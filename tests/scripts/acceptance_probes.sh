#!/bin/sh
# Probes that others have written, through `sandglass exec` and `run`: the folder that
# SANDGLASS_ACCEPTANCE_PROBES names (run_probes.py, index.tsv, programs), each verdict as its index
# expects under tight and loose. Without that variable nobody has asked for them: skipped, and said.
#   sh acceptance_probes.sh SANDGLASS
set -eu
sandglass=$1
fail() { printf 'acceptance_probes: %s\n' "$*" >&2; exit 1; }
if [ -z "${SANDGLASS_ACCEPTANCE_PROBES:-}" ]; then
  said='SKIPPED: SANDGLASS_ACCEPTANCE_PROBES names no folder of acceptance probes'
  printf '%s\n' "$said" >&2
  [ -z "${SANDGLASS_SKIPS:-}" ] || printf '%s\n' "$said" >>"$SANDGLASS_SKIPS"
  exit 77
fi
[ -e "$SANDGLASS_ACCEPTANCE_PROBES/run_probes.py" ] ||
  fail "there are no probes in $SANDGLASS_ACCEPTANCE_PROBES"

work=$(mktemp -d)
planted=/tmp/probe_host  # where the runner keeps its canary
[ ! -e "$planted" ] || planted=
trap 'rm -rf "$work" ${planted:+"$planted"}' EXIT
chmod 755 "$work"
cp "$SANDGLASS_ACCEPTANCE_PROBES"/*.py "$SANDGLASS_ACCEPTANCE_PROBES"/*.c \
  "$SANDGLASS_ACCEPTANCE_PROBES/index.tsv" "$work"
chmod -R u+w "$work"
mkdir "$work/bin"
for file in "$work"/*.c; do
  cc -O1 -static -o "$work/bin/$(basename "$file" .c)" "$file"
done

# differ POLICY OPTIONS...: the rows that differ. The runner asks of an exit status only whether it is a
# signal's; ours is 128+N, and stderr says what ended the program: that it was stopped is no doubt.
differ() {
  policy=$1; shift
  python3 "$work/run_probes.py" --product "$sandglass" --policy "$policy" --expect "$policy" \
    --timeout 60 "$@" >"$work/said" 2>&1 || :
  grep -q "rows differ from $policy-expected" "$work/said" || fail "$(cat "$work/said")"
  grep '^DIFFERS' "$work/said" |
    grep -vE 'got INCONCLUSIVE rc=(124|137|159) sandglass: (timeout: timed_out|refusal: (out_of_memory|signalled: it was ended by SIGSYS))' || :
}

{
  differ tight --real --cost cheap,timed,bomb
  differ loose --real --cost cheap,bomb
  # What outlasts tight's ten seconds has sixty times as many under loose: its own size is no attack there.
  differ loose --only '^o11$' --cost timed
} >"$work/differences"
[ ! -s "$work/differences" ] || fail "$(cat "$work/differences")"
