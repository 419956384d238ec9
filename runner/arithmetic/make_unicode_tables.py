#!/usr/bin/python3
"""Writes unicode_tables.inc: which code points Python 3.11 lets an identifier start and go on with,
and which of them NFKC turns into plain lower-case letters. Run it with the Python to agree with:

    /usr/bin/python3 make_unicode_tables.py > unicode_tables.inc
"""
import sys
import unicodedata

LAST = 0x110000


def ranges(accepts):
    found, start = [], None
    for code in range(128, LAST + 1):
        inside = code < LAST and accepts(chr(code))
        if inside and start is None:
            start = code
        elif not inside and start is not None:
            found.append((start, code - 1))
            start = None
    return found


def print_table(kind, name, entries):
    print(f"constexpr {kind} {name}[] = {{")
    line = "   "
    for entry in entries:
        if len(line) + len(entry) + 2 > 100:
            print(line)
            line = "   "
        line += f" {entry},"
    print(line)
    print("};")


def folds():
    for code in range(128, LAST):
        text = unicodedata.normalize("NFKC", chr(code))
        plain = text.isascii() and text.isalpha() and text.islower()
        if plain and ("a" + chr(code)).isidentifier():
            yield f'{{{code:#x}, "{text}"}}'


print(f"// Made by make_unicode_tables.py from Unicode {unicodedata.unidata_version},")
print(f"// as Python {sys.version_info[0]}.{sys.version_info[1]} has it. Do not edit.")
for name, accepts in (
    ("kIdentifierStart", str.isidentifier),
    ("kIdentifierContinue", lambda c: ("a" + c).isidentifier()),
):
    print_table("Range", name, [f"{{{a:#x}, {b:#x}}}" for a, b in ranges(accepts)])
print_table("Fold", "kAsciiFolds", list(folds()))
