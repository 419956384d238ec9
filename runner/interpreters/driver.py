"""Runs Python cells in one process that keeps its variables:  driver.py CONTROL_FD

The protocol is in README.md. The work is done in the package _sandglass beside this file.
"""

import sys


def load():
    """Imports the package, then hides it: user code imports what it likes, and none of ours."""
    from _sandglass import session

    for name in [name for name in sys.modules if name.partition(".")[0] == "_sandglass"]:
        del sys.modules[name]
    # As in a notebook: modules in the working folder are found, the files beside this one are not.
    sys.path[0] = ""
    return session


if __name__ == "__main__":
    load().main(int(sys.argv[1]))
