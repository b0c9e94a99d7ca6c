#!/usr/bin/python3
"""Builds and runs the tests.

    scripts/run_tests.py            everything that `make test` promises
    scripts/run_tests.py check      what `make check` promises: the dev build, unit tests, SQLite
                                    drivers and a few black-box tests
    scripts/run_tests.py measure    everything, and tests/durations.json as it was measured
    scripts/run_tests.py citus      the black-box tests of the store on Citus, one coordinator and two
                                    workers: what `make test-citus` promises
    scripts/run_tests.py run KIND…  these kinds of tests alone, on what is built already, and what
                                    each file costs, in seconds of a processor and in all

Test files wait in one queue per kind, the longest first, and a few workers take from the queues, more of
them while processors are idle (scripts/slots.py). Each worker shares one server among its files
(scripts/test_queue.py). Ends with 1 when anything failed;
what failed, and why, comes last and fits into the end of a log that is cut (scripts/failures.py).

If the machine was taken away while a job ran (scripts/machine.py), a few of its tests that failed are run
once more, alone, and both results are shown: black-box tests of both stores and those in the browser.
Reports of sanitizers, programs that died, C tests, crash tests and gates count at once.
"""

import json
import os
import re
import shutil
import subprocess
import sys
import tempfile
import threading
import time
from pathlib import Path

from failures import count_failed, failed_tests, what_failed
from machine import Watch
from slots import CORES, Busy, Slots
from summaries import as_it_is, ctest_summary, ctest_verdict, last_line

ROOT = Path(__file__).resolve().parents[1]
BUILD = ROOT / "build"
DURATIONS = ROOT / "tests/durations.json"
WITH_POSTGRES = ROOT / "tests/drivers/with_postgres"
WITH_CITUS = ROOT / "tests/cluster/with_citus"
PYTEST = ["/usr/bin/python3", "-m", "pytest", "-q", "-p", "no:cacheprovider"]
UNKNOWN_S = 60.0  # a file that was never measured may be long
FIRST_S = 1e6  # more than any pool has
WORTH_S = 8.0  # left in a queue for another worker, which has a server to start
LAST_LINES = 130  # of the output, for what failed
LEAST_LINES, MOST_LINES = 8, 60  # of them for one job
LINE_COLUMNS = 300
MOST_AGAIN = 8  # failed tests: more of them are no accident
WAIT_MS = "60000"  # a store may be silent for seconds while others use the processors
ROOM_BYTES = 2 << 30  # for the data directories of tests, in memory

# A sanitizer's report ends its process, with a status that no test expects. The black-box tests also
# look for reports in what every server wrote on standard error.
NAMES = ":external_symbolizer_path=/usr/bin/addr2line"  # in a report; a suppression needs them
SANITIZERS = {
    "ASAN_OPTIONS": "halt_on_error=1:exitcode=99:detect_leaks=1:strict_string_checks=1"
                    f":detect_stack_use_after_return=1{NAMES}",
    "UBSAN_OPTIONS": "halt_on_error=1:exitcode=99:print_stacktrace=1" + NAMES,
    "TSAN_OPTIONS": "halt_on_error=1:exitcode=99:second_deadlock_stack=1"
                    f":suppressions={ROOT}/tests/tsan.supp:print_suppressions=0{NAMES}",
    "LSAN_OPTIONS": "exitcode=99",
}  # fmt: skip

# Those whose work crosses threads in ways of its own; the others would only show the same again.
THREADED = (
    "alerts", "batch", "export", "faults", "first_event", "live", "metrics", "overload", "rotation",
    "short_reads", "telemetry", "webhooks",
)  # fmt: skip

# What the store has no part in: connections, headers, and words for people and other programs.
ANY_STORE = (
    "cors", "csrf", "formats", "login_command", "mcp", "portal", "remote_commands", "tls",
)  # fmt: skip

# Long C tests of one thread alone, in which TSan has nothing to find.
ONE_THREAD = (
    "/(test_ids|test_id_segment|test_id_filter_file|test_event_log|test_runs|test_run_state"
    "|test_token|test_sessions|test_throttle|test_[a-z_]*_store)$"
)

# Holds the release binary to its milliseconds: nothing else runs meanwhile.
EXCLUSIVE = "tests/integration/test_overload.py"

browsers = Busy()
output = threading.Lock()
failed = []  # in the order in which they failed


class Failed:
    """A job that failed: its name, all that it said, the command that runs some of its tests, and when
    it ran."""

    def __init__(self, name, said, again, environment, times):
        self.name, self.said, self.again, self.environment = name, said, again, environment
        self.began, self.ended = times
        self.tests = failed_tests(said) if again else []


def show(name, text, ok, wall, used):
    """A heading, what was said, the time and the verdict, in one piece."""
    with output:
        print(f"\n=== {name}\n{text.rstrip()}")
        print(f"=== {wall:.0f} s, {used.ru_utime:.0f} + {used.ru_stime:.0f} s of a processor")
        print(f"=== {'ok' if ok else 'FAILED'}: {name}", flush=True)


def run(name, command, environment=None, summary=as_it_is, again=None):
    """Runs a command to its end and shows it; whether it succeeded. `again`: what runs some of its tests."""
    log = BUILD / "logs" / (re.sub(r"\W+", "_", name) + ".log")
    began = time.monotonic()
    with log.open("wb") as file:
        process = subprocess.Popen(
            command, stdin=subprocess.DEVNULL, stdout=file, stderr=subprocess.STDOUT, cwd=ROOT,
            env={**os.environ, **(environment or {})},
        )  # fmt: skip
        _, status, used = os.wait4(process.pid, 0)
        process.returncode = os.waitstatus_to_exitcode(status)
    ok = process.returncode == 0
    said = log.read_text(errors="replace")
    show(name, summary(said, ok), ok, time.monotonic() - began, used)
    if not ok:
        failed.append(Failed(name, said, again, environment, (began, time.monotonic())))
    return ok


def show_failures(failures, verdict):
    """The end of the output, which is all that some see of it."""
    room = max(LEAST_LINES, min(MOST_LINES, LAST_LINES // len(failures)))
    for one in failures:
        lines = "\n".join(line[:LINE_COLUMNS] for line in what_failed(one.said, room))
        print(f"\n=== {verdict}: {one.name}\n{lines}")
    print("\n" + "\n".join(f"=== {verdict}: {one.name}" for one in failures), flush=True)


def run_again(watch):
    """What failed while the machine was taken away says little: it is run once more, alone. How many
    tests that were."""
    first = list(failed)
    lost = [watch.lost(one.began, one.ended) for one in first]
    tests = sum(count_failed(one.said) for one in first)
    if not all(one.tests for one in first) or not all(lost) or tests > MOST_AGAIN:
        return 0
    failed.clear()
    for one, words in zip(first, lost):
        show_failures([one], f"FAILED AT FIRST ({words})")
        run(f"once more, alone: {one.name}", [*one.again, *one.tests], one.environment)
    return tests


def build(preset, *targets):
    target = f"--target {' '.join(targets)}" if targets else ""
    command = f"cmake --preset {preset} && cmake --build --preset {preset} {target}"
    what = f": {' '.join(targets)}" if targets else ""
    return run(f"build {preset}{what}", ["sh", "-c", command], summary=last_line)


def durations():
    return json.loads(DURATIONS.read_text()) if DURATIONS.exists() else {}


class Job:
    """One command in one slot."""

    def __init__(self, name, kind, command, environment=None, summary=as_it_is, again=None):
        self.name, self.kind, self.command, self.environment = name, kind, command, environment
        self.summary, self.again, self.started, self.took_s = summary, again, False, 0
        self.expected_s = durations().get(kind, UNKNOWN_S)

    def urgency(self):
        """Cannot be divided, so it comes before any pool; 0: there is nothing to begin."""
        return 0 if self.started else FIRST_S + self.expected_s

    def begin(self):
        self.started = True

    def work(self, _):
        began = time.monotonic()
        run(self.name, self.command, self.environment, self.summary, self.again)
        self.took_s = time.monotonic() - began

    def measured(self):
        return {self.kind: round(self.took_s, 1)}

    def costs(self):
        return f"{self.kind}: {self.took_s:.1f} s in all"


class BrowserJob(Job):
    """A browser is never idle: as many at once as there are processors. The slot of one that ends takes
    the next one, so that each has its turn."""

    def __init__(self, name, kind, files):
        install = "scripts/npm_ci tests/browser"
        super().__init__(name, kind, ["sh", "-c", f"{install} && node --test {' '.join(files)}"],
                         again=["node", "--test"])  # fmt: skip

    def urgency(self):
        return 0 if browsers.is_full() else super().urgency()

    def begin(self):
        super().begin()
        browsers.add(1)

    def work(self, number):
        try:
            super().work(number)
        finally:
            browsers.add(-1)


class Pool:
    """Test files of one kind, and the pytest processes that take them from a queue."""

    def __init__(self, name, kind, files, environment=None, options=(), beside=None, again=False):
        self.name, self.kind, self.options, self.again = name, kind, options, again
        self.known = durations().get(kind, {})
        self.files = sorted(files, key=lambda file: (-self.seconds(file), file))
        self.queue, self.times = BUILD / "queue" / kind, BUILD / "queue" / f"{kind}.times"
        self.queue.write_text("".join(f"{file}\n" for file in self.files))
        self.times.mkdir()
        self.prefix = [beside] if beside else []  # the databases of each worker
        self.environment = environment or {}
        self.queued = {
            "MUSTER_TEST_QUEUE": str(self.queue), "MUSTER_TEST_TIMES": str(self.times),
            "PYTHONPATH": str(ROOT / "scripts"),
        }  # fmt: skip
        self.running = self.begun = 0

    def seconds(self, file):
        return self.known.get(file, UNKNOWN_S)

    def urgency(self):
        """Seconds to its end if one more worker began now; 0: it needs none."""
        left = sum(map(self.seconds, self.queue.read_text().split()))
        if left == 0 or (self.running > 0 and left < WORTH_S):
            return 0
        return left / (self.running + 1)

    def begin(self):
        self.running += 1
        self.begun += 1
        return self.begun

    def work(self, number):
        name = f"{self.name} ({number})"
        # short: the path of a unix socket may have 107 characters
        folder = f"{self.environment.get('TMPDIR', os.environ['TMPDIR'])}/{self.kind}{number}"
        more = ["-p", "test_queue", "--durations=3", *self.options]
        command = [*self.prefix, *PYTEST, f"--basetemp={folder}"]
        queued = ["env", *(f"{key}={value}" for key, value in self.queued.items())]
        run(name, [*queued, *command, *more, *self.files], self.environment,
            again=command if self.again else None)
        self.running -= 1

    def times_of(self):
        """By file: seconds, and seconds of a processor."""
        times = {}
        for path in self.times.glob("*.json"):
            times.update(json.loads(path.read_text()))
        return times

    def measured(self):
        return {self.kind: {file: round(took, 1) for file, (took, _) in self.times_of().items()}}

    def costs(self):
        rows = sorted(self.times_of().items(), key=lambda row: -row[1][1])
        lines = [f"{cpu:7.1f} {took:7.1f} {Path(file).name}" for file, (took, cpu) in rows]
        return "\n".join([f"{self.kind}: seconds of a processor, and in all", *lines])


def in_parallel(*functions):
    threads = [threading.Thread(target=function) for function in functions]
    for one in threads:
        one.start()
    for one in threads:
        one.join()


def files_in(folder, names=("*",)):
    found = {path for name in names for path in (ROOT / folder).glob(f"test_{name}.py")}
    return [str(path.relative_to(ROOT)) for path in sorted(found)]


def on(preset, store, **more):
    """The environment of black-box tests on a build's binary."""
    binary = str(BUILD / preset / "muster")
    return {"MUSTER_TEST_BINARY": binary, "MUSTER_TEST_STORES": store,
            "MUSTER_TEST_WAIT_MS": WAIT_MS, **more}


def ctest(name, kind, preset, *options, summary=ctest_summary):
    command = ["ctest", "--test-dir", f"build/{preset}", "--no-tests=error", "-V",
               "-j", str(CORES), *options]  # fmt: skip
    return Job(name, kind, command, summary=summary)


def stored(name, kind, beside):
    """The black-box tests in which the store has a part, on databases of PostgreSQL."""
    left_out = {EXCLUSIVE, *files_in("tests/integration", ANY_STORE)}
    files = [file for file in files_in("tests/integration") if file not in left_out]
    environment = on("release", "postgres", MUSTER_TEST_STORED="1")
    return Pool(name, kind, files, environment, beside=beside, again=True)


def all_work():
    """Each store has its own build: what differs between the stores is SQL, and what a sanitizer
    sees it sees on either."""
    black_box = files_in("tests/integration")
    threaded = files_in("tests/integration", THREADED)
    commands = str(BUILD / "release/muster")  # those that only prepare what is tested
    every_page, every_habit = (f"tests/browser/every_{what}.test.mjs" for what in ("page", "habit"))
    pages = {str(path.relative_to(ROOT)) for path in (ROOT / "tests/browser").glob("*.test.mjs")}
    pages = sorted(pages - {every_page, every_habit})
    packages = "scripts/build_sdk.py && /usr/bin/python3 -m pytest -q -p no:cacheprovider sdk/tests && " \
        "node --test sdk/typescript/tests/*.test.mjs"  # fmt: skip
    return [
        ctest("C tests under ASan and UBSan: unit, drivers, fuzz corpora", "c-asan", "asan"),
        ctest("threaded C tests under TSan", "c-tsan", "tsan",
              "-R", "^unit/(http|engine|api|features)", "-E", ONE_THREAD),
        BrowserJob("the portal in a browser: what pages do", "browser", pages),
        BrowserJob("the portal in a browser: what every page shows", "browser-every", [every_page]),
        BrowserJob("the portal in a browser: what holds in every page", "browser-habits", [every_habit]),
        Pool("black-box tests on SQLite, under ASan and UBSan", "asan", black_box,
             on("asan", "sqlite", MUSTER_TEST_COMMANDS=commands), again=True),
        stored("black-box tests on PostgreSQL, of the release", "postgres", WITH_POSTGRES),
        Pool("black-box tests on SQLite, under TSan", "tsan", threaded,
             on("tsan", "sqlite", MUSTER_TEST_COMMANDS=commands, MUSTER_TEST_ANSWERS="",
                MUSTER_TEST_THREADS="1"), again=True),
        Pool("kill -9, SIGTERM and failing disks under load", "crash", files_in("tests/crash"),
             {"TMPDIR": os.environ["MUSTER_TEST_DISK"], "MUSTER_TEST_WAIT_MS": WAIT_MS},
             options=["-rPfE"], beside=WITH_POSTGRES),
        Pool("the Python library for agents", "sdk", files_in("sdk/python/tests"),
             on("release", "sqlite")),
        Job("the packages for agents, the guide and the Node.js library", "sdk-packages",
            ["sh", "-c", packages], on("release", "sqlite")),
        Pool("help, README, demo and gates", "program",
             files_in("tests/program") + files_in("tests/gates") + files_in("tests/contract")),
    ]  # fmt: skip


def start_tidy():
    """Without its static analyzer, which is for `make lint`: it uses what others leave idle."""
    return subprocess.Popen(
        ["nice", "-n", "19", "/usr/bin/python3", "scripts/check_tidy.py"],
        cwd=ROOT, env={**os.environ, "TIDY_FAST": "1"},
        stdout=(BUILD / "tidy.log").open("wb"), stderr=subprocess.STDOUT,
    )  # fmt: skip


def run_exclusive(beside):
    run("overload of the release, with nothing else at work", [beside, *PYTEST, EXCLUSIVE],
        on("release", "postgres", MUSTER_TEST_WAIT_MS=""))  # fmt: skip


def run_alone():
    """What needs the others' end."""
    run_exclusive(WITH_POSTGRES)
    run("every answer is as docs/openapi.json says, every route was reached",
        [*PYTEST, "tests/contract/check_answers.py"])  # fmt: skip


def build_all():
    def first():
        if run("gates but clang-tidy (scripts/lint quick)", ["scripts/lint", "quick"]):
            build("release", "muster", "test_hooks")

    def second():
        if build("asan"):
            build("tsan", "muster", "test_hooks", "threaded_tests")

    in_parallel(first, second)


def keep_durations(work):
    """Those of other kinds of work stay."""
    kept = durations()
    for one in work:
        kept.update(one.measured())
    DURATIONS.write_text(json.dumps(kept, indent=1, sort_keys=True) + "\n")


def test(measure):
    """All of it; how many tests were run again."""
    watch = Watch()
    watch.start()
    for old in (BUILD / "answers", BUILD / "browser"):
        shutil.rmtree(old, ignore_errors=True)
    build_all()
    if failed:
        return 0
    tidy = start_tidy()
    try:
        work = all_work()
        Slots(work).run()
        if measure and not failed:
            keep_durations(work)
        status = tidy.wait()
        again = run_again(watch)
        run("clang-tidy", ["sh", "-c", f"cat build/tidy.log; exit {status}"])
        run_alone()
    finally:
        if tidy.poll() is None:
            tidy.kill()
    return again


def run_citus():
    build("release", "muster", "test_hooks")
    run("Citus is installed, or built once", [WITH_CITUS, "true"])
    if failed:
        return
    work = stored("black-box tests on Citus, of the release", "citus", WITH_CITUS)
    Slots([work], most=2 * CORES).run()  # each has three servers of PostgreSQL
    run_exclusive(WITH_CITUS)
    print(f"\n{work.costs()}")


def run_kinds(kinds):
    work = all_work()
    unknown = set(kinds) - {one.kind for one in work}
    if unknown:
        sys.exit(f"{', '.join(unknown)}: the kinds are {', '.join(one.kind for one in work)}")
    work = [one for one in work if one.kind in kinds]
    Slots(work).run()
    for one in work:
        print(f"\n{one.costs()}")


def check():
    if not build("dev", "muster", "test_hooks", "unit_tests", "drivers_sqlite"):
        return
    work = [
        ctest("unit tests and SQLite drivers", "c-dev", "dev", "-L", "unit|drivers",
              "-E", "drivers/postgres", summary=ctest_verdict),
        Job("black-box smoke tests", "smoke", [*PYTEST, "-m", "smoke", "tests/integration"],
            on("dev", "sqlite")),
    ]
    in_parallel(*(one.work for one in work))


def temporary_parent():
    """In memory where there is room: the tests' databases sync all the time."""
    try:
        free = os.statvfs("/dev/shm")
    except OSError:
        return None
    return "/dev/shm" if free.f_bavail * free.f_frsize >= ROOM_BYTES else None


def main():
    verb = sys.argv[1] if len(sys.argv) > 1 else "all"
    if verb not in ("all", "check", "citus", "measure", "run") or (verb != "run" and len(sys.argv) > 2):
        sys.exit(__doc__)
    began, again = time.monotonic(), 0
    for folder in ("logs", "queue"):
        shutil.rmtree(BUILD / folder, ignore_errors=True)
        (BUILD / folder).mkdir(parents=True)
    os.environ.update(SANITIZERS, MUSTER_TEST_ANSWERS=str(BUILD / "answers"),
                      PYTHONPYCACHEPREFIX=str(BUILD / "pycache"), PYTHONDONTWRITEBYTECODE="")
    os.environ.setdefault("CMAKE_BUILD_PARALLEL_LEVEL", str(CORES))
    with (
        tempfile.TemporaryDirectory(prefix="m") as disk,
        tempfile.TemporaryDirectory(prefix="m", dir=temporary_parent()) as memory,
    ):
        for folder in (disk, memory):
            os.chmod(folder, 0o711)  # PostgreSQL's own user passes through
        os.environ.update(TMPDIR=memory, MUSTER_TEST_DISK=disk,
                          MUSTER_TEST_CLUSTER=f"{memory}/cluster")
        if verb == "check":
            check()
        elif verb == "citus":
            run_citus()
        elif verb == "run":
            run_kinds(sys.argv[2:])
        else:
            again = test(verb == "measure")
    if failed:
        show_failures(failed, "FAILED")
        sys.exit(1)
    only = f", {again} tests only when they were run again" if again else ""
    print(f"\n=== all stages ok{only}, {time.monotonic() - began:.0f} s")


if __name__ == "__main__":
    main()
