#!/usr/bin/env python3
"""Completions and man pages: made from the same commands and options as --help.

    STINT=build/dev/bin/stint tests/cli/generate_test.py [TEST...]
"""

import json
import os
import pathlib
import re
import shutil
import subprocess
import tempfile
import unittest

STINT = os.path.abspath(os.environ.get("STINT", "stint"))
SHELLS = ["bash", "zsh", "fish"]

# Readline cuts words at these characters; so does this.
BASH_ASK = r"""
source "$1"; shift
COMP_WORDS=("$@")
COMP_CWORD=$((${#COMP_WORDS[@]} - 1))
_stint
printf '%s\n' "${COMPREPLY[@]}"
"""


def run(*command, code=0, cwd=None):
    env = {name: value for name, value in os.environ.items() if not name.startswith("STINT_")}
    done = subprocess.run(command, cwd=cwd, env=env, text=True, capture_output=True,
                          stdin=subprocess.DEVNULL, timeout=60, check=False)
    if done.returncode != code:
        raise AssertionError(f"{command} ended with {done.returncode}\n{done.stdout}{done.stderr}")
    return done.stdout


def commands_below(path):
    """Names and descriptions as --help lists them."""
    text = run(STINT, *path, "--help")
    listed = re.search(r"(?m)^Subcommands:\n((?:  .*\n)+)", text)
    return re.findall(r"(?m)^  (\S+)", listed.group(1)) if listed else []


def options_of(path):
    """Long options as --help lists them."""
    return re.findall(r"(?m)^  (?:-\w,)?(--[\w-]+)", run(STINT, *path, "--help"))


def all_commands(path=()):
    yield path
    for name in commands_below(path):
        yield from all_commands((*path, name))


class GenerateTest(unittest.TestCase):
    maxDiff = None

    def setUp(self):
        directory = tempfile.TemporaryDirectory()
        self.addCleanup(directory.cleanup)
        self.directory = pathlib.Path(directory.name)

    def script(self, shell):
        path = self.directory / f"completion.{shell}"
        path.write_text(run(STINT, "completion", shell))
        return path


class Completion(GenerateTest):
    def bash(self, *words):
        answer = run("bash", "-c", BASH_ASK, "bash", str(self.script("bash")), "stint", *words,
                     cwd=self.directory)
        return sorted(answer.split())

    def test_bash_offers_every_command_and_option_of_the_help(self):
        for path in all_commands():
            names = commands_below(path)
            if names:
                self.assertEqual(self.bash(*path, ""), sorted(names), path)
            options = set(self.bash(*path, "--"))
            self.assertLessEqual(set(options_of(path)), options, path)
            self.assertLessEqual({"--store", "--json", "--help"}, options, path)

    def test_bash_completes_what_was_begun(self):
        self.assertEqual(self.bash("ac"), ["acquire"])
        self.assertEqual(self.bash("--store", "somewhere", "lim"), ["limits"])
        self.assertEqual(self.bash("limits", "s"), ["set"])
        self.assertEqual(self.bash("limits", "--json", "set", "--dr"), ["--dry-run"])
        self.assertEqual(self.bash("limits", "set", "--version"), [])

    def test_bash_offers_listed_values(self):
        self.assertEqual(self.bash("replay", "--format", ""), ["combined", "csv", "jsonl"])
        self.assertEqual(self.bash("replay", "--format", "=", "js"), ["jsonl"])
        self.assertEqual(self.bash("replay", "--format", "="), ["combined", "csv", "jsonl"])
        self.assertEqual(self.bash("limits", "set", "--on-unavailable", "a"), ["allow"])
        self.assertEqual(self.bash("completion", ""), sorted(SHELLS))
        # Text of the user's own.
        self.assertEqual(self.bash("limits", "set", "--soft", ""), [])
        self.assertEqual(self.bash("acquire", ""), [])

    def test_bash_offers_files_and_directories_where_they_belong(self):
        (self.directory / "policy.yaml").touch()
        (self.directory / "data").mkdir()
        self.assertEqual(self.bash("manifest", "check", "pol"), ["policy.yaml"])
        self.assertEqual(self.bash("replay", "--manifest", "pol"), ["policy.yaml"])
        # The amounts before it are no input.
        self.assertEqual(self.bash("replay", "--consume", "a", "=", "1", "b", "=", "x+y", "pol"),
                         ["policy.yaml"])
        self.assertEqual(self.bash("acquire", "user-1", "pol"), [])
        self.assertEqual(self.bash("--store", ""), ["data"])

    def test_zsh_reads_its_script(self):
        if shutil.which("zsh") is None:
            self.skipTest("there is no zsh")
        script = self.script("zsh")
        run("zsh", "-n", str(script))
        # Every function that a command leads to is there.
        text = script.read_text()
        for path in all_commands():
            self.assertIn("\n" + "_".join(["_stint", *path]) + "() {\n", text)
        loaded = run("zsh", "-fc", f"autoload -U compinit && compinit -D -u && source {script} && "
                                   "echo $_comps[stint]")
        self.assertEqual(loaded.strip(), "_stint")

    def test_fish_completes(self):
        if shutil.which("fish") is None:
            self.skipTest("there is no fish")
        script = self.script("fish")
        run("fish", "--no-config", "--no-execute", str(script))

        def fish(line):
            answer = run("fish", "--no-config", "-c", f"source {script}; complete -C '{line}'",
                         cwd=self.directory)
            return sorted(found.split("\t")[0] for found in answer.splitlines())

        self.assertEqual(fish("stint "), sorted(commands_below(())))
        self.assertEqual(fish("stint limits "), sorted(commands_below(("limits",))))
        self.assertEqual(fish("stint replay --format "), ["combined", "csv", "jsonl"])
        self.assertIn("--dry-run", fish("stint limits set --d"))
        self.assertNotIn("--dry-run", fish("stint acquire --d"))
        (self.directory / "policy.yaml").touch()
        self.assertIn("policy.yaml", fish("stint manifest check pol"))
        self.assertNotIn("policy.yaml", fish("stint acquire pol"))

    def test_json_and_unknown_shells(self):
        answer = json.loads(run(STINT, "completion", "fish", "--json"))
        self.assertEqual(answer["shell"], "fish")
        self.assertEqual(answer["script"], run(STINT, "completion", "fish"))
        error = json.loads(run(STINT, "completion", "csh", "--json", code=2))["error"]
        self.assertEqual((error["field"], error["value"]), ("shell", "csh"))


class ManPages(GenerateTest):
    def pages(self):
        run(STINT, "help-man", str(self.directory / "man"))
        return {path.name: path for path in (self.directory / "man").iterdir()}

    def shown(self, page):
        return run("groff", "-man", "-ww", "-Tascii", "-P-cbou", "-rLL=200n", str(page))

    def test_a_page_for_the_program_and_each_command(self):
        names = {"stint.1"} | {f"stint-{name}.1" for name in commands_below(())}
        self.assertEqual(set(self.pages()), names)

    def test_the_help_is_in_the_pages(self):
        if shutil.which("groff") is None:
            self.skipTest("there is no groff")
        pages = self.pages()
        for path in all_commands():
            text = self.shown(pages["-".join(["stint", *path[:1]]) + ".1"])
            for option in options_of(path):
                self.assertIn(option, text, path)
            for title in ("NAME", "SYNOPSIS", "ENVIRONMENT", "EXIT STATUS", "EXAMPLES", "OPTIONS"):
                self.assertRegex(text, rf"(?m)^ *{title}$", path)
            self.assertRegex(text, r"(?m)^ +10 +rejected", path)
            example = re.search(r"(?m)^Example:\n  (.*)$", run(STINT, *path, "--help")).group(1)
            self.assertIn(example.rstrip("\\").strip(), text, path)

    def test_formatters_have_nothing_to_say(self):
        if shutil.which("groff") is None:
            self.skipTest("there is no groff")
        for page in self.pages().values():
            done = subprocess.run(["groff", "-man", "-ww", "-Tutf8", "-z", str(page)], text=True,
                                  capture_output=True, check=False)
            self.assertEqual((done.returncode, done.stderr), (0, ""), page)

    def test_the_same_program_makes_the_same_pages(self):
        first = {name: path.read_bytes() for name, path in self.pages().items()}
        self.assertEqual(first, {name: path.read_bytes() for name, path in self.pages().items()})

    def test_the_command_of_the_build_is_not_shown(self):
        self.assertNotIn("help-man", run(STINT, "--help"))
        self.assertNotIn("help-man", run(STINT, "completion", "bash"))

    def test_a_folder_that_cannot_be_written(self):
        (self.directory / "file").touch()
        error = json.loads(run(STINT, "help-man", str(self.directory / "file" / "man"), "--json",
                               code=3))["error"]
        self.assertIn("cannot write", error["reason"])


class Version(GenerateTest):
    def test_is_that_of_the_headers(self):
        header = pathlib.Path(__file__).parents[2] / "include/stint/version.h"
        numbers = re.findall(r"(?m)^#define STINT_VERSION_[A-Z]+ (\d+)$", header.read_text())
        answer = json.loads(run(STINT, "--version", "--json"))
        self.assertEqual(set(answer), {"version", "store_format"})
        self.assertEqual(answer["version"], ".".join(numbers))
        self.assertEqual(run(STINT, "--version"), f"stint {answer['version']}\n")


if __name__ == "__main__":
    unittest.main()
