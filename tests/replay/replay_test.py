#!/usr/bin/env python3
"""Compares `stint replay` with tests/replay/reference.py, decision by decision.

STINT names the program. STINT_TEST_SEED repeats a run; STINT_SHARED names a folder with recorded
traffic of others, by default ../shared beside the repository.
"""

import csv
import datetime
import fractions
import json
import os
import pathlib
import random
import re
import subprocess
import sys
import tempfile
import unittest

from reference import Calendar, Rate, Session, Simulation

SOURCE = pathlib.Path(__file__).resolve().parent.parent.parent
SHARED = pathlib.Path(os.environ.get("STINT_SHARED", SOURCE.parent / "shared")) / "data"
STINT = os.environ.get("STINT", "stint")
SEED = int(os.environ.get("STINT_TEST_SEED", random.SystemRandom().randrange(1, 100_000)))


def run(arguments, cwd, expected=0, stdin=None, **variables):
    clean = {k: v for k, v in os.environ.items() if k not in ("STINT_STORE", "TZ")}
    result = subprocess.run([STINT, *arguments], cwd=cwd, env={**clean, **variables}, text=True,
                            input=stdin, capture_output=True, timeout=300)
    if result.returncode != expected:
        raise AssertionError(f"{arguments} ended with {result.returncode}, not {expected}\n"
                             f"{result.stdout}{result.stderr}")
    return result


def limit_yaml(limit):
    if isinstance(limit, Rate):
        text = (f"capacity: {limit.capacity}, refill_amount: {limit.amount}, "
                f"refill_period: {limit.period_s}")
        return "{" + text + (", soft: true" if limit.soft else "") + "}"
    if isinstance(limit, Session):
        return f"{{capacity: {limit.capacity}, reset_after_seconds: {limit.length // 1000}}}"
    return (f"{{capacity: {limit.capacity}, "
            f'reset_schedule: [{{cron: "{limit.expression}", tz: {limit.zone}}}]}}')


class Policy:
    """Limits at the levels of a manifest."""

    def __init__(self, system=None, resources=None, entities=None):
        self.system = system or {}
        self.resources = resources or {}
        self.entities = entities or {}  # (entity, resource or None) -> limits

    def limits_of(self, entity, resource):
        for found in (self.entities.get((entity, resource)), self.entities.get((entity, None)),
                      self.resources.get(resource), self.system):
            if found:
                return found
        return {}

    def all(self):
        for limits in (self.system, *self.resources.values(), *self.entities.values()):
            yield from limits.values()

    def yaml(self):
        def section(limits, indent):
            lines = [" " * indent + "limits:"]
            lines += [f"{' ' * (indent + 2)}{name}: {limit_yaml(limit)}"
                      for name, limit in limits.items()]
            return lines

        lines = ["namespace: test"]
        if self.system:
            lines += ["system:", *section(self.system, 2)]
        if self.resources:
            lines += ["resources:"]
            for resource, limits in self.resources.items():
                lines += [f"  {resource}:", *section(limits, 4)]
        if self.entities:
            lines += ["entities:"]
            by_entity = {}
            for (entity, resource), limits in self.entities.items():
                by_entity.setdefault(entity, []).append((resource or "_default_", limits))
            for entity, entries in by_entity.items():
                lines += [f"  {entity}:", "    resources:"]
                for resource, limits in entries:
                    lines += [f"      {resource}:", *section(limits, 8)]
        return "\n".join(lines) + "\n"


def expected_decisions(policy, records):
    """`records`: (line, time_ms, entity, resource, costs) in the order of the file."""
    if records:
        times = [record[1] for record in records]
        for limit in policy.all():
            if isinstance(limit, Calendar):
                limit.prepare(min(times), max(times))
    simulation = Simulation(policy.limits_of)
    decisions = []
    skipped = 0
    for line, now, entity, resource, costs in sorted(records, key=lambda record: record[1]):
        decision = simulation.decide(now, entity, resource, costs)
        if decision is None:
            skipped += 1
        else:
            decisions.append({"line": line, **decision})
    return decisions, skipped


def read_decisions(path):
    exact = lambda text: fractions.Fraction(text)  # noqa: E731
    with open(path, encoding="utf-8") as lines:
        return [json.loads(line, parse_float=exact) for line in lines]


class Comparison(unittest.TestCase):
    maxDiff = None

    def setUp(self):
        self.directory = tempfile.TemporaryDirectory(prefix="stint-replay-")
        self.addCleanup(self.directory.cleanup)
        self.path = pathlib.Path(self.directory.name)

    def compare(self, policy, records, arguments, text=None):
        """Runs the product on `text` (or on the input that the arguments name)."""
        (self.path / "policy.yaml").write_text(policy.yaml(), encoding="utf-8")
        if text is not None:
            (self.path / "input").write_text(text, encoding="utf-8")
            arguments = [*arguments, "input"]
        report = json.loads(run(["replay", "--json", "--manifest", "policy.yaml", "--decisions",
                                 "decisions", *arguments], self.path).stdout)
        expected, skipped = expected_decisions(policy, records)
        actual = read_decisions(self.path / "decisions")
        for i, (ours, theirs) in enumerate(zip(expected, actual)):
            self.assertEqual(theirs, ours, f"decision {i} of seed {SEED}, policy:\n{policy.yaml()}")
        self.assertEqual(len(actual), len(expected))
        self.check_report(report, expected, skipped, records)
        return report

    def check_report(self, report, decisions, skipped, records):
        admitted = [decision for decision in decisions if decision["admitted"]]
        self.assertEqual(report["requests"], len(decisions))
        self.assertEqual(report["admitted"], len(admitted))
        self.assertEqual(report["rejected"], len(decisions) - len(admitted))
        self.assertEqual(report["skipped"], skipped)
        self.assertEqual(report["entities"], len({d["entity"] for d in decisions}))
        costs = {record[0]: record[4] for record in records}
        names = {name for decision in decisions for name in costs[decision["line"]]}
        for name in names:
            self.assertEqual(report["rejected_by"][name],
                             sum(name in decision["short"] for decision in decisions))
            self.assertEqual(report["granted"][name],
                             sum(costs[decision["line"]].get(name, 0) for decision in admitted))
        times = [record[1] for record in records]
        self.assertEqual(report["backward_steps"],
                         sum(b < a for a, b in zip(times, times[1:])))
        spans = report["timeline"]["spans"]
        self.assertEqual(sum(span["admitted"] for span in spans), len(admitted))
        self.assertEqual(sum(span["rejected"] for span in spans), len(decisions) - len(admitted))


def any_limit(draw, kind):
    if kind == "rate":
        # Refills that no millisecond divides, and such as outrun a token a millisecond.
        return Rate(draw.choice([1, 5, 20, 1000, 50_000]), draw.choice([1, 3, 7, 100, 400_000]),
                    draw.choice([1, 7, 60, 90, 3600]), soft=draw.random() < 0.15)
    if kind == "session":
        return Session(draw.choice([1, 10, 2000, 30_000]), draw.choice([1, 30, 900, 18_000]))
    expression = draw.choice(["* * * * 1", "*/15 * * * *", "0 * * * *", "0 0 * * *", "30 6,18 * * *",
                              "* 3 * * *", "0 12 * * 1-5"])
    return Calendar(draw.choice([1, 50, 5000, 100_000]), expression)


def any_limits(draw, zone):
    limits = {}
    for name in draw.sample(["requests", "tokens", "session", "day"], draw.randrange(2, 5)):
        limit = any_limit(draw, draw.choice(["rate", "session", "calendar"]))
        if isinstance(limit, Calendar):
            limit.zone = zone
        limits[name] = limit
    limits["requests"] = any_limit(draw, "rate")
    return limits


def any_policy(draw):
    zone = draw.choice(["UTC", "Asia/Kolkata", "America/Phoenix", "Asia/Kathmandu"])
    policy = Policy(system=any_limits(draw, zone), resources={"chat": any_limits(draw, zone)})
    policy.entities[("user-1", "chat")] = any_limits(draw, zone)
    policy.entities[("user-2", None)] = any_limits(draw, zone)
    return policy


def parse_iso(text):
    """Milliseconds of an ISO time in UTC, digits beyond them cut."""
    match = re.fullmatch(r"(\d+-\d+-\d+)[T ](\d+:\d+:\d+)(?:\.(\d+))?Z?", text)
    moment = datetime.datetime.fromisoformat(f"{match[1]}T{match[2]}+00:00")
    return int(moment.timestamp()) * 1000 + int((match[3] or "").ljust(3, "0")[:3])


class GeneratedTraffic(Comparison):
    def traffic(self, **options):
        arguments = [f"--{name}={value}" for name, value in options.items()]
        return subprocess.run([sys.executable, SOURCE / "scripts" / "make-traffic", *arguments],
                              check=True, capture_output=True, text=True).stdout

    def test_random_policies(self):
        draw = random.Random(SEED)
        for round_number in range(12):
            policy = any_policy(draw)
            text = self.traffic(seed=draw.randrange(10**6), requests=1500,
                                entities=draw.choice([3, 40, 400]),
                                hours=draw.choice([0.2, 8, 60]),
                                step=draw.choice([1, 250, 60_000]),
                                late=draw.choice([0, 0.3]))
            consume = {"requests": "1", "tokens": "tokens"}
            if draw.random() < 0.5:
                consume["session"] = "tokens+tokens"
            if draw.random() < 0.5:
                consume["day"] = "tokens+1"
            records = []
            for line, row in enumerate(csv.DictReader(text.splitlines()), 2):
                tokens = int(row["tokens"])
                costs = {"requests": 1, "tokens": tokens, "session": 2 * tokens, "day": tokens + 1}
                records.append((line, parse_iso(row["time"]), row["entity"], row["resource"],
                                {name: costs[name] for name in consume}))
            with self.subTest(round=round_number, seed=SEED):
                self.compare(policy, records,
                             ["--consume", *(f"{n}={e}" for n, e in consume.items()), "--"], text)

    def test_records_with_amounts_of_their_own(self):
        draw = random.Random(SEED + 1)
        for round_number in range(8):
            policy = any_policy(draw)
            names = sorted({name for limits in (policy.system, *policy.resources.values())
                            for name in limits})
            now = 1_772_438_400_000 + draw.randrange(10**9)
            records = []
            lines = []
            for line in range(1, 1501):
                # Pauses from none to longer than any window, so that everything starts anew.
                now += draw.choice([0, 1, 17, 999, 60_000]) * draw.choice([0, 1, 1, 1, 40])
                entity = f"user-{draw.randrange(1, 5)}"
                resource = draw.choice(["chat", "code"])
                costs = {name: draw.choice([0, 0, 1, 2, 9, 300, 60_000])
                         for name in draw.sample(names, draw.randrange(1, len(names) + 1))}
                records.append((line, now, entity, resource, costs))
                lines.append(json.dumps({"time": now, "entity": entity, "resource": resource,
                                         "consume": costs}))
            with self.subTest(round=round_number, seed=SEED):
                self.compare(policy, records, ["--format", "jsonl"], "\n".join(lines))

    def test_the_very_instants_of_edges_and_ends(self):
        policy = Policy(system={"requests": Rate(4, 1, 7), "session": Session(3, 900),
                                "day": Calendar(5, "*/15 * * * *")})
        quarter = 900_000
        midnight = 1_772_409_600_000
        records = []
        for i in range(40):
            # The window of user-a ends on edges, that of user-b between them.
            for entity, offset in (("user-a", 0), ("user-b", 450_000)):
                for step in (-1, 0, 1):
                    records.append((len(records) + 1, midnight + i * quarter + offset + step, entity,
                                    "api", {"requests": 1, "session": i % 3, "day": 2 - i % 2}))
        lines = [json.dumps({"time": now, "entity": entity, "resource": resource, "consume": costs})
                 for _, now, entity, resource, costs in records]
        report = self.compare(policy, records, ["--format", "jsonl"], "\n".join(lines))
        self.assertGreater(report["rejected_by"]["session"], 0)
        self.assertGreater(report["rejected_by"]["day"], 0)

    def test_sorted_input_streams_to_the_same_decisions(self):
        text = self.traffic(seed=SEED, requests=20_000, entities=300, hours=30)
        policy = Policy(system={"requests": Rate(6, 6, 60), "tokens": Session(9_000, 3600)})
        records = [(line, parse_iso(row["time"]), row["entity"], row["resource"],
                    {"requests": 1, "tokens": int(row["tokens"])})
                   for line, row in enumerate(csv.DictReader(text.splitlines()), 2)]
        report = self.compare(policy, records, ["--sorted", "--consume", "requests=1",
                                                "tokens=tokens", "--"], text)
        self.assertGreater(report["rejected"], 100)
        self.assertEqual(report["decided_late"], 0)

    def test_the_durable_store_decides_as_memory_does(self):
        text = self.traffic(seed=SEED, requests=1500, entities=30, hours=10, late=0.2)
        policy = Policy(system={"requests": Rate(6, 6, 60), "tokens": Session(9_000, 3600),
                                "day": Calendar(20_000, "0 */4 * * *")})
        records = [(line, parse_iso(row["time"]), row["entity"], row["resource"],
                    {"requests": 1, "tokens": int(row["tokens"]), "day": int(row["tokens"])})
                   for line, row in enumerate(csv.DictReader(text.splitlines()), 2)]
        consume = ["--consume", "requests=1", "tokens=tokens", "day=tokens", "--"]
        self.compare(policy, records, ["--store", "data", *consume], text)
        # What it holds is ahead of the record now, so that a second replay would be another one.
        refused = run(["replay", "--json", "--store", "data", "--manifest", "policy.yaml", *consume,
                       "input"], self.path, expected=2)
        self.assertEqual(json.loads(refused.stdout)["error"]["field"], "store")
        run(["replay", "--json", "--force", "--store", "data", "--manifest", "policy.yaml",
             *consume, "input"], self.path)

    def test_the_sample_is_what_the_generator_makes(self):
        folder = SOURCE / "examples" / "traffic"
        command = re.search(r"scripts/make-traffic (.*) > sample.csv",
                            (folder / "README.md").read_text(encoding="utf-8"))
        made = subprocess.run([sys.executable, SOURCE / "scripts" / "make-traffic",
                               *command[1].split()], check=True, capture_output=True, text=True)
        self.assertEqual(made.stdout, (folder / "sample.csv").read_text(encoding="utf-8"))


class Commands(Comparison):
    """What the commands accept, refuse and leave behind."""

    CONSUME = ["--consume", "requests=1"]

    def setUp(self):
        super().setUp()
        policy = Policy(system={"requests": Rate(2, 2, 60)})
        (self.path / "policy.yaml").write_text(policy.yaml(), encoding="utf-8")
        (self.path / "input.csv").write_text(
            "time,entity,resource\n1000,a,api\n1000,a,api\n1000,a,api\n", encoding="utf-8")

    def files(self):
        return sorted(entry.name for entry in self.path.iterdir())

    def replay(self, *arguments, **options):
        return run(["replay", "--manifest", "policy.yaml", *arguments], self.path, **options)

    def test_text_and_json(self):
        text = self.replay(*self.CONSUME, "input.csv").stdout
        self.assertIn("3 requests of 1 entity", text)
        self.assertIn("1970-01-01 00:16:40", text)
        berlin = self.replay("--tz", "Europe/Berlin", *self.CONSUME, "input.csv").stdout
        self.assertIn("1970-01-01 01:16:40", berlin)
        report = json.loads(self.replay("--json", *self.CONSUME, "input.csv").stdout)
        self.assertEqual((report["admitted"], report["rejected"]), (2, 1))

    def test_reads_standard_input_and_ignores_the_environments_store(self):
        text = (self.path / "input.csv").read_text(encoding="utf-8")
        report = json.loads(self.replay("--json", *self.CONSUME, "-", stdin=text,
                                        STINT_STORE="data").stdout)
        self.assertEqual(report["requests"], 3)
        self.assertEqual(self.files(), ["input.csv", "policy.yaml"])

    def test_shows_ten_skipped_lines_and_goes_on(self):
        lines = ["time,entity,resource", "1000,a,api"] + ["never,a,api"] * 13 + ["1000,a,api"]
        (self.path / "input.csv").write_text("\n".join(lines), encoding="utf-8")
        result = self.replay(*self.CONSUME, "input.csv")
        self.assertEqual(result.stderr.count("stint: skipped line"), 10)
        self.assertIn("stint: skipped line 12: has \"never\" in time, which is no time",
                      result.stderr)
        self.assertIn("stint: skipped 3 more", result.stderr)
        result = self.replay("--json", *self.CONSUME, "input.csv")
        report = json.loads(result.stdout)
        self.assertEqual((report["requests"], report["skipped"]), (2, 13))
        self.assertEqual([skipped["line"] for skipped in report["skipped_lines"]],
                         list(range(3, 13)))
        self.assertEqual(result.stderr, "")
        refused = self.replay("--strict", *self.CONSUME, "input.csv", expected=2)
        self.assertIn("line 3", refused.stderr)

    def test_bad_arguments_write_nothing(self):
        bad = {
            "no rule": ["input.csv"],
            "bad rule": ["--consume", "requests", "--", "input.csv"],
            "bad expression": ["--consume", "requests=1+", "--", "input.csv"],
            "bad limit name": ["--consume", "9=1", "--", "input.csv"],
            "too much": ["--consume", "requests=9000000000000001", "--", "input.csv"],
            "given twice": ["--consume", "requests=1", "requests=2", "--", "input.csv"],
            "no such field": [*self.CONSUME, "--entity", "user", "--", "input.csv"],
            "no such amount": ["--consume", "requests=bytes", "--", "input.csv"],
            "bad constant": [*self.CONSUME, "--entity", "=a#b", "--", "input.csv"],
            "bad resource": [*self.CONSUME, "--resource", "=9", "--", "input.csv"],
            "empty field": [*self.CONSUME, "--time", "", "--entity", "=", "--", "input.csv"],
            "bad format": [*self.CONSUME, "--format", "xml", "--", "input.csv"],
            "bad rule of resets": [*self.CONSUME, "--reset-rule", "never", "--", "input.csv"],
            "no input": [*self.CONSUME, "--", "missing.csv"],
            "directory": [*self.CONSUME, "--", "."],
            "no manifest": [*self.CONSUME, "--manifest", "missing.yaml", "--", "input.csv"],
            "manifest is no YAML": [*self.CONSUME, "--manifest", "input.csv", "--", "input.csv"],
            "no place for decisions": [*self.CONSUME, "--decisions", "no/where", "--", "input.csv"],
        }
        for name, arguments in bad.items():
            with self.subTest(name):
                result = run(["replay", *(["--manifest", "policy.yaml"]
                                          if "--manifest" not in arguments else []),
                              "--json", "--store", "data",
                              *(["--decisions", "decisions"]
                                if "--decisions" not in arguments else []), *arguments],
                             self.path, expected=2)
                self.assertEqual(json.loads(result.stdout)["error"]["code"], "invalid_argument")
                self.assertEqual(self.files(), ["input.csv", "policy.yaml"])

    def test_a_mistake_in_the_manifest_is_named_by_file_and_line(self):
        (self.path / "policy.yaml").write_text(
            "namespace: test\nsystem:\n  limits:\n    rpm: {capacity: 1.5}\n", encoding="utf-8")
        refused = self.replay(*self.CONSUME, "input.csv", expected=2)
        self.assertIn("policy.yaml, line 4", refused.stderr)

    def test_manifest_check(self):
        result = run(["manifest", "check", "policy.yaml"], self.path)
        self.assertIn("policy.yaml is in order. It is for the namespace test.", result.stdout)
        self.assertIn("requests: rate", result.stdout)
        report = json.loads(run(["manifest", "check", "--json", "policy.yaml"], self.path).stdout)
        self.assertTrue(report["valid"])
        self.assertEqual(report["scopes"][0]["config"]["limits"][0]["name"], "requests")

        (self.path / "wrong.yaml").write_text(
            "namespace: test\nsystem:\n  limits:\n    rpm: {capacity: 010}\n    rpm: {}\n",
            encoding="utf-8")
        refused = run(["manifest", "check", "wrong.yaml"], self.path, expected=2)
        self.assertEqual(refused.stdout, "")
        self.assertIn("wrong.yaml:4: invalid system.limits.rpm.capacity \"010\"", refused.stderr)
        self.assertIn("wrong.yaml:5: ", refused.stderr)
        self.assertIn("2 mistakes", refused.stderr)
        report = json.loads(run(["manifest", "check", "--json", "wrong.yaml"], self.path,
                                expected=2).stdout)
        self.assertFalse(report["valid"])
        self.assertEqual([error["line"] for error in report["errors"]], [4, 5])
        self.assertEqual(report["error"]["line"], 4)

    def test_manifest_check_warns_of_contested_resets(self):
        (self.path / "policy.yaml").write_text(
            "namespace: test\nresources:\n  api:\n    limits:\n      day:\n        capacity: 1\n"
            "        reset_schedule: [{cron: 30 2 * * *, tz: America/New_York}]\n",
            encoding="utf-8")
        check = ["manifest", "check", "policy.yaml", "--now", "2026-09-15T12:00:00Z"]
        self.assertEqual(run(check, self.path).stderr, "")
        warned = run([*check, "--reset-rule", "compatible"], self.path)
        self.assertIn("2027-03-14", warned.stderr)
        report = json.loads(run([*check, "--reset-rule", "compatible", "--json"],
                                self.path).stdout)
        self.assertIn(1_805_007_600_000, report["warnings"][0]["contested_at_ms"])
        run([*check, "--reset-rule", "none"], self.path, expected=2)

    def test_reset_rules_decide_differently(self):
        # 02:30 of 14 March 2027 is skipped in New York: one rule resets at 03:00 all the same.
        (self.path / "policy.yaml").write_text(
            "namespace: test\nsystem:\n  limits:\n    requests:\n      capacity: 1\n"
            "      reset_schedule: [{cron: 30 2 * * *, tz: America/New_York}]\n", encoding="utf-8")
        (self.path / "input.csv").write_text(
            "time,entity,resource\n2027-03-14T06:00Z,a,api\n2027-03-14T08:00Z,a,api\n",
            encoding="utf-8")
        for rule, admitted in (("local_day", 2), ("compatible", 1)):
            report = json.loads(self.replay("--json", "--reset-rule", rule, *self.CONSUME,
                                            "input.csv").stdout)
            self.assertEqual(report["admitted"], admitted, rule)

    def test_an_input_with_nothing_in_it(self):
        (self.path / "input.csv").write_text("", encoding="utf-8")
        self.assertIn("no header", self.replay(*self.CONSUME, "input.csv", expected=2).stderr)
        (self.path / "input.csv").write_text("time,entity,resource\n", encoding="utf-8")
        self.assertIn("0 requests", self.replay(*self.CONSUME, "input.csv").stdout)


class RecordedTraffic(Comparison):
    def recorded(self, name):
        path = SHARED / name
        if not path.exists():
            self.skipTest(f"the recorded traffic is not on this machine: {path}")
        return path

    def azure(self, name):
        path = self.recorded(name)
        records = []
        with open(path, encoding="utf-8", newline="") as text:
            for line, row in enumerate(csv.DictReader(text), 2):
                cost = int(row["ContextTokens"]) + int(row["GeneratedTokens"])
                records.append((line, parse_iso(row["TIMESTAMP"]), "model", "code",
                                {"rate": cost, "session": cost, "hourly": cost}))
        policy = Policy(resources={"code": {
            "rate": Rate(400_000, 400_000, 60), "session": Session(4_500_000, 900),
            "hourly": Calendar(9_000_000, "0 * * * *")}})
        cost = "ContextTokens+GeneratedTokens"
        return self.compare(policy, records, [
            "--time", "TIMESTAMP", "--entity", "=model", "--resource", "=code", "--consume",
            f"rate={cost}", f"session={cost}", f"hourly={cost}", str(path)])

    def test_azure_code(self):
        report = self.azure("azure_llm_2023_code.csv")
        self.assertEqual(report["admitted"], 5982)
        self.assertEqual(report["granted"]["rate"], 11_337_310)
        self.assertEqual(report["rejected"], 2837)
        self.assertEqual(report["rejected_by"], {"rate": 1063, "session": 232, "hourly": 1542})

    def test_azure_conversation(self):
        self.assertEqual(self.azure("azure_llm_2023_conv.csv")["requests"], 19_366)

    def test_web_log(self):
        path = self.recorded("web_access_2015.log")
        pattern = re.compile(r'(\S+) \S+ \S+ \[(\d+)/(\w+)/(\d+):(\S+) \+0000\] "[^"]*" \d+ (\S+)')
        months = {"May": 5}
        records = []
        with open(path, encoding="utf-8") as text:
            for line, entry in enumerate(text, 1):
                client, day, month, year, time, size = pattern.match(entry).groups()
                now = parse_iso(f"{year}-{months[month]:02d}-{day}T{time}")
                records.append((line, now, client, "web",
                                {"requests": 1, "bytes": 0 if size == "-" else int(size)}))
        policy = Policy(system={"requests": Rate(10, 30, 60), "bytes": Session(5_000_000, 3600)})
        report = self.compare(policy, records, ["--format", "combined", "--consume", "requests=1",
                                                "bytes=bytes", str(path)])
        self.assertEqual(report["requests"], 10_000)
        self.assertEqual(report["entities"], 1753)
        self.assertEqual(report["backward_steps"], 4915)


if __name__ == "__main__":
    print(f"seed {SEED} (repeat with STINT_TEST_SEED={SEED})", file=sys.stderr)
    unittest.main()
