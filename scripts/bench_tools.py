"""What the bench scripts share: the arithmetic of comparisons, builds, runs, instruction counts."""

import dataclasses
import json
import math
import os
import pathlib
import platform
import re
import shutil
import statistics
import subprocess
import sys
import tempfile

ROOT = pathlib.Path(__file__).resolve().parent.parent
# Instruction counts repeat to a few parts in ten thousand; less than this is no difference.
INSTRUCTION_NOISE = 0.002


class Trouble(Exception):
    """Something that a person has to put right; the text says what."""


# ---- Arithmetic ----


def median_interval(values, confidence=0.95):
    """The narrowest interval between two of the values, the k-th smallest and the k-th largest, that
    holds the median of what they are drawn from with at least this confidence: (low, high), or None
    where even all values together are too few. Assumes nothing about the distribution.
    """
    ordered = sorted(values)
    n = len(ordered)
    best = None
    below = 0.0  # probability that fewer than k values lie below the median
    for k in range(1, n // 2 + 1):
        below += math.comb(n, k - 1) / 2 ** n
        if 1 - 2 * below < confidence:
            break
        best = (ordered[k - 1], ordered[n - k])
    return best


def fewest_rounds(confidence):
    """How many values median_interval needs at least to be this sure."""
    rounds = 2
    while median_interval(range(rounds), confidence) is None:
        rounds += 1
    return rounds


def confidence_of_each(cases):
    """How sure each of so many comparisons has to be for all of them to be right with 95 %
    together, however they depend on each other (Bonferroni).
    """
    return 1 - 0.05 / cases


def variation(values):
    """Coefficient of variation, or None of fewer than two values."""
    if len(values) < 2:
        return None
    return statistics.stdev(values) / statistics.fmean(values)


@dataclasses.dataclass
class Comparison:
    """Costs of the same case by two builds; `ratio` above 1: the second is slower."""

    name: str
    unit: str
    base: float
    head: float
    ratio: float
    low: float
    high: float
    verdict: str  # "slower", "faster" or "same": not told apart from noise

    def is_worse_than(self, tolerated):
        """Whether the second is surely slower by more than this part."""
        return self.verdict == "slower" and self.low > 1 + tolerated


def verdict_of(low, high):
    if low > 1:
        return "slower"
    if high < 1:
        return "faster"
    return "same"


def compare_rounds(name, unit, rounds, confidence=0.95):
    """Compares pairs of costs (base, head), each pair measured one right after the other."""
    ratios = [head / base for base, head in rounds]
    interval = median_interval(ratios, confidence)
    if interval is None:
        low, high, verdict = min(ratios), max(ratios), "same"
    else:
        low, high = interval
        verdict = verdict_of(low, high)
    return Comparison(name, unit, statistics.median(base for base, _ in rounds),
                      statistics.median(head for _, head in rounds), statistics.median(ratios), low,
                      high, verdict)


def compare_instructions(name, base, head):
    ratio = head / base
    low, high = ratio - INSTRUCTION_NOISE, ratio + INSTRUCTION_NOISE
    return Comparison(name, "instructions", base, head, ratio, low, high, verdict_of(low, high))


def in_turn(rounds):
    """Which build goes when: A B, B A, A B ... so that a steady drift favours neither."""
    for number in range(rounds):
        yield ("base", "head") if number % 2 == 0 else ("head", "base")


# ---- Text ----


def digits(value):
    """Three significant digits, without an exponent."""
    if value == 0:
        return "0"
    rounded = float(f"{value:.3g}")
    return f"{rounded:,.0f}" if rounded >= 100 else f"{rounded:.3g}"


def shown(value, kind):
    if kind == "rate":
        return f"{digits(value)}/s"
    if kind == "ns":
        return f"{digits(value)} ns" if value < 1000 else f"{digits(value / 1000)} µs"
    if kind == "us":
        return shown(1000 * value, "ns")
    if kind == "bytes":
        return f"{digits(value)} B"
    return digits(value)


# ---- Benchmarks ----

NS_PER_UNIT = {"ns": 1, "us": 1e3, "ms": 1e6, "s": 1e9}


def runs_of(report):
    """The single runs of a report of Google Benchmark, without its aggregates."""
    runs = []
    for run in report["benchmarks"]:
        if run.get("error_occurred"):
            raise Trouble(f"{run['name']}: {run.get('error_message', 'failed')}")
        if run.get("run_type", "iteration") == "iteration":
            runs.append(run)
    return runs


def cost_ns(run):
    """What one run says of its case: the median step where it timed single ones, else what a step
    takes by its rate, else the time of an iteration: by the wall if the name says so.
    """
    if "median_ns" in run:
        return run["median_ns"]
    if "items_per_second" in run:
        return 1e9 / run["items_per_second"]
    by_wall = re.search(r"/(real|manual)_time\b", run["name"]) is not None
    return run["real_time" if by_wall else "cpu_time"] * NS_PER_UNIT[run["time_unit"]]


def run_benchmark(program, arguments):
    """Runs a benchmark program and returns its report."""
    with tempfile.NamedTemporaryFile(suffix=".json") as out:
        done = subprocess.run(
            [str(program), "--benchmark_out_format=json", f"--benchmark_out={out.name}", *arguments],
            text=True, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, check=False)
        if done.returncode != 0:
            raise Trouble(f"{program}: ended with {done.returncode}\n{done.stderr.strip()}")
        return json.loads(pathlib.Path(out.name).read_text(encoding="utf-8"))


def refuse_assertions(report, program):
    if report["context"].get("stint_assertions") == "on":
        raise Trouble(f"{program} was built with assertions; measure what the preset bench builds")


def list_benchmarks(program):
    done = subprocess.run([str(program), "--benchmark_list_tests"], text=True, capture_output=True,
                          check=False)
    if done.returncode != 0:
        raise Trouble(f"{program}: its benchmarks cannot be listed\n{done.stderr.strip()}")
    return done.stdout.split()


def machine_lines(build, times, times_of, started, load_before):
    """What has to be known of figures: machine, compiler, revision, time and load, a line each.
    `build`: the build directory; `load_before`: os.getloadavg() then.
    """
    model = platform.processor() or platform.machine()
    for line in pathlib.Path("/proc/cpuinfo").read_text(encoding="utf-8").splitlines():
        if line.startswith("model name"):
            model = line.split(":", 1)[1].strip()
            break
    cache = (build / "CMakeCache.txt").read_text(encoding="utf-8")

    def cached(name):
        match = re.search(rf"^{name}:\w+=(.*)$", cache, re.MULTILINE)
        return match.group(1) if match else ""

    compiler = subprocess.run([cached("CMAKE_CXX_COMPILER"), "--version"], text=True,
                              capture_output=True, check=True).stdout.splitlines()[0]
    flags = cached(f"CMAKE_CXX_FLAGS_{cached('CMAKE_BUILD_TYPE').upper()}")
    revision = subprocess.run(["git", "describe", "--always", "--dirty"], cwd=ROOT, text=True,
                              capture_output=True, check=False).stdout.strip() or "no revision"
    load = f"{load_before[0]:.1f} before, {os.getloadavg()[0]:.1f} after"
    return [f"{model}, {os.cpu_count()} processors, Linux {platform.release()}",
            f"{compiler}, `{flags}`",
            f"revision {revision}, {started:%Y-%m-%d %H:%M} UTC, {times:g} {times_of}",
            f"load average {load}"]


# ---- Clients of a table ----


def environment_of(server):
    """What a client of a local server (tests/support/dynoxide.py) is started with."""
    kept = {name: value for name, value in os.environ.items() if not name.startswith("AWS_")}
    return {**kept, **server.environment, "AWS_ENDPOINT_URL_DYNAMODB": server.endpoint}


class Worker:
    """A process that answers each line with one line of JSON."""

    def __init__(self, command, environment):
        self._name = pathlib.Path(command[0]).name
        self._process = subprocess.Popen(command, env=environment, text=True,
                                         stdin=subprocess.PIPE, stdout=subprocess.PIPE)

    def send(self, *words):
        try:
            self._process.stdin.write(" ".join(map(str, words)) + "\n")
            self._process.stdin.flush()
        except BrokenPipeError:
            pass  # It has ended by itself, as the answer will tell.

    def answer(self):
        line = self._process.stdout.readline()
        if not line:
            raise Trouble(f"{self._name} ended with {self._process.wait()}")
        return json.loads(line)

    def ask(self, *words):
        self.send(*words)
        return self.answer()

    def close(self):
        try:
            self._process.stdin.close()
        except BrokenPipeError:
            pass
        self._process.stdout.close()
        self._process.wait()


def create_table(client, server, table, rehearse):
    """Has a dynamodb_client create its table."""
    if client.ask("create")["assertions"] and not rehearse:
        raise Trouble("dynamodb_client was built with assertions; measure what the preset bench "
                      "builds")
    # Nobody reads the stream, and each write of this server takes longer than the one before while
    # it keeps one.
    server.call("UpdateTable", {"TableName": table,
                                "StreamSpecification": {"StreamEnabled": False}})


class Workers(list):
    """Several of one kind."""

    def __init__(self, command, environment, count):
        super().__init__(Worker(command, environment) for _ in range(count))

    def __enter__(self):
        return self

    def __exit__(self, *_):
        for worker in self:
            worker.close()


# ---- Instructions ----


@dataclasses.dataclass
class Profile:
    per_step: float
    functions: dict  # instructions a step by the name of the function itself, callees left out


def short_name(function):
    """A function's name without parameters, template arguments and the compiler's suffixes."""
    text = re.sub(r"\[.*?\]", "", function).replace("(anonymous namespace)::", "")
    previous = None
    while previous != text:
        previous = text
        text = re.sub(r"<[^<>]*>", "", text)
    return text.split("(")[0].strip() or function


def parse_annotated(text):
    """Total and instructions by function of what callgrind_annotate prints."""
    total = None
    functions = {}
    for line in text.splitlines():
        match = re.match(r"\s*([\d,]+)\s+\([^)]*\)\s+(.*)", line)
        if not match:
            continue
        count = int(match.group(1).replace(",", ""))
        if match.group(2) == "PROGRAM TOTALS":
            total = count
            continue
        # file:function [object]; files have no colon, except "???:".
        function = match.group(2).split(":", 1)[-1]
        name = short_name(re.sub(r"\s+\[/[^\]]*\]?$", "", function))
        functions[name] = functions.get(name, 0) + count
    if not total:
        raise Trouble("callgrind counted nothing; is profiled_steps still in bench/profile_loop.cc?")
    return total, functions


def list_cases(program):
    """Names and descriptions of the cases that can be profiled."""
    done = subprocess.run([str(program), "--list"], text=True, capture_output=True, check=False)
    if done.returncode != 0:
        raise Trouble(f"{program}: its cases cannot be listed\n{done.stderr.strip()}")
    return dict(line.split("\t", 1) for line in done.stdout.splitlines())


def profile(program, case, steps, keep=None):
    """Counts the instructions of so many steps of a case. `keep`: where callgrind's file goes."""
    for tool in ("valgrind", "callgrind_annotate"):
        if shutil.which(tool) is None:
            raise Trouble(f"{tool} is not installed; scripts/install-packages test does it")
    with tempfile.TemporaryDirectory() as directory:
        out = pathlib.Path(keep) if keep else pathlib.Path(directory) / "callgrind.out"
        done = subprocess.run(
            ["valgrind", "--tool=callgrind", f"--callgrind-out-file={out}",
             "--toggle-collect=profiled_steps", str(program), case, str(steps)],
            text=True, capture_output=True, check=False)
        if done.returncode != 0:
            raise Trouble(f"{case}: ended with {done.returncode} under valgrind\n"
                          f"{done.stderr.strip()}")
        annotated = subprocess.run(
            ["callgrind_annotate", "--auto=no", "--threshold=100", str(out)], text=True,
            capture_output=True, check=False)
        if annotated.returncode != 0:
            raise Trouble(f"callgrind_annotate: {annotated.stderr.strip()}")
    total, functions = parse_annotated(annotated.stdout)
    return Profile(total / steps, {name: count / steps for name, count in functions.items()})


# ---- Builds ----


def run_quietly(command, directory):
    done = subprocess.run(command, cwd=directory, text=True, stdout=subprocess.PIPE,
                          stderr=subprocess.STDOUT, check=False)
    if done.returncode != 0:
        raise Trouble(f"{' '.join(map(str, command))} in {directory} failed:\n{done.stdout[-4000:]}")
    return done.stdout


def build_tree(source, targets, *definitions):
    """Builds the preset bench of a source tree and returns its directory of programs."""
    run_quietly(["cmake", "--preset", "bench", *definitions], source)
    # Ninja would start more jobs than there are cores, which small machines have no memory for.
    jobs = os.environ.get("CMAKE_BUILD_PARALLEL_LEVEL", str(os.cpu_count() or 1))
    run_quietly(["cmake", "--build", "--preset", "bench", "--parallel", jobs, "--target", *targets],
                source)
    return source / "build" / "bench" / "bin"


def replace_folder(source, target):
    """Makes `target` equal to `source`; files that are equal already keep their time."""
    wanted = {path.relative_to(source) for path in source.rglob("*") if path.is_file()}
    if target.is_dir():
        for path in target.rglob("*"):
            if path.is_file() and path.relative_to(target) not in wanted:
                path.unlink()
    for name in wanted:
        content = (source / name).read_bytes()
        place = target / name
        if not place.is_file() or place.read_bytes() != content:
            place.parent.mkdir(parents=True, exist_ok=True)
            place.write_bytes(content)


def unpack_revision(revision, suffix):
    """The source tree of a revision, below build/compare, unpacked once for each suffix."""
    done = subprocess.run(["git", "rev-parse", "--verify", "--quiet", f"{revision}^{{commit}}"],
                          cwd=ROOT, text=True, capture_output=True, check=False)
    if done.returncode != 0:
        raise Trouble(f"{revision} is neither a directory nor a revision")
    commit = done.stdout.strip()
    tree = ROOT / "build" / "compare" / (commit[:12] + suffix)
    if not tree.is_dir():
        # An interrupted run must not leave half a tree that looks like a whole one.
        unfinished = tree.with_name(tree.name + ".unfinished")
        shutil.rmtree(unfinished, ignore_errors=True)
        unfinished.mkdir(parents=True)
        archive = subprocess.run(["git", "archive", commit], cwd=ROOT, capture_output=True,
                                 check=True)
        subprocess.run(["tar", "-x"], cwd=unfinished, input=archive.stdout, check=True)
        unfinished.rename(tree)
    return tree


def programs_of(place, targets, own_benchmarks):
    """The directory of built programs that `place` means: a build directory, a revision, or, when
    absent, the working tree.
    """
    if place is None:
        return build_tree(ROOT, targets)
    directory = pathlib.Path(place)
    if directory.is_dir():
        programs = directory / "bin"
        missing = [name for name in targets if not (programs / name).is_file()]
        if missing:
            raise Trouble(f"{programs} has no {', '.join(missing)}; build the preset bench there")
        return programs.resolve()
    if own_benchmarks:
        return build_tree(unpack_revision(place, "-own"), targets)
    tree = unpack_revision(place, "")
    replace_folder(ROOT / "bench", tree / "bench")
    try:
        return build_tree(tree, targets, "-DSTINT_BENCH_OLDER_SOURCES=ON")
    except Trouble as trouble:
        raise Trouble(f"{trouble}\n{place} does not build with the benchmarks of the working tree; "
                      "--own-benchmarks takes its own") from trouble


class Progress:
    """One line on the standard error stream that is written over, only on a terminal."""

    def __init__(self):
        self.shown = sys.stderr.isatty()

    def show(self, text):
        if self.shown:
            print(f"\r\033[K{text}", end="", file=sys.stderr, flush=True)

    def clear(self):
        self.show("")
