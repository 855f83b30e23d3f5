#!/usr/bin/env python3
"""Tables made by either program, and what both keep in them: version, namespaces, audit.

    STINT=build/dev/bin/stint scripts/fetch-python-package tests/interop/tables_test.py [TEST...]
"""

import json
import tempfile
import unittest

from peers import SCHEMA_VERSION, SECOND_MS, Driver, Python, SharedTableTest, Stint

OTHER = "tenant-b"
# Those that the package is asked for; the rest of a description is the service's.
DEFINITION = ("KeySchema", "BillingModeSummary", "StreamSpecification")
INDEXES = ("GlobalSecondaryIndexes", "LocalSecondaryIndexes")


class Tables(SharedTableTest):
    def description(self, table):
        found = self.server.call("DescribeTable", {"TableName": table})["Table"]
        definition = {name: found.get(name) for name in DEFINITION}
        definition["AttributeDefinitions"] = sorted(
            one["AttributeName"] + one["AttributeType"] for one in found["AttributeDefinitions"])
        for kind in INDEXES:
            definition[kind] = sorted(
                (index["IndexName"], str(index["KeySchema"]), index["Projection"]["ProjectionType"])
                for index in found[kind])
        return definition

    def test_are_defined_alike(self):
        other = Stint.on_table(self.server, self.table + "-stint", self.clock)
        other.run("table", "create")
        self.assertEqual(self.description(self.table + "-stint"), self.description(self.table))

    def test_of_the_package_is_described_and_found_sound(self):
        found = self.stint.run("table", "describe", codes=(7,))
        self.assertEqual((found["layout"], found["status"]), ("compatible", "ACTIVE"))
        # Which the package leaves to the template of its stack.
        self.assertEqual(found["problems"], ["expiry (time to live) is off"])
        self.assertEqual(self.stint.run("store", "check")["problem_count"], 0)
        self.assertTrue(self.stint.run("doctor", codes=(0,))["good"])

    def test_of_the_package_get_no_record_of_ours(self):
        self.stint.set_limits("session:10+5h", resource="api")
        self.assertTrue(self.stint.acquire("user-1", "api", {"session": 1}))
        self.assertIsNone(self.item("SYSTEM#", "#STINT"))

    def test_of_the_package_moves_into_a_directory(self):
        """With the settings that it was used by."""
        self.set_limits("python", {"rpm": "rpm:60/min", "session": "session:9+5h"}, resource="api")
        self.assertTrue(self.python.acquire("user-1", "api", {"rpm": 3, "session": 2}))
        with tempfile.TemporaryDirectory() as directory:
            exported = f"{directory}/items.jsonl"
            self.stint.run("store", "export", exported)
            moved = Stint(f"{directory}/data", self.clock)
            moved.run("store", "import", exported, "--other-settings")
            self.assert_amounts(moved.available("user-1", "api"), {"rpm": 57, "session": 7},
                                "user-1")
            settings = moved.run("store", "info", "--quick")["settings"]
            self.assertEqual(settings["reset_rule"], "compatible")
            self.assertEqual(moved.run("store", "check")["problem_count"], 0)

    def test_of_stint_can_be_deleted_by_the_package(self):
        other = Stint.on_table(self.server, self.table + "-stint", self.clock)
        other.run("table", "create")
        other.run("namespace", "register", "default")
        python = Python(self.server, self.table + "-stint")
        self.addCleanup(python.close)
        python.run(python.repository.delete_table())
        with self.assertRaises(self.StintError) as refusal:
            other.run("table", "describe")
        self.assertEqual(refusal.exception.code, "not_found")

    def test_both_find_a_sound_store_after_both_used_it(self):
        self.create_entity("python", "org-1")
        self.create_entity("stint", "user-1", "org-1", cascade=True)
        self.set_limits("python", {"rpm": "rpm:60/min", "session": "session:9+5h"}, resource="api")
        self.set_limits("stint", {"day": "day:60@0 0 * * *"}, entity="org-1", resource="api")
        for program in (self.stint, self.python, self.stint, self.python):
            self.assertTrue(program.acquire("user-1", "api", {"rpm": 2, "session": 1, "day": 1}))
            self.clock.advance(90 * SECOND_MS)
        self.assertEqual(self.stint.run("store", "check")["problem_count"], 0)


class Namespaces(SharedTableTest):
    def test_of_each_are_known_to_the_other(self):
        registered = self.stint.run("namespace", "register", OTHER)["id"]
        listed = self.python.run(self.python.repository.list_namespaces())
        self.assertEqual({one["name"] for one in listed}, {"default", OTHER})
        self.assertEqual({one["namespace_id"] for one in listed if one["name"] == OTHER},
                         {registered})
        self.python.run(self.python.repository.register_namespace("tenant-c"))
        ours = self.stint.run("namespace", "list")["namespaces"]
        self.assertEqual({one["name"] for one in ours}, {"default", OTHER, "tenant-c"})
        # Registering again is no new one.
        self.assertEqual(self.python.run(self.python.repository.register_namespace(OTHER)),
                         registered)

    def test_keep_tenants_apart(self):
        self.stint.run("namespace", "register", OTHER)
        stint = Stint.on_table(self.server, self.table, self.clock, namespace=OTHER)
        python = self.new_python(namespace=OTHER)
        for program in (self.stint, stint):
            program.set_limits("rpm:10/min", resource="api")
        for _ in range(3):
            self.assertTrue(python.acquire("user-1", "api", {"rpm": 1}))
            self.assertTrue(stint.acquire("user-1", "api", {"rpm": 1}))
        for program, remaining in ((stint, 4), (python, 4), (self.stint, 10)):
            seen = program.available("user-1", "api")
            self.assert_amounts(seen, {"rpm": remaining}, "user-1")

    def test_purged_by_the_package(self):
        """With all that stint wrote in it."""
        registered = self.stint.run("namespace", "register", OTHER)["id"]
        stint = Stint.on_table(self.server, self.table, self.clock, namespace=OTHER)
        stint.run("entity", "create", "org-1")
        stint.run("entity", "create", "user-1", "--parent", "org-1", "--cascade")
        stint.set_limits("rpm:10/min", resource="api")
        stint.set_limits("session:10+5h", entity="user-1")
        self.assertTrue(stint.acquire("user-1", "api", {"session": 1}))
        repository = self.python.repository
        self.python.run(repository.delete_namespace(OTHER))
        self.python.run(repository.purge_namespace(registered))
        self.assertEqual([item for item in self.items()
                          if item["PK"]["S"].startswith(registered + "/")], [])


    def test_deleted_and_recovered_by_the_package_under_a_running_stint(self):
        registered = self.stint.run("namespace", "register", OTHER)["id"]
        stint = Stint.on_table(self.server, self.table, self.clock, namespace=OTHER)
        stint.set_limits("rpm:10/min", resource="api")
        driver = Driver(stint)
        self.addCleanup(driver.close)
        self.assertTrue(driver.acquire("user-1", "api", {"rpm": 1}))
        repository = self.python.repository
        self.python.run(repository.delete_namespace(OTHER))
        # The driver goes by what it looked up last; what it takes stays in the namespace.
        self.assertTrue(driver.acquire("user-1", "api", {"rpm": 2}))
        self.assertEqual(self.error_of("namespace", "show", OTHER), "not_found")
        self.assertEqual(self.python.run(repository.recover_namespace(registered)), OTHER)
        self.assertEqual(self.stint.run("namespace", "show", OTHER)["id"], registered)
        self.assertTrue(driver.acquire("user-1", "api", {"rpm": 3}))
        for program in (stint, driver, self.new_python(namespace=OTHER)):
            self.assert_amounts(program.available("user-1", "api"), {"rpm": 4}, "user-1")


class Versions(SharedTableTest):
    def version(self):
        return self.python.run(self.python.repository.get_version_record())

    def test_of_a_table_of_stint(self):
        self.server.call("DeleteTable", {"TableName": self.table})
        self.create_table_of_stint()
        python = self.new_python()
        found = python.run(python.repository.get_version_record())
        self.assertEqual(found["schema_version"], SCHEMA_VERSION)
        # Session limits of the package pass its own gate there.
        limits = [python.session("session", 10, 3600 * SECOND_MS)]
        python.run(python.limiter.set_resource_defaults("api", limits))
        self.assertTrue(python.acquire("user-1", "api", {"session": 1}))

    def test_rises_with_what_is_used(self):
        self.assertEqual(self.version()["client_min_version"], "0.0.0")
        self.stint.set_limits("rpm:10/min", resource="api")
        self.assertEqual(self.version()["client_min_version"], "0.0.0")
        self.stint.set_limits("session:10+5h", resource="api")
        self.assertEqual(self.version()["client_min_version"], "0.15.0")
        self.stint.set_limits("rpm:10/min!soft", resource="api")
        self.assertEqual(self.version()["client_min_version"], "0.17.0")
        self.stint.set_limits("session:10+5h", resource="api")
        self.assertEqual(self.version()["client_min_version"], "0.17.0")

    def test_rises_with_policies(self):
        self.stint.set_limits("rpm:10/min", resource="api")
        driver = self.new_driver()
        driver.call("set_access", resource="api", access="disabled")
        self.assertEqual(self.version()["client_min_version"], "0.0.0")
        driver.call("set_cascade", resource="api", cascade=True)
        self.assertEqual(self.version()["client_min_version"], "0.16.0")
        driver.call("set_access", resource="api", access="bypass")
        self.assertEqual(self.version()["client_min_version"], "0.17.0")

    def test_refuse_both(self):
        repository = self.python.repository
        self.python.run(repository.set_version_record(
            schema_version=SCHEMA_VERSION, lambda_version=None, client_min_version="0.0.0"))
        with self.assertRaises(self.python.package.VersionError):
            self.set_limits("python", {"session": "session:10+5h"}, resource="api")
        with self.assertRaises(self.StintError) as refusal:
            self.stint.set_limits("session:10+5h", resource="api")
        self.assertEqual(refusal.exception.code, "version_mismatch")
        self.stint.set_limits("rpm:10/min", resource="api")

        self.python.run(repository.set_version_record(
            schema_version=SCHEMA_VERSION, lambda_version="9.0.0", client_min_version="9.0.0"))
        self.assertEqual(self.error_of("limits", "get", "--resource", "api"), "version_mismatch")
        with self.assertRaises(self.python.package.VersionError):
            self.new_python()


class Audit(SharedTableTest):
    def theirs(self, subject):
        events = self.python.run(self.python.limiter.get_audit_events(subject))
        return [(event.action, event.resource) for event in events]

    def ours(self, *subject):
        events = self.stint.run("audit", "list", *subject)["events"]
        return [(event["action"], event["resource"]) for event in events]

    def test_events_of_stint(self):
        self.stint.run("entity", "create", "user-1", "--name", "One")
        self.stint.set_limits("rpm:10/min", entity="user-1", resource="api")
        self.stint.delete_limits(entity="user-1", resource="api")
        self.stint.run("entity", "delete", "user-1")
        self.stint.set_limits("rpm:10/min", resource="api")
        self.stint.set_limits("rpm:10/min")
        self.assertEqual(sorted(self.theirs("user-1"), key=str), sorted([
            ("entity_created", None), ("limits_set", "api"), ("limits_deleted", "api"),
            ("entity_deleted", None)], key=str))
        self.assertEqual(self.theirs("$RESOURCE:api"), [("limits_set", "api")])
        self.assertEqual([action for action, _ in self.theirs("$SYSTEM")], ["limits_set"])

    def test_details_are_those_of_the_package(self):
        limiter = self.python.limiter
        for creator, entity in (("stint", "user-1"), ("python", "user-2")):
            self.create_entity(creator, entity)
            self.set_limits(creator, {"rpm": "rpm:10/min"}, entity=entity, resource="api")
        ours, theirs = ({event.action: event.details for event in
                         self.python.run(limiter.get_audit_events(entity))}
                        for entity in ("user-1", "user-2"))
        self.assertEqual(json.loads(json.dumps(ours, default=str).replace("user-1", "user-2")),
                         json.loads(json.dumps(theirs, default=str)))

    def test_events_of_the_package(self):
        for entity in ("org-1", "user-1"):
            self.create_entity("python", entity)
        self.set_limits("python", {"rpm": "rpm:10/min"}, entity="user-1", resource="api")
        self.python.run(self.python.limiter.set_parent("user-1", "org-1"))
        self.set_limits("python", {"rpm": "rpm:10/min"}, resource="api")
        self.set_limits("python", {"rpm": "rpm:10/min"})
        self.assertEqual(sorted(self.ours("user-1"), key=str), sorted([
            ("entity_created", None), ("limits_set", "api"), ("entity_parent_changed", None)],
            key=str))
        self.assertEqual(self.ours("--resource", "api"), [("limits_set", "api")])
        self.assertEqual([action for action, _ in self.ours("--system")], ["limits_set"])


if __name__ == "__main__":
    unittest.main(warnings="ignore")
