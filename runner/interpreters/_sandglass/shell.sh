# shellcheck shell=bash
# shellcheck disable=SC2059,SC2064,SC2209,SC2154  # formats are made here; trap passes on; exit is a word
# The functions of driver.sh. All names of ours start with __sandglass_.
#
# What ends a shell (exit, set -e, an unset variable under set -u, an interrupt) can't be caught
# from within it, except in its EXIT trap: from there a fresh bash takes over in the same process,
# and the state is handed on.

__sandglass_busy='' __sandglass_exited='' __sandglass_interrupted='' __sandglass_on_exit=''
__sandglass_traced='' __sandglass_left='' __sandglass_count=0 __sandglass_id=0 __sandglass_text='' __sandglass_open=1

# One frame: u32 little-endian length, JSON. All of it is short, and ASCII that we wrote.
__sandglass_send() {
  builtin printf -v __sandglass_head '\\x%02x\\x%02x\\x00\\x00' $((${#1} & 255)) $((${#1} >> 8))
  builtin printf "$__sandglass_head%s" "$1" >&3 || builtin exit 1
}

__sandglass_error() {  # NAME VALUE TRACEBACK
  __sandglass_send '{"ev":"error","id":'"$__sandglass_id"',"name":"'"$1"'","value":"'"$2"'","traceback":"'"$3"'\n"}'
}

__sandglass_end() {  # STATUS EXIT_STATUS
  case $1 in
    error) __sandglass_error ExitStatus "$2" "ExitStatus: $2"; set -- error null ;;
    interrupted) __sandglass_error KeyboardInterrupt '' KeyboardInterrupt; set -- interrupted null ;;
    signalled)
      __sandglass_error Signal '' 'Signal: a signal ended the shell before the code was through'
      set -- error null ;;
    ok) set -- ok null ;;
  esac
  __sandglass_send '{"ev":"end","id":'"$__sandglass_id"',"status":"'"$1"'","code":'"$2"'}'
}

# Reads the next request: `execute ID CODE_BYTES STDIN_BYTES|-`, then the code, then the stdin.
# Every failure here is the end of the channel.
__sandglass_next() {
  [[ ! $__sandglass_busy ]] || __sandglass_done 0  # the cell ended with a `break 2`
  __sandglass_open=''
  IFS=' ' builtin read -r -u 3 __sandglass_op __sandglass_id __sandglass_size __sandglass_given || return 1
  [[ $__sandglass_op == execute && $__sandglass_id == +([0-9]) && $__sandglass_size == +([0-9]) &&
     $__sandglass_given == @(-|+([0-9])) ]] || return 1
  __sandglass_read "$__sandglass_size" || return 1
  __sandglass_code=$__sandglass_text
  if [[ $__sandglass_given == - ]]; then
    exec 0</dev/null
  else
    __sandglass_read "$__sandglass_given" || return 1
    exec 0<<<"${__sandglass_text%$'\n'}"
  fi
  __sandglass_text=$__sandglass_code
  __sandglass_open=1
  BASH_ARGV0="<cell $((++__sandglass_count))>"
  __sandglass_busy=1 __sandglass_exited='' __sandglass_interrupted=''
  builtin trap '__sandglass_interrupted=1; builtin exit 130' INT
  __sandglass_send '{"ev":"begin","id":'"$__sandglass_id"',"n":'"$__sandglass_count"'}'
  [[ ! $__sandglass_traced ]] || set -x
} 2>/dev/null

__sandglass_read() {  # BYTES: into __sandglass_text
  __sandglass_text=''
  [[ $1 == 0 ]] || LC_ALL=C IFS='' builtin read -r -u 3 -N "$1" -d '' __sandglass_text
}

__sandglass_done() {  # STATUS
  builtin trap '' INT
  __sandglass_traced=''
  case $- in *x*) set +x; __sandglass_traced=1 ;; esac
  __sandglass_busy=''
  if [[ $1 == 0 ]]; then __sandglass_end ok; else __sandglass_end error "$1"; fi
}

# The end of the channel, or a `break` of a cell that left the inner loop as well.
__sandglass_close() {
  __sandglass_busy=''
  builtin exit 0
}

# Marks a wanted end; in a subshell it only ends that.
exit() {
  __sandglass_code=$?
  __sandglass_exited=1
  builtin exit "${1-$__sandglass_code}"
}

# The EXIT trap is ours; the user's runs when the user's code exits.
trap() {
  if [[ $BASHPID == "$$" && $# -ge 2 && $1 != -[lp]* ]]; then
    case " ${*:2} " in
      *' EXIT '* | *' 0 '*)
        __sandglass_on_exit=$1
        [[ $1 != - ]] || __sandglass_on_exit=''
        return 0 ;;
    esac
  fi
  builtin trap "$@"
}

# What a fresh bash needs to be this one. The folder and umask stay by themselves.
__sandglass_state() {
  for __sandglass_name in $(compgen -v); do
    case $__sandglass_name in
      __sandglass_* | BASH | BASH_* | BASHOPTS | BASHPID | COMP_* | DIRSTACK | EPOCH* | EUID | \
        FUNCNAME | GROUPS | HISTCMD | LINENO | PIPESTATUS | PPID | RANDOM | SECONDS | SHELLOPTS | \
        SRANDOM | UID | _) ;;
      *) declare -p "$__sandglass_name" ;;
    esac
  done
  declare -p __sandglass_traced __sandglass_on_exit
  declare -f
  declare -F | while read -r _ __sandglass_flag __sandglass_name; do
    case $__sandglass_flag in *x*) printf 'export -f %s\n' "$__sandglass_name" ;; esac
  done
  builtin printf '%s\n' "$__sandglass_options"
} 2>/dev/null

__sandglass_leave() {
  __sandglass_code=$?
  builtin trap '' INT  # a second interrupt must not end the take-over
  [[ $BASHPID == "$$" && $__sandglass_busy ]] || builtin exit "$__sandglass_code"
  __sandglass_options=$(alias -p; set +o; shopt -p)
  # It is a system call, and refused.
  __sandglass_options=${__sandglass_options//'set +o privileged'/}
  case $- in *e*) __sandglass_options+=$'\nset -e' ;; esac
  case $- in *x*) __sandglass_traced=1 ;; esac
  __sandglass_options+=$'\nset +x'
  set +euxfvn
  set +o posix
  unalias -a
  IFS=$' \t\n'
  # Descriptor 3 is closed during a cell; bash keeps it above 9 to put it back.
  if [[ ! -S /dev/fd/3 ]]; then
    for ((__sandglass_fd = 10; __sandglass_fd < 64; ++__sandglass_fd)); do
      if [[ -S /dev/fd/$__sandglass_fd ]]; then exec 0<&"$__sandglass_fd" 3<&0 0</dev/null; break; fi
    done
  fi
  if [[ $__sandglass_interrupted ]]; then
    __sandglass_status=interrupted
  elif [[ $__sandglass_exited ]]; then
    __sandglass_status=exit
    if [[ $__sandglass_on_exit ]]; then
      __sandglass_text=$__sandglass_on_exit __sandglass_on_exit=''
      eval "$__sandglass_text" 3>&- 2>&8
    fi
  elif [[ $__sandglass_left ]]; then
    __sandglass_status=ok  # a `break 3` that left all loops
  elif [[ $__sandglass_code == 0 ]]; then
    __sandglass_status=signalled  # which one, bash does not say
  else
    __sandglass_status=error
  fi
  exec 9<<<"$(__sandglass_state)"
  builtin trap - INT EXIT
  exec "$BASH" "$__sandglass_script" 3 "$__sandglass_count" "$__sandglass_id" \
    "$__sandglass_status" "$__sandglass_code" 2>&8 8>&-
}

# ---- the start, or the take-over: CONTROL_FD [COUNT ID STATUS EXIT_STATUS]

builtin trap '' INT
shopt -s extglob
builtin trap '{ __sandglass_leave; } 8>&2 2>/dev/null' EXIT
if [[ $# == 5 ]]; then
  IFS='' builtin read -r -d '' -u 9 __sandglass_text
  exec 9<&-
  eval "$__sandglass_text" 2>/dev/null
  __sandglass_count=$2 __sandglass_id=$3
  __sandglass_end "$4" "$5"
else
  [[ $1 == 3 ]] || eval "exec 3<&$1 $1<&-"
  __sandglass_send '{"ev":"ready","language":"bash","version":"'"${BASH_VERSION%%[!0-9.]*}"'","preloaded":[],"missing":[]}'
fi
