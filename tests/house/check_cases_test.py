#!/usr/bin/env python3
"""Runs scripts/check-cases on small trees, each with one thing wrong."""

import pathlib
import subprocess
import sys
import tempfile
import unittest

SCRIPT = pathlib.Path(__file__).resolve().parent.parent.parent / "scripts" / "check-cases"
TESTS = """\
TEST(Suite, R1_DoesWhatItShould) {}
TEST_P(Other, P2_R1_BothOfThem) {}
TEST(Suite, HasNoNumberNorR1InTheMiddle) {}
"""
GOOD = """\
| R1 | one | `Other.P2_R1_BothOfThem`, `Suite.R1_DoesWhatItShould` |
| R3 | three | waits for something |
| P2 | two | `Other.P2_R1_BothOfThem`; partly |
"""


class CheckCases(unittest.TestCase):
    def check(self, cases, *arguments):
        with tempfile.TemporaryDirectory() as name:
            root = pathlib.Path(name) / "project"
            (root / "tests" / "unit").mkdir(parents=True)
            (root / "tests" / "unit" / "suite_test.cc").write_text(TESTS, encoding="utf-8")
            (root / "tests" / "CASES.md").write_text(cases, encoding="utf-8")
            done = subprocess.run(
                [sys.executable, str(SCRIPT), "--root", str(root), *arguments], text=True,
                capture_output=True, check=False)
            self.written = (root / "tests" / "CASES.md").read_text(encoding="utf-8")
            return done

    def assert_refused(self, cases, said):
        done = self.check(cases)
        self.assertEqual(done.returncode, 1)
        self.assertIn(said, done.stderr)

    def test_agreement_passes(self):
        done = self.check(GOOD)
        self.assertEqual(done.returncode, 0, done.stderr)
        self.assertIn("3 cases, 2 with tests", done.stdout)

    def test_a_test_that_does_not_exist(self):
        self.assert_refused(GOOD.replace("three | waits for something", "three | `Suite.Gone`"),
                            "R3: there is no test Suite.Gone")

    def test_a_number_that_is_not_listed(self):
        self.assert_refused(GOOD.replace("P2", "P9", 1).replace("| P2 |", "| P4 |"),
                            "P2 is not listed")

    def test_a_test_that_is_missing_at_its_number(self):
        self.assert_refused(GOOD.replace(", `Suite.R1_DoesWhatItShould`", ""),
                            "Suite.R1_DoesWhatItShould is missing at R1")

    def test_a_number_listed_twice(self):
        self.assert_refused(GOOD + "| R3 | again | waits |\n", "R3 is listed twice")

    def test_neither_test_nor_reason(self):
        self.assert_refused(GOOD.replace("waits for something", ""),
                            "R3 has neither test nor reason")

    def test_writing_fills_in_the_names_and_keeps_reasons(self):
        empty = "| R1 | one | |\n| R3 | three | waits for something |\n| P2 | two | partly |\n"
        done = self.check(empty.replace("| |\n", "|  |\n", 1), "--write")
        self.assertEqual(done.returncode, 0, done.stderr)
        self.assertEqual(self.written, GOOD)


if __name__ == "__main__":
    unittest.main()
