#!/usr/bin/env python3
"""The arithmetic of scripts/bench-compare and its reading of reports and profiles."""

import pathlib
import stat
import subprocess
import sys
import tempfile
import unittest

SCRIPTS = pathlib.Path(__file__).resolve().parent.parent.parent / "scripts"
sys.path.insert(0, str(SCRIPTS))

import bench_tools  # noqa: E402

ANNOTATED = """\
Events shown:     Ir
--------------------------------------------------------------------------------
Ir
--------------------------------------------------------------------------------
10,000 (100.0%)  PROGRAM TOTALS

--------------------------------------------------------------------------------
Ir                 file:function
--------------------------------------------------------------------------------
4,000 (40.00%)  /a/b.cc:stint::f(std::vector<int, std::allocator<int> > const&) [/bin/loop]
2,500 (25.00%)  /usr/include/c++/12/bits/basic_string.h:stint::f(std::vector<int> const&) [/bin/loop]
2,000 (20.00%)  ./malloc/malloc.c:malloc [/usr/lib/libc.so.6]
1,000 (10.00%)  ???:operator new(unsigned long) [/usr/lib/libstdc++.so.6]
500 ( 5.00%)  /a/c.cc:stint::(anonymous namespace)::g(int)'2 [/bin/loop]
"""

# A benchmark program that takes 100 ns a step by its percentage, and twice that in one case.
PROGRAM = """\
#!/bin/sh
if [ "$1" = --benchmark_list_tests ]; then
  printf 'memory/a\\nmemory/b\\nmemory/{own}\\n'
  exit
fi
for argument; do
  case $argument in
    --benchmark_filter=*) name=${{argument#*=^}} name=${{name%%$}} ;;
    --benchmark_out=*) out=${{argument#*=}} ;;
  esac
done
time={percent}
[ $name = memory/b ] && time=$((2 * {percent}))
cat >$out <<END
{{"context": {{"stint_assertions": "{assertions}"}}, "benchmarks": [
  {{"name": "$name", "run_type": "iteration", "cpu_time": $time, "real_time": 7, "time_unit": "ns"}}]}}
END
"""


class Arithmetic(unittest.TestCase):
    def test_too_few_values_have_no_interval(self):
        self.assertIsNone(bench_tools.median_interval([1, 2, 3, 4, 5]))

    def test_six_values_need_all_of_them(self):
        # Outside with probability 2 / 64.
        self.assertEqual(bench_tools.median_interval([3, 1, 2, 6, 5, 4]), (1, 6))

    def test_ten_values_spare_the_outermost(self):
        # Outside with probability 2 * 11 / 1024; without the next as well it would be 2 * 56 / 1024.
        self.assertEqual(bench_tools.median_interval(list(range(10, 0, -1))), (2, 9))

    def test_interval_widens_with_confidence(self):
        values = list(range(1, 11))
        self.assertEqual(bench_tools.median_interval(values, 0.99), (1, 10))
        self.assertEqual(bench_tools.median_interval(values, 0.65), (4, 7))

    def test_variation(self):
        self.assertIsNone(bench_tools.variation([5]))
        self.assertEqual(bench_tools.variation([5, 5, 5]), 0)
        self.assertAlmostEqual(bench_tools.variation([9, 10, 11]), 0.1)

    def test_builds_take_turns(self):
        self.assertEqual(list(bench_tools.in_turn(3)),
                         [("base", "head"), ("head", "base"), ("base", "head")])

    def test_a_steady_difference_is_found_below_a_larger_drift(self):
        rounds = [(100 * drift, 103 * drift) for drift in (1, 1.5, 2, 2.5, 3, 4, 8)]
        found = bench_tools.compare_rounds("case", "ns", rounds)
        self.assertEqual(found.verdict, "slower")
        self.assertAlmostEqual(found.ratio, 1.03)
        self.assertTrue(found.is_worse_than(0.02))
        self.assertFalse(found.is_worse_than(0.05))

    def test_surely_slower_is_not_surely_slower_by_so_much(self):
        rounds = [(100, head) for head in (102, 103, 108, 109, 110, 112)]
        found = bench_tools.compare_rounds("case", "ns", rounds)
        self.assertEqual((found.verdict, found.low), ("slower", 1.02))
        self.assertGreater(found.ratio, 1.05)
        self.assertFalse(found.is_worse_than(0.05))
        self.assertTrue(found.is_worse_than(0.01))

    def test_many_cases_have_to_be_surer_each(self):
        self.assertEqual([bench_tools.fewest_rounds(bench_tools.confidence_of_each(cases))
                          for cases in (1, 2, 25, 26)], [6, 7, 10, 11])
        rounds = [(100, 100)] + [(100, 110)] * 9
        alone = bench_tools.compare_rounds("case", "ns", rounds)
        self.assertTrue(alone.is_worse_than(0.05))
        among_many = bench_tools.compare_rounds("case", "ns", rounds,
                                                bench_tools.confidence_of_each(25))
        self.assertEqual((among_many.low, among_many.verdict), (1, "same"))
        self.assertFalse(among_many.is_worse_than(0.05))

    def test_noise_is_no_difference(self):
        rounds = [(100, 104), (100, 97), (100, 105), (100, 96), (100, 103), (100, 99)]
        found = bench_tools.compare_rounds("case", "ns", rounds)
        self.assertEqual(found.verdict, "same")
        self.assertAlmostEqual(found.ratio, 1.01)
        self.assertEqual((found.low, found.high), (0.96, 1.05))
        self.assertFalse(found.is_worse_than(0))

    def test_one_disturbed_round_changes_nothing(self):
        found = bench_tools.compare_rounds("case", "ns", [(100, 90)] * 9 + [(100, 900)])
        self.assertEqual(found.verdict, "faster")
        self.assertAlmostEqual(found.ratio, 0.9)

    def test_five_rounds_decide_nothing(self):
        found = bench_tools.compare_rounds("case", "ns", [(100, 200)] * 5)
        self.assertEqual(found.verdict, "same")
        self.assertFalse(found.is_worse_than(0.05))

    def test_instructions(self):
        self.assertEqual(bench_tools.compare_instructions("case", 10_000, 10_010).verdict, "same")
        self.assertEqual(bench_tools.compare_instructions("case", 10_000, 10_100).verdict, "slower")
        self.assertEqual(bench_tools.compare_instructions("case", 10_000, 9_900).verdict, "faster")
        for head, worse in ((10_510, False), (10_530, True)):
            found = bench_tools.compare_instructions("case", 10_000, head)
            self.assertEqual(found.is_worse_than(0.05), worse)


class Reading(unittest.TestCase):
    def cost(self, **run):
        return bench_tools.cost_ns({"real_time": 3, "cpu_time": 2, "time_unit": "us", **run})

    def test_processor_time_unless_the_case_waits(self):
        self.assertEqual(self.cost(name="memory/a"), 2000)
        self.assertEqual(self.cost(name="rocksdb/a/real_time/threads:2"), 3000)
        self.assertEqual(self.cost(name="replay/a/manual_time"), 3000)
        self.assertEqual(self.cost(name="memory/real_times"), 2000)

    def test_a_rate_tells_more_than_the_time_of_a_chunk(self):
        self.assertEqual(self.cost(name="a/manual_time/threads:4", items_per_second=4e6), 250)

    def test_single_steps_go_by_their_median(self):
        self.assertEqual(self.cost(name="memory/a/latency", median_ns=432.5), 432.5)

    def test_aggregates_are_left_out_and_errors_are_not(self):
        single = {"name": "a", "run_type": "iteration"}
        report = {"benchmarks": [single, {"name": "a_mean", "run_type": "aggregate"}]}
        self.assertEqual(bench_tools.runs_of(report), [single])
        report["benchmarks"].append({"name": "b", "error_occurred": True, "error_message": "no"})
        with self.assertRaisesRegex(bench_tools.Trouble, "b: no"):
            bench_tools.runs_of(report)

    def test_profile_adds_up_what_was_inlined(self):
        total, functions = bench_tools.parse_annotated(ANNOTATED)
        self.assertEqual(total, 10_000)
        self.assertEqual(functions, {"stint::f": 6500, "malloc": 2000, "operator new": 1000,
                                     "stint::g": 500})

    def test_profile_of_nothing_is_trouble(self):
        with self.assertRaisesRegex(bench_tools.Trouble, "counted nothing"):
            bench_tools.parse_annotated("0 (100.0%)  PROGRAM TOTALS\n")

    def test_names_are_shortened(self):
        self.assertEqual(
            bench_tools.short_name("stint::ops::acquire(stint::ops::acquire(stint::ops::Context&)::"
                                   "_ZN5.Frame*) [clone .actor]"), "stint::ops::acquire")
        self.assertEqual(bench_tools.short_name("std::map<int, std::set<int> >::find(int const&)"),
                         "std::map::find")


class Text(unittest.TestCase):
    def test_three_digits(self):
        for value, text in ((0, "0"), (0.51234, "0.512"), (2.5, "2.5"), (99.96, "100"),
                            (1234.4, "1,230"), (404_321, "404,000")):
            self.assertEqual(bench_tools.digits(value), text)

    def test_units(self):
        self.assertEqual(bench_tools.shown(404_321, "rate"), "404,000/s")
        self.assertEqual(bench_tools.shown(325.4, "ns"), "325 ns")
        self.assertEqual(bench_tools.shown(2510, "ns"), "2.51 µs")
        self.assertEqual(bench_tools.shown(1147.2, "bytes"), "1,150 B")
        self.assertEqual(bench_tools.shown(0.8512, "ratio"), "0.851")


class Compare(unittest.TestCase):
    def setUp(self):
        self.directory = tempfile.TemporaryDirectory()
        self.addCleanup(self.directory.cleanup)

    def build(self, name, percent, assertions="off"):
        programs = pathlib.Path(self.directory.name) / name / "bin"
        programs.mkdir(parents=True)
        program = programs / "decision_bench"
        program.write_text(PROGRAM.format(percent=percent, own=name, assertions=assertions))
        program.chmod(program.stat().st_mode | stat.S_IXUSR)
        return str(programs.parent)

    def compare(self, *arguments):
        return subprocess.run([sys.executable, str(SCRIPTS / "bench-compare"), "--rounds", "6",
                               *arguments], text=True, capture_output=True, check=False)

    def test_cases_in_common_are_compared(self):
        done = self.compare(self.build("one", 100), self.build("two", 150))
        self.assertEqual(done.returncode, 0, done.stderr)
        lines = done.stdout.splitlines()
        self.assertEqual(len(lines), 3)
        self.assertRegex(lines[1], r"^memory/a +100\.0 +150\.0 +1\.500 +1\.500 to 1\.500  slower$")
        self.assertRegex(lines[2], r"^memory/b +200\.0 +300\.0 ")

    def test_threshold_and_filter(self):
        base, head = self.build("one", 100), self.build("two", 120)
        done = self.compare(base, head, "--fail-above", "30", "--rounds", "7")
        self.assertEqual(done.returncode, 0, done.stderr)
        done = self.compare(base, head, "--fail-above", "10", "--filter", "b$")
        self.assertEqual(done.returncode, 1)
        self.assertEqual(done.stderr,
                         "bench-compare: memory/b is 20.0 % slower, surely more than 10 %\n")
        self.assertEqual(
            self.compare(head, base, "--fail-above", "10", "--rounds", "7").returncode, 0)

    def test_no_threshold_where_nothing_can_be_sure(self):
        base, head = self.build("one", 100), self.build("two", 200)
        for arguments, said in [(("--rounds", "6"), "6 rounds and 2 cases: give --rounds 7"),
                                (("--rounds", "5", "--filter", "b$"),
                                 "5 rounds and 1 case: give --rounds 6")]:
            done = self.compare(base, head, "--fail-above", "5", *arguments)
            self.assertEqual((done.returncode, done.stdout), (2, ""))
            self.assertIn(said, done.stderr)
        self.assertIn("0 or more", self.compare(base, head, "--fail-above", "-1").stderr)

    def test_filter_that_leaves_out(self):
        done = self.compare(self.build("one", 100), self.build("two", 100), "--filter=-b$", "--json")
        self.assertIn('"memory/a"', done.stdout)
        self.assertNotIn('"memory/b"', done.stdout)

    def test_trouble_is_told(self):
        base = self.build("one", 100)
        for arguments, said in [
                ((base, self.build("two", 100, assertions="on")), "built with assertions"),
                ((base, base, "--filter", "nothing"), "no case in common"),
                ((base, self.directory.name), "has no decision_bench"),
                ((base, "no-such-revision"), "neither a directory nor a revision")]:
            done = self.compare(*arguments)
            self.assertEqual(done.returncode, 2, arguments)
            self.assertIn(said, done.stderr)


if __name__ == "__main__":
    unittest.main()
