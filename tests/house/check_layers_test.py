#!/usr/bin/env python3
"""Runs scripts/check-layers on samples. Each bad line names what must be said about it."""

import pathlib
import re
import subprocess
import sys

HERE = pathlib.Path(__file__).resolve().parent
SCRIPT = HERE.parent.parent / "scripts" / "check-layers"


def run(root):
    return subprocess.run([sys.executable, str(SCRIPT), "--root", str(root)], text=True,
                          capture_output=True, check=False)


def expected(root):
    found = {}
    for path in sorted(root.rglob("*")):
        if path.suffix not in (".h", ".cc"):
            continue
        for number, line in enumerate(path.read_text().splitlines(), 1):
            match = re.search(r"// expect: (.*)$", line)
            if match:
                texts = [text.strip() for text in match.group(1).split("|")]
                found[f"{path.relative_to(root).as_posix()}:{number}"] = texts
    return found


def main():
    failures = []

    good = run(HERE / "layers" / "good")
    if good.returncode != 0:
        failures.append(f"the good samples were refused:\n{good.stderr}")

    bad_root = HERE / "layers" / "bad"
    bad = run(bad_root)
    if bad.returncode != 1:
        failures.append(f"the bad samples ended with {bad.returncode}, not 1:\n{bad.stderr}")
    said = {}
    for line in bad.stderr.splitlines():
        match = re.match(r"([^:]+:\d+): (.*)$", line)
        if match:
            said.setdefault(match.group(1), []).append(match.group(2))
    wanted = expected(bad_root)
    if len(wanted) < 40:
        failures.append(f"only {len(wanted)} bad lines were found; are the samples complete?")
    for place, texts in wanted.items():
        for text in texts:
            if not any(text in message for message in said.get(place, [])):
                failures.append(f"{place}: nothing said about \"{text}\", but {said.get(place)}")
    for place, messages in said.items():
        if place not in wanted:
            failures.append(f"{place}: unexpected: {messages}")

    empty = run(HERE / "layers" / "none")
    if empty.returncode == 0:
        failures.append("a root without sources passed")

    for failure in failures:
        print(failure, file=sys.stderr)
    return 1 if failures else 0


if __name__ == "__main__":
    sys.exit(main())
