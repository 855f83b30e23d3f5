#!/usr/bin/env python3
"""Runs the real program on real stores.

    STINT=build/dev/bin/stint tests/cli/cli_test.py [TEST...]
"""

import decimal
import fcntl
import json
import os
import pathlib
import pty
import shlex
import shutil
import signal
import subprocess
import tempfile
import unittest

STINT = os.environ.get("STINT", "stint")
# Noon in winter: no reset, no change of the clocks near.
NOON = "2027-01-13T12:00:00Z"
NOON_MS = 1_799_841_600_000
HOUR_MS = 3_600_000


class Answer:
    def __init__(self, done):
        self.code = done.returncode
        self.out = done.stdout
        self.err = done.stderr

    @property
    def json(self):
        return json.loads(self.out, parse_float=decimal.Decimal)

    def limit(self, name):
        return next(limit for limit in self.json["limits"] if limit["name"] == name)


class StintTest(unittest.TestCase):
    maxDiff = None

    def setUp(self):
        directory = tempfile.TemporaryDirectory()
        self.addCleanup(directory.cleanup)
        self.directory = pathlib.Path(directory.name)
        self.store = self.directory / "data"

    def environment(self, **changes):
        env = {"PATH": os.environ["PATH"], "LC_ALL": "C.UTF-8", "STINT_STORE": str(self.store)}
        for name in ("ASAN_OPTIONS", "UBSAN_OPTIONS", "LD_LIBRARY_PATH"):
            if name in os.environ:
                env[name] = os.environ[name]
        env.update(changes)
        return env

    def run_stint(self, *arguments, env=None):
        return Answer(subprocess.run([STINT, *arguments], cwd=self.directory, text=True,
                                     env=env or self.environment(), capture_output=True,
                                     stdin=subprocess.DEVNULL, timeout=60, check=False))

    def stint(self, *arguments, code=0, now=NOON, env=None):
        """Runs a command that is to end with `code`."""
        answer = self.run_stint(*(["--now", str(now)] if now else []), *arguments, env=env)
        self.assertEqual(answer.code, code, f"{arguments}\n{answer.out}{answer.err}")
        return answer

    def set_limits(self, *limits, scope=("--resource", "api"), **options):
        return self.stint("limits", "set", *scope, *limits, **options)

    def acquire(self, *consume, entity="user-1", **options):
        return self.stint("acquire", entity, "api", "--json", "--consume", *consume, **options)

    def available(self, *need, entity="user-1", **options):
        arguments = ["--need", *need] if need else []
        return self.stint("available", entity, "api", "--json", *arguments, **options)


class Acquire(StintTest):
    def test_json_has_the_documented_members(self):
        self.set_limits("rpm:60/min", "month:500@0 0 1 * *@Europe/Berlin", "session:100+5h")
        answer = self.acquire("rpm=1", "month=2.5", "session=3").json
        self.assertEqual(set(answer), {"admitted", "outcome", "limits", "retry_after_ms",
                                       "never_fits", "degraded", "settled", "disabled"})
        self.assertIs(answer["admitted"], True)
        self.assertEqual(answer["outcome"], "admitted")
        self.assertIsNone(answer["retry_after_ms"])
        limits = {limit["name"]: limit for limit in answer["limits"]}
        self.assertEqual(set(limits), {"rpm", "month", "session"})
        for limit in limits.values():
            self.assertEqual(set(limit), {
                "name", "entity", "resource", "kind", "capacity", "remaining", "requested",
                "resets_at_ms", "retry_after_ms", "exceeded", "never_fits", "window",
                "refill_amount", "refill_period_ms", "soft", "overdrawn"})
        self.assertEqual((limits["rpm"]["kind"], limits["rpm"]["remaining"]), ("rate", 59))
        self.assertIsNone(limits["rpm"]["resets_at_ms"])
        self.assertEqual(limits["month"]["kind"], "calendar")
        self.assertEqual(limits["month"]["remaining"], decimal.Decimal("497.5"))
        self.assertEqual(limits["month"]["resets_at_ms"], 1_801_436_400_000)  # 1 February, Berlin
        self.assertEqual(limits["session"]["kind"], "session")
        self.assertEqual(limits["session"]["window"], "running")
        self.assertEqual(limits["session"]["resets_at_ms"], NOON_MS + 5 * HOUR_MS)

    def test_all_or_none(self):
        self.set_limits("rpm:60/min", "session:100+5h")
        answer = self.acquire("rpm=1", "session=101", code=10)
        self.assertIs(answer.json["admitted"], False)
        self.assertIs(answer.json["never_fits"], True)
        self.assertIs(answer.limit("session")["exceeded"], True)
        self.assertIs(answer.limit("rpm")["exceeded"], False)
        self.assertEqual(self.available().limit("rpm")["remaining"], 60)

    def test_retry_after_is_exact(self):
        self.set_limits("rpm:60/min:5")
        self.acquire("rpm=5")
        rejected = self.acquire("rpm=2", code=10)
        self.assertEqual(rejected.json["retry_after_ms"], 2000)
        self.acquire("rpm=2", code=10, now=NOON_MS + 1999)
        self.acquire("rpm=2", now=NOON_MS + 2000)

    def test_settle_writes_the_difference(self):
        self.set_limits("session:100+5h", "rpm:60/min")
        answer = self.stint("acquire", "user-1", "api", "--consume", "session=50,rpm=1", "--settle",
                            "session=12.125", "--json")
        self.assertEqual(answer.limit("session")["remaining"], decimal.Decimal("87.875"))
        self.assertEqual(answer.json["settled"], {"session": decimal.Decimal("12.125")})
        self.assertEqual(self.available().limit("session")["remaining"],
                         decimal.Decimal("87.875"))
        # More than was declared, into debt.
        self.stint("acquire", "user-1", "api", "--consume", "session=1", "--settle", "session=100")
        self.assertEqual(self.available().limit("session")["remaining"],
                         decimal.Decimal("-12.125"))

    def test_settle_needs_a_declared_limit(self):
        self.set_limits("session:100+5h", "rpm:60/min")
        self.stint("acquire", "u", "api", "--consume", "session=50", "--settle", "rpm=1", code=2)
        self.assertEqual(self.available(entity="u").limit("session")["remaining"], 100)

    def test_unknown_limit_is_named(self):
        self.set_limits("rpm:60/min")
        error = self.acquire("rpm=1", "tpm=5", code=2).json["error"]
        self.assertEqual(error["code"], "invalid_argument")
        self.assertEqual(error["value"], "tpm")

    def test_amounts_may_follow_each_other(self):
        self.set_limits("a:10/min", "b:10/min", "c:10/min")
        for arguments in (["u", "api", "--consume", "a=1", "b=1", "c=1"],
                          ["--consume", "a=1", "b=1", "c=1", "u", "api"],
                          ["--consume", "a=1,b=1", "u", "api", "--consume", "c=1"],
                          ["--consume=a=1", "b=1", "--consume", "c=1", "--", "u", "api"]):
            self.stint("acquire", *arguments)
        left = self.available(entity="u")
        self.assertEqual([left.limit(name)["remaining"] for name in "abc"], [6, 6, 6])

    def test_text_for_people(self):
        self.set_limits("rpm:60/min:5", "session:100+5h", "month:500@0 0 1 * *@Europe/Berlin")
        text = self.stint("available", "user-1", "api").out
        self.assertRegex(text, r"session +session +100 of 100 .*window not started")
        text = self.stint("acquire", "user-1", "api", "--consume", "rpm=4", "session=1",
                          "month=0").out
        self.assertRegex(text, r"(?m)^admitted$")
        self.assertRegex(text, r"session +session +99 of 100 .*resets in 5 h \(17:00 UTC\)")
        self.assertRegex(text, r"month .*\(2027-02-01 00:00 Europe/Berlin\)")
        text = self.stint("acquire", "user-1", "api", "--consume", "rpm=2", code=10).out
        self.assertRegex(text, r"(?m)^rejected: rpm short; fits in 1 s \(12:00:01 UTC\)$")
        self.assertRegex(text, r"rpm .*1 short, fits in 1 s")
        text = self.stint("acquire", "user-1", "api", "--consume", "rpm=6", code=10).out
        self.assertRegex(text, r"(?m)^rejected: rpm short; never fits$")
        text = self.stint("available", "user-1", "api", "--tz", "Asia/Tokyo").out
        self.assertIn("resets in 5 h (2027-01-14 02:00 Asia/Tokyo)", text)
        text = self.stint("available", "user-1", "api", env=self.environment(TZ="Asia/Tokyo")).out
        self.assertIn("(2027-01-14 02:00 Asia/Tokyo)", text)

    def test_bars_go_by_the_locale(self):
        self.set_limits("rpm:60/min")
        self.assertIn("█", self.stint("available", "u", "api").out)
        plain = self.stint("available", "u", "api", env=self.environment(LC_ALL="C")).out
        self.assertIn("####", plain)
        self.assertTrue(plain.isascii())

    def on_terminal(self, *arguments, **changes):
        try:
            ours, theirs = pty.openpty()
        except OSError as error:
            self.skipTest(f"this machine has no terminal to give: {error}")
        with open(ours, "rb", buffering=0) as terminal:
            done = subprocess.run([STINT, *arguments], cwd=self.directory, check=True, timeout=60,
                                  env=self.environment(TERM="xterm", **changes), stdout=theirs)
            os.close(theirs)
            self.assertEqual(done.returncode, 0)
            return terminal.read(65536).decode()

    def test_colours_on_a_terminal_only(self):
        self.set_limits("rpm:60/min")
        command = ["available", "u", "api"]
        self.assertIn("\x1b[32m", self.on_terminal(*command))
        self.assertNotIn("\x1b", self.on_terminal(*command, NO_COLOR="1"))
        self.assertNotIn("\x1b", self.stint(*command, env=self.environment(TERM="xterm")).out)


class Promises(StintTest):
    """Done-when items 3 and 4 of the first issue, on the command line."""

    def test_item_3_a_rested_bucket_is_spent_once(self):
        self.set_limits("r:20/s:100")
        self.acquire("r=100", entity="warm")
        # Rested for 7 s, asked for tens as fast as possible.
        now = NOON_MS + 7000
        codes = [self.run_stint("--now", str(now), "acquire", "warm", "api", "--consume",
                                "r=10").code for _ in range(12)]
        self.assertEqual(codes, [0] * 10 + [10] * 2)

    def test_item_3_settled_debit_after_a_rest(self):
        self.set_limits("r:20/s:100")
        self.acquire("r=1")
        # What a lease that was open for 10 s and settles 90 more does, in two commands.
        self.stint("acquire", "user-1", "api", "--consume", "r=1", "--settle", "r=90",
                   now=NOON_MS + 10_000)
        self.assertEqual(self.available(now=NOON_MS + 10_000).limit("r")["remaining"], 10)

    def session(self, now, **options):
        return self.available(now=now, **options).limit("session")

    def test_item_4_nothing_opens_a_session_window_but_a_debit(self):
        self.set_limits("session:100+5h", "rpm:60/min")
        for step in range(3):
            now = NOON_MS + step * HOUR_MS
            self.available("session=5", now=now)
            self.stint("explain", "user-1", "api", "--need", "session=5", now=now)
            self.acquire("session=0", now=now)
            self.acquire("rpm=1", now=now)
            self.acquire("session=101", code=10, now=now)
            self.acquire("session=1", "rpm=61", code=10, now=now)
            status = self.session(now)
            self.assertEqual((status["window"], status["resets_at_ms"], status["remaining"]),
                             ("not_started", None, 100))
        opened = NOON_MS + 3 * HOUR_MS + 123
        self.acquire("session=1", now=opened)
        status = self.session(opened + 1)
        self.assertEqual((status["window"], status["resets_at_ms"], status["remaining"]),
                         ("running", opened + 5 * HOUR_MS, 99))

    def test_item_4_a_window_ends_exactly_its_length_later(self):
        self.set_limits("session:100+5h")
        self.acquire("session=60")
        # Later use moves nothing.
        self.acquire("session=40", now=NOON_MS + HOUR_MS)
        end = NOON_MS + 5 * HOUR_MS
        self.assertEqual(self.acquire("session=1", code=10, now=end - 1).json["retry_after_ms"], 1)
        self.assertEqual(self.session(end - 1)["remaining"], 0)
        self.assertEqual(self.session(end)["remaining"], 100)
        self.acquire("session=100", now=end)

    def test_item_4_idle_time_belongs_to_no_window(self):
        self.set_limits("session:100+5h")
        self.acquire("session=60")
        idle = NOON_MS + 6 * HOUR_MS
        status = self.session(idle)
        self.assertEqual((status["window"], status["resets_at_ms"], status["remaining"]),
                         ("not_started", None, 100))
        reopened = NOON_MS + 30 * HOUR_MS + 7
        self.acquire("session=1", now=reopened)
        self.assertEqual(self.session(reopened)["resets_at_ms"], reopened + 5 * HOUR_MS)

    def test_item_4_a_parameter_change_restores_nothing_and_restarts_no_clock(self):
        for scope in (("--resource", "api"), ("--entity", "user-2", "--resource", "api")):
            entity = "user-1" if scope[0] == "--resource" else "user-2"
            self.set_limits("session:100+5h", scope=scope)
            self.acquire("session=60", entity=entity)
            later = NOON_MS + HOUR_MS
            self.set_limits("session:100+5h", scope=scope, now=later)
            status = self.session(later, entity=entity)
            self.assertEqual((status["remaining"], status["resets_at_ms"]),
                             (40, NOON_MS + 5 * HOUR_MS), scope)
            # What was used stays used (decision 27).
            self.set_limits("session:1000+5h", scope=scope, now=later)
            self.acquire("session=10", entity=entity, now=later)
            self.assertEqual(self.session(later, entity=entity)["remaining"], 930, scope)
            self.set_limits("session:50+5h", scope=scope, now=later)
            self.acquire("session=1", entity=entity, code=10, now=later)
            self.assertEqual(self.session(later, entity=entity)["remaining"], -20, scope)
            self.set_limits("session:100+5h", scope=scope, now=later)
            self.acquire("session=30", entity=entity, now=later)
            status = self.session(later, entity=entity)
            self.assertEqual((status["remaining"], status["resets_at_ms"]),
                             (0, NOON_MS + 5 * HOUR_MS), scope)

    def test_a_restart_loses_nothing(self):
        self.set_limits("session:100+5h")
        for step in range(1, 6):
            self.acquire("session=3", now=None)
            self.assertEqual(self.available(now=None).limit("session")["remaining"], 100 - 3 * step)


class Explain(StintTest):
    def test_item_5_the_instant_is_true(self):
        self.set_limits("rpm:60/min:10", "session:100+5h", "month:500@0 0 1 * *@Europe/Berlin")
        self.acquire("rpm=10", "session=80", "month=80")
        for need in (["rpm=4"], ["rpm=1", "session=30"], ["month=421"],
                     ["rpm=10", "session=21", "month=500"]):
            answer = self.stint("explain", "user-1", "api", "--json", "--need", *need).json["need"]
            self.assertIs(answer["fits"], False)
            passes = answer["passes_at_ms"]
            self.assertEqual(passes, NOON_MS + answer["wait_ms"])
            self.assertIs(self.available(*need, now=passes - 1).json["fits"], False)
            self.assertIs(self.available(*need, now=passes).json["fits"], True)
        # The last and latest, by taking it.
        self.acquire(*need, code=10, now=passes - 1)
        self.acquire(*need, now=passes)

    def test_item_5_says_why_in_words(self):
        self.set_limits("rpm:60/min:10", "session:100+5h", "month:500@0 0 1 * *@Europe/Berlin")
        text = self.stint("explain", "user-1", "api").out
        self.assertIn("Nothing was used yet", text)
        self.assertIn("set for this resource", text)
        self.assertIn("Window not started", text)
        self.acquire("rpm=10", "session=80", "month=80")
        text = self.stint("explain", "user-1", "api", "--need", "rpm=4", "session=30").out
        text = " ".join(text.split())
        for words in ("user-1 on api, at 2027-01-13 12:00:00 UTC",
                      "rpm: rate: 60 flow back every minute, at most 10 at once.",
                      "holds 0 of 10",
                      "left alone it is full at 2027-01-13 12:00:10 UTC (in 10 s)",
                      "Used up: a request for 1 is rejected until 2027-01-13 12:00:01 UTC (in 1 s).",
                      "session quota: 100, restored whole 5 h after the first use",
                      "Its window was opened by a use at 2027-01-13 12:00:00 UTC.",
                      "Recovers whole when that ends, at 2027-01-13 17:00:00 UTC (in 5 h).",
                      "Recovers whole at 2027-02-01 00:00:00 +01:00 Europe/Berlin",
                      "A request for 4 of rpm and 30 of session would be rejected now:",
                      "rpm of user-1 holds 0, 4 short, and will hold enough at 2027-01-13 12:00:04",
                      "session of user-1 holds 20, 10 short, and will hold enough at "
                      "2027-01-13 17:00:00 UTC (in 5 h).",
                      "It will pass at 2027-01-13 17:00:00 UTC (in 5 h), if nobody else uses anything",
                      "bytes; a write costs 1 write unit"):
            self.assertIn(words, text)
        text = self.stint("explain", "user-1", "api", "--need", "rpm=11").out
        self.assertIn("holds 0 and can never hold 11", text)
        self.assertIn("It will never pass", text)

    def test_schedules_parents_and_nothing_at_all(self):
        self.set_limits("session:100+5h")
        text = self.stint("explain", "user-1", "other").out
        self.assertIn("No limits apply", text)
        self.set_limits("rpm:60/min|* 9-17 * * MON-FRI=x0.5@America/New_York")
        text = self.stint("explain", "user-1", "api", now="2027-01-13T15:00:00Z").out
        self.assertIn('Its schedule is at line 1 of 1: "* 9-17 * * 1-5" sets x0.5.', text)
        self.assertIn("2027-01-13 18:00:00 -05:00 America/New_York (in 8 h)", text)
        self.assertIn("holds 30 of 30", text)
        self.stint("entity", "create", "org")
        self.stint("entity", "create", "member", "--parent", "org", "--cascade")
        self.acquire("rpm=1", entity="member")
        text = self.stint("explain", "member", "api").out
        self.assertIn("org on api (the parent: what the entity uses, this one uses too)", text)


class Entities(StintTest):
    def test_create_show_list_delete(self):
        self.stint("entity", "create", "org-1", "--name", "Org [1]")
        created = self.stint("entity", "create", "user-1", "--parent", "org-1", "--cascade",
                             "--metadata", "plan=pro", "--metadata", "note=[a,b]", "--json").json
        self.assertEqual(created, {"id": "user-1", "name": "user-1", "parent": "org-1",
                                   "cascade": True, "created_at_ms": NOON_MS,
                                   "metadata": {"note": "[a,b]", "plan": "pro"}})
        self.assertEqual(self.stint("entity", "show", "user-1", "--json").json, created)
        self.assertIn("Org [1]", self.stint("entity", "show", "org-1").out)
        error = self.stint("entity", "create", "user-1", "--json", code=5).json["error"]
        self.assertEqual(error["code"], "exists")
        children = self.stint("entity", "children", "org-1", "--json").json
        self.assertEqual([child["id"] for child in children["entities"]], ["user-1"])
        self.stint("entity", "delete", "user-1")
        error = self.stint("entity", "show", "user-1", "--json", code=4).json["error"]
        self.assertEqual(error["code"], "not_found")
        self.stint("entity", "delete", "user-1", code=4)

    def test_listing_in_pages(self):
        ids = [f"e-{number:02}" for number in range(7)]
        for name in reversed(ids):
            self.stint("entity", "create", name)
        found = []
        more = []
        for _ in range(3):
            page = self.stint("entity", "list", "--max", "3", *more, "--json").json
            found.append([entity["id"] for entity in page["entities"]])
            more = ["--from", page["next"]]
        self.assertEqual(found, [ids[:3], ids[3:6], ids[6:]])
        self.assertIsNone(page["next"])
        everything = self.stint("entity", "list", "--all", "--json").json
        self.assertEqual([entity["id"] for entity in everything["entities"]], ids)
        self.stint("entity", "list", "--max", "0", code=2)

    def test_children_debit_their_parent(self):
        self.set_limits("session:10+5h")
        self.stint("entity", "create", "org")
        for child in ("a", "b"):
            self.stint("entity", "create", child, "--parent", "org", "--cascade")
        self.acquire("session=6", entity="a")
        rejected = self.acquire("session=6", entity="b", code=10)
        short = [limit["entity"] for limit in rejected.json["limits"] if limit["exceeded"]]
        self.assertEqual(short, ["org"])
        self.assertEqual(self.available(entity="b").limit("session")["remaining"], 10)


class Audit(StintTest):
    def test_changes_are_listed_with_who_made_them(self):
        self.stint("--audit", "--principal", "alice", "entity", "create", "user-1")
        self.stint("--audit", "limits", "set", "--entity", "user-1", "--resource", "api",
                   "rpm:60/min", now="2027-01-13T13:00:00Z")
        self.stint("entity", "delete", "user-1", now="2027-01-13T14:00:00Z")
        listed = self.stint("audit", "list", "user-1", "--json").json
        created, limits = listed["events"]
        self.assertIsNone(listed["next"])
        self.assertEqual(len(created.pop("id")), 26)
        self.assertEqual(created, {
            "subject": "user-1", "action": "entity_created", "at_ms": NOON_MS,
            "principal": "alice", "resource": None,
            "details": {"name": "user-1", "parent_id": None, "cascade": False, "metadata": {}},
            "expires_at_ms": NOON_MS + 90 * 24 * HOUR_MS})
        self.assertEqual((limits["action"], limits["principal"], limits["resource"]),
                         ("limits_set", None, "api"))
        self.assertEqual(limits["details"]["limits"][0]["capacity"], 60)
        text = self.stint("audit", "list", "user-1").out
        self.assertEqual(text.splitlines()[0].split(),
                         ["TIME", "ACTION", "RESOURCE", "PRINCIPAL", "DETAILS"])
        self.assertIn("entity_created", text.splitlines()[1])
        self.assertIn("alice", text.splitlines()[1])

    def test_nothing_to_list_is_said(self):
        self.set_limits("rpm:60/min", scope=["--resource", "api"])
        answer = self.stint("audit", "list", "--resource", "api")
        self.assertEqual(answer.out, "")
        self.assertIn("no events", answer.err)
        self.assertIn("--audit", answer.err)

    def test_resources_and_the_system_have_their_own(self):
        self.set_limits("rpm:60/min", scope=("--audit", "--resource", "api"))
        self.set_limits("rpm:60/min", scope=("--audit", "--system"))
        for scope, subject in ((("--resource", "api"), "$RESOURCE:api"), (("--system",), "$SYSTEM")):
            events = self.stint("audit", "list", *scope, "--json").json["events"]
            self.assertEqual([event["subject"] for event in events], [subject])

    def test_long_listings_go_on(self):
        for capacity in range(1, 6):
            self.set_limits(f"rpm:{capacity}/min", scope=("--audit", "--resource", "api"))
        first = self.stint("audit", "list", "--resource", "api", "--max", "2", "--json").json
        self.assertEqual(len(first["events"]), 2)
        rest = self.stint("audit", "list", "--resource", "api", "--from", first["next"], "--all",
                          "--json").json
        ids = [event["id"] for event in first["events"] + rest["events"]]
        self.assertEqual(len(set(ids)), 5)
        said = self.stint("audit", "list", "--resource", "api", "--max", "2").err
        (option,) = [word for word in shlex.split(said) if word.startswith("--from=")]
        again = self.stint("audit", "list", "--resource", "api", "--all", option, "--json").json
        self.assertEqual(again["events"], rest["events"])

    def test_bad_input(self):
        for arguments in (["audit", "list"], ["audit", "list", "a#b"],
                          ["audit", "list", "user-1", "--system"],
                          ["audit", "list", "--resource", "1"],
                          ["audit", "list", "user-1", "--max", "0"],
                          ["--audit", "--principal", "a b", "entity", "create", "user-1"]):
            self.stint(*arguments, code=2)
        self.assertFalse(self.store.exists())


class Limits(StintTest):
    SPECS = ["a:60/min", "b:60/5min:90", "c:1000/90s!soft", "d:500@0 0 1 * *@Europe/Berlin",
             "e:5@0 0 * * *;0 12 * * 1-5@Europe/Berlin|* * * * 6=x0.5", "f:10000+5h",
             "g:60/min|* 9-17 * * 1-5=x0.5|* 0-6 * * *=capacity:90,refill:80/5min@Europe/Berlin"]

    def test_get_prints_what_set_accepts(self):
        for scope in (["--system"], ["--resource", "api"], ["--entity", "user-1"],
                      ["--entity", "user-1", "--resource", "api"]):
            self.set_limits(*self.SPECS, scope=scope)
            printed = self.stint("limits", "get", *scope).out.splitlines()
            self.assertEqual(printed, self.SPECS)
            self.stint("limits", "delete", *scope)
            self.stint("limits", "get", *scope, code=4)
            self.set_limits(*printed, scope=scope)
            self.assertEqual(self.stint("limits", "get", *scope).out.splitlines(), printed)
            self.stint("limits", "delete", *scope)

    def test_on_unavailable_is_printed_as_an_argument(self):
        self.set_limits("a:60/min", "--on-unavailable", "allow", scope=["--system"])
        printed = self.stint("limits", "get", "--system").out.splitlines()
        self.assertEqual(printed, ["--on-unavailable=allow", "a:60/min"])
        self.set_limits(*printed, scope=["--system"])
        self.assertEqual(self.stint("limits", "get", "--system").out.splitlines(), printed)

    def test_dry_run_changes_nothing(self):
        change = self.set_limits("a:60/min", "--dry-run", "--json").json
        self.assertIs(change["dry_run"], True)
        self.assertEqual([limit["spec"] for limit in change["after"]["limits"]], ["a:60/min"])
        self.assertFalse(self.store.exists())
        self.set_limits("a:60/min", "b:5+1h")
        text = self.set_limits("a:30/min", "b:5+1h", "--dry-run").out
        self.assertIn("- a:60/min\n", text)
        self.assertIn("+ a:30/min\n", text)
        self.assertEqual(self.stint("limits", "get", "--resource", "api").out,
                         "a:60/min\nb:5+1h\n")
        self.stint("limits", "delete", "--resource", "api", "--dry-run")
        self.stint("limits", "get", "--resource", "api")
        elsewhere = self.set_limits("a:60/min", "--dry-run", "--json", "--namespace", "new").json
        self.assertEqual([limit["spec"] for limit in elsewhere["after"]["limits"]], ["a:60/min"])
        listed = self.stint("namespace", "list", "--json").json
        self.assertEqual([one["name"] for one in listed["namespaces"]], ["default"])

    def test_the_highest_level_that_has_limits_decides(self):
        scopes = {"system": ["--system"], "resource": ["--resource", "api"],
                  "entity": ["--entity", "user-1"],
                  "entity_resource": ["--entity", "user-1", "--resource", "api"]}
        for number, (level, scope) in enumerate(scopes.items()):
            self.set_limits(f"a:{number + 1}/min", scope=scope)
            bucket = self.stint("explain", "user-1", "api", "--json").json["buckets"][0]
            self.assertEqual(bucket["level"], level)
            self.assertEqual([limit["limit"]["capacity"] for limit in bucket["limits"]],
                             [number + 1])

    def test_soft_by_name(self):
        self.set_limits("a:2/min", "b:2/min", "--soft", "a")
        self.assertEqual(self.stint("limits", "get", "--resource", "api").out,
                         "a:2/min!soft\nb:2/min\n")
        answer = self.acquire("a=5")
        self.assertIs(answer.limit("a")["overdrawn"], True)
        self.assertEqual(answer.limit("a")["remaining"], -3)

    def test_buckets_of_an_entity_are_brought_up_to_date_at_once(self):
        scope = ["--entity", "user-1", "--resource", "api"]
        self.set_limits("a:10/min", scope=scope)
        self.acquire("a=4")
        change = self.set_limits("a:5/min", "--json", scope=scope).json
        self.assertEqual(change["buckets"], 1)
        self.assertEqual(self.available().limit("a")["remaining"], 5)


    def test_a_compatible_store_warns_of_resets_that_local_time_skips(self):
        traffic = self.directory / "traffic.csv"
        traffic.write_text("time,entity,resource\n2027-01-13T12:00:00Z,u,api\n")
        policy = self.directory / "policy.yaml"
        policy.write_text("namespace: default\nsystem:\n  limits:\n    rpm: {capacity: 60}\n")
        self.stint("replay", "--manifest", policy, "--consume", "rpm=1", "--store", self.store,
                   "--reset-rule", "compatible", traffic, now=None)
        spec = "day:5@30 2 * * *@America/New_York"
        warnings = self.set_limits(spec, "--json").json["warnings"]
        self.assertEqual([warning["limit"] for warning in warnings], ["day"])
        # Half past two does not exist there on 14 March 2027 (decision 7).
        self.assertIn(1_805_007_600_000, warnings[0]["contested_at_ms"])
        self.assertRegex(self.set_limits(spec).err, "^stint: warning: resource api, limit day")
        self.assertEqual(self.set_limits("day:5@0 0 * * *@Asia/Tokyo").err, "")


class BadInput(StintTest):
    COMMANDS = [
        [],
        ["frobnicate"],
        ["acquire"],
        ["acquire", "user-1", "api"],
        ["acquire", "user-1", "--consume", "rpm=1"],
        ["acquire", "user-1", "api", "extra", "--consume", "rpm=1"],
        ["acquire", "user-1", "api", "--consume"],
        ["acquire", "user-1", "api", "--consume", ""],
        ["acquire", "user-1", "api", "--consume="],
        ["acquire", "user-1", "api", "--consume", "rpm"],
        ["acquire", "user-1", "api", "--consume", "rpm="],
        ["acquire", "user-1", "api", "--consume", "=1"],
        ["acquire", "user-1", "api", "--consume", "rpm=-1"],
        ["acquire", "user-1", "api", "--consume", "rpm=+1"],
        ["acquire", "user-1", "api", "--consume", "rpm=1.0001"],
        ["acquire", "user-1", "api", "--consume", "rpm=1e3"],
        ["acquire", "user-1", "api", "--consume", "rpm=0x10"],
        ["acquire", "user-1", "api", "--consume", "rpm=nan"],
        ["acquire", "user-1", "api", "--consume", "rpm=true"],
        ["acquire", "user-1", "api", "--consume", "rpm= 1"],
        ["acquire", "user-1", "api", "--consume", "rpm=9000000000000001"],
        ["acquire", "user-1", "api", "--consume", "rpm=18446744073709551617"],
        ["acquire", "user-1", "api", "--consume", "rpm=1,"],
        ["acquire", "user-1", "api", "--consume", "rpm=1", "rpm=1"],
        ["acquire", "user-1", "api", "--consume", "wcu=1"],
        ["acquire", "user-1", "api", "--consume", "1rpm=1"],
        ["acquire", "user-1", "api", "--consume", "rpm=1", "--settle", "rpm=-1"],
        ["acquire", "user-1", "api", "--consume", "rpm=1", "--settle", "tpm=1"],
        ["acquire", "user 1", "api", "--consume", "rpm=1"],
        ["acquire", "user#1", "api", "--consume", "rpm=1"],
        ["acquire", "", "api", "--consume", "rpm=1"],
        ["acquire", "x" * 257, "api", "--consume", "rpm=1"],
        ["acquire", "us\u00e9r", "api", "--consume", "rpm=1"],
        ["acquire", "user-1\n", "api", "--consume", "rpm=1"],
        ["acquire", "user-1", "", "--consume", "rpm=1"],
        ["acquire", "user-1", "9api", "--consume", "rpm=1"],
        ["acquire", "user-1", "_default_", "--consume", "rpm=1"],
        ["acquire", "user-1", "api", "--consume", "rpm=1", "--frobnicate"],
        ["available", "user-1", "api", "--need", "rpm"],
        ["available", "user-1"],
        ["explain", "user-1", "api", "--need", "rpm=-5"],
        ["explain", "user/1", "api"],
        ["entity"],
        ["entity", "create"],
        ["entity", "create", "user 1"],
        ["entity", "create", "user-1", "--parent", ""],
        ["entity", "create", "user-1", "--parent="],
        ["entity", "create", "user-1", "--parent", "a b"],
        ["entity", "create", "user-1", "--metadata", "plan"],
        ["entity", "create", "user-1", "--metadata", "=pro"],
        ["entity", "create", "user-1", "--metadata", "a=1", "--metadata", "a=2"],
        ["entity", "list", "--max", "0"],
        ["entity", "list", "--max", "-3"],
        ["entity", "list", "--max", "many"],
        ["entity", "list", "--max", "99999999999999999999"],
        ["limits"],
        ["limits", "set", "rpm:60/min"],
        ["limits", "set", "--system"],
        ["limits", "set", "--system", "--resource", "api", "rpm:60/min"],
        ["limits", "set", "--resource", "", "rpm:60/min"],
        ["limits", "set", "--resource", "9api", "rpm:60/min"],
        ["limits", "set", "--entity", "_default_", "rpm:60/min"],
        ["limits", "set", "--system", "rpm"],
        ["limits", "set", "--system", "rpm:0/min"],
        ["limits", "set", "--system", "rpm:1.5/min"],
        ["limits", "set", "--system", "rpm:60/fortnight"],
        ["limits", "set", "--system", "rpm:60/min", "rpm:30/min"],
        ["limits", "set", "--system", "m:5@0 0 31 2 *"],
        ["limits", "set", "--system", "m:5@* * * * *"],
        ["limits", "set", "--system", "m:5@0 0 1 * *@Mars/Base"],
        ["limits", "set", "--system", "m:5@0 0 1 * *@Europe/Berlin", "n:5@0 0 1 * *@UTC"],
        ["limits", "set", "--system", "s:5+0s"],
        ["limits", "set", "--system", *[f"l{number}:1/s" for number in range(13)]],
        ["limits", "set", "--system", "rpm:60/min", "--soft", "tpm"],
        ["limits", "set", "--system", "rpm:60/min", "--on-unavailable", "perhaps"],
        ["limits", "set", "--resource", "api", "rpm:60/min", "--on-unavailable", "allow"],
        ["limits", "get"],
        ["limits", "delete", "--entity", "a b"],
        ["limits", "get", "--system", "--namespace", ""],
        ["limits", "set", "--system", "rpm:60/min", "--namespace", "_"],
        ["limits", "set", "--system", "rpm:60/min", "--tz", "Mars/Base"],
        ["limits", "set", "--system", "rpm:60/min", "--now", "yesterday"],
        ["limits", "set", "--system", "rpm:60/min", "--now", "2027-02-29T00:00:00Z"],
        ["limits", "set", "--system", "rpm:60/min", "--store", "dynamodb://"],
        ["limits", "set", "--system", "rpm:60/min", "--store", "dynamodb://table?zone=x"],
        ["limits", "set", "--system", "rpm:60/min", "--store", "redis://host"],
        ["table", "create"],
        ["table", "delete", "--yes"],
        ["doctor"],
        ["namespace", "register", "_"],
        ["limits", "set", "--system", "rpm:60/min", "--store", "memory:x"],
        ["limits", "set", "--system", "rpm:60/min", "--store", ""],
        ["manifest", "check"],
        ["manifest", "check", "no-such-file.yaml"],
        ["replay"],
    ]

    def test_refused_with_code_2_and_nothing_written(self):
        for command in self.COMMANDS:
            with self.subTest(command=command):
                answer = self.run_stint(*command)
                self.assertEqual(answer.code, 2, answer.out + answer.err)
                self.assertTrue(answer.err.startswith("stint: "), answer.err)
                self.assertEqual(answer.out, "")
                self.assertEqual(list(self.directory.iterdir()), [])

    def test_as_json_on_standard_output(self):
        for command in self.COMMANDS:
            with self.subTest(command=command):
                answer = self.run_stint("--json", *command)
                self.assertEqual(answer.code, 2, answer.out + answer.err)
                error = answer.json["error"]
                self.assertEqual(set(error), {"code", "field", "value", "reason", "message"})
                self.assertEqual(error["code"], "invalid_argument")
                self.assertTrue(error["field"])
                self.assertTrue(error["reason"])
                self.assertLessEqual(len(error["value"]), 50)
                self.assertEqual(answer.err, "")
                self.assertEqual(list(self.directory.iterdir()), [])

    def test_refused_on_a_store_that_has_data(self):
        self.set_limits("rpm:60/min")
        self.acquire("rpm=1")
        before = self.stint("explain", "user-1", "api", "--json").out
        for command in self.COMMANDS:
            if "limits" not in command:
                self.run_stint(*command)
        self.assertEqual(self.stint("explain", "user-1", "api", "--json").out, before)

    def test_a_wrong_limit_shows_the_grammar(self):
        answer = self.set_limits("rpm:60", code=2)
        self.assertIn('invalid limit "rpm:60"', answer.err)
        self.assertIn("NAME:AMOUNT/PERIOD[:BURST]", answer.err)
        self.assertIn("NAME:AMOUNT+DURATION", answer.err)

    def test_P88_ids_that_begin_with_a_dash(self):
        self.set_limits("rpm:60/min")
        # After -- it is an id, and refused as ids are that begin so (rules 6).
        answer = self.stint("acquire", "--consume", "rpm=1", "--json", "--", "-x", "api", code=2)
        self.assertEqual((answer.json["error"]["field"], answer.json["error"]["value"]),
                         ("entity", "-x"))
        answer = self.stint("entity", "show", "--json", "--", "-x", code=2)
        self.assertEqual(answer.json["error"]["field"], "entity")
        # Without it, it is an option that nobody knows.
        for command in (["entity", "show", "-x"], ["acquire", "-x", "api", "--consume", "rpm=1"]):
            answer = self.stint(*command, code=2)
            self.assertIn("there is no option -x here; ids that begin with - go after --",
                          answer.err)
        self.stint("acquire", "--consume", "rpm=1", "--", "user-1", "api")
        # A namespace may begin with anything.
        self.set_limits("rpm:5/min", scope=["--system", "--namespace=-x"])
        self.assertEqual(self.stint("limits", "get", "--system", "--namespace", "-x").out,
                         "rpm:5/min\n")

    def test_entities_may_be_called_like_commands(self):
        self.set_limits("rpm:60/min")
        for name in ("acquire", "entity", "show", "limits"):
            self.acquire("rpm=1", entity=name)
            self.stint("entity", "create", name)
            self.stint("entity", "show", name)


class Namespaces(StintTest):
    def test_registered_listed_and_shown(self):
        self.stint("namespace", "list", code=4)
        self.assertFalse(self.store.exists())
        self.set_limits("rpm:60/min")
        registered = self.stint("namespace", "register", "tenant-1", "--json").json
        self.assertEqual(set(registered), {"name", "id", "status", "created_at_ms",
                                           "deleted_at_ms", "is_new"})
        self.assertEqual((registered["name"], registered["status"]), ("tenant-1", "active"))
        self.assertEqual(registered["created_at_ms"], NOON_MS)
        self.assertIs(registered["is_new"], True)
        self.assertIn("before", self.stint("namespace", "register", "tenant-1").out)
        listed = self.stint("namespace", "list", "--json").json["namespaces"]
        self.assertEqual([one["name"] for one in listed], ["default", "tenant-1"])
        shown = self.stint("namespace", "show", "tenant-1")
        self.assertIn(registered["id"], shown.out)
        self.stint("namespace", "show", "nobody", code=4)
        # It is the one that limiters of that name use.
        self.stint("limits", "set", "--system", "rpm:1/min", "--namespace", "tenant-1")
        again = self.stint("namespace", "show", "tenant-1", "--json").json
        self.assertEqual(again["id"], registered["id"])


class Stores(StintTest):
    def test_durability_is_named_or_refused(self):
        self.stint("limits", "set", "--resource", "api", "rpm:60/min", "--durability", "machine")
        machine = self.environment(STINT_DURABILITY="machine")
        self.stint("acquire", "u", "api", "--consume", "rpm=1", env=machine)
        left = self.stint("available", "u", "api", "--json", "--durability", "process")
        self.assertEqual(left.limit("rpm")["remaining"], 59)
        refused = self.stint("available", "u", "api", "--durability", "power", "--json", code=2)
        self.assertEqual(refused.json["error"]["field"], "durability")
        self.assertEqual(refused.json["error"]["value"], "power")
        wrong = self.environment(STINT_DURABILITY="disk")
        self.stint("available", "u", "api", code=2, env=wrong)

    def test_no_store_is_not_found(self):
        for command in (["acquire", "u", "api", "--consume", "rpm=1"], ["available", "u", "api"],
                        ["explain", "u", "api"], ["entity", "show", "u"], ["entity", "list"],
                        ["entity", "children", "u"], ["entity", "delete", "u"],
                        ["limits", "get", "--system"], ["limits", "delete", "--system"]):
            answer = self.stint(*command, code=4)
            self.assertIn("there is no store", answer.err)
            self.assertFalse(self.store.exists())

    def test_options_may_stand_anywhere(self):
        other = str(self.directory / "other")
        self.stint("--store", other, "limits", "set", "--system", "rpm:5/min")
        for arguments in (["--store", other, "limits", "get", "--system"],
                          ["limits", "--store", other, "get", "--system"],
                          ["limits", "get", "--system", "--store=" + other]):
            self.assertEqual(self.stint(*arguments).out, "rpm:5/min\n")

    def test_default_directory(self):
        env = self.environment()
        del env["STINT_STORE"]
        self.set_limits("rpm:5/min", env=env)
        self.assertTrue((self.directory / "stint-data").is_dir())

    def test_memory_is_gone_afterwards(self):
        self.set_limits("rpm:5/min", scope=["--system", "--store", "memory:"])
        self.stint("limits", "get", "--system", "--store", "memory:", code=4)
        self.assertEqual(list(self.directory.iterdir()), [])

    def test_namespaces_are_apart(self):
        self.set_limits("rpm:5/min", scope=["--system", "--namespace", "one"])
        self.stint("limits", "get", "--system", "--namespace", "two", code=4)

    def test_reading_registers_no_namespace(self):
        self.set_limits("rpm:5/min", scope=["--system", "--namespace", "one"])
        for command in (["available", "user-1", "api"], ["explain", "user-1", "api"],
                        ["limits", "get", "--system"], ["limits", "delete", "--system"],
                        ["audit", "list", "--system"], ["entity", "show", "user-1"],
                        ["entity", "list"], ["entity", "children", "user-1"],
                        ["entity", "delete", "user-1"]):
            with self.subTest(command=command):
                answer = self.stint(*command, "--namespace", "oen", code=4)
                self.assertIn('there is no namespace "oen"', answer.err)
        listed = self.stint("namespace", "list", "--json").json["namespaces"]
        self.assertEqual([one["name"] for one in listed], ["one"])
        # That of those who name none is always there.
        self.assertIn("no limits", self.stint("available", "user-1", "api").out)

    def test_a_directory_of_something_else_is_left_alone(self):
        self.store.mkdir()
        (self.store / "letter.txt").write_text("dear")
        answer = self.run_stint("limits", "set", "--system", "rpm:5/min", "--json")
        self.assertIn(answer.code, (3, 6), answer.out)
        self.assertEqual([path.name for path in self.store.iterdir()], ["letter.txt"])

    def test_a_file_in_place_of_the_directory(self):
        self.store.write_text("dear")
        answer = self.run_stint("limits", "set", "--system", "rpm:5/min", "--json")
        self.assertIn(answer.code, (3, 6), answer.out)
        self.assertEqual(self.store.read_text(), "dear")

    def test_in_use_by_another_process(self):
        self.set_limits("rpm:60/min")
        # Another process that has the store open, until its input ends.
        fifo = self.directory / "traffic"
        os.mkfifo(fifo)
        manifest = self.directory / "policy.yaml"
        manifest.write_text("namespace: other\nsystem:\n  limits:\n    rpm: {capacity: 60}\n")
        holder = subprocess.Popen(
            [STINT, "replay", "--manifest", manifest, "--store", self.store, "--force", "--sorted",
             "--decisions", self.directory / "decisions", "--consume", "rpm=1", fifo],
            env=self.environment(), stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True)
        # Open for both, so that neither side waits for the other.
        traffic = os.open(fifo, os.O_RDWR)
        try:
            os.write(traffic, b"time,entity,resource\n2027-01-13T12:00:00Z,u,api\n")
            self.wait_until_open(holder)
            answer = self.run_stint("acquire", "user-1", "api", "--consume", "rpm=1", "--json")
            self.assertEqual(answer.code, 3)
            self.assertEqual(answer.json["error"]["code"], "unavailable")
            self.assertIn("in use", answer.json["error"]["reason"])
            answer = self.run_stint("store", "backup", "copy")
            self.assertEqual(answer.code, 3)
            self.assertIn("stint::backup_store", answer.err)
            self.assertFalse((self.directory / "copy").exists())
        finally:
            os.close(traffic)
            _, errors = holder.communicate(timeout=60)
        self.assertEqual(holder.returncode, 0, errors)
        self.acquire("rpm=1", now=None)

    def wait_until_open(self, holder):
        """Until the process has a write-ahead log open, which it has after it has the lock."""
        descriptors = pathlib.Path(f"/proc/{holder.pid}/fd")
        while holder.poll() is None:
            for link in list(descriptors.iterdir()):
                try:
                    target = pathlib.Path(os.readlink(link))
                except FileNotFoundError:
                    continue
                if self.store in target.parents and target.suffix == ".log":
                    return
        self.fail("the other process ended")


class StoreCare(StintTest):
    def fill(self, entities=3):
        self.set_limits("rpm:60/min", "session:100+5h")
        for number in range(entities):
            self.acquire("rpm=1", "session=3", entity=f"user-{number}")

    def fill_many(self, entities):
        """One bucket for each entity, by a replay."""
        (self.directory / "policy.yaml").write_text(
            "namespace: default\nsystem:\n  limits:\n"
            "    rpm: {capacity: 60, refill_amount: 60, refill_period: 60}\n")
        lines = ["time,entity,resource"]
        lines += [f"{NOON_MS + number},user-{number},api" for number in range(entities)]
        (self.directory / "traffic.csv").write_text("\n".join(lines) + "\n")
        self.stint("replay", "traffic.csv", "--manifest", "policy.yaml", "--sorted", "--store",
                   str(self.store), "--consume", "rpm=1", now=None)

    def at(self, store, *arguments, **options):
        return self.stint("--store", str(self.directory / store), "store", *arguments, **options)

    def lines(self, name):
        """Of an export, without the record that every store has of its own."""
        text = (self.directory / name).read_text()
        self.assertTrue(text.endswith("\n"))
        return [line for line in text.splitlines() if '"#VERSION"' not in line]

    def test_info(self):
        self.fill()
        info = self.at("data", "info", "--json").json
        self.assertEqual(set(info), {"kind", "location", "survives", "settings", "disk_bytes",
                                     "estimated_records", "unfinished_import", "counts"})
        self.assertEqual(info["settings"], {"format": 1, "reset_rule": "local_day",
                                            "layout": "lean", "burst_tolerance_divisor": 0})
        self.assertGreater(info["disk_bytes"], 0)
        self.assertIsNone(info["unfinished_import"])
        counts = info["counts"]
        self.assertEqual(set(counts), {"items", "bytes", "expired", "unreadable", "largest",
                                       "by_kind", "complete"})
        kinds = {(c["namespace"], c["kind"]): c["items"] for c in counts["by_kind"]}
        self.assertEqual(kinds["default", "bucket"], 3)
        self.assertEqual(sum(kinds.values()), counts["items"])
        self.assertIsNone(self.at("data", "info", "--quick", "--json").json["counts"])
        self.assertRegex(self.at("data", "info").out, r"(?m)^default +bucket +3 ")
        self.at("nowhere", "info", code=4)

    def test_check(self):
        self.fill()
        report = self.at("data", "check", "--json").json
        self.assertEqual(set(report), {"items", "index_entries", "problem_count", "unreadable",
                                       "lists_compared", "complete", "problems"})
        self.assertEqual((report["problem_count"], report["problems"]), (0, []))
        self.assertIn("0 problems", self.at("data", "check").out)

        # An item that contradicts itself, brought in where no check is made.
        self.at("data", "export", "items.jsonl")
        text = (self.directory / "items.jsonl").read_text()
        (self.directory / "items.jsonl").write_text(
            text.replace('"entity_id":{"S":"user-1"}', '"entity_id":{"S":"user-x"}'))
        self.at("odd", "import", "items.jsonl")
        answer = self.at("odd", "check", code=7)
        self.assertRegex(answer.out, r"BUCKET#user-1#api#0 #STATE: entity_id is not .*; mend")
        problems = self.at("odd", "check", "--json", code=7).json["problems"]
        self.assertEqual(len(problems), 1)
        self.assertEqual(set(problems[0]), {"pk", "sk", "what", "advice"})

    def test_backup(self):
        self.fill()
        self.assertIn("backup of", self.at("data", "backup", "copy").out)
        self.at("data", "backup", "copy", code=5)
        self.acquire("rpm=9")
        self.at("data", "export", "data.jsonl")
        self.at("copy", "export", "copy.jsonl")
        self.assertNotEqual(self.lines("data.jsonl"), self.lines("copy.jsonl"))
        restored = self.stint("--store", str(self.directory / "copy"), "available", "user-1", "api",
                              "--json")
        self.assertEqual(restored.limit("rpm")["remaining"], 59)
        self.assertEqual(self.at("data", "backup", "again", "--json").json,
                         {"store": str(self.store), "backup": "again"})
        self.at("data", "backup", str(self.store / "inside"), code=2)

    def test_export_and_import(self):
        self.fill()
        answer = self.at("data", "export", "items.jsonl", "--json").json
        self.assertEqual(answer["items"], len((self.directory / "items.jsonl").read_text()
                                              .splitlines()))
        for line in self.lines("items.jsonl"):
            item = json.loads(line)
            self.assertTrue({"PK", "SK"} < set(item))
        to_output = self.at("data", "export").out
        self.assertEqual(to_output, (self.directory / "items.jsonl").read_text())
        self.at("data", "export", "items.jsonl", code=5)
        self.at("data", "export", "items.jsonl", "--force")
        self.at("data", "export", "--json", code=2)
        self.at("data", "export", "x.jsonl", "--for", "paper", code=2)

        dry = self.at("new", "import", "items.jsonl", "--dry-run", "--json").json
        self.assertEqual((dry["written"], dry["bad_lines"]), (dry["items"], 0))
        self.assertFalse((self.directory / "new").exists())
        done = self.at("new", "import", "items.jsonl", "--json").json
        self.assertEqual((done["items"], done["written"], done["complete"]),
                         (dry["items"], dry["items"], True))
        self.at("new", "export", "again.jsonl")
        self.assertEqual(self.lines("again.jsonl"), self.lines("items.jsonl"))
        self.assertIn("--force", self.at("new", "import", "items.jsonl", code=5).err)
        self.at("new", "import", "items.jsonl", "--force")
        self.at("new", "export", "forced.jsonl")
        self.assertEqual(self.lines("forced.jsonl"), self.lines("items.jsonl"))

        self.at("data", "export", "table.jsonl", "--for", "dynamodb")
        buckets = [json.loads(line) for line in self.lines("table.jsonl")
                   if '"#STATE"' in line]
        self.assertEqual([bucket["b_wcu_cp"]["N"] for bucket in buckets], ["1000000"] * 3)
        self.at("third", "import", "table.jsonl")
        self.at("third", "export", "third.jsonl")
        self.assertEqual(self.lines("third.jsonl"), self.lines("items.jsonl"))

    def test_settings_go_along_to_a_new_store_and_are_compared_with_others(self):
        self.fill()
        self.at("data", "export", "items.jsonl")
        path = self.directory / "items.jsonl"
        path.write_text(path.read_text().replace('"local_day"', '"compatible"'))
        self.at("new", "import", "items.jsonl")
        self.assertEqual(self.at("new", "info", "--json").json["settings"]["reset_rule"],
                         "compatible")
        self.stint("--store", str(self.directory / "other"), "entity", "create", "e")
        answer = self.at("other", "import", "items.jsonl", "--force", "--json", code=3)
        self.assertEqual(answer.json["error"]["code"], "version_mismatch")
        self.assertIn("reset rule compatible instead of local_day", answer.json["error"]["reason"])

    def test_bad_input(self):
        self.fill()
        self.at("data", "export", "items.jsonl")
        whole = (self.directory / "items.jsonl").read_bytes()
        lines = whole.splitlines(keepends=True)
        cases = {
            "cut": (whole[:-20], len(lines)),
            "binary": (lines[0] + bytes(range(256)) * 4 + b"\n", 2),
            "foreign": (b'{"id":{"S":"1"}}\n', 1),
            "csv": (b"time,entity\n1,2\n", 1),
            "huge": (lines[0] + b"x" * 9_000_000 + b"\n" + lines[1], 2),
            "wrong": (lines[0] + lines[1].replace(b'"PK":{"S"', b'"PK":{"N"'), 2),
        }
        for name, (content, line) in cases.items():
            with self.subTest(name):
                (self.directory / name).write_bytes(content)
                answer = self.at(f"new-{name}", "import", name, "--json", code=2)
                self.assertEqual(answer.json["error"]["field"], f"line {line}")
                dry = self.at(f"dry-{name}", "import", name, "--dry-run", code=2)
                self.assertIn(f"line {line}", dry.err)
        (self.directory / "empty").write_bytes(b"")
        self.at("new", "import", "empty", code=2)
        self.at("new", "import", "missing", code=2)
        self.at("new", "import", "items.jsonl", "--resume", code=4)
        self.assertFalse((self.directory / "new").exists())
        answer = self.at("new-cut", "import", "cut", code=2)
        self.assertIn("Nothing was written", answer.err)

    def test_an_error_after_a_write_says_so(self):
        self.fill()
        self.at("data", "export", "items.jsonl")
        lines = (self.directory / "items.jsonl").read_text().splitlines()
        bucket = next(line for line in lines if '"#STATE"' in line)
        lines.append(bucket.replace('"rf":{"N":"', '"rf":{"N":"1', 1))
        (self.directory / "twice").write_text("\n".join(lines) + "\n")
        answer = self.at("new", "import", "twice", code=5)
        self.assertNotIn("Nothing was written", answer.err)
        self.assertIn("import --resume", answer.err)
        self.at("new", "import", "items.jsonl", "--resume")

    def test_an_unfinished_import_is_abandoned(self):
        self.fill()
        self.at("data", "export", "items.jsonl")
        lines = (self.directory / "items.jsonl").read_text().splitlines()
        bucket = next(line for line in lines if '"#STATE"' in line)
        lines.append(bucket.replace('"rf":{"N":"', '"rf":{"N":"1', 1))
        (self.directory / "twice").write_text("\n".join(lines) + "\n")
        self.at("data", "import", "--abandon", code=4)
        self.at("new", "import", "twice", code=5)
        self.assertIn("--abandon", self.at("new", "import", "items.jsonl", "--force", code=5).err)
        self.at("new", "import", "items.jsonl", "--abandon", code=2)
        self.assertEqual(self.at("new", "import", "--abandon", "--json").json,
                         {"abandoned": "twice", "lines": 0})
        self.at("new", "import", "items.jsonl", "--force")
        self.at("new", "import", code=2)

    def test_what_a_dry_run_tells(self):
        self.fill()
        self.at("data", "export", "items.jsonl")
        answer = self.at("data", "import", "items.jsonl", "--dry-run", "--json", code=5)
        self.assertTrue(answer.json["target_holds_items"])
        self.assertIn("--force", answer.err)
        self.at("data", "import", "items.jsonl", "--dry-run", "--force")
        (self.directory / "bad").write_text("no item\n" * 30)
        answer = self.at("new", "import", "bad", "--dry-run", "--json", code=2)
        self.assertEqual(answer.json["bad_lines"], 30)
        self.assertEqual(len(answer.json["first_bad_lines"]), 20)
        self.assertIn("line 1:", answer.json["first_bad_lines"][0])
        self.assertFalse((self.directory / "new").exists())

    def run_fed(self, data, how, *arguments):
        """Feeds a command through a pipe, sends it a signal, and then ends its input."""
        fifo = self.directory / "fifo"
        os.mkfifo(fifo)
        process = subprocess.Popen([STINT, "--store", str(self.directory / "new"), *arguments,
                                    str(fifo)], env=self.environment(), stdout=subprocess.DEVNULL,
                                   stderr=subprocess.PIPE, text=True)
        with open(fifo, "wb", buffering=0) as out:
            try:
                half = len(data) // 2
                out.write(data[:half])
                process.send_signal(how)
                out.write(data[half:])
            except BrokenPipeError:
                pass
        _, errors = process.communicate(timeout=60)
        fifo.unlink()
        return process.returncode, errors

    def test_an_interrupted_import_is_resumed(self):
        self.fill_many(6000)
        self.at("data", "export", "items.jsonl")
        data = (self.directory / "items.jsonl").read_bytes()
        # Far more than what waits in the pipe and in the reader's buffer.
        self.assertGreater(len(data), 3_000_000)
        for how, code in ((signal.SIGKILL, -signal.SIGKILL), (signal.SIGINT, 130)):
            with self.subTest(how):
                ended, errors = self.run_fed(data, how, "store", "import")
                self.assertEqual(ended, code, errors)
                if how == signal.SIGINT:
                    self.assertIn("import --resume", errors)
                unfinished = self.at("new", "info", "--quick", "--json").json["unfinished_import"]
                self.assertGreater(unfinished["lines"], 0)
                self.assertIn("unfinished import", self.at("new", "import", "items.jsonl",
                                                           code=5).err)
                (self.directory / "other").write_bytes(data.replace(b"user-1", b"user-x"))
                self.at("new", "import", "other", "--resume", code=2)
                done = self.at("new", "import", "items.jsonl", "--resume", "--json").json
                self.assertEqual(done["resumed_lines"], unfinished["lines"])
                self.at("new", "export", "again.jsonl", "--force")
                self.assertEqual(self.lines("again.jsonl"), self.lines("items.jsonl"))
                self.assertEqual(self.at("new", "check", "--json").json["problem_count"], 0)
                shutil.rmtree(self.directory / "new")

    def interrupted_export(self, how):
        """Sends the signal when the first page is there. The export may have been quicker."""
        data = self.directory / "parts.jsonl.unfinished"
        process = subprocess.Popen([STINT, "store", "export", "parts.jsonl"], cwd=self.directory,
                                   env=self.environment(), stdout=subprocess.DEVNULL,
                                   stderr=subprocess.PIPE, text=True)
        while process.poll() is None and not (data.exists() and data.stat().st_size > 0):
            pass
        process.send_signal(how)
        _, errors = process.communicate(timeout=60)
        return process.returncode, errors

    def test_an_interrupted_export_is_resumed(self):
        self.fill_many(6000)
        self.at("data", "export", "whole.jsonl")
        for _ in range(20):
            code, errors = self.interrupted_export(signal.SIGINT)
            if code == 130:
                break
            self.assertEqual(code, 0, errors)
            (self.directory / "parts.jsonl").unlink()
        self.assertEqual(code, 130)
        self.assertIn("--resume", errors)
        self.assertFalse((self.directory / "parts.jsonl").exists())
        self.at("data", "export", "parts.jsonl", code=5)
        self.at("data", "export", "parts.jsonl", "--resume", "--for", "dynamodb", code=2)
        unfinished = self.directory / "parts.jsonl.unfinished"
        # What was written behind the kept position, as by a process that was killed.
        with open(unfinished, "ab") as out:
            out.write(b'{"PK":{"S":"half')
        self.at("data", "export", "parts.jsonl", "--resume")
        self.assertEqual(self.lines("parts.jsonl"), self.lines("whole.jsonl"))
        self.assertEqual({path.name for path in self.directory.glob("parts*")}, {"parts.jsonl"})
        self.at("data", "export", "parts.jsonl", "--resume", code=4)

    def test_an_export_that_could_not_get_its_name_is_resumed(self):
        self.fill()
        self.at("data", "export", "whole.jsonl")
        # Nothing but the last step is left to do.
        (self.directory / "parts.jsonl").mkdir()
        answer = self.at("data", "export", "parts.jsonl", "--force", code=2)
        self.assertIn("--resume", answer.err)
        (self.directory / "parts.jsonl").rmdir()
        self.at("data", "export", "parts.jsonl", "--resume")
        self.assertEqual(self.lines("parts.jsonl"), self.lines("whole.jsonl"))
        self.assertEqual({path.name for path in self.directory.glob("parts*")}, {"parts.jsonl"})

    def test_two_exports_do_not_write_one_file(self):
        self.fill()
        with open(self.directory / "parts.jsonl.unfinished", "wb") as other:
            fcntl.flock(other, fcntl.LOCK_EX)
            self.assertIn("another export",
                          self.at("data", "export", "parts.jsonl", code=3).err)
        self.at("data", "export", "parts.jsonl")

    def test_a_resumed_export_notices_a_changed_file(self):
        self.fill_many(6000)
        for _ in range(20):
            code, errors = self.interrupted_export(signal.SIGINT)
            if code == 130:
                break
            (self.directory / "parts.jsonl").unlink()
        self.assertEqual(code, 130, errors)
        unfinished = self.directory / "parts.jsonl.unfinished"
        text = unfinished.read_bytes()
        unfinished.write_bytes(text.replace(b"user-", b"USER-", 1))
        self.assertIn("has been changed", self.at("data", "export", "parts.jsonl", "--resume",
                                                  code=2).err)
        unfinished.write_bytes(text[:100])
        self.at("data", "export", "parts.jsonl", "--resume", code=2)
        (self.directory / "parts.jsonl.position").write_text("{}")
        self.at("data", "export", "parts.jsonl", "--resume", code=2)
        self.at("data", "export", "parts.jsonl", "--force")

    def test_progress_when_asked(self):
        self.fill()
        answer = self.at("data", "check", "--progress")
        self.assertEqual(answer.err, "")  # too quick to tell of anything
        self.assertIn("--progress", self.run_stint("store", "check", "--help").out)


class Help(StintTest):
    COMMANDS = [["acquire"], ["available"], ["explain"], ["entity"], ["entity", "create"],
                ["entity", "show"], ["entity", "list"], ["entity", "children"],
                ["entity", "delete"], ["limits"], ["limits", "set"], ["limits", "get"],
                ["limits", "delete"], ["manifest"], ["manifest", "check"], ["replay"], ["store"],
                ["store", "info"], ["store", "check"], ["store", "backup"],
                ["store", "export"], ["store", "import"], ["table"], ["table", "create"],
                ["table", "describe"], ["table", "delete"], ["namespace"],
                ["namespace", "register"], ["namespace", "list"], ["namespace", "show"],
                ["doctor"], ["completion"]]

    def test_every_command_has_help_with_an_example(self):
        for command in self.COMMANDS:
            answer = self.run_stint(*command, "--help")
            self.assertEqual(answer.code, 0)
            self.assertIn("Example:\n  stint " + " ".join(command), answer.out)
            # Shells would look for files in place of ? and &.
            self.assertNotRegex(answer.out, r"--store dynamodb:")
            self.assertLessEqual(max(map(len, answer.out.splitlines())), 120, command)

    def test_exit_codes_are_in_the_help(self):
        text = self.run_stint("--help").out
        for code in ("0", "2", "3", "4", "5", "6", "7", "10", "130"):
            self.assertRegex(text, rf"(?m)^  {code} +\S")
        self.assertRegex(self.run_stint("--version").out, r"^stint \d+\.\d+\.\d+\n$")


if __name__ == "__main__":
    unittest.main()
