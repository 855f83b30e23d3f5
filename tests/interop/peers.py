"""The two programs that share a table, and the clock that both go by.

Runs in the environment of scripts/fetch-python-package. The package zae-limiter is used by its
public names only, the program stint by its command line.
"""

import asyncio
import datetime
import decimal
import json
import logging
import os
import pathlib
import secrets
import subprocess
import sys
import time
import unittest
import warnings

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1] / "support"))
import dynoxide  # noqa: E402

# The package leaves connections open where it refuses to connect, and is told so at length.
logging.getLogger("asyncio").setLevel(logging.CRITICAL)

STINT = os.environ.get("STINT", "stint")
DRIVER = os.environ.get("STINT_INTEROP_DRIVER", "interop_driver")
NAMESPACE = "default"
# Noon in winter: no reset, no change of the clocks near.
NOON_MS = 1_799_841_600_000
SECOND_MS = 1_000
MINUTE_MS = 60 * SECOND_MS
HOUR_MS = 60 * MINUTE_MS
DAY_MS = 24 * HOUR_MS
# What the recipe of the package says of a table that it may use with all its features.
SCHEMA_VERSION = "0.10.0"
WORKER_VERSION = "0.17.0"


class Clock:
    """The time by which both programs act. It stands still until it is moved."""

    def __init__(self, now_ms=NOON_MS):
        self.now_ms = now_ms

    def advance(self, ms):
        self.now_ms += ms

    def install(self):
        """Makes this process believe it. The package reads time.time() for all that it decides."""
        real = time.time
        time.time = lambda: self.now_ms / 1000
        return lambda: setattr(time, "time", real)


class Status:
    """What a program says of one limit of one entity, in tokens and milliseconds."""

    def __init__(self, remaining, capacity, resets_at_ms=None, exceeded=False, retry_after_ms=None):
        self.remaining = decimal.Decimal(remaining)
        self.capacity = capacity
        self.resets_at_ms = resets_at_ms
        self.exceeded = exceeded
        self.retry_after_ms = retry_after_ms

    def __repr__(self):
        return (f"{self.remaining}/{self.capacity} resets_at={self.resets_at_ms} "
                f"exceeded={self.exceeded} retry_after={self.retry_after_ms}")


class Outcome:
    """The answer to an acquire."""

    def __init__(self, admitted, limits=None, retry_after_ms=None, disabled=False):
        self.admitted = admitted
        self.limits = limits or {}  # (entity, limit) -> Status
        self.retry_after_ms = retry_after_ms
        self.disabled = disabled

    def __bool__(self):
        return self.admitted

    def __repr__(self):
        return f"admitted={self.admitted} disabled={self.disabled} {self.limits}"


class Python:
    """A process of the package, with the caches that one has."""

    def __init__(self, server, table, *, namespace=NAMESPACE, config_cache_ttl=60,
                 rejection_cache_ttl=0):
        # pylint: disable=import-outside-toplevel
        import zae_limiter
        self.package = zae_limiter
        self.table = table
        self._loop = asyncio.new_event_loop()
        self.repository = self.run(zae_limiter.Repository.connect(
            namespace, stack=table, region=dynoxide.REGION, endpoint_url=server.endpoint,
            config_cache_ttl=config_cache_ttl, rejection_cache_ttl=rejection_cache_ttl))
        self.limiter = zae_limiter.RateLimiter(repository=self.repository)

    @staticmethod
    def create_table(server, table, namespace=NAMESPACE):
        # pylint: disable=import-outside-toplevel
        import zae_limiter

        async def create():
            with warnings.catch_warnings():
                warnings.simplefilter("ignore")
                repository = zae_limiter.Repository(table, region=dynoxide.REGION,
                                                    endpoint_url=server.endpoint)
            await repository.create_table()
            await repository.register_namespace(namespace)
            await repository.set_version_record(schema_version=SCHEMA_VERSION,
                                                lambda_version=WORKER_VERSION,
                                                client_min_version="0.0.0")
            await repository.close()

        asyncio.run(create())

    def run(self, coroutine):
        return self._loop.run_until_complete(coroutine)

    def close(self):
        self.run(self.repository.close())
        self._loop.close()

    # Making limits, in the package's own words.

    def rate(self, name, amount, period_s=60, burst=None, **options):
        return self.package.Limit.custom(name, burst or amount, amount, period_s, **options)

    def calendar(self, name, amount, cron, zone="UTC", **options):
        return self.package.Limit.quota(name, amount, cron=cron, tz=zone, **options)

    def session(self, name, amount, length_ms, **options):
        length = datetime.timedelta(milliseconds=length_ms)
        return self.package.Limit.quota(name, amount, reset_after=length, **options)

    # Using them.

    def _outcome(self, statuses, admitted, retry_after_s=None, resets_at_ms=None):
        """`resets_at_ms`: by entity and limit, where more is known than the statuses say."""
        limits = {}
        for status in statuses:
            key = status.entity_id, status.limit_name
            limits[key] = Status(
                status.available, status.limit.capacity,
                resets_at_ms[key] if resets_at_ms else status.resets_at_ms, status.exceeded,
                round(status.retry_after_seconds * 1000))
        retry_after_ms = None if retry_after_s is None else round(retry_after_s * 1000)
        return Outcome(admitted, limits, retry_after_ms)

    async def _acquire(self, entity, resource, consume, correct, **options):
        try:
            async with self.limiter.acquire(entity, resource, consume, **options) as lease:
                for limit, amount in (correct or {}).items():
                    await lease.adjust(**{limit: amount})
        except self.package.RateLimitExceeded as refusal:
            # Only the body for callers tells when a calendar resets.
            resets_at_ms = {(limit["entity_id"], limit["limit_name"]): limit.get("resets_at_ms")
                            for limit in refusal.as_dict()["limits"]}
            return self._outcome(refusal.statuses, False, refusal.retry_after_seconds,
                                 resets_at_ms)
        except self.package.ResourceDisabled:
            return Outcome(False, disabled=True)
        return Outcome(True)

    def acquire(self, entity, resource, consume, correct=None, **options):
        """Takes amounts; `correct` adds to them (or gives back) before the lease ends."""
        return self.run(self._acquire(entity, resource, consume, correct, **options))

    def available(self, entity, resource, need=None):
        found = self.run(self.limiter.check_availability(entity, resource, need))
        return self._outcome(found.statuses, found.allowed).limits

    def open_lease(self, entity, resource, consume):
        """A lease that stays open until `close_lease`."""
        manager = self.limiter.acquire(entity, resource, consume)
        return manager, self.run(manager.__aenter__())

    def close_lease(self, opened, correct=None):
        manager, lease = opened

        async def end():
            for limit, amount in (correct or {}).items():
                await lease.adjust(**{limit: amount})
            await manager.__aexit__(None, None, None)

        self.run(end())

    def fail_lease(self, opened):
        """Ends the lease as when its caller failed: all is given back."""
        manager, _ = opened
        trouble = RuntimeError("the caller failed")

        async def end():
            try:
                await manager.__aexit__(RuntimeError, trouble, None)
            except RuntimeError:
                pass

        self.run(end())

    def buckets(self, entity, resource=None):
        found = self.run(self.repository.get_buckets(entity, resource))
        return {(one.resource, one.limit_name): one for one in found if one.limit_name != "wcu"}


class StintError(Exception):
    """The program refused; `code` is the error code of its JSON."""

    def __init__(self, answer, exit_code):
        error = answer.get("error", {})
        super().__init__(error.get("message") or f"exit code {exit_code}: {answer}")
        self.code = error.get("code")
        self.exit_code = exit_code


def _status(limit):
    return Status(limit["remaining"], limit["capacity"], limit["resets_at_ms"], limit["exceeded"],
                  limit["retry_after_ms"])


def _limits(answer):
    return {(limit["entity"], limit["name"]): _status(limit) for limit in answer["limits"]}


def _decision(answer):
    return Outcome(answer["admitted"], _limits(answer), answer["retry_after_ms"],
                   answer["outcome"] == "disabled")


def _amounts(amounts):
    return [f"{limit}={amount}" for limit, amount in amounts.items()]


class Stint:
    """The program stint, a process a command: it remembers nothing from one to the next."""

    EXIT_REJECTED = 10

    def __init__(self, store, clock, environment=None, namespace=NAMESPACE):
        self.store = store
        self.clock = clock
        self.namespace = namespace
        self.environment = {"PATH": os.environ["PATH"], "LC_ALL": "C.UTF-8",
                            "HOME": "/nonexistent", **(environment or {})}
        for name in ("ASAN_OPTIONS", "UBSAN_OPTIONS", "LD_LIBRARY_PATH"):
            if name in os.environ:
                self.environment[name] = os.environ[name]

    @classmethod
    def on_table(cls, server, table, clock, **options):
        store = f"dynamodb://{table}?region={dynoxide.REGION}&endpoint={server.endpoint}"
        return cls(store, clock, server.environment, **options)

    def run(self, *arguments, codes=(0,), json_output=True):
        """One command; its answer."""
        command = [STINT, "--store", self.store, "--namespace", self.namespace, "--now",
                   str(self.clock.now_ms)]
        if json_output:
            command.append("--json")
        done = subprocess.run(command + list(arguments), env=self.environment, text=True,
                              capture_output=True, stdin=subprocess.DEVNULL, timeout=120,
                              check=False)
        if not json_output:
            if done.returncode not in codes:
                raise StintError({"error": {"message": done.stdout + done.stderr}}, done.returncode)
            return done.stdout
        try:
            # Some commands say more than one line while they work; the answer is the last.
            answer = json.loads(done.stdout.splitlines()[-1], parse_float=decimal.Decimal)
        except (ValueError, IndexError):
            answer = {"error": {"message": f"{arguments}: {done.stdout}{done.stderr}"}}
        if done.returncode not in codes or "error" in answer:
            raise StintError(answer, done.returncode)
        return answer

    def set_limits(self, *limits, entity=None, resource=None, **options):
        return self.run("limits", "set", *self._scope(entity, resource), *limits,
                        *self._options(options))

    def get_limits(self, entity=None, resource=None):
        """The stored limits by name, as `limits set` would take them."""
        config = self.run("limits", "get", *self._scope(entity, resource))["config"]
        return {limit["name"]: limit["spec"] for limit in config["limits"]}

    def delete_limits(self, entity=None, resource=None):
        return self.run("limits", "delete", *self._scope(entity, resource))

    @staticmethod
    def _scope(entity, resource):
        scope = []
        if entity:
            scope += ["--entity", entity]
        if resource:
            scope += ["--resource", resource]
        return scope or ["--system"]

    @staticmethod
    def _options(options):
        return [f"--{name.replace('_', '-')}={value}" for name, value in options.items()]

    def acquire(self, entity, resource, consume, correct=None):
        arguments = ["acquire", entity, resource, "--consume", *_amounts(consume)]
        if correct:
            used = {limit: consume[limit] + amount for limit, amount in correct.items()}
            arguments += ["--settle", *_amounts(used)]
        return _decision(self.run(*arguments, codes=(0, self.EXIT_REJECTED)))

    def available(self, entity, resource, need=None):
        arguments = ["--need", *_amounts(need)] if need else []
        return _limits(self.run("available", entity, resource, *arguments))

    def explain(self, entity, resource):
        return self.run("explain", entity, resource)["buckets"]


class Driver:
    """A process of stint that lives on and remembers: tests/interop/driver.cc."""

    def __init__(self, stint):
        self.clock = stint.clock
        self._process = subprocess.Popen([DRIVER, stint.store, stint.namespace],
                                         env=stint.environment, text=True, stdin=subprocess.PIPE,
                                         stdout=subprocess.PIPE)

    def close(self):
        self._process.stdin.close()
        self._process.wait(timeout=60)
        self._process.stdout.close()

    def send(self, operation, **members):
        command = {"op": operation, "now_ms": self.clock.now_ms, **members}
        self._process.stdin.write(json.dumps(command) + "\n")
        self._process.stdin.flush()

    def receive(self):
        line = self._process.stdout.readline()
        if not line:
            raise RuntimeError(f"the driver ended with {self._process.wait(timeout=60)}")
        answer = json.loads(line, parse_float=decimal.Decimal)
        if "error" in answer:
            raise StintError(answer, 0)
        return answer

    def call(self, operation, **members):
        self.send(operation, **members)
        return self.receive()

    @staticmethod
    def _texts(amounts):
        return {limit: str(amount) for limit, amount in amounts.items()}

    def acquire(self, entity, resource, consume, correct=None, limits=None):
        options = {"limits": limits} if limits else {}
        if correct:
            options["lease"] = "corrected"
        decision = _decision(self.call("acquire", entity=entity, resource=resource,
                                       consume=self._texts(consume), **options))
        if correct and decision:
            self.settle("corrected", correct)
        return decision

    def open_lease(self, name, entity, resource, consume):
        decision = _decision(self.call("acquire", entity=entity, resource=resource, lease=name,
                                       consume=self._texts(consume)))
        if not decision:
            raise AssertionError(f"not admitted: {decision}")

    def settle(self, name, correct=None):
        for limit, amount in (correct or {}).items():
            self.call("release" if amount < 0 else "take", lease=name, limit=limit,
                      amount=str(abs(amount)))
        self.call("settle", lease=name)

    def roll_back(self, name):
        self.call("roll_back", lease=name)

    def available(self, entity, resource):
        return _limits(self.call("available", entity=entity, resource=resource))

    def start_burst(self, entity, resource, consume, count, threads, release=None):
        """Acquires by several threads, each of which gives back what `release` says; `receive`
        tells how many ended how."""
        self.send("burst", entity=entity, resource=resource, consume=self._texts(consume),
                  release=self._texts(release or {}), count=count, threads=threads)

    def requests(self):
        return self.call("requests")["requests"]


class SharedTableTest(unittest.TestCase):
    """A test with a table of its own, a process of each program on it, and their clock."""

    maxDiff = None
    StintError = StintError
    creator = "python"

    @classmethod
    def setUpClass(cls):
        cls.server = dynoxide.Dynoxide()
        cls.addClassCleanup(cls.server.stop)
        os.environ.update(cls.server.environment)

    def setUp(self):
        self.clock = Clock()
        self.addCleanup(self.clock.install())
        self.table = "shared-" + secrets.token_hex(4)
        self.stint = Stint.on_table(self.server, self.table, self.clock)
        self.create_table()
        self.python = self.new_python()

    def start_afresh(self):
        """Another table and other processes, within a test."""
        self.setUp()

    def create_table(self):
        Python.create_table(self.server, self.table)

    def create_table_of_stint(self):
        self.stint.run("table", "create")
        self.stint.run("namespace", "register", NAMESPACE)

    def new_python(self, **options):
        python = Python(self.server, self.table, **options)
        self.addCleanup(python.close)
        return python

    def new_driver(self):
        driver = Driver(self.stint)
        self.addCleanup(driver.close)
        return driver

    # The same by either program, which is named "stint" or "python".

    def create_entity(self, writer, entity, parent=None, cascade=False):
        if writer == "stint":
            arguments = ["--parent", parent] if parent else []
            arguments += ["--cascade"] if cascade else []
            self.stint.run("entity", "create", entity, *arguments)
        else:
            self.python.run(self.python.limiter.create_entity(entity, parent_id=parent,
                                                              cascade=cascade))

    def set_limits(self, writer, specs, entity=None, resource=None):
        """`specs`: by name, in stint's grammar."""
        if writer == "stint":
            self.stint.set_limits(*specs.values(), entity=entity, resource=resource)
            return
        limits = [self.limit_of(spec) for spec in specs.values()]
        limiter = self.python.limiter
        if entity:
            scope = {"resource": resource} if resource else {}
            self.python.run(limiter.set_limits(entity, limits, **scope))
        elif resource:
            self.python.run(limiter.set_resource_defaults(resource, limits))
        else:
            self.python.run(limiter.set_system_defaults(limits))

    def limit_of(self, spec):
        """A limit of the package from the simple forms of stint's grammar."""
        spec, *soft = spec.split("!")
        options = {"soft": True} if soft else {}
        name, rest = spec.split(":", 1)
        units = {"s": 1, "min": 60, "h": 3600, "d": 86400}
        if "@" in rest:
            amount, cron, *zone = rest.split("@")
            return self.python.calendar(name, int(amount), cron, *zone, **options)
        if "+" in rest:
            amount, length = rest.split("+")
            number = length.rstrip("smhdin")
            length_ms = int(number) * units[length[len(number):]] * SECOND_MS
            return self.python.session(name, int(amount), length_ms, **options)
        amount, period, *burst = rest.replace(":", "/").split("/")
        return self.python.rate(name, int(amount), units[period], *(int(one) for one in burst),
                                **options)

    # What is there.

    def items(self):
        return self.server.scan(self.table)

    def item(self, name, sort):
        """The one item whose key without the namespace is `name` and `sort`, or None."""
        found = [item for item in self.items() if item["SK"]["S"] == sort
                 and item["PK"]["S"].partition("/")[2] == name]
        self.assertLessEqual(len(found), 1)
        return found[0] if found else None

    def error_of(self, *command):
        """The code of the error that a command of stint ends with."""
        with self.assertRaises(StintError) as refusal:
            self.stint.run(*command)
        return refusal.exception.code

    @staticmethod
    def own(limits, entity):
        """Those of the entity itself."""
        return {key: status for key, status in limits.items() if key[0] == entity}

    @staticmethod
    def whole(amount):
        return amount.to_integral_value(decimal.ROUND_FLOOR)

    def assert_amounts(self, limits, wanted, entity):
        remaining = {name: limits[entity, name].remaining for name in wanted}
        self.assertEqual(remaining, {name: decimal.Decimal(n) for name, n in wanted.items()})
