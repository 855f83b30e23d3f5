#!/usr/bin/env python3
"""Both programs use one table at once: what one takes, the other lacks.

    STINT=... STINT_INTEROP_DRIVER=... scripts/fetch-python-package \\
        tests/interop/sharing_test.py [TEST...]

STINT_TEST_SEED=N repeats the random alternation of a run that printed N.
"""

import asyncio
import os
import random
import threading
import unittest

from peers import DAY_MS, HOUR_MS, MINUTE_MS, NOON_MS, SECOND_MS, SharedTableTest

SEED = int(os.environ.get("STINT_TEST_SEED", random.SystemRandom().randrange(1, 100_000)))
MIDNIGHT_MS = NOON_MS + DAY_MS // 2
# When clocks in Berlin go forward, and back: at 01:00 UTC.
SUMMER_BEGINS_MS = 1_806_195_600_000
SUMMER_ENDS_MS = 1_824_944_400_000


class SharingTest(SharedTableTest):
    def programs(self):
        """Three that share: a process of stint a call, one that lives on, and the package."""
        return [self.stint, self.new_driver(), self.python]

    def take_in_turn(self, programs, consume, entity="user-1", resource="api", at_most=1_000):
        """Acquires until none of the programs is admitted; how often each was."""
        admitted = [0] * len(programs)
        refused = 0
        while refused < len(programs):
            self.assertLess(sum(admitted), at_most)
            refused = 0
            for number, program in enumerate(programs):
                if program.acquire(entity, resource, consume):
                    admitted[number] += 1
                else:
                    refused += 1
        return admitted

    def assert_agree(self, programs, wanted, entity="user-1", resource="api", resets_at_ms=None,
                     alike=()):
        """All programs say that `wanted` remains, in whole tokens, and when it comes back; of the
        limits `alike`, that the same remains."""
        remains = {}
        for program in programs:
            seen = self.own(program.available(entity, resource), entity)
            remaining = {name: int(self.whole(status.remaining))
                         for (_, name), status in seen.items() if name in wanted}
            self.assertEqual(remaining, wanted, program)
            for name in alike:
                whole = self.whole(seen[entity, name].remaining)
                self.assertEqual(whole, remains.setdefault(name, whole), program)
            for name, instant in (resets_at_ms or {}).items():
                self.assertEqual(seen[entity, name].resets_at_ms, instant, program)


class Alternating(SharingTest):
    def test_rate(self):
        self.set_limits("stint", {"rpm": "rpm:60/min"}, resource="api")
        programs = self.programs()
        admitted = self.take_in_turn(programs, {"rpm": 4})
        self.assertEqual(admitted, [5, 5, 5])
        self.assert_agree(programs, {"rpm": 0})
        self.clock.advance(10 * SECOND_MS)
        self.assert_agree(programs, {"rpm": 10})
        self.assertEqual(sum(self.take_in_turn(programs, {"rpm": 2})), 5)

    def test_calendar_quota(self):
        self.set_limits("python", {"day": "day:20@0 0 * * *"}, resource="api")
        programs = self.programs()
        for _ in range(2):
            self.assertEqual(sum(self.take_in_turn(programs, {"day": 3})), 6)
            self.assert_agree(programs, {"day": 2})
            self.clock.now_ms += MIDNIGHT_MS - NOON_MS - 1
            self.assert_agree(programs, {"day": 2})
            self.clock.advance(1)
            self.assert_agree(programs, {"day": 20})
            self.clock.now_ms += DAY_MS // 2

    def test_session_quota(self):
        self.set_limits("stint", {"session": "session:20+5h"}, resource="api")
        programs = self.programs()
        for opener in programs:
            opened_ms = self.clock.now_ms
            self.assertTrue(opener.acquire("user-1", "api", {"session": 1}))
            self.clock.advance(MINUTE_MS)
            self.assert_agree(programs, {"session": 19},
                              resets_at_ms={"session": opened_ms + 5 * HOUR_MS})
            self.assertEqual(sum(self.take_in_turn(programs, {"session": 2})), 9)
            self.assert_agree(programs, {"session": 1})
            state = self.python.buckets("user-1")["api", "session"]
            self.assertEqual((state.window_start_ms, state.window_end_ms),
                             (opened_ms, opened_ms + 5 * HOUR_MS))
            explained = self.stint.explain("user-1", "api")[0]["limits"][0]
            self.assertEqual(explained["window_start_ms"], opened_ms)
            # The last instant of the window, and the first after it.
            self.clock.now_ms = opened_ms + 5 * HOUR_MS - 1
            for program in programs:
                self.assertFalse(program.acquire("user-1", "api", {"session": 2}))
            self.clock.advance(1)
            self.assert_agree(programs, {"session": 20})
            # Idle time belongs to no window.
            self.clock.advance(17 * MINUTE_MS)

    def test_refusals_tell_the_same(self):
        self.set_limits("stint", {"rpm": "rpm:60/min", "day": "day:20@0 0 * * *",
                                  "session": "session:10+5h"}, resource="api")
        self.assertTrue(self.stint.acquire("user-1", "api", {"rpm": 58, "day": 19, "session": 9}))
        self.clock.advance(500)
        for consume in ({"rpm": 5}, {"day": 2}, {"session": 2}, {"rpm": 5, "day": 2, "session": 2}):
            ours = self.stint.acquire("user-1", "api", consume)
            theirs = self.python.acquire("user-1", "api", consume)
            self.assertFalse(ours or theirs)
            self.assertEqual(ours.limits.keys(), theirs.limits.keys())
            for key, status in theirs.limits.items():
                same = ours.limits[key]
                self.assertEqual((status.exceeded, status.capacity, status.resets_at_ms),
                                 (same.exceeded, same.capacity, same.resets_at_ms), key)
                self.assertEqual(status.remaining, self.whole(same.remaining))
                # The package adds up to a millisecond to waits.
                self.assertLessEqual(abs(status.retry_after_ms - same.retry_after_ms), 1, key)

    def test_calendars_reset_at_the_same_instant_beside_changes_of_the_clock(self):
        crons = {"night": "0 0 * * *", "skipped": "30 2 * * *", "after": "0 3 * * *",
                 "sunday": "0 0 * * 0", "month": "0 0 1 * *"}
        self.set_limits("stint", {name: f"{name}:10@{cron}@Europe/Berlin"
                                  for name, cron in crons.items()}, resource="api")
        for change_ms in (SUMMER_BEGINS_MS, SUMMER_ENDS_MS):
            for passed_ms in (-DAY_MS, -2 * HOUR_MS, -30 * MINUTE_MS - 1, -1, 0, 30 * MINUTE_MS,
                              HOUR_MS, DAY_MS):
                self.clock.now_ms = change_ms + passed_ms
                entity = f"user-{self.clock.now_ms}"
                self.assertTrue(self.python.acquire(entity, "api", dict.fromkeys(crons, 10)))
                ours = self.stint.acquire(entity, "api", dict.fromkeys(crons, 1))
                theirs = self.python.acquire(entity, "api", dict.fromkeys(crons, 1))
                self.assertFalse(ours or theirs)
                for name in crons:
                    with self.subTest(cron=crons[name], change=change_ms, passed=passed_ms):
                        self.assertEqual(ours.limits[entity, name].resets_at_ms,
                                         theirs.limits[entity, name].resets_at_ms)
                        self.assertGreater(ours.limits[entity, name].resets_at_ms,
                                           self.clock.now_ms)

    def test_cascade(self):
        for creator in ("stint", "python"):
            with self.subTest(creator=creator):
                parent, children = f"org-{creator}", [f"{creator}-1", f"{creator}-2"]
                self.create_entity(creator, parent)
                for child in children:
                    self.create_entity(creator, child, parent, cascade=True)
                self.set_limits(creator, {"rpm": "rpm:60/min", "day": "day:50@0 0 * * *"},
                                resource="api")
                programs = self.programs()
                used = [sum(self.take_in_turn(programs, {"rpm": 2, "day": 3}, entity=child))
                        for child in children]
                # Each child has 50 a day, and both together have the 50 of their parent.
                self.assertEqual(used, [16, 0])
                self.assert_agree(programs, {"rpm": 28, "day": 2}, entity=children[0])
                self.assert_agree(programs, {"rpm": 60, "day": 50}, entity=children[1])
                self.assert_agree(programs, {"rpm": 28, "day": 2}, entity=parent)

    def test_cascade_with_unequal_limits(self):
        self.create_entity("python", "org-1")
        self.create_entity("stint", "user-1", "org-1", cascade=True)
        self.set_limits("stint", {"rpm": "rpm:100/min", "session": "session:30+5h"}, resource="api")
        self.set_limits("python", {"rpm": "rpm:45/min"}, entity="org-1", resource="api")
        programs = self.programs()
        consume = {"rpm": 2, "session": 1}
        self.assertTrue(self.python.acquire("user-1", "api", consume))
        driver = programs[1]
        self.assertTrue(driver.acquire("user-1", "api", consume))
        # The parent has no session limit: known from then on, and not asked for.
        before = driver.requests()
        self.assertTrue(driver.acquire("user-1", "api", consume))
        self.assertEqual(driver.requests() - before, 2)
        self.assertEqual(sum(self.take_in_turn(programs, consume)), 22 - 3)
        self.assert_agree(programs, {"rpm": 56, "session": 8})
        self.assert_agree(programs, {"rpm": 1}, entity="org-1")

    def test_several_limits_are_taken_together(self):
        self.set_limits("python", {"rpm": "rpm:60/min", "tpm": "tpm:1000/min",
                                   "session": "session:40+5h"}, resource="api")
        programs = self.programs()
        admitted = self.take_in_turn(programs, {"rpm": 1, "tpm": 70, "session": 2})
        self.assertEqual(sum(admitted), 14)
        self.assert_agree(programs, {"rpm": 46, "tpm": 20, "session": 12})

    def test_windows_of_limits_that_are_not_named(self):
        """Of stint only a debit opens them; the package opens all that have ended."""
        self.set_limits("stint", {"rpm": "rpm:60/min", "session": "session:20+5h"}, resource="api")
        driver = self.new_driver()
        for program in (self.stint, driver):
            self.assertTrue(program.acquire("user-1", "api", {"rpm": 1}))
            self.assertTrue(program.acquire("user-1", "api", {"rpm": 1, "session": 0}))
            self.clock.advance(MINUTE_MS)
        self.assert_agree([self.stint, self.python], {"session": 20},
                          resets_at_ms={"session": None})
        self.assertTrue(self.python.acquire("user-1", "api", {"rpm": 1}))
        ends_ms = self.clock.now_ms + 5 * HOUR_MS
        self.assert_agree([self.stint, driver, self.python], {"session": 20},
                          resets_at_ms={"session": ends_ms})
        self.clock.advance(HOUR_MS)
        self.assertTrue(self.stint.acquire("user-1", "api", {"session": 3}))
        self.assert_agree([self.stint, driver, self.python], {"session": 17},
                          resets_at_ms={"session": ends_ms})

    def test_limit_that_nobody_configured(self):
        self.set_limits("stint", {"rpm": "rpm:60/min"}, resource="api")
        with self.assertRaises(self.StintError) as refusal:
            self.stint.acquire("user-1", "api", {"rpm": 1, "typo": 1})
        self.assertEqual(refusal.exception.code, "invalid_argument")
        self.assertTrue(self.python.acquire("user-1", "api", {"rpm": 1, "typo": 1}))
        self.assert_agree([self.stint, self.python], {"rpm": 59})

    def test_many_limits_as_each_creates_the_bucket(self):
        specs = {f"limit-{n}": f"limit-{n}:{10 + n}/min" for n in range(10)}
        self.set_limits("stint", specs, resource="api")
        consume = {name: 1 for name in specs}
        for creator, follower in ((self.stint, self.python), (self.python, self.stint)):
            entity = f"user-{type(creator).__name__}"
            self.assertTrue(creator.acquire(entity, "api", consume))
            self.assertTrue(follower.acquire(entity, "api", consume))
            self.assert_agree([self.stint, self.python],
                              {f"limit-{n}": 8 + n for n in range(10)}, entity=entity)


class Corrections(SharingTest):
    LIMITS = {"rpm": "rpm:60/min", "day": "day:100@0 0 * * *", "session": "session:100+5h"}

    def setUp(self):
        super().setUp()
        self.set_limits("stint", self.LIMITS, resource="api")

    def test_given_back_and_taken_in_addition(self):
        programs = self.programs()
        consume = {"rpm": 10, "day": 10, "session": 10}
        for program in programs:
            self.assertTrue(program.acquire("user-1", "api", consume,
                                            {"rpm": -5, "day": 5, "session": -10}))
        self.assert_agree(programs, {"rpm": 45, "day": 55, "session": 100})

    def test_into_debt(self):
        programs = self.programs()
        self.assertTrue(self.python.acquire("user-1", "api", {"day": 10}, {"day": 95}))
        self.assert_agree(programs, {"day": -5})
        for program in programs:
            self.assertFalse(program.acquire("user-1", "api", {"day": 1}))
            self.assertFalse(program.acquire("user-1", "api", {"day": 0, "rpm": 1}))
        self.clock.now_ms = MIDNIGHT_MS
        self.assert_agree(programs, {"day": 100})
        self.assertTrue(self.stint.acquire("user-1", "api", {"day": 10}, {"day": 95}))
        self.assert_agree(programs, {"day": -5})

    def test_leases_that_overlap(self):
        driver = self.new_driver()
        theirs = self.python.open_lease("user-1", "api", {"rpm": 10, "day": 10})
        driver.open_lease("ours", "user-1", "api", {"rpm": 10, "day": 10})
        self.python.close_lease(theirs, {"rpm": -10, "day": 5})
        driver.settle("ours", {"rpm": 5, "day": -10})
        self.assert_agree([self.stint, driver, self.python], {"rpm": 45, "day": 85})

    def test_failed_callers(self):
        driver = self.new_driver()
        theirs = self.python.open_lease("user-1", "api", {"rpm": 10, "day": 10, "session": 10})
        driver.open_lease("ours", "user-1", "api", {"rpm": 10, "day": 10, "session": 10})
        self.python.fail_lease(theirs)
        driver.roll_back("ours")
        self.assert_agree([self.stint, driver, self.python],
                          {"rpm": 60, "day": 100, "session": 100})

    def test_credit_after_a_reset_of_the_other(self):
        """What was debited in a period that is over reaches no balance of the next."""
        driver = self.new_driver()
        driver.open_lease("ours", "user-1", "api", {"day": 30})
        theirs = self.python.open_lease("user-1", "api", {"day": 30})
        self.clock.now_ms = MIDNIGHT_MS
        self.assertTrue(self.python.acquire("user-1", "api", {"day": 1}))
        driver.settle("ours", {"day": -30})
        self.python.close_lease(theirs, {"day": -30})
        self.assert_agree([self.stint, driver, self.python], {"day": 99})

    def test_credit_after_a_window_of_the_other(self):
        driver = self.new_driver()
        driver.open_lease("ours", "user-1", "api", {"session": 30})
        theirs = self.python.open_lease("user-1", "api", {"session": 30})
        self.clock.advance(5 * HOUR_MS)
        self.assertTrue(self.python.acquire("user-1", "api", {"session": 1}))
        driver.settle("ours", {"session": -30})
        self.python.close_lease(theirs, {"session": -30})
        self.assert_agree([self.stint, driver, self.python], {"session": 99})

    def test_credit_into_a_bucket_that_refilled(self):
        driver = self.new_driver()
        driver.open_lease("ours", "user-1", "api", {"rpm": 30})
        theirs = self.python.open_lease("user-1", "api", {"rpm": 30})
        self.clock.advance(MINUTE_MS)
        driver.settle("ours", {"rpm": -30})
        self.python.close_lease(theirs, {"rpm": -30})
        self.assert_agree([self.stint, driver, self.python], {"rpm": 60})
        # Nothing above the ceiling hides in the item.
        self.assertEqual(sum(self.take_in_turn([self.stint, driver], {"rpm": 1})), 60)


class Changes(SharingTest):
    """Limits are changed by one program while the other uses them."""

    def changed_while_warm(self, changer, before, after, scope, consume, wanted):
        driver, python = self.new_driver(), self.python
        self.set_limits(changer, before, **scope)
        for program in (driver, python):
            self.assertTrue(program.acquire("user-1", "api", consume))
        self.set_limits(changer, after, **scope)
        # Longer than either keeps configuration.
        self.clock.advance(2 * MINUTE_MS)
        programs = [self.stint, driver, python]
        for program in programs:
            self.assertTrue(program.acquire("user-1", "api", consume))
        self.assert_agree(programs, wanted)

    def test_rate(self):
        for changer in ("stint", "python"):
            for scope in ({"resource": "api"}, {"entity": "user-1", "resource": "api"},
                          {"entity": "user-1"}):
                # The buckets of an entity are told at once, and refill at the new rate from then
                # on; the others were filled up to what applied when they are next used.
                raised = 597 if "entity" in scope else 57
                for after, wanted in (("rpm:20/min", 17), ("rpm:600/min", raised)):
                    with self.subTest(changer=changer, scope=scope, after=after):
                        self.start_afresh()
                        self.changed_while_warm(changer, {"rpm": "rpm:60/min"}, {"rpm": after},
                                                scope, {"rpm": 1}, {"rpm": wanted})

    def test_quota_is_never_worth_more_than_was_configured(self):
        """However its capacity goes up and down, a day admits no more than the greatest one."""
        for changers in (("stint", "stint"), ("python", "python"), ("stint", "python"),
                         ("python", "stint")):
            with self.subTest(changers=changers):
                self.start_afresh()
                scope = {"entity": "user-1", "resource": "api"}
                self.set_limits(changers[0], {"day": "day:100@0 0 * * *"}, **scope)
                programs = self.programs()
                admitted = 0
                for _ in range(3):
                    for changer, capacity in zip(changers, (10, 100)):
                        self.set_limits(changer, {"day": f"day:{capacity}@0 0 * * *"}, **scope)
                        self.clock.advance(2 * MINUTE_MS)
                        for program in programs:
                            admitted += bool(program.acquire("user-1", "api", {"day": 2}))
                admitted += sum(self.take_in_turn(programs, {"day": 2}))
                self.assertLessEqual(2 * admitted, 100)
                self.clock.now_ms = MIDNIGHT_MS
                self.assert_agree(programs, {"day": 100})

    def test_quota_raised_by_mistake_and_put_right_loses_nothing(self):
        """What nobody used is still there after a change of its capacity there and back."""
        for changers in (("stint", "stint"), ("python", "python"), ("stint", "python"),
                         ("python", "stint")):
            for scope in ({"resource": "api"}, {"entity": "user-1", "resource": "api"}):
                with self.subTest(changers=changers, scope=scope):
                    self.start_afresh()
                    self.set_limits("stint", {"day": "day:100@0 0 * * *"}, **scope)
                    programs = self.programs()
                    taken = 0
                    for _ in range(2):
                        for changer, capacity in zip(changers, (1000, 100)):
                            for program in programs:
                                self.assertTrue(program.acquire("user-1", "api", {"day": 2}))
                                taken += 2
                            self.set_limits(changer, {"day": f"day:{capacity}@0 0 * * *"}, **scope)
                            self.clock.advance(2 * MINUTE_MS)
                    self.assert_agree(programs, {"day": 100 - taken})
                    self.assertTrue(programs[0].acquire("user-1", "api", {"day": 100 - taken}))

    def test_limit_added_and_removed(self):
        for changer in ("stint", "python"):
            with self.subTest(changer=changer):
                self.start_afresh()
                scope = {"entity": "user-1", "resource": "api"}
                self.set_limits(changer, {"rpm": "rpm:60/min"}, **scope)
                programs = self.programs()
                for program in programs:
                    self.assertTrue(program.acquire("user-1", "api", {"rpm": 1}))
                self.set_limits(changer, {"rpm": "rpm:60/min", "day": "day:9@0 0 * * *"}, **scope)
                self.clock.advance(2 * MINUTE_MS)
                self.assertEqual(sum(self.take_in_turn(programs, {"day": 2})), 4)
                self.set_limits(changer, {"day": "day:9@0 0 * * *"}, **scope)
                self.clock.advance(2 * MINUTE_MS)
                for program in programs:
                    seen = self.own(program.available("user-1", "api"), "user-1")
                    self.assertEqual({name for _, name in seen}, {"day"})
                self.assert_agree(programs, {"day": 1})

    def test_session_length(self):
        """A running window keeps its start; its end follows the new length."""
        for changer in ("stint", "python"):
            with self.subTest(changer=changer):
                self.start_afresh()
                scope = {"entity": "user-1", "resource": "api"}
                self.set_limits(changer, {"session": "session:10+5h"}, **scope)
                programs = self.programs()
                for program in programs:
                    self.assertTrue(program.acquire("user-1", "api", {"session": 1}))
                self.set_limits(changer, {"session": "session:10+2h"}, **scope)
                self.clock.advance(2 * MINUTE_MS)
                for program in programs:
                    self.assertTrue(program.acquire("user-1", "api", {"session": 1}))
                self.assert_agree(programs, {"session": 4},
                                  resets_at_ms={"session": NOON_MS + 2 * HOUR_MS})
                self.clock.now_ms = NOON_MS + 2 * HOUR_MS
                self.assertTrue(self.python.acquire("user-1", "api", {"session": 1}))
                self.assert_agree(programs, {"session": 9},
                                  resets_at_ms={"session": NOON_MS + 4 * HOUR_MS})

    def test_level_schedule(self):
        """Both change over at the same minute; of the time before, they think differently."""
        self.set_limits("stint", {"rpm": "rpm:60/min|* 13 * * *=x0.5"}, resource="api")
        programs = self.programs()
        for program in programs:
            self.assertTrue(program.acquire("user-1", "api", {"rpm": 1}))
        self.clock.now_ms = NOON_MS + HOUR_MS - 1
        self.assert_agree(programs, {"rpm": 60})
        self.clock.advance(1)
        self.assert_agree(programs, {"rpm": 30})
        self.assertEqual(sum(self.take_in_turn(programs, {"rpm": 2})), 15)
        self.clock.now_ms = NOON_MS + 2 * HOUR_MS
        # The half hour until now filled the bucket up to the half ceiling. The package reckons it
        # by what applies from now on.
        self.assert_agree(programs[:2], {"rpm": 30})
        self.assert_agree([self.python], {"rpm": 60})
        self.clock.advance(30 * SECOND_MS)
        self.assert_agree(programs, {"rpm": 60})


class Policies(SharingTest):
    """A remembered image may reject for a second, hence the pauses after what admits more."""

    def setUp(self):
        super().setUp()
        self.set_limits("python", {"day": "day:60@0 0 * * *"}, resource="api")
        self.driver = self.new_driver()
        self.all = [self.stint, self.driver, self.python]
        for program in self.all:
            self.assertTrue(program.acquire("user-1", "api", {"day": 1}))

    def assert_all_refused(self):
        for program in self.all:
            self.assertTrue(program.acquire("user-1", "api", {"day": 1}).disabled, program)

    def test_disabled_by_the_package(self):
        repository = self.python.repository
        self.python.run(repository.disable_entity("user-1", "api"))
        self.assert_all_refused()
        self.python.run(repository.clear_entity_disabled("user-1", "api"))
        for program in self.all:
            self.assertTrue(program.acquire("user-1", "api", {"day": 1}))

    def test_disabled_by_stint(self):
        self.driver.call("set_access", resource="api", access="disabled")
        self.assert_all_refused()
        self.driver.call("set_access", entity="user-1", resource="api", access="enforce")
        for program in self.all:
            self.assertTrue(program.acquire("user-1", "api", {"day": 1}))

    def test_bypassed(self):
        for bypass in (lambda: self.python.run(self.python.repository.bypass_resource("api")),
                       lambda: self.driver.call("set_access", resource="api", access="bypass")):
            bypass()
            self.clock.advance(2 * SECOND_MS)
            for program in self.all:
                self.assertTrue(program.acquire("user-1", "api", {"day": 500}), program)
            self.python.run(self.python.repository.enable_resource("api"))
            self.clock.advance(2 * SECOND_MS)
            for program in self.all:
                self.assertFalse(program.acquire("user-1", "api", {"day": 500}), program)
            self.assert_agree(self.all, {"day": 57})

    def test_soft(self):
        soft = self.python.calendar("day", 60, "0 0 * * *", soft=True)
        self.python.run(self.python.limiter.set_resource_defaults("api", [soft]))
        self.clock.advance(2 * SECOND_MS)
        for program in self.all:
            self.assertTrue(program.acquire("user-1", "api", {"day": 100}), program)
        self.assert_agree(self.all, {"day": 57 - 300})
        self.set_limits("stint", {"day": "day:60@0 0 * * *"}, resource="api")
        for program in self.all:
            self.assertFalse(program.acquire("user-1", "api", {"day": 1}), program)


class Operations(SharingTest):
    """What only the package can do so far, and stint has to live with."""

    def test_moved_to_another_parent(self):
        for parent in ("org-1", "org-2"):
            self.create_entity("python", parent)
        self.create_entity("stint", "user-1", "org-1", cascade=True)
        self.set_limits("stint", {"day": "day:100@0 0 * * *"}, resource="api")
        programs = self.programs()
        for program in programs:
            self.assertTrue(program.acquire("user-1", "api", {"day": 1}))
        self.python.run(self.python.limiter.set_parent("user-1", "org-2"))
        for program in programs:
            self.assertTrue(program.acquire("user-1", "api", {"day": 1}))
        self.assert_agree(programs, {"day": 94})
        self.assert_agree(programs, {"day": 97}, entity="org-1")
        self.assert_agree(programs, {"day": 97}, entity="org-2")
        self.python.run(self.python.limiter.set_parent("user-1", None))
        for program in programs:
            self.assertTrue(program.acquire("user-1", "api", {"day": 1}))
        self.assert_agree(programs, {"day": 91})
        self.assert_agree(programs, {"day": 97}, entity="org-2")

    def test_reset_and_topped_up(self):
        self.set_limits("python", {"rpm": "rpm:60/min", "day": "day:20@0 0 * * *",
                                   "session": "session:20+5h"}, resource="api")
        programs = self.programs()
        repository = self.python.repository
        everything = {"rpm": 1, "day": 5, "session": 5}
        self.assertEqual(sum(self.take_in_turn(programs, everything)), 4)
        self.python.run(repository.top_up("user-1", "api", {"day": 7}))
        self.assert_agree(programs, {"day": 7, "session": 0})
        self.assertEqual(sum(self.take_in_turn(programs, {"day": 1})), 7)
        self.clock.advance(SECOND_MS)
        self.python.run(repository.reset_bucket("user-1", "api"))
        self.assert_agree(programs, {"rpm": 60, "day": 20, "session": 20})
        self.assertEqual(sum(self.take_in_turn(programs, everything)), 4)
        self.clock.now_ms = MIDNIGHT_MS
        self.assert_agree(programs, {"rpm": 60, "day": 20, "session": 20})

    def test_credit_pins_the_reset(self):
        """What was taken before an operator's reset is not given back after it."""
        self.set_limits("stint", {"day": "day:20@0 0 * * *"}, resource="api")
        driver = self.new_driver()
        driver.open_lease("ours", "user-1", "api", {"day": 15})
        self.clock.advance(SECOND_MS)
        self.python.run(self.python.repository.reset_bucket("user-1", "api"))
        self.assertTrue(self.python.acquire("user-1", "api", {"day": 10}))
        driver.settle("ours", {"day": -15})
        self.assert_agree([self.stint, driver, self.python], {"day": 10})


class Shards(SharingTest):
    """A bucket that the package has split, which it does under more than 1,000 writes a second."""

    def split(self, shard_count=2):
        count = 1
        while count < shard_count:
            count = self.python.run(self.python.repository.bump_shard_count("user-1", "api", count))

    def take_from_all(self, programs, consume):
        """Acquires until nobody is admitted any more, whichever shard is drawn."""
        admitted, refused = 0, 0
        while refused < 8 * len(programs):
            for program in programs:
                if program.acquire("user-1", "api", consume):
                    admitted += 1
                    refused = 0
                else:
                    refused += 1
        return admitted

    def test_rate(self):
        self.set_limits("stint", {"rpm": "rpm:40/min"}, resource="api")
        programs = self.programs()
        for program in programs:
            self.assertTrue(program.acquire("user-1", "api", {"rpm": 1}))
        self.split()
        self.clock.advance(MINUTE_MS)
        self.assertEqual(self.take_from_all(programs, {"rpm": 1}), 40)

    def test_calendar_quota_on_shards_of_the_package(self):
        self.set_limits("stint", {"day": "day:40@0 0 * * *"}, resource="api")
        programs = self.programs()
        for program in programs:
            self.assertTrue(program.acquire("user-1", "api", {"day": 1}))
        self.split()
        # The package makes the second shard at its first use, and moves a share of the quota there.
        while self.item("BUCKET#user-1#api#1", "#STATE") is None:
            self.python.acquire("user-1", "api", {"day": 0})
        self.assertEqual(self.take_from_all(programs, {"day": 1}), 37)
        self.clock.now_ms = MIDNIGHT_MS
        self.assertEqual(self.take_from_all(programs, {"day": 1}), 40)

    def test_window_on_several_shards_is_refused_and_nothing_is_damaged(self):
        self.set_limits("stint", {"session": "session:40+5h"}, resource="api")
        self.assertTrue(self.python.acquire("user-1", "api", {"session": 1}))
        self.split()
        while self.item("BUCKET#user-1#api#1", "#STATE") is None:
            self.python.acquire("user-1", "api", {"session": 1})
        self.assertTrue(self.stint.acquire("user-1", "api", {"session": 1}))
        self.clock.advance(6 * HOUR_MS)
        before = self.buckets()
        with self.assertRaises(self.StintError) as refusal:
            self.stint.acquire("user-1", "api", {"session": 1})
        self.assertIn("shard", str(refusal.exception))
        self.assertEqual(self.buckets(), before)
        # The package opens it; then both use it.
        self.assertTrue(self.python.acquire("user-1", "api", {"session": 1}))

    def buckets(self):
        return sorted((str(sorted(item.items())) for item in self.items()
                       if "BUCKET#" in item["PK"]["S"]))


class Bursts(SharingTest):
    """Decision 15: what a full bucket admits after a rest."""

    LIMITS = {"tps": "tps:20/s:100"}

    def rest_and_burst(self, programs):
        """Opens a bucket, lets it rest for 7 s, then takes tens as fast as possible."""
        self.set_limits("stint", self.LIMITS, resource="api")
        self.assertTrue(programs[0].acquire("user-1", "api", {"tps": 1}))
        self.clock.advance(7 * SECOND_MS)
        return 10 * sum(self.take_in_turn(programs, {"tps": 10}))

    def test_of_stint(self):
        self.assertEqual(self.rest_and_burst([self.stint, self.new_driver()]), 100)

    def test_of_the_package(self):
        """The defect that is stated: a full bucket is spent twice."""
        self.assertEqual(self.rest_and_burst([self.python]), 190)

    def test_of_both(self):
        """No worse than by the package alone."""
        self.assertLessEqual(self.rest_and_burst([self.python, self.stint, self.new_driver()]), 200)

    def test_settled_after_a_rest(self):
        """Taken 1, rested 10 s, settled 90 more: 10 remain, not 100."""
        self.set_limits("stint", self.LIMITS, resource="api")
        driver = self.new_driver()
        driver.open_lease("ours", "user-1", "api", {"tps": 1})
        self.clock.advance(10 * SECOND_MS)
        driver.settle("ours", {"tps": 90})
        self.assert_agree([self.stint, driver, self.python], {"tps": 10})


class Competing(SharingTest):
    """Many calls of both programs at the same time, while the clock stands still."""

    # Neither program's alone are as many as the quotas of the tests, both programs' are more.
    CALLS = 120

    def compete(self, consume, entity="user-1", correct=None, meanwhile=lambda: None):
        """How many calls each program had admitted. Each gives back what `correct` says;
        `meanwhile` is done at the same time."""
        drivers = [self.new_driver(), self.new_driver()]
        pythons = [self.python, self.new_python()]
        everybody = threading.Barrier(len(pythons) + 1)
        theirs = [0] * len(pythons)

        async def one(python, gate):
            # pylint: disable=protected-access
            async with gate:
                return bool(await python._acquire(entity, "api", consume, correct))

        async def all_of(python):
            gate = asyncio.Semaphore(4)
            return sum(await asyncio.gather(*(one(python, gate) for _ in range(self.CALLS // 2))))

        def run(number):
            everybody.wait()
            theirs[number] = pythons[number].run(all_of(pythons[number]))

        threads = [threading.Thread(target=run, args=(number,)) for number in range(len(pythons))]
        for thread in threads:
            thread.start()
        everybody.wait()
        release = {limit: -amount for limit, amount in (correct or {}).items()}
        for driver in drivers:
            driver.start_burst(entity, "api", consume, self.CALLS, 4, release)
        meanwhile()
        for thread in threads:
            thread.join()
        counts = [driver.receive()["counts"] for driver in drivers]
        for count in counts:
            self.assertLessEqual(count.keys(), {"admitted", "rejected", "conflict"})
        ours = sum(count.get("admitted", 0) for count in counts)
        self.assertGreater(ours, 0)
        self.assertGreater(sum(theirs), 0)
        return ours, sum(theirs)

    def admitted_in_all(self, consume, entity="user-1"):
        """By whoever, as long as something is left."""
        ours, theirs = self.compete(consume, entity)
        left = sum(self.take_in_turn([self.stint, self.python], consume, entity))
        self.assertEqual(self.stint.run("store", "check")["problem_count"], 0)
        return ours + theirs + left

    def test_rate(self):
        self.set_limits("stint", {"rpm": "rpm:300/min"}, resource="api")
        self.assertEqual(self.admitted_in_all({"rpm": 1}), 300)

    def test_calendar_quota_at_its_edge(self):
        self.set_limits("stint", {"day": "day:300@0 0 * * *"}, resource="api")
        self.assertTrue(self.python.acquire("user-1", "api", {"day": 60}))
        self.clock.now_ms = MIDNIGHT_MS
        self.assertEqual(self.admitted_in_all({"day": 1}), 300)

    def test_session_quota_as_its_window_opens(self):
        self.set_limits("stint", {"session": "session:300+5h"}, resource="api")
        self.assertTrue(self.stint.acquire("user-1", "api", {"session": 60}))
        self.clock.advance(6 * HOUR_MS)
        self.assertEqual(self.admitted_in_all({"session": 1}), 300)
        self.assert_agree([self.stint, self.python], {"session": 0},
                          resets_at_ms={"session": self.clock.now_ms + 5 * HOUR_MS})

    def test_new_bucket(self):
        self.set_limits("python", {"rpm": "rpm:300/min", "session": "session:290+5h"},
                        resource="api")
        self.assertEqual(self.admitted_in_all({"rpm": 1, "session": 1}), 290)
        self.assert_agree([self.stint, self.python], {"rpm": 10, "session": 0})

    def test_children_of_one_parent(self):
        self.create_entity("stint", "org-1")
        for child in ("user-1", "user-2"):
            self.create_entity("python", child, "org-1", cascade=True)
        self.set_limits("stint", {"day": "day:700@0 0 * * *"}, resource="api")
        first = sum(self.compete({"day": 1}, "user-1"))
        self.assertEqual(first + self.admitted_in_all({"day": 1}, "user-2"), 700)
        self.assert_agree([self.stint, self.python], {"day": 0}, entity="org-1")

    def test_what_is_given_back_is_given_back_once(self):
        """Of three that are taken, two come back."""
        self.set_limits("stint", {"rpm": "rpm:2000/min", "day": "day:2000@0 0 * * *"},
                        resource="api")
        admitted = sum(self.compete({"rpm": 3, "day": 3}, correct={"rpm": -2, "day": -2}))
        self.assert_agree([self.stint, self.python],
                          {"rpm": 2000 - admitted, "day": 2000 - admitted})

    def test_limits_change_and_a_window_ends(self):
        self.set_limits("stint", {"session": "session:1000+5h"}, resource="api")
        opened_ms = self.clock.now_ms
        self.compete({"session": 1}, meanwhile=lambda: self.set_limits(
            "stint", {"session": "session:300+5h"}, resource="api"))
        # Longer than either keeps configuration.
        self.clock.advance(2 * MINUTE_MS)
        programs = [self.stint, self.python]
        self.take_in_turn(programs, {"session": 1})
        self.assert_agree(programs, {"session": 0},
                          resets_at_ms={"session": opened_ms + 5 * HOUR_MS})
        self.clock.now_ms = opened_ms + 5 * HOUR_MS
        self.assertEqual(self.admitted_in_all({"session": 1}), 300)
        self.assert_agree([self.stint, self.python], {"session": 0},
                          resets_at_ms={"session": self.clock.now_ms + 5 * HOUR_MS})


class RandomAlternation(SharingTest):
    """A long walk of both programs, compared with what the limits allow."""

    STEPS = 120

    def test_walk(self):
        print(f"seed {SEED} (repeat with STINT_TEST_SEED={SEED})", flush=True)
        rng = random.Random(SEED)
        self.create_entity("python", "org-1")
        self.create_entity("stint", "user-1", "org-1", cascade=True)
        self.set_limits("stint", {"rpm": "rpm:60/min", "day": "day:200@0 0 * * *",
                                  "session": "session:80+5h"}, resource="api")
        programs = self.programs()
        used_today, used_in_window, used_of_rate = 0, 0, 0
        began_ms = self.clock.now_ms
        day, window_end = began_ms // DAY_MS, 0
        answers = {True: 0, False: 0}
        for step in range(self.STEPS):
            passed = rng.choice((0, 0, 1, 900, 20 * SECOND_MS, 3 * MINUTE_MS, HOUR_MS))
            self.clock.advance(passed)
            now = self.clock.now_ms
            if now // DAY_MS != day:
                day, used_today = now // DAY_MS, 0
            if now >= window_end:
                used_in_window = 0
            program = rng.choice(programs)
            consume = {"rpm": rng.randrange(1, 20), "day": rng.randrange(1, 25),
                       "session": rng.randrange(1, 12)}
            correct = None
            if rng.random() < 0.4:
                # Given back, or taken in addition, into debt if need be.
                correct = {name: rng.randrange(1 - amount, 4) for name, amount in consume.items()}
            outcome = program.acquire("user-1", "api", consume, correct)
            answers[bool(outcome)] += 1
            with self.subTest(step=step, program=program, now=now):
                if outcome:
                    self.assertLessEqual(used_today + consume["day"], 200)
                    self.assertLessEqual(used_in_window + consume["session"], 80)
                    # A full bucket is spent twice by the package.
                    self.assertLessEqual(used_of_rate + consume["rpm"],
                                         2 * 60 + (now - began_ms) / SECOND_MS)
                    if now >= window_end:
                        window_end = now + 5 * HOUR_MS
                    for name, amount in (correct or {}).items():
                        consume[name] += amount
                    used_today += consume["day"]
                    used_in_window += consume["session"]
                    used_of_rate += consume["rpm"]
                for entity in ("user-1", "org-1"):
                    self.assert_agree(programs, {"day": 200 - used_today,
                                                 "session": 80 - used_in_window}, entity=entity,
                                      alike=("rpm",))
        self.assertGreater(min(answers.values()), 0, answers)
        self.assertEqual(self.stint.run("store", "check")["problem_count"], 0)


class OnATableOfStint(Alternating):
    """The same where stint made the table."""

    def create_table(self):
        self.create_table_of_stint()


if __name__ == "__main__":
    unittest.main(warnings="ignore")
