#!/usr/bin/env python3
"""Runs scripts/check-docs on small documents, right and wrong ones."""

import pathlib
import subprocess
import sys
import tempfile

ROOT = pathlib.Path(__file__).resolve().parent.parent.parent
SCRIPT = ROOT / "scripts" / "check-docs"

# name, document, what must be said; nothing where the document is right.
CASES = [
    ("true command", "```console\n$ true\n```\n", None),
    ("false command", "text\n\n```console\n$ true\n$ false\n```\n", ":5: ended with 1, not 0"),
    ("expected exit", "```console\n$ sh -c 'exit 3'  # exit 3\noutput that need not match\n```\n",
     None),
    ("unexpected success", "```console\n$ true  # exit 1\n```\n", "ended with 0, not 1"),
    ("continued", "```console\n$ test a = \\\n    a\n$ for i in 1; do\n>   false; done\n```\n",
     ":4: ended with 1"),
    ("variables live for a block", "```sh\nX=1\ntest \"$X\" = 1\n```\n", None),
    ("sh fails in the middle", "```sh\ntrue\nfalse\ntrue\n```\n", ":3: ended with 1"),
    ("files live for a document",
     "```console\n$ echo a > b\n```\n\n```console\n$ grep a b\n```\n", None),
    ("saved file", "<!-- file: d/x.yaml -->\n```yaml\na: 1\n```\n```console\n$ grep 1 d/x.yaml\n```\n",
     None),
    ("file elsewhere", "<!-- file: ../x -->\n```yaml\na: 1\n```\n", "lies elsewhere"),
    ("skip with reason", "<!-- not run: needs a network -->\n```console\n$ false\n```\n", None),
    ("skip without reason", "<!-- not run: -->\n```console\n$ false\n```\n", "says nothing"),
    ("stray comment", "<!-- not run: why -->\ntext\n```console\n$ true\n```\n", "belongs to no block"),
    ("console without commands", "```console\nhello\n```\n", "no line begins with"),
    ("open block", "```console\n$ true\n", "never ends"),
    ("other languages are left alone", "```json\n{\n```\n", None),
    ("snippet", "```cpp\nauto amount = stint::Amount(3);\namount.milli();\n```\n", None),
    ("snippet with an include", "```cpp\n#include <map>\nstd::map<int, int> m;\n```\n", None),
    ("wrong snippet", "```cpp\nint a = 1;\nauto b = stint::Amount(\"x\");\n```\n", ":3:"),
    ("home with an installed stint",
     "```sh\ntest -f $HOME/stint/include/stint/stint.h\n"
     "test $HOME/src/stint/scripts/check-docs -ef %s\n```\n" % SCRIPT, None),
    ("missing", None, "does not exist"),
]


def main():
    failures = []
    with tempfile.TemporaryDirectory() as directory:
        for name, text, wanted in CASES:
            path = pathlib.Path(directory) / (name.replace(" ", "_") + ".md")
            if text is not None:
                path.write_text(text)
            done = subprocess.run([sys.executable, str(SCRIPT), str(path)], text=True,
                                  capture_output=True, check=False)
            if wanted is None and done.returncode != 0:
                failures.append(f"{name}: refused:\n{done.stderr}")
            if wanted is not None and (done.returncode == 0 or wanted not in done.stderr):
                failures.append(f"{name}: ended with {done.returncode} and did not say "
                                f"\"{wanted}\":\n{done.stderr}")
    for failure in failures:
        print(failure, file=sys.stderr)
    return 1 if failures else 0


if __name__ == "__main__":
    sys.exit(main())
