case $0 in /*) __sandglass_script=$0 ;; *) __sandglass_script=$PWD/$0 ;; esac; source "${__sandglass_script%/*}/_sandglass/shell.sh" "$@"; set --; while :; do while __sandglass_next; do for __sandglass_once in 1; do { builtin eval "$__sandglass_text"; } 3>&-; done; { __sandglass_done $? || :; } 2>/dev/null; done; [[ $__sandglass_open ]] || __sandglass_close; done; __sandglass_left=1
# Runs shell cells in one bash that keeps its variables, functions and folder:
#     bash driver.sh CONTROL_FD
#
# All of it is the first line, since bash counts the lines of an eval from the eval's own: so an
# error in a cell's line 2 is reported as line 2. The functions are in _sandglass/shell.sh, and the
# protocol in README.md. The eval is at the top level, for `declare` in a function makes a local; the
# other loops are for a cell's stray `break`; descriptor 3 is closed while a cell runs, so that no
# command inherits the control channel.
