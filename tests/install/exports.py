#!/usr/bin/env python3
"""Checks what the shared libraries in a folder export.

    tests/install/exports.py FOLDER

Under the public symbol version stands what include/stint declares and nothing else; internals that
the components use of each other stand under the private one; nothing is exported without a version.
"""

import pathlib
import re
import subprocess
import sys

ROOT = pathlib.Path(__file__).resolve().parent.parent.parent
ABOUT_A_CLASS = re.compile(r"^(vtable|typeinfo|typeinfo name) for ")


def public_names():
    """Every class and function name that a public header declares."""
    text = "".join(header.read_text() for header in (ROOT / "include/stint").glob("*.h"))
    text = re.sub(r"//.*", "", text)
    return set(re.findall(r"\b(?:class|struct)\s+(?:STINT_EXPORT\s+)?(\w+)", text)) | set(
        re.findall(r"\b(\w+)\(", text))


def exports(library):
    """Pairs of demangled name and version."""
    lines = subprocess.run(["nm", "-D", "--defined-only", "--with-symbol-versions", str(library)],
                           check=True, text=True, stdout=subprocess.PIPE).stdout.splitlines()
    for line in lines:
        _, kind, symbol = line.split(maxsplit=2)
        if kind != "A":  # the versions themselves
            name, _, version = symbol.partition("@@")
            yield subprocess.run(["c++filt", name], check=True, text=True,
                                 stdout=subprocess.PIPE).stdout.strip(), version


def path_of(name):
    """stint::Limiter::acquire of "stint::Limiter::acquire(stint::AcquireRequest const&)"."""
    return re.match(r"[\w:~]*(operator\W+)?", ABOUT_A_CLASS.sub("", name)).group().split("::")


def main():
    folder = pathlib.Path(sys.argv[1])
    libraries = sorted(folder.glob("libstint*.so"))
    if len(libraries) != 2:
        sys.exit(f"{folder} holds {len(libraries)} shared libraries, not 2")
    known = public_names()
    problems = []
    public = private = 0
    for library in libraries:
        for name, version in exports(library):
            path = path_of(name)
            if re.fullmatch(r"STINT_\d+(\.\d+)?", version):
                public += 1
                if path[0] != "stint" or path[1] not in known or path[1] == "internal":
                    problems.append(f"{library.name}: no public header declares {name}")
            elif re.fullmatch(r"STINT_PRIVATE_\d+\.\d+\.\d+", version):
                private += 1
                if path[:2] not in (["stint", "store"], ["stint", "limiter"]) and \
                        path[:3] != ["stint", "Limiter", "Impl"]:
                    problems.append(f"{library.name}: {name} is public, its version private")
            else:
                problems.append(f"{library.name}: {name} has the version \"{version}\"")
    for problem in problems:
        print(problem, file=sys.stderr)
    if not problems:
        print(f"check-install: {public} public and {private} private symbols are exported")
    return 1 if problems or not public or not private else 0


if __name__ == "__main__":
    sys.exit(main())
