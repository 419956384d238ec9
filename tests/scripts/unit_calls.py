"""Every system call that a policy allows, and that making a jail takes, is allowed by the systemd unit.

unit_calls.py UNIT SETS SYSCALLS.TOML POLICY.TOML...   SETS is what `systemd-analyze syscall-filter` prints.
"""
import sys
import tomllib

# What the spawner and a jail's first process call: clone with namespaces, the tree, the walls.
SPAWNER = """clone clone3 unshare setns pivot_root mount umount2 open_tree move_mount mount_setattr seccomp
landlock_create_ruleset landlock_add_rule landlock_restrict_self sethostname prctl capset setresuid setresgid
setgroups pidfd_open pidfd_getfd pidfd_send_signal memfd_create close_range openat2 prlimit64 execveat waitid""".split()

# Settings that deny whole calls beside the filter, and with another errno (systemd's src/shared/seccomp-util.c).
DENIED_BY = {
    "RestrictSUIDSGID": {"openat2"},  # the mode stands in memory, where no filter sees it
    "RestrictNamespaces": {"unshare", "setns", "clone3"},
    "ProtectHostname": {"sethostname", "setdomainname"},
    "ProtectClock": {"adjtimex", "clock_adjtime", "clock_settime", "settimeofday"},
    "ProtectKernelLogs": {"syslog"},
    "ProtectKernelModules": {"init_module", "finit_module", "delete_module"},
}


def sets_of(path):
    sets, current = {}, None
    for line in open(path):
        word = line.strip()
        if line.startswith("@"):
            current = sets.setdefault(word, [])
        elif word and not word.startswith("#"):
            current.append(word)
    return sets


def calls_of(words, sets):
    calls = set()
    for word in words:
        calls |= calls_of(sets[word], sets) if word.startswith("@") else {word}
    return calls


def main(unit, sets_file, syscalls, *policies):
    sets = sets_of(sets_file)
    allowed, denied = calls_of(["@default"], sets), set()
    for line in open(unit):
        if line.startswith("SystemCallFilter=~"):
            allowed -= calls_of(line.strip().split("=~")[1].split(), sets)
        elif line.startswith("SystemCallFilter="):
            allowed |= calls_of(line.strip().split("=")[1].split(), sets)
        setting, _, value = line.strip().partition("=")
        if value not in ("", "no", "false"):
            denied |= DENIED_BY.get(setting, set())
    allowed -= denied
    ours = tomllib.load(open(syscalls, "rb"))["sets"]
    for policy in policies:
        wanted = set(SPAWNER)
        for name in tomllib.load(open(policy, "rb"))["syscalls"]["allow"]:
            wanted |= set(ours[name[1:]]) - {"why", "weakens"} if name.startswith("@") else {name}
        assert len(wanted) > 50, (policy, wanted)
        if wanted - allowed:
            sys.exit(f"{policy}: the unit denies {' '.join(sorted(wanted - allowed))}")


main(*sys.argv[1:])
