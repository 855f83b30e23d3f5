#!/usr/bin/env python3
"""What one program writes, the other reads with the same meaning.

    STINT=build/dev/bin/stint scripts/fetch-python-package tests/interop/records_test.py [TEST...]
"""

import json
import re
import unittest

from peers import DAY_MS, HOUR_MS, MINUTE_MS, NOON_MS, SharedTableTest

# A level schedule in the words of each program.
SCHEDULE = "rpm:60/min|* 9-17 * * 1-5=x0.5|* 0-6 * * *=capacity:90,refill:90@Europe/Berlin"


class Entities(SharedTableTest):
    def test_of_the_package(self):
        create = self.python.limiter.create_entity
        self.python.run(create("org-1", name="Org", metadata={"plan": "pro"}))
        self.python.run(create("user-1", parent_id="org-1", cascade=True))
        self.python.run(self.python.limiter.create_entity("user-2", parent_id="org-1"))
        self.python.run(self.python.limiter.create_entity("loner"))

        org = self.stint.run("entity", "show", "org-1")
        self.assertEqual((org["name"], org["parent"], org["cascade"], org["metadata"]),
                         ("Org", None, False, {"plan": "pro"}))
        user = self.stint.run("entity", "show", "user-1")
        self.assertEqual((user["name"], user["parent"], user["cascade"], user["metadata"]),
                         ("user-1", "org-1", True, {}))
        self.assertEqual(self.ids("entity", "children", "org-1"), ["user-1", "user-2"])
        self.assertEqual(self.ids("entity", "list"), ["loner", "org-1", "user-1", "user-2"])

    def test_of_stint(self):
        self.stint.run("entity", "create", "org-1", "--name", "Org", "--metadata", "plan=pro")
        self.stint.run("entity", "create", "user-1", "--parent", "org-1", "--cascade")
        self.stint.run("entity", "create", "user-2", "--parent", "org-1")

        org = self.python.run(self.python.limiter.get_entity("org-1"))
        self.assertEqual((org.id, org.name, org.parent_id, org.cascade, org.metadata),
                         ("org-1", "Org", None, False, {"plan": "pro"}))
        user = self.python.run(self.python.limiter.get_entity("user-1"))
        self.assertEqual((user.id, user.name, user.parent_id, user.cascade, user.metadata),
                         ("user-1", "user-1", "org-1", True, {}))
        children = self.python.run(self.python.limiter.get_children("org-1"))
        self.assertEqual(sorted(child.id for child in children), ["user-1", "user-2"])
        with self.assertRaises(self.python.package.EntityExistsError):
            self.python.run(self.python.limiter.create_entity("user-1"))
        self.assertEqual(self.error_of("entity", "create", "org-1"), "exists")

    def test_deleted_by_the_other(self):
        for creator, remover in (("stint", "python"), ("python", "stint")):
            with self.subTest(remover=remover):
                self.create_entity(creator, "user-1")
                self.set_limits(creator, {"rpm": "rpm:60/min"}, entity="user-1", resource="api")
                self.assertTrue(getattr(self, creator).acquire("user-1", "api", {"rpm": 1}))
                if remover == "python":
                    self.python.run(self.python.limiter.delete_entity("user-1"))
                else:
                    self.stint.run("entity", "delete", "user-1")
                left = [item for item in self.items() if "user-1" in item["PK"]["S"]
                        and "AUDIT#" not in item["PK"]["S"]]
                self.assertEqual(left, [])

    def ids(self, *command):
        return [entity["id"] for entity in self.stint.run(*command)["entities"]]


class Configuration(SharedTableTest):
    def limits_of_the_package(self):
        """All kinds, and what stint prints of them."""
        python = self.python
        entry = python.package.ScheduleEntry
        schedule = (entry("* 9-17 * * MON-FRI", tz="Europe/Berlin", scale=0.5),
                    entry("* 0-6 * * *", tz="Europe/Berlin", capacity=90, refill_amount=90))
        reset = python.package.ScheduleEntry.reset
        half_days = python.calendar("half-day", 100, "0 0 * * *", "Europe/Berlin")
        half_days = half_days.with_reset_schedule((reset("0 0 * * *", tz="Europe/Berlin"),
                                                   reset("0 12 * * *", tz="Europe/Berlin")))
        return {
            "rpm": (python.rate("rpm", 60).with_schedule(schedule), SCHEDULE),
            "tok.in-x_1": (python.rate("tok.in-x_1", 1000, 1, burst=5000),
                           "tok.in-x_1:1000/s:5000"),
            "slow": (python.rate("slow", 10, 90), "slow:10/90s"),
            "month": (python.calendar("month", 500, "0 0 1 * *", "Europe/Berlin"),
                      "month:500@0 0 1 * *@Europe/Berlin"),
            "half-day": (half_days, "half-day:100@0 0 * * *;0 12 * * *@Europe/Berlin"),
            "session": (python.session("session", 10_000, 5 * HOUR_MS), "session:10000+5h"),
            "watched": (python.rate("watched", 5, soft=True), "watched:5/min!soft"),
        }

    SCOPES = ({}, {"resource": "api"}, {"entity": "user-1"},
              {"entity": "user-1", "resource": "api"})

    def set_of_the_package(self, limits, entity=None, resource=None):
        limiter = self.python.limiter
        if entity:
            scope = {"resource": resource} if resource else {}
            return self.python.run(limiter.set_limits(entity, limits, **scope))
        if resource:
            return self.python.run(limiter.set_resource_defaults(resource, limits))
        return self.python.run(limiter.set_system_defaults(limits))

    def get_of_the_package(self, entity=None, resource=None):
        limiter = self.python.limiter
        if entity:
            scope = {"resource": resource} if resource else {}
            found = self.python.run(limiter.get_limits(entity, **scope))
        elif resource:
            found = self.python.run(limiter.get_resource_defaults(resource))
        else:
            found, _ = self.python.run(limiter.get_system_defaults())
        return {limit.name: limit.to_dict() for limit in found}

    def test_of_the_package(self):
        limits = self.limits_of_the_package()
        for scope in self.SCOPES:
            with self.subTest(scope=scope):
                self.set_of_the_package([limit for limit, _ in limits.values()], **scope)
                self.assertEqual(self.stint.get_limits(**scope),
                                 {name: spec for name, (_, spec) in limits.items()})

    def test_of_stint(self):
        limits = self.limits_of_the_package()
        for scope in self.SCOPES:
            with self.subTest(scope=scope):
                self.stint.set_limits(*[spec for _, spec in limits.values()], **scope)
                found = self.get_of_the_package(**scope)
                self.assertEqual(found.keys(), limits.keys())
                # The package keeps the cron as it was typed; the table has numbers for names.
                for name, (limit, _) in limits.items():
                    wanted = limit.to_dict()
                    self.assertEqual(str(found[name]), str(wanted).replace("MON-FRI", "1-5"))

    def test_what_the_system_does_when_the_store_fails(self):
        package = self.python.package
        rate = self.python.rate("rpm", 60)
        self.python.run(self.python.limiter.set_system_defaults(
            [rate], on_unavailable=package.OnUnavailable.ALLOW))
        self.assertEqual(self.stint.run("limits", "get", "--system")["config"]["on_unavailable"],
                         "allow")
        self.stint.set_limits("rpm:60/min", on_unavailable="block")
        _, action = self.python.run(self.python.limiter.get_system_defaults())
        self.assertEqual(action, package.OnUnavailable.BLOCK)

    def test_access_and_cascade_of_the_package(self):
        repository = self.python.repository
        self.python.run(repository.disable_resource("closed"))
        self.python.run(repository.bypass_resource("open"))
        self.python.run(repository.enable_entity("user-1", "closed"))
        self.python.run(repository.set_resource_cascade("api", True))
        self.python.run(repository.set_entity_cascade("user-1", False, "api"))
        for scope, access, cascade in [
                (("--resource", "closed"), "disabled", None),
                (("--resource", "open"), "bypass", None),
                (("--entity", "user-1", "--resource", "closed"), "enforce", None),
                (("--resource", "api"), None, True),
                (("--entity", "user-1", "--resource", "api"), None, False)]:
            config = self.stint.run("limits", "get", *scope)["config"]
            self.assertEqual((config["access"], config["cascade"]), (access, cascade), scope)
        self.set_limits("python", {"rpm": "rpm:60/min"})
        self.assertTrue(self.stint.acquire("user-2", "closed", {"rpm": 1}).disabled)
        self.assertTrue(self.stint.acquire("user-1", "closed", {"rpm": 1}))
        self.assertTrue(self.stint.acquire("user-2", "open", {"rpm": 1_000}))

    def test_cascade_of_stint(self):
        self.create_entity("stint", "org-1")
        for child in ("user-1", "user-2"):
            self.create_entity("stint", child, "org-1")
        self.set_limits("stint", {"rpm": "rpm:60/min"}, resource="api")
        driver = self.new_driver()
        driver.call("set_cascade", resource="api", cascade=True)
        driver.call("set_cascade", entity="user-1", resource="api", cascade=False)
        repository = self.python.repository
        self.assertIs(self.python.run(repository.get_resource_cascade("api")), True)
        self.assertIs(self.python.run(repository.get_entity_cascade("user-1", "api")), False)
        for child, of_parent in (("user-1", 60), ("user-2", 59)):
            self.assertTrue(self.python.acquire(child, "api", {"rpm": 1}))
            self.assert_amounts(self.stint.available("org-1", "api"), {"rpm": of_parent}, "org-1")

    def test_flags_survive_limits_of_the_other(self):
        self.python.run(self.python.repository.disable_resource("closed"))
        self.stint.set_limits("rpm:60/min", resource="closed")
        self.assertIs(self.python.run(self.python.repository.get_resource_disabled("closed")), True)
        self.python.run(self.python.repository.set_resource_cascade("api", True))
        self.stint.set_limits("rpm:60/min", resource="api")
        self.assertIs(self.python.run(self.python.repository.get_resource_cascade("api")), True)

    def test_deleted_by_the_other(self):
        for scope in self.SCOPES:
            with self.subTest(scope=scope):
                self.set_of_the_package([self.python.rate("rpm", 60)], **scope)
                self.stint.delete_limits(**scope)
                self.assertEqual(self.get_of_the_package(**scope), {})
                self.stint.set_limits("rpm:60/min", **scope)
                self.delete_of_the_package(**scope)
                with self.assertRaises(self.StintError) as refusal:
                    self.stint.get_limits(**scope)
                self.assertEqual(refusal.exception.code, "not_found")

    def delete_of_the_package(self, entity=None, resource=None):
        limiter = self.python.limiter
        if entity:
            scope = {"resource": resource} if resource else {}
            return self.python.run(limiter.delete_limits(entity, **scope))
        if resource:
            return self.python.run(limiter.delete_resource_defaults(resource))
        return self.python.run(limiter.delete_system_defaults())


class Registries(SharedTableTest):
    def listed(self):
        """What the package lists: resources with limits, with limits of entities, and these."""
        limiter = self.python.limiter
        custom = self.python.run(limiter.list_resources_with_entity_configs())
        entities = {resource: self.python.run(limiter.list_entities_with_custom_limits(resource))[0]
                    for resource in custom}
        return (sorted(self.python.run(limiter.list_resources_with_defaults())), entities)

    def test_of_both(self):
        self.stint.set_limits("rpm:60/min", resource="api")
        self.set_limits("python", {"rpm": "rpm:60/min"}, resource="batch")
        self.stint.set_limits("rpm:60/min", entity="user-1", resource="api")
        self.set_limits("python", {"rpm": "rpm:60/min"}, entity="user-2", resource="api")
        self.stint.set_limits("rpm:60/min", entity="user-1")
        self.assertEqual(self.listed(), (["api", "batch"], {"_default_": ["user-1"],
                                                            "api": ["user-1", "user-2"]}))
        # A set that replaces counts nobody twice.
        self.set_limits("python", {"rpm": "rpm:90/min"}, entity="user-1", resource="api")
        self.stint.set_limits("rpm:90/min", entity="user-2", resource="api")
        self.stint.delete_limits(resource="batch")
        self.python.run(self.python.limiter.delete_limits("user-1", resource="api"))
        self.stint.delete_limits(entity="user-1")
        self.assertEqual(self.listed(), (["api"], {"api": ["user-2"]}))
        self.stint.delete_limits(entity="user-2", resource="api")
        self.assertEqual(self.listed(), (["api"], {}))


class Buckets(SharedTableTest):
    LIMITS = {"rpm": "rpm:60/min", "tpm": "tpm:1000/s:5000", "day": "day:100@0 0 * * *",
              "session": "session:50+5h"}
    USED = {"rpm": 7, "tpm": 1_500, "day": 3, "session": 2}

    def assert_seen_alike(self, entity="user-1", resource="api"):
        """Remaining, ceiling and window end are the same for both, limit by limit."""
        ours = self.own(self.stint.available(entity, resource), entity)
        theirs = self.python.available(entity, resource)
        self.assertEqual(theirs.keys(), ours.keys())
        for key, status in theirs.items():
            # The package shows whole tokens.
            self.assertEqual(status.remaining, self.whole(ours[key].remaining), key)
            self.assertEqual(status.capacity, ours[key].capacity, key)
            if status.resets_at_ms is not None:
                self.assertEqual(status.resets_at_ms, ours[key].resets_at_ms, key)
        return ours

    def test_of_each(self):
        for writer in ("stint", "python"):
            with self.subTest(writer=writer):
                entity = f"user-{writer}"
                self.set_limits(writer, self.LIMITS, resource="api")
                self.clock.now_ms = NOON_MS
                self.assertTrue(getattr(self, writer).acquire(entity, "api", self.USED))
                for passed_ms, rpm in [(0, 53), (500, "53.5"), (3_500, "56.5"), (MINUTE_MS, 60)]:
                    self.clock.now_ms = NOON_MS + passed_ms
                    seen = self.assert_seen_alike(entity)
                    self.assert_amounts(seen, {"rpm": rpm, "day": 97, "session": 48}, entity)
                    self.assertEqual(seen[entity, "session"].resets_at_ms, NOON_MS + 5 * HOUR_MS)
                self.clock.now_ms = NOON_MS + 5 * HOUR_MS
                self.assert_amounts(self.assert_seen_alike(entity), {"session": 50, "day": 97},
                                    entity)
                self.clock.now_ms = NOON_MS + DAY_MS // 2
                self.assert_amounts(self.assert_seen_alike(entity), {"day": 100}, entity)

    def test_parts_of_a_bucket(self):
        self.set_limits("stint", self.LIMITS, resource="api")
        for writer in ("stint", "python"):
            self.assertTrue(getattr(self, writer).acquire(f"user-{writer}", "api", self.USED))
        ours = self.python.buckets("user-stint")
        theirs = self.python.buckets("user-python")
        self.assertEqual(ours.keys(), theirs.keys())
        for key, theirs_state in theirs.items():
            for part in ("tokens_milli", "last_refill_ms", "capacity_milli", "refill_amount_milli",
                         "refill_period_ms", "total_consumed_milli", "shard_count",
                         "window_start_ms", "window_end_ms", "reset_after_seconds",
                         "window_applied_ms", "grant_count", "reset_sched"):
                self.assertEqual(getattr(ours[key], part), getattr(theirs_state, part), (key, part))
        explained = {limit["limit"]["name"]: limit
                     for limit in self.stint.explain("user-python", "api")[0]["limits"]}
        self.assertEqual(explained["session"]["window_start_ms"], NOON_MS)
        self.assertEqual({name: limit["consumed"] for name, limit in explained.items()}, self.USED)

    def test_capacity_of_a_resource(self):
        self.set_limits("stint", {"rpm": "rpm:60/min"}, resource="api")
        self.assertTrue(self.stint.acquire("user-1", "api", {"rpm": 7}))
        self.assertTrue(self.python.acquire("user-2", "api", {"rpm": 10}))
        found = self.python.run(self.python.limiter.get_resource_capacity("api", "rpm"))
        self.assertEqual((found.total_capacity, found.total_available), (120, 103))
        self.assertEqual({one.entity_id: one.available for one in found.entities},
                         {"user-1": 53, "user-2": 50})

    def test_private_attributes_are_hidden(self):
        self.set_limits("stint", self.LIMITS, resource="api")
        self.assertTrue(self.stint.acquire("user-1", "api", self.USED))
        self.assertTrue(self.stint.acquire("user-1", "api", {"rpm": 1}))
        bucket = self.item("BUCKET#user-1#api#0", "#STATE")
        self.assertTrue([name for name in bucket if name.startswith("st_")])
        self.assertEqual(set(self.python.buckets("user-1")),
                         {("api", name) for name in self.LIMITS})
        self.assertEqual({name for _, name in self.python.available("user-1", "api")},
                         set(self.LIMITS))

    def test_write_capacity_is_charged_by_both(self):
        """1,000 writes a second; what creates a bucket is free."""
        self.set_limits("stint", {"rpm": "rpm:60/min"}, resource="api")
        for creator in ("stint", "python"):
            entity = f"user-{creator}"
            self.assertTrue(getattr(self, creator).acquire(entity, "api", {"rpm": 1}))
            for program in (self.stint, self.python, self.stint):
                self.assertTrue(program.acquire(entity, "api", {"rpm": 1}))
            bucket = self.item(f"BUCKET#{entity}#api#0", "#STATE")
            self.assertEqual(bucket["b_wcu_tk"], {"N": "997000"})


class Items(SharedTableTest):
    """The same done by each in a table of its own leaves the same items."""

    # Drawn by chance, or read from the machine's clock; the write capacity, which corrections pay
    # for here only.
    DRAWN = {"created_at", "updated_at", "updated_by", "timestamp", "event_id", "pinc", "b_wcu_tk",
             "b_wcu_tc"}

    def normal(self, item):
        """Without what differs from table to table, and what only stint has."""
        namespace = self.namespace
        attributes = {}
        for name, value in item.items():
            if name.startswith("st_"):
                continue
            # Stamps of softness end after a time that is drawn.
            drawn = name in self.DRAWN or name.endswith("_soft") and "N" in value
            if "SS" in value:
                value = {"SS": sorted(value["SS"])}
            text = json.dumps(value, sort_keys=True).replace(namespace, "NAMESPACE")
            attributes[name] = "drawn" if drawn else re.sub(r"AUDIT#[0-9A-Z]{26}", "ULID", text)
        return attributes

    def done_by(self, writer):
        self.create_entity(writer, "org-1")
        self.create_entity(writer, "user-1", "org-1", cascade=True)
        self.set_limits(writer, {"rpm": "rpm:60/min"})
        self.set_limits(writer, {"rpm": "rpm:60/min", "day": "day:9@0 0 * * *@Europe/Berlin",
                                 "session": "session:9+5h"}, resource="api")
        self.set_limits(writer, {"tps": "tps:5/s:50"}, entity="org-1")
        self.set_limits(writer, {"tps": "tps:5/s:50"}, entity="user-1", resource="batch")
        self.set_limits(writer, {"tps": "tps:5/s:50"}, entity="user-1", resource="gone")
        self.set_limits(writer, {"half": "half:9/h!soft"}, resource="watched")
        program = getattr(self, writer)
        self.assertTrue(program.acquire("user-2", "api", {"rpm": 1, "day": 2, "session": 3}))
        self.assertTrue(program.acquire("user-2", "api", {"rpm": 3, "day": 1, "session": 4},
                                        {"rpm": -1, "day": 2, "session": -4}))
        self.assertTrue(program.acquire("user-1", "batch", {"tps": 2}))
        self.assertTrue(program.acquire("user-3", "other", {"rpm": 2}))
        self.assertTrue(program.acquire("user-3", "watched", {"half": 20}))
        if writer == "stint":
            self.stint.delete_limits(entity="user-1", resource="gone")
        else:
            self.python.run(self.python.limiter.delete_limits("user-1", resource="gone"))
        self.namespace = self.python.repository.namespace_id
        return sorted((sorted(self.normal(item).items()) for item in self.items()))

    def test_are_alike(self):
        theirs = self.done_by("python")
        self.start_afresh()
        ours = self.done_by("stint")
        for mine, other in zip(ours, theirs):
            self.assertEqual(dict(mine), dict(other))
        self.assertEqual(len(ours), len(theirs))


if __name__ == "__main__":
    unittest.main(warnings="ignore")
