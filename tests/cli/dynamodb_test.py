#!/usr/bin/env python3
"""Runs the real program on tables of the DynamoDB server of the tests.

    STINT=build/dev/bin/stint tests/cli/dynamodb_test.py [TEST...]
"""

import contextlib
import http.client
import http.server
import importlib.machinery
import importlib.util
import itertools
import json
import os
import pathlib
import shutil
import socket
import subprocess
import sys
import tempfile
import threading
import time
import unittest

ROOT = pathlib.Path(__file__).resolve().parents[2]
sys.path.insert(0, str(ROOT / "tests" / "support"))
import dynoxide  # noqa: E402

# It knows what is a block of a document, and which of its lines are commands.
_LOADER = importlib.machinery.SourceFileLoader("check_docs", str(ROOT / "scripts" / "check-docs"))
check_docs = importlib.util.module_from_spec(importlib.util.spec_from_loader("check_docs", _LOADER))
sys.modules["check_docs"] = check_docs
_LOADER.exec_module(check_docs)

STINT = os.environ.get("STINT", "stint")
NOON = "2027-01-13T12:00:00Z"
QUESTIONS = ["region", "endpoint", "clock", "credentials", "table", "indexes", "expiry", "stream",
             "version", "namespaces", "permissions"]
PROBE = "#STINT#PROBE#"
INDEXES = 4
TABLE_NUMBERS = itertools.count(1)


def definition(table, layout="compatible", without=()):
    """The table of rules 1.1 as another program would make it: `without` some of its indexes."""
    indexes = [f"GSI{n}" for n in range(1, INDEXES + 1) if f"GSI{n}" not in without]
    names = ["PK", "SK"] + [index + part for index in indexes for part in ("PK", "SK")]
    whole = ("GSI1", "GSI2") if layout == "compatible" else ()
    return {
        "TableName": table,
        "BillingMode": "PAY_PER_REQUEST",
        "AttributeDefinitions": [{"AttributeName": name, "AttributeType": "S"} for name in names],
        "KeySchema": [{"AttributeName": "PK", "KeyType": "HASH"},
                      {"AttributeName": "SK", "KeyType": "RANGE"}],
        "GlobalSecondaryIndexes": [
            {"IndexName": index,
             "KeySchema": [{"AttributeName": index + "PK", "KeyType": "HASH"},
                           {"AttributeName": index + "SK", "KeyType": "RANGE"}],
             "Projection": {"ProjectionType": "ALL" if index in whole else "KEYS_ONLY"}}
            for index in indexes],
    }


class Proxy:
    """Stands before the server and answers in its place what `refuse` says."""

    def __init__(self, server):
        self._server = server
        self.date_offset_s = 0
        # Called with operation and request; answers (status, type of error, message), a page as
        # bytes, or None to let the request pass.
        self.refuse = lambda operation, request: None
        proxy = self

        class Handler(http.server.BaseHTTPRequestHandler):
            protocol_version = "HTTP/1.1"

            def log_message(self, *_):
                pass

            def date_time_string(self, timestamp=None):
                return super().date_time_string(
                    (time.time() if timestamp is None else timestamp) + proxy.date_offset_s)

            def answer(self, status, body, kind="application/x-amz-json-1.0"):
                self.send_response(status)
                self.send_header("Content-Type", kind)
                self.send_header("Content-Length", str(len(body)))
                self.end_headers()
                self.wfile.write(body)

            def do_GET(self):  # noqa: N802: the name is given
                self.answer(200, b"healthy", "text/plain")

            def do_POST(self):  # noqa: N802
                body = self.rfile.read(int(self.headers["Content-Length"]))
                operation = self.headers["X-Amz-Target"].rpartition(".")[2]
                refused = proxy.refuse(operation, json.loads(body))
                if isinstance(refused, bytes):
                    self.answer(200, refused, "text/html")
                    return
                if refused:
                    status, kind, message = refused
                    self.answer(status, json.dumps({
                        "__type": f"com.amazon.coral.service#{kind}",
                        "message": message}).encode())
                    return
                connection = http.client.HTTPConnection("127.0.0.1", proxy._server.port)
                with contextlib.closing(connection):
                    connection.request("POST", "/", body, {
                        name: value for name, value in self.headers.items()
                        if name.lower() not in ("host", "content-length", "connection", "expect")})
                    answer = connection.getresponse()
                    self.answer(answer.status, answer.read())

        self._http = http.server.ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        self._http.daemon_threads = True
        self.endpoint = f"http://127.0.0.1:{self._http.server_address[1]}"
        self._thread = threading.Thread(target=self._http.serve_forever)
        self._thread.start()

    def refuse_operation(self, name, kind, message="not today", status=400, where=None):
        self.refuse = lambda operation, request: (
            (status, kind, message)
            if operation == name and (where is None or where(request)) else None)

    def stop(self):
        self._http.shutdown()
        self._thread.join()
        self._http.server_close()


class Answer:
    def __init__(self, done):
        self.code = done.returncode
        self.out = done.stdout
        self.err = done.stderr

    @property
    def json(self):
        return json.loads(self.out)


class TableTest(unittest.TestCase):
    maxDiff = None

    @classmethod
    def setUpClass(cls):
        cls.server = dynoxide.Dynoxide()
        cls.addClassCleanup(cls.server.stop)

    def setUp(self):
        directory = tempfile.TemporaryDirectory()
        self.addCleanup(directory.cleanup)
        self.directory = pathlib.Path(directory.name)
        self.table = f"limits-{next(TABLE_NUMBERS)}"

    def address(self, **changes):
        parameters = {"region": dynoxide.REGION, "endpoint": self.server.endpoint, **changes}
        listed = "&".join(f"{name}={value}" for name, value in parameters.items() if value)
        return f"dynamodb://{self.table}?{listed}"

    def environment(self, **changes):
        env = {"PATH": os.environ["PATH"], "LC_ALL": "C.UTF-8", "HOME": str(self.directory),
               "AWS_ACCESS_KEY_ID": dynoxide.KEY_ID, "AWS_SECRET_ACCESS_KEY": dynoxide.SECRET,
               "AWS_EC2_METADATA_DISABLED": "true"}
        for name in ("ASAN_OPTIONS", "UBSAN_OPTIONS", "LD_LIBRARY_PATH"):
            if name in os.environ:
                env[name] = os.environ[name]
        env.update(changes)
        return {name: value for name, value in env.items() if value is not None}

    def stint(self, *arguments, code=0, env=None, **address):
        """Runs a command on the table; it is to end with `code`."""
        env = {"STINT_STORE": self.address(**address), **(env or {})}
        answer = Answer(subprocess.run([STINT, *arguments], cwd=self.directory, text=True,
                                       env=self.environment(**env), capture_output=True,
                                       stdin=subprocess.DEVNULL, timeout=120, check=False))
        self.assertEqual(answer.code, code, f"{arguments}\n{answer.out}{answer.err}")
        self.assertNotIn(dynoxide.SECRET, answer.out + answer.err)
        return answer

    def items(self):
        """Sort keys of the store's own records, and all other items."""
        items = self.server.scan(self.table)
        return {item["SK"]["S"]: item for item in items}

    def make_elsewhere(self, **options):
        """A table as another program leaves it: no expiry, no stream, no records."""
        self.server.call("CreateTable", definition(self.table, **options))

    def switch_expiry(self, enabled):
        self.server.call("UpdateTimeToLive", {
            "TableName": self.table,
            "TimeToLiveSpecification": {"Enabled": enabled, "AttributeName": "ttl"}})

    def put_namespace(self):
        for key in ("#NAMESPACE#default", "#NSID#abcdefghijk"):
            self.server.call("PutItem", {"TableName": self.table, "Item": {
                "PK": {"S": "_/SYSTEM#"}, "SK": {"S": key}, "GSI4PK": {"S": "_"},
                "GSI4SK": {"S": "_/SYSTEM#"}, "namespace_id": {"S": "abcdefghijk"},
                "namespace_name": {"S": "default"}, "status": {"S": "active"},
                "created_at": {"S": "2027-01-13T12:00:00Z"}}})

    def put_version(self, **attributes):
        item = {"PK": {"S": "_/SYSTEM#"}, "SK": {"S": "#VERSION"}, "GSI4PK": {"S": "_"},
                "GSI4SK": {"S": "_/SYSTEM#"}, "schema_version": {"S": "0.10.0"},
                "lambda_version": {"S": "0.17.0"}, "client_min_version": {"S": "0.0.0"},
                "updated_at": {"S": "2027-01-13T12:00:00Z"}, "updated_by": {"NULL": True}}
        item.update({name: {"NULL": True} if value is None else {"S": value}
                     for name, value in attributes.items()})
        self.server.call("PutItem", {"TableName": self.table, "Item": item})


class TableLife(TableTest):
    def test_create_makes_all_that_a_limiter_needs(self):
        made = self.stint("table", "create", "--json")
        self.assertEqual(set(made.json), {
            "table", "arn", "status", "billing", "layout", "items", "bytes", "indexes", "expiry",
            "stream", "problems"})
        self.assertEqual(made.json["table"], self.table)
        self.assertEqual(made.json["status"], "ACTIVE")
        self.assertEqual(made.json["layout"], "compatible")
        self.assertEqual(made.json["billing"], "PAY_PER_REQUEST")
        self.assertEqual(made.json["expiry"], {"enabled": True, "attribute": "ttl"})
        self.assertEqual(made.json["stream"], "NEW_AND_OLD_IMAGES")
        self.assertEqual(made.json["problems"], [])
        self.assertIn("creating the table", made.err)
        self.assertIn("switching expiry on", made.err)

        table = self.server.call("DescribeTable", {"TableName": self.table})["Table"]
        self.assertEqual({index["IndexName"]: index["Projection"]["ProjectionType"]
                          for index in table["GlobalSecondaryIndexes"]},
                         {"GSI1": "ALL", "GSI2": "ALL", "GSI3": "KEYS_ONLY", "GSI4": "KEYS_ONLY"})
        self.assertEqual(len(table["LocalSecondaryIndexes"]), 5)
        items = self.items()
        version = items["#VERSION"]
        self.assertEqual(version["schema_version"], {"S": "0.10.0"})
        self.assertEqual(version["lambda_version"], {"S": "0.17.0"})
        self.assertEqual(version["client_min_version"], {"S": "0.0.0"})
        self.assertEqual(version["GSI4PK"], {"S": "_"})
        self.assertEqual(items["#STINT"]["layout"], {"S": "compatible"})
        self.assertEqual(items["#STINT"]["reset_rule"], {"S": "compatible"})
        self.assertIn("#NAMESPACE#default", items)

        described = self.stint("table", "describe", "--json").json
        self.assertEqual(described["indexes"], made.json["indexes"])
        text = self.stint("table", "describe").out
        for word in (self.table, "ACTIVE", "compatible", "GSI4", "by ttl"):
            self.assertIn(word, text)

    def test_a_whole_table_is_not_created_again(self):
        self.stint("table", "create")
        before = self.items()
        answer = self.stint("table", "create", "--json", code=5)
        self.assertEqual(answer.json["error"]["code"], "exists")
        self.assertEqual(self.items(), before)

    def test_a_namespace_that_is_missing_is_registered_in_a_whole_table(self):
        self.stint("table", "create", "--empty")
        self.assertIn("none is registered", self.stint("doctor").out)
        self.stint("entity", "list", code=4)
        self.stint("table", "create", "--empty", code=5)
        self.assertEqual(self.stint("table", "create", "--json").json["table"], self.table)
        self.assertIn("#NAMESPACE#default", self.items())
        self.stint("table", "create", code=5)
        self.assertNotIn("warning", self.stint("doctor").out)

    def test_a_lean_table(self):
        made = self.stint("table", "create", "--layout", "lean", "--json").json
        self.assertEqual(made["layout"], "lean")
        self.assertEqual({index["projection"] for index in made["indexes"]
                          if index["name"].startswith("GSI")}, {"KEYS_ONLY"})
        self.assertEqual(self.items()["#STINT"]["reset_rule"], {"S": "local_day"})
        answer = self.stint("table", "create", "--layout", "compatible", code=5)
        self.assertIn("GSI1 projects KEYS_ONLY", answer.err)

    def test_the_namespace_that_is_named_is_registered(self):
        self.stint("table", "create", "--namespace", "tenant-1")
        self.assertIn("#NAMESPACE#tenant-1", self.items())
        self.assertNotIn("#NAMESPACE#default", self.items())

    def test_the_reset_rule_can_be_chosen(self):
        self.stint("table", "create", "--reset-rule", "local_day")
        self.assertEqual(self.items()["#STINT"]["reset_rule"], {"S": "local_day"})
        self.assertEqual(self.items()["#STINT"]["layout"], {"S": "compatible"})

    def test_a_table_that_was_begun_is_completed(self):
        self.stint("table", "create")
        whole = self.items()
        self.switch_expiry(False)
        for key in ("#VERSION", "#STINT", "#NAMESPACE#default"):
            self.server.call("DeleteItem", {
                "TableName": self.table, "Key": {"PK": {"S": "_/SYSTEM#"}, "SK": {"S": key}}})
        self.assertIn("problem", self.stint("table", "describe", code=7).out)
        self.stint("table", "create")
        self.assertEqual(self.stint("table", "describe", "--json").json["problems"], [])
        items = self.items()
        self.assertEqual(items["#STINT"], whole["#STINT"])
        self.assertIn("#VERSION", items)
        self.assertIn("#NAMESPACE#default", items)

    def test_a_lost_version_record_is_written_again(self):
        self.stint("table", "create", "--reset-rule", "local_day")
        whole = self.items()
        self.server.call("DeleteItem", {"TableName": self.table, "Key": {
            "PK": {"S": "_/SYSTEM#"}, "SK": {"S": "#VERSION"}}})
        self.assertIn("stint table create", self.stint("entity", "list", code=6).err)
        self.assertIn("stint table create", self.stint("doctor", code=7).out)
        self.stint("table", "create")
        self.assertEqual(self.items()["#STINT"], whole["#STINT"])
        self.assertIn("#VERSION", self.items())
        self.stint("doctor")

    def test_a_table_of_the_python_package_stays_one(self):
        # Made by hand as rules 1.1 and 1.5 say; tests/interop does it with the package itself.
        self.server.call("CreateTable", {
            **definition(self.table),
            "StreamSpecification": {"StreamEnabled": True, "StreamViewType": "NEW_AND_OLD_IMAGES"}})
        self.put_version()
        self.stint("table", "create")
        self.assertEqual(self.stint("table", "describe", "--json").json["expiry"]["enabled"], True)
        self.assertNotIn("#STINT", self.items())
        info = self.stint("store", "info", "--quick", "--json").json
        self.assertEqual(info["settings"]["layout"], "compatible")
        self.assertEqual(info["settings"]["reset_rule"], "compatible")
        self.assertIn("zae-limiter", self.stint("doctor").out)

    def test_a_table_of_another_program_is_left_alone(self):
        self.server.call("CreateTable", {
            "TableName": self.table, "BillingMode": "PAY_PER_REQUEST",
            "AttributeDefinitions": [{"AttributeName": "id", "AttributeType": "N"}],
            "KeySchema": [{"AttributeName": "id", "KeyType": "HASH"}]})
        answer = self.stint("table", "create", code=5)
        self.assertIn("has the keys id and no sort key", answer.err)
        self.assertEqual(self.server.scan(self.table), [])
        self.assertIn("table of another program", self.stint("doctor", code=7).out)

    def test_delete_needs_yes(self):
        self.stint("table", "create")
        answer = self.stint("table", "delete", code=2)
        self.assertIn("add --yes", answer.err)
        self.assertIn("#VERSION", self.items())
        deleted = self.stint("table", "delete", "--yes", "--json")
        self.assertEqual(deleted.json, {"table": self.table, "deleted": True})
        self.assertNotIn(self.table, self.server.call("ListTables", {})["TableNames"])

    def test_a_missing_table_is_not_found_and_named_with_its_region(self):
        for command in (["table", "describe"], ["table", "delete", "--yes"],
                        ["limits", "set", "--resource", "api", "rpm:60/min"],
                        ["acquire", "user-1", "api", "--consume", "rpm=1"], ["store", "info"]):
            with self.subTest(command=command):
                answer = self.stint(*command, code=4)
                self.assertIn(self.table, answer.err)
        self.assertIn(dynoxide.REGION, self.stint("table", "describe", code=4).err)
        self.assertNotIn(self.table, self.server.call("ListTables", {})["TableNames"])

    def test_other_stores_have_no_table(self):
        for store in ("memory:", str(self.directory / "data")):
            for command in (["table", "create"], ["table", "describe"],
                            ["table", "delete", "--yes"], ["doctor"]):
                with self.subTest(store=store, command=command):
                    answer = self.stint(*command, "--store", store, code=2)
                    self.assertIn("dynamodb://TABLE", answer.err)
        self.assertEqual(list(self.directory.iterdir()), [])

    def test_bad_addresses_are_refused_before_anything_is_asked(self):
        for store, word in (("dynamodb://", "names no table"),
                            ("dynamodb://ab?region=eu-1", "3 to 255"),
                            ("dynamodb://limits?zone=1", "no parameter"),
                            ("dynamodb://limits&region=eu-1", "begin with ?"),
                            ("dynamodb://limits?region=eu%2Fwest", "region"),
                            ("dynamodb://limits?region=eu-1&endpoint=ftp://x", "endpoint"),
                            ("dynamodb://limits?region=eu-1&endpoint=http://me:pass@x", "endpoint"),
                            ("dynamodb://limits?region=eu-1&endpoint=http://x%23y", "endpoint")):
            with self.subTest(store=store):
                answer = self.stint("table", "create", "--store", store, code=2)
                self.assertIn(word, answer.err)
                self.assertNotIn("pass", answer.err)


class Hints(TableTest):
    """Errors say what to do."""

    def test_no_region(self):
        answer = self.stint("entity", "list", region=None, code=2)
        self.assertIn("AWS_REGION", answer.err)
        self.assertIn("region=REGION", answer.err)

    def test_trouble_with_the_table_leads_to_the_doctor(self):
        with socket.socket() as unused:
            unused.bind(("127.0.0.1", 0))
            down = f"http://127.0.0.1:{unused.getsockname()[1]}"
            self.assertIn("`stint doctor`", self.stint("entity", "list", endpoint=down, code=3).err)
            self.assertIn("unavailable", self.stint(
                "entity", "list", "--json", endpoint=down, code=3).json["error"]["code"])
        self.stint("table", "create")
        proxy = Proxy(self.server)
        self.addCleanup(proxy.stop)
        proxy.refuse = lambda operation, request: (400, "UnrecognizedClientException", "no such key")
        answer = self.stint("entity", "list", endpoint=proxy.endpoint, code=3)
        self.assertIn("`stint doctor`", answer.err)

    def test_a_position_of_no_listing(self):
        self.stint("table", "create")
        self.stint("entity", "create", "user-1")
        # Of the table's own keys, where those of an index belong, too.
        of_another = json.dumps({"PK": {"S": "elsewhere"}, "SK": {"S": "x"}})
        for listing, given in ((["entity", "list"], of_another),
                               (["entity", "children", "user-1"], of_another),
                               (["entity", "list"], "half a position"),
                               (["audit", "list", "user-1"], "half a position")):
            with self.subTest(listing=listing, given=given):
                error = self.stint(*listing, "--from", given, "--json", code=2).json["error"]
                self.assertEqual(error["field"], "from")
                self.assertIn("no listing", error["reason"])


class Commands(TableTest):
    """What the core promises on every store, in short: tests/limiter has the whole of it."""

    def setUp(self):
        super().setUp()
        self.stint("table", "create")

    def test_limits_and_requests(self):
        self.stint("limits", "set", "--resource", "api", "rpm:60/min", "session:100+5h")
        self.assertEqual(self.stint("limits", "get", "--resource", "api").out,
                         "rpm:60/min\nsession:100+5h\n")
        acquire = ["--now", NOON, "acquire", "user-1", "api", "--json", "--consume"]
        self.assertIs(self.stint(*acquire, "rpm=1", "session=60").json["admitted"], True)
        self.assertIs(self.stint(*acquire, "session=41", code=10).json["admitted"], False)
        left = self.stint("--now", NOON, "available", "user-1", "api", "--json").json["limits"]
        self.assertEqual({limit["name"]: limit["remaining"] for limit in left},
                         {"rpm": 59, "session": 40})
        explained = self.stint("--now", NOON, "explain", "user-1", "api", "--json").json
        self.assertEqual(explained["buckets"][0]["write_units"], 1)
        self.assertEqual(explained["buckets"][0]["index_write_units"], 1)
        self.stint("limits", "delete", "--resource", "api")

    def test_entities_cascade(self):
        self.stint("entity", "create", "org-1")
        self.stint("entity", "create", "user-1", "--parent", "org-1", "--cascade")
        self.stint("limits", "set", "--resource", "api", "rpm:60/min")
        self.stint("--now", NOON, "acquire", "user-1", "api", "--consume", "rpm=2")
        left = self.stint("--now", NOON, "available", "org-1", "api", "--json").json["limits"]
        self.assertEqual(left[0]["remaining"], 58)
        children = self.stint("entity", "children", "org-1", "--json").json["entities"]
        self.assertEqual([child["id"] for child in children], ["user-1"])
        self.stint("entity", "delete", "user-1")
        self.stint("entity", "show", "user-1", code=4)

    def test_namespaces(self):
        registered = self.stint("namespace", "register", "tenant-1", "--json").json
        self.assertIs(registered["is_new"], True)
        again = self.stint("namespace", "register", "tenant-1", "--json").json
        self.assertIs(again["is_new"], False)
        self.assertEqual(again["id"], registered["id"])
        shown = self.stint("namespace", "show", "tenant-1", "--json").json
        self.assertEqual(shown["id"], registered["id"])
        listed = self.stint("namespace", "list", "--json").json["namespaces"]
        self.assertEqual([one["name"] for one in listed], ["default", "tenant-1"])
        self.assertIn("tenant-1", self.stint("namespace", "list").out)
        self.stint("namespace", "show", "nobody", code=4)
        self.stint("namespace", "register", "_", code=2)

    def test_care(self):
        self.stint("limits", "set", "--resource", "api", "rpm:60/min")
        self.stint("--now", NOON, "acquire", "user-1", "api", "--consume", "rpm=1")
        info = self.stint("store", "info", "--json").json
        self.assertEqual(info["kind"], "dynamodb")
        self.assertIn(self.table, info["location"])
        self.assertIs(info["counts"]["complete"], True)
        self.assertEqual(self.stint("--now", NOON, "store", "check", "--json").json["problems"], [])
        self.stint("store", "backup", "copy", code=2)
        exported = self.stint("store", "export", "items.jsonl", "--json").json
        self.assertIs(exported["complete"], True)

    def test_items_move_to_a_directory_and_back(self):
        self.stint("limits", "set", "--resource", "api", "rpm:60/min")
        self.stint("--now", NOON, "acquire", "user-1", "api", "--consume", "rpm=1")
        self.stint("store", "export", "items.jsonl")
        self.stint("store", "import", "items.jsonl", "--store", "data", "--other-settings")
        left = self.stint("--now", NOON, "available", "user-1", "api", "--json", "--store", "data")
        self.assertEqual(left.json["limits"][0]["remaining"], 59)
        self.stint("store", "export", "back.jsonl", "--store", "data", "--for", "dynamodb")

        self.table = f"limits-{next(TABLE_NUMBERS)}"
        self.stint("store", "import", "back.jsonl", code=4)
        self.stint("table", "create", "--empty")
        self.assertEqual(set(self.items()), {"#VERSION", "#STINT"})
        self.stint("store", "import", "back.jsonl")
        left = self.stint("--now", NOON, "available", "user-1", "api", "--json")
        self.assertEqual(left.json["limits"][0]["remaining"], 59)

    def test_a_replay_into_a_table_needs_force(self):
        (self.directory / "policy.yaml").write_text(
            "namespace: default\nresources:\n  api:\n    limits:\n"
            "      rpm: {capacity: 2, refill_amount: 2, refill_period: 60}\n")
        (self.directory / "traffic.csv").write_text(
            "time,entity,resource\n" + "2027-01-13T12:00:00Z,user-1,api\n" * 3)
        replay = ["replay", "--manifest", "policy.yaml", "--consume", "rpm=1", "--store",
                  self.address(), "traffic.csv", "--json"]
        self.assertIn("--force", self.stint(*replay, code=2).json["error"]["reason"])
        self.stint(*replay, "--force")
        left = self.stint("--now", NOON, "available", "user-1", "api", "--json").json["limits"]
        self.assertEqual(left[0]["remaining"], 0)


class Documents(TableTest):
    """The blocks that scripts/check-docs leaves to this test."""

    ADDRESS = "dynamodb://limits?region=eu-central-1"

    def test_commands_of_documents(self):
        program = pathlib.Path(shutil.which(STINT)).resolve().parent
        env = self.environment(PATH=f"{program}{os.pathsep}{os.environ['PATH']}")
        for name in ("README.md", "docs/guide/dynamodb.md"):
            blocks = [block for block in check_docs.blocks_of(ROOT / name)
                      if "tests/cli/dynamodb_test.py" in block.skip]
            self.assertEqual(len(blocks), 1, name)
            self.table = f"limits-{next(TABLE_NUMBERS)}"
            script = check_docs.script_of(blocks[0])
            self.assertEqual(script.count(self.ADDRESS), 1, script)
            done = subprocess.run(["bash", "-c", script.replace(self.ADDRESS, self.address())],
                                  cwd=self.directory, env=env, text=True, capture_output=True,
                                  stdin=subprocess.DEVNULL, timeout=120, check=False)
            self.assertEqual(done.returncode, 0, done.stdout + done.stderr)
            self.assertIn("admitted", done.stdout)


class Doctor(TableTest):
    def setUp(self):
        super().setUp()
        self.proxy = Proxy(self.server)
        self.addCleanup(self.proxy.stop)

    def make_table(self):
        self.stint("table", "create")

    def doctor(self, code, endpoint=None, **options):
        """Verdict, finding and remedy by question; nothing of the examination is left behind."""
        endpoint = endpoint or self.proxy.endpoint
        answer = self.stint("doctor", "--json", code=code, endpoint=endpoint, **options).json
        self.assertEqual(answer["table"], self.table)
        self.assertEqual([one["question"] for one in answer["questions"]], QUESTIONS)
        self.assertIs(answer["good"], code == 0)
        text = self.stint("doctor", code=code, endpoint=endpoint, **options).out
        self.assertEqual(len(text.splitlines()), len(QUESTIONS), text)
        for line, one in zip(text.splitlines(), answer["questions"]):
            self.assertTrue(line.startswith(one["question"] + " "), line)
            word = {"good": "ok", "warning": "warning", "bad": "BAD",
                    "skipped": "skipped"}[one["verdict"]]
            self.assertIn(f" {word} ", line)
            if one["verdict"] in ("bad", "warning"):
                self.assertTrue(one["remedy"], one)
                self.assertIn(one["remedy"], line)
        if self.table in self.server.call("ListTables", {})["TableNames"]:
            self.assertFalse([sk for sk in self.items() if sk.startswith(PROBE)])
        return {one["question"]: one for one in answer["questions"]}

    def assert_only(self, answers, question, verdict, *words):
        """One question has that verdict, and its line says the words; none before it is worse."""
        one = answers[question]
        self.assertEqual(one["verdict"], verdict, one)
        for word in words:
            self.assertIn(word, one["finding"] + "; " + one["remedy"])
        others = [name for name, other in answers.items()
                  if name != question and other["verdict"] in ("bad", "warning")]
        self.assertEqual(others, [])

    def test_all_is_well(self):
        self.make_table()
        before = self.items()
        answers = self.doctor(0)
        self.assertEqual({one["verdict"] for one in answers.values()}, {"good"})
        self.assertIn("layout compatible", answers["indexes"]["finding"])
        for action in ("GetItem", "BatchGetItem", "Query on GSI4", "Scan", "PutItem", "UpdateItem",
                       "ConditionCheckItem", "DeleteItem", "DescribeTimeToLive"):
            self.assertIn(action, answers["permissions"]["finding"])
        self.assertEqual(self.items(), before)

    def test_a_region_where_the_table_is_not(self):
        self.assert_only(self.doctor(7, region="eu-west-3"), "table", "bad",
                         f"there is no table {self.table} in eu-west-3", "region",
                         "stint table create")

    def test_no_region(self):
        self.assert_only(self.doctor(7, region=None), "region", "bad", "no region is named",
                         "AWS_REGION")

    def test_a_region_from_the_environment(self):
        self.make_table()
        answers = self.doctor(0, region=None, env={"AWS_REGION": "eu-central-1"})
        self.assertEqual(answers["region"]["finding"], "eu-central-1")

    def test_no_name_of_a_region(self):
        self.assert_only(self.doctor(7, region="eu/central"), "region", "bad", "eu/central")

    def test_an_unknown_key(self):
        self.make_table()
        self.proxy.refuse = lambda operation, request: (
            400, "UnrecognizedClientException", "The security token included is invalid.")
        self.assert_only(self.doctor(7), "credentials", "bad", "environment",
                         "security token included is invalid", "look at key id and secret")

    def test_a_wrong_secret(self):
        self.make_table()
        self.proxy.refuse = lambda operation, request: (
            400, "InvalidSignatureException",
            "The request signature we calculated does not match the signature you provided.")
        self.assert_only(self.doctor(7), "credentials", "bad", "signature we calculated")

    def test_expired_credentials(self):
        self.make_table()
        self.proxy.refuse = lambda operation, request: (
            400, "ExpiredTokenException", "The security token included in the request is expired")
        self.assert_only(self.doctor(7), "credentials", "bad", "expired", "fetch new ones")

    def test_no_credentials(self):
        answers = self.doctor(7, env={"AWS_ACCESS_KEY_ID": None, "AWS_SECRET_ACCESS_KEY": None})
        self.assert_only(answers, "credentials", "bad", "environment", "AWS_ACCESS_KEY_ID")

    def test_a_profile_that_does_not_exist(self):
        self.assert_only(self.doctor(7, profile="nobody"), "region", "bad", "nobody", "profile")

    def test_clocks(self):
        self.make_table()
        for offset, verdict, code, words in (
                (1200, "bad", 7, "behind the service's"), (-1200, "bad", 7, "ahead of the service's"),
                (30, "warning", 0, "behind the service's")):
            with self.subTest(offset=offset):
                self.proxy.date_offset_s = offset
                answers = self.doctor(code)
                self.assert_only(answers, "clock", verdict, words, "synchronise")
                seconds = int(answers["clock"]["finding"].split("clock is ")[1].split(" s ")[0])
                self.assertLessEqual(abs(seconds - abs(offset)), 5)

    def test_an_endpoint_that_is_down(self):
        with socket.socket() as unused:
            unused.bind(("127.0.0.1", 0))
            endpoint = f"http://127.0.0.1:{unused.getsockname()[1]}"
            answers = self.doctor(7, endpoint=endpoint)
        self.assert_only(answers, "endpoint", "bad", endpoint, "does not answer")

    def test_a_page_of_a_proxy(self):
        self.make_table()
        self.proxy.refuse = lambda operation, request: b"<html><body>Please\nlog in</body></html>"
        self.assert_only(self.doctor(7), "endpoint", "bad", "proxy")

    def test_a_missing_index(self):
        self.make_elsewhere(without=("GSI3",))
        self.switch_expiry(True)
        self.put_version()
        answers = self.doctor(7)
        self.assertEqual(answers["indexes"]["verdict"], "bad")
        self.assertIn("GSI3 is missing", answers["indexes"]["finding"])
        self.assertIn("stint table create", answers["indexes"]["remedy"])
        self.assertEqual(answers["permissions"]["remedy"], "mend the indexes first")

    def test_an_index_of_another_projection(self):
        request = definition(self.table)
        request["GlobalSecondaryIndexes"][0]["Projection"] = {"ProjectionType": "KEYS_ONLY"}
        self.server.call("CreateTable", request)
        answers = self.doctor(7)
        self.assertEqual(answers["indexes"]["verdict"], "bad")
        self.assertIn("both project ALL (compatible) or both KEYS_ONLY (lean)",
                      answers["indexes"]["finding"])

    def test_expiry_off(self):
        self.make_table()
        self.switch_expiry(False)
        self.assert_only(self.doctor(0), "expiry", "warning", "off", "stint table create")
        self.stint("table", "create")
        self.assertEqual(self.doctor(0)["expiry"]["verdict"], "good")

    def test_stream_off(self):
        self.make_elsewhere()
        self.switch_expiry(True)
        self.put_version()
        self.put_namespace()
        self.assert_only(self.doctor(0), "stream", "warning", "off", "stint table create")

    def test_a_table_that_demands_a_newer_client(self):
        self.make_table()
        self.put_version(client_min_version="0.18.0")
        answers = self.doctor(7)
        self.assert_only(answers, "version", "bad", "0.18.0", "0.17.0")
        self.assertEqual(answers["version"]["remedy"], "use a newer stint")
        self.stint("acquire", "user-1", "api", "--consume", "rpm=1", code=3)

    def test_an_old_consumer_is_what_is_to_be_updated(self):
        self.make_table()
        self.put_version(lambda_version="0.16.0")
        answers = self.doctor(7)
        self.assert_only(answers, "version", "bad", "0.16.0")
        self.assertEqual(answers["version"]["remedy"], "update the consumer first")
        self.assertNotIn("stint", answers["version"]["finding"])

    def test_a_consumer_of_unknown_version(self):
        self.make_table()
        self.put_version(lambda_version=None)
        self.assert_only(self.doctor(0), "version", "warning", "session", "set_version_record")
        answer = self.stint("limits", "set", "--resource", "api", "session:100+5h", code=3)
        self.assertIn("set_version_record", answer.err)
        self.stint("limits", "set", "--resource", "api", "rpm:60/min")

    def test_a_table_of_another_generation(self):
        self.make_table()
        self.put_version(schema_version="1.0.0")
        self.assert_only(self.doctor(7), "version", "bad", "1.0.0")

    def test_a_table_without_a_version_record(self):
        self.make_elsewhere()
        answers = self.doctor(7)
        self.assertEqual(answers["version"]["verdict"], "bad")
        self.assertIn("not finished", answers["version"]["finding"])

    def test_a_missing_permission(self):
        self.make_table()
        for operation, action in (("UpdateItem", "UpdateItem"), ("PutItem", "PutItem"),
                                  ("TransactWriteItems", "ConditionCheckItem"),
                                  ("BatchGetItem", "BatchGetItem")):
            with self.subTest(operation=operation):
                self.proxy.refuse_operation(operation, "AccessDeniedException")
                answers = self.doctor(7)
                self.assert_only(answers, "permissions", "bad", f"not permitted: {action}",
                                 f"allow dynamodb:{action} on arn:", "/index/*")

    def test_a_permission_that_is_missing_on_one_index(self):
        self.make_table()
        self.proxy.refuse_operation("Query", "AccessDeniedException",
                                    where=lambda request: request.get("IndexName") == "GSI2")
        self.assert_only(self.doctor(7), "permissions", "bad", "not permitted: Query on GSI2",
                         "dynamodb:Query")

    def test_scan_is_needed_for_care_alone(self):
        self.make_table()
        self.proxy.refuse_operation("Scan", "AccessDeniedException")
        self.assert_only(self.doctor(0), "permissions", "warning", "Scan", "export")

    def test_without_the_right_to_read_nothing_is_known_of_the_version(self):
        self.make_table()
        self.proxy.refuse_operation("GetItem", "AccessDeniedException")
        answers = self.doctor(7)
        self.assertEqual(answers["version"]["verdict"], "bad")
        self.assertIn("not permitted: GetItem", answers["permissions"]["finding"])

    def test_without_the_right_to_describe_the_rest_is_looked_at(self):
        self.make_table()
        self.proxy.refuse_operation("DescribeTable", "AccessDeniedException")
        answers = self.doctor(7)
        self.assertEqual(answers["table"]["verdict"], "skipped")
        self.assertEqual(answers["version"]["verdict"], "good")
        self.assertIn("not permitted: DescribeTable", answers["permissions"]["finding"])

    def test_an_item_that_may_not_be_removed_is_named_and_expires(self):
        self.make_table()
        self.proxy.refuse_operation("DeleteItem", "AccessDeniedException")
        answer = self.stint("doctor", code=7, endpoint=self.proxy.endpoint)
        self.assertIn("may be left and expires in an hour", answer.out)
        left = [item for sk, item in self.items().items() if sk.startswith(PROBE)]
        self.assertEqual(len(left), 1)
        expires_in_s = int(left[0]["ttl"]["N"]) - time.time()
        self.assertTrue(0 < expires_in_s <= 3600, expires_in_s)


if __name__ == "__main__":
    unittest.main()
