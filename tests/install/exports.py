#!/usr/bin/env python3
"""Checks what the shared libraries in a folder export.

    tests/install/exports.py FOLDER

Under the public symbol version stands what include/stint marks with STINT_EXPORT, with the members
of marked classes, and nothing else; internals that the components use of each other, which are marked
with STINT_COMPONENT, stand under the private one; nothing is exported without a version.
"""

import pathlib
import re
import subprocess
import sys

ROOT = pathlib.Path(__file__).resolve().parent.parent.parent
ABOUT_A_CLASS = re.compile(r"^(vtable|typeinfo|typeinfo name) for ")
COMPONENTS = ["stint", "stint_dynamodb", "stint_rocksdb"]
# Layers with namespaces of their own; base/ has none.
INTERNAL = {"store", "schema", "ops", "limiter"}


def marked_names(text, mark="STINT_EXPORT"):
    """The classes and functions that the text of a header marks."""
    text = re.sub(r"//.*|^\s*#.*", "", text, flags=re.MULTILINE)
    classes = re.findall(rf"\b(?:class|struct)\s+{mark}\s+(\w+)", text)
    # A function's name is the last word before its parameters: types have no parentheses.
    functions = re.findall(rf"\b{mark}\b[^(;{{]*?\b(\w+)\(", text)
    return set(classes) | set(functions)


def names_in(folder, mark):
    return set().union(*(marked_names(header.read_text(), mark)
                         for header in (ROOT / folder).glob("*.h")))


def public_names():
    return names_in("include/stint", "STINT_EXPORT")


def base_names():
    """What the components use of base/."""
    return names_in("base", "STINT_COMPONENT")


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


def is_public(path, known):
    """Whether a header marks what this path begins with; some of it is the library's own."""
    return path[0] == "stint" and path[2 if path[1] == "internal" else 1] in known


def is_internal(path, known_of_base):
    """Whether components may use of each other what this path begins with."""
    return path[0] == "stint" and (
        path[1] in INTERNAL or path[1] in known_of_base or path[1:3] == ["Limiter", "Impl"])


def path_of(name):
    """stint::Limiter::acquire of "stint::Limiter::acquire(stint::AcquireRequest const&)"."""
    return re.match(r"[\w:~]*(operator\W+)?", ABOUT_A_CLASS.sub("", name)).group().split("::")


def main():
    folder = pathlib.Path(sys.argv[1])
    libraries = sorted(folder.glob("libstint*.so"))
    if [library.stem for library in libraries] != [f"lib{name}" for name in COMPONENTS]:
        sys.exit(f"{folder} holds other shared libraries than {', '.join(COMPONENTS)}")
    known = public_names()
    known_of_base = base_names()
    problems = []
    public = private = 0
    for library in libraries:
        for name, version in exports(library):
            path = path_of(name)
            if re.fullmatch(r"STINT_\d+(\.\d+)?", version):
                public += 1
                if not is_public(path, known):
                    problems.append(f"{library.name}: no public header marks {name}")
            elif re.fullmatch(r"STINT_PRIVATE_\d+\.\d+\.\d+", version):
                private += 1
                if not is_internal(path, known_of_base):
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
