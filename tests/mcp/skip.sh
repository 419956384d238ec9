# shellcheck shell=sh
# skip WHAT: this host does not have it. As tests/support/require.h does it.
skip() {
  if [ -n "${SANDGLASS_MUST_WORK:-}" ]; then
    printf 'FAILED: this host has no %s\n' "$1" >&2
    exit 1
  fi
  printf 'SKIPPED: this host has no %s\n' "$1" >&2
  [ -z "${SANDGLASS_SKIPS:-}" ] || printf 'SKIPPED: this host has no %s\n' "$1" >>"$SANDGLASS_SKIPS"
  exit 77
}
