#!/usr/bin/python3
"""Builds and runs the tests.

    scripts/run_tests.py            everything that `make test` promises
    scripts/run_tests.py check      what `make check` promises: the dev build, unit tests, SQLite
                                    drivers and a few black-box tests
    scripts/run_tests.py cluster    what `make test-cluster` promises: several nodes under faults, and
                                    Citus (scripts/cluster_work.py)
    scripts/run_tests.py citus      the black-box tests of the store on Citus, one coordinator and two
                                    workers: what `make test-citus` promises
    scripts/run_tests.py measure [cluster]
                                    everything, or what `cluster` runs, and tests/durations.json as it
                                    was measured
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

import os
import shutil
import signal
import subprocess
import sys
import tempfile
import time
import traceback

from black_box import WAIT_MS, WITH_POSTGRES, files_in, on, run_exclusive, stored
from cluster_work import on_citus, on_postgres, run_citus, run_cluster
from jobs import (
    BUILD,
    PYTEST,
    ROOT,
    MOST_S,
    BrowserJob,
    Failed,
    Job,
    Pool,
    build,
    failed,
    in_parallel,
    judge_counts,
    keep_durations,
    run,
    run_again,
    run_all,
    stop,
    show_failures,
)
from machine import Watch
from slots import CORES
from summaries import ctest_summary, ctest_verdict

VERBS = ("all", "check", "citus", "cluster", "measure", "run")
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

# Long C tests of one thread alone, in which TSan has nothing to find.
ONE_THREAD = (
    "/(test_ids|test_id_segment|test_id_filter_file|test_event_log|test_runs|test_run_state"
    "|test_token|test_sessions|test_throttle|test_[a-z_]*_store)$"
)


def ctest(name, kind, preset, *options, summary=ctest_summary):
    command = ["ctest", "--test-dir", f"build/{preset}", "--no-tests=error", "-V",
               "-j", str(CORES), *options]  # fmt: skip
    return Job(name, kind, command, summary=summary)


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
        stored("black-box tests on PostgreSQL, of the release", "postgres", [WITH_POSTGRES]),
        Pool("black-box tests on SQLite, under TSan", "tsan", threaded,
             on("tsan", "sqlite", MUSTER_TEST_COMMANDS=commands, MUSTER_TEST_ANSWERS="",
                MUSTER_TEST_THREADS="1"), again=True),
        Pool("kill -9, SIGTERM and failing disks under load", "crash", files_in("tests/crash"),
             {"TMPDIR": os.environ["MUSTER_TEST_DISK"], "MUSTER_TEST_WAIT_MS": WAIT_MS},
             options=["-rPfE"], beside=[WITH_POSTGRES]),
        Pool("the Python library for agents", "sdk", files_in("sdk/python/tests"),
             on("release", "sqlite")),
        Job("the packages for agents, the guide and the Node.js library", "sdk-packages",
            ["sh", "-c", packages], on("release", "sqlite")),
        Pool("help, README, demo and gates", "program",
             files_in("tests/program") + files_in("tests/gates") + files_in("tests/contract")),
    ]  # fmt: skip


def start_tidy():
    """It uses what others leave idle."""
    return subprocess.Popen(
        ["nice", "-n", "19", "/usr/bin/python3", "scripts/check_tidy.py"],
        cwd=ROOT, stdout=(BUILD / "tidy.log").open("wb"), stderr=subprocess.STDOUT,
    )  # fmt: skip


def run_alone():
    """What needs the others' end."""
    run_exclusive([WITH_POSTGRES])
    run("every answer is as docs/openapi.json says, every route was reached",
        [*PYTEST, "tests/contract/check_answers.py"], tests_of="the contract")  # fmt: skip


def build_all():
    def first():
        if run("gates but clang-tidy (scripts/lint quick)", ["scripts/lint", "quick"]):
            build("release", "muster", "test_hooks")

    def second():
        if build("asan"):
            build("tsan", "muster", "test_hooks", "threaded_tests")

    in_parallel(first, second)


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
        run_all(work)
        if measure and not failed:
            keep_durations(work)
        status = tidy.wait(MOST_S)
        again = run_again(watch)
        run("clang-tidy", ["sh", "-c", f"cat build/tidy.log; exit {status}"])
        run_alone()
    finally:
        if tidy.poll() is None:
            tidy.kill()
    return again


def show_costs(work):
    for one in work:
        print(f"\n{one.costs()}")


def cluster(measure):
    """How many tests were run again."""
    work, again = run_cluster()
    if measure and not failed:
        keep_durations(work)
    show_costs(work)
    return again


def run_kinds(kinds):
    work = all_work() + on_postgres() + on_citus()
    unknown = set(kinds) - {one.kind for one in work}
    if unknown:
        sys.exit(f"{', '.join(unknown)}: the kinds are {', '.join(one.kind for one in work)}")
    work = [one for one in work if one.kind in kinds]
    run_all(work)
    show_costs(work)


def marked(mark):
    """The files that have such tests: to collect all files takes longer than to run these tests."""
    files = files_in("tests/integration")
    return [file for file in files if f"pytest.mark.{mark}" in (ROOT / file).read_text()]


def check_work():
    return [
        ctest("unit tests and SQLite drivers", "c-dev", "dev", "-L", "unit|drivers",
              "-E", "drivers/postgres", summary=ctest_verdict),
        Job("black-box smoke tests", "smoke", [*PYTEST, "-m", "smoke", *marked("smoke")],
            on("dev", "sqlite")),
    ]  # fmt: skip


def check():
    if build("dev", "muster", "test_hooks", "unit_tests", "drivers_sqlite"):
        run_all(check_work())


def temporary_parent():
    """In memory where there is room: the tests' databases sync all the time."""
    try:
        free = os.statvfs("/dev/shm")
    except OSError:
        return None
    return "/dev/shm" if free.f_bavail * free.f_frsize >= ROOM_BYTES else None


def run_verb(verb, words):
    """How many tests were run again."""
    again = 0
    if verb == "check":
        check()
    elif verb == "citus":
        show_costs(run_citus())
    elif verb == "run":
        run_kinds(words)
    elif verb == "cluster" or words == ["cluster"]:
        again = cluster(verb == "measure")
    else:
        again = test(verb == "measure")
    return again


def end_in_order(number, _frame):
    raise SystemExit(128 + number)


def main():
    verb, *words = sys.argv[1:] or ["all"]
    if verb not in VERBS or (words and verb != "run" and (verb, *words) != ("measure", "cluster")):
        sys.exit(__doc__)
    for number in (signal.SIGTERM, signal.SIGHUP):
        signal.signal(number, end_in_order)
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
        try:
            again = run_verb(verb, words)
        except Exception:
            failed.append(Failed("the run itself", traceback.format_exc(), None, None, (0, 0)))
        except BaseException:
            stop()
            raise
    judge_counts()
    if failed:
        show_failures(failed, "FAILED")
        sys.exit(1)
    only = f", {again} tests only when they were run again" if again else ""
    print(f"\n=== all stages ok{only}, {time.monotonic() - began:.0f} s")


if __name__ == "__main__":
    main()
