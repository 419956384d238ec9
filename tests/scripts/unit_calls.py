"""Every system call that a policy allows, and that making a jail takes, is allowed by the systemd unit.

unit_calls.py UNIT SETS SYSCALLS.TOML POLICY.TOML...   SETS is what `systemd-analyze syscall-filter` prints.
"""
import sys
import tomllib

# What the spawner and a jail's first process call: clone with namespaces, the tree, the walls.
SPAWNER = """clone clone3 unshare setns pivot_root mount umount2 open_tree move_mount mount_setattr seccomp
landlock_create_ruleset landlock_add_rule landlock_restrict_self sethostname prctl capset setresuid setresgid
setgroups pidfd_open pidfd_send_signal memfd_create close_range openat2 prlimit64 execveat waitid""".split()


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
    allowed = calls_of(["@default"], sets)
    for line in open(unit):
        if line.startswith("SystemCallFilter=~"):
            allowed -= calls_of(line.strip().split("=~")[1].split(), sets)
        elif line.startswith("SystemCallFilter="):
            allowed |= calls_of(line.strip().split("=")[1].split(), sets)
    ours = tomllib.load(open(syscalls, "rb"))["sets"]
    for policy in policies:
        wanted = set(SPAWNER)
        for name in tomllib.load(open(policy, "rb"))["syscalls"]["allow"]:
            wanted |= set(ours[name[1:]]) - {"why", "weakens"} if name.startswith("@") else {name}
        assert len(wanted) > 50, (policy, wanted)
        if wanted - allowed:
            sys.exit(f"{policy}: the unit denies {' '.join(sorted(wanted - allowed))}")


main(*sys.argv[1:])
