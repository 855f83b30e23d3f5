#!/usr/bin/env python3
"""Checks that components use nothing of the core that a shared core would hide.

    tests/house/component_marks_test.py CORE_ARCHIVE COMPONENT_ARCHIVE...

What one component calls of another is marked with STINT_COMPONENT or STINT_EXPORT. Archives link
without the marks, so that only a build of shared libraries would tell.
"""

import pathlib
import subprocess
import sys


def lines_of(*command):
    return subprocess.run(command, check=True, text=True, stdout=subprocess.PIPE,
                          stderr=subprocess.DEVNULL).stdout.splitlines()


def hidden_in(archive):
    """Symbols that the objects of an archive share with each other and nobody else."""
    names = set()
    for line in lines_of("readelf", "--syms", "--wide", str(archive)):
        fields = line.split()
        # Number, value, size, kind, binding, visibility, section, name.
        if len(fields) >= 8 and fields[5] == "HIDDEN" and fields[6] != "UND":
            names.add(fields[7])
    return names


def wanted_by(archive):
    """Symbols that an archive uses and does not hold."""
    used = {line.split()[-1] for line in lines_of("nm", "--undefined-only", str(archive))
            if line.startswith(" ")}
    held = {line.split()[-1] for line in lines_of("nm", "--defined-only", str(archive))
            if len(line.split()) == 3}
    return used - held


def main():
    core, *components = map(pathlib.Path, sys.argv[1:])
    hidden = hidden_in(core)
    if not hidden:
        sys.exit(f"{core} hides nothing: is it the core?")
    missing = 0
    for component in components:
        wanted = wanted_by(component)
        if not wanted:
            sys.exit(f"{component} uses nothing of others: is it a component?")
        unmarked = sorted(wanted & hidden)
        missing += len(unmarked)
        for name in unmarked:
            shown = lines_of("c++filt", name)[0]
            print(f"{component.name} uses {shown}: mark its declaration with STINT_COMPONENT and "
                  f"look whether cmake/stint.map.in knows its namespace", file=sys.stderr)
    return 1 if missing else 0


if __name__ == "__main__":
    sys.exit(main())
