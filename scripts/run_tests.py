#!/usr/bin/python3
"""Builds and runs the tests.

    scripts/run_tests.py            everything that `make test` promises
    scripts/run_tests.py check      what `make check` promises: the dev build, unit tests, SQLite
                                    drivers and a few black-box tests
    scripts/run_tests.py cluster    what `make test-cluster` promises (scripts/cluster_jobs.py)
    scripts/run_tests.py citus      of it, the black-box tests on Citus: `make test-citus`
    scripts/run_tests.py run KIND…  these kinds of jobs alone, on what is built already

Ends with 1 when anything failed; what failed, and why, comes last. Nothing is run twice.
"""

import os
import shutil
import signal
import subprocess
import sys
import tempfile

import cluster_jobs
from black_box import ANY_STORE, EXCLUSIVE, files_in, on, on_store
from jobs import BUILD, CORES, ROOT, WITH_POSTGRES, Job, build, failed, guarded, pytest, run, run_all, side_by_side, stop, verdict

AT_ONCE = CORES + 1  # jobs; a test often waits: for a server, a clock, a process that starts
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
    "/(test_ids|test_id_segment|test_id_filter|test_event_log|test_runs|test_run_state|test_registry_lo(ad|st)"
    "|test_token|test_sessions|test_throttle|test_[a-z_]*_store)$"
)


def ctest(name, kind, preset, *options):
    return Job(name, kind, ["ctest", "--test-dir", f"build/{preset}", "--no-tests=error",
                            "--output-on-failure", "-j", str(CORES), *options])  # fmt: skip


def browser(name, kind, files):
    return Job(name, kind, ["sh", "-c", f"scripts/npm_ci tests/browser && node --test {' '.join(files)}"])


def black_box(name, kind, files, environment, workers=2, beside=None, options=()):
    # short: the path of a unix socket may have 107 characters
    folder = f"{environment.get('TMPDIR', os.environ['TMPDIR'])}/{kind}"
    command = pytest(f"--basetemp={folder}", *options, *files, beside=beside, workers=workers)
    return Job(name, kind, command, environment)


def all_jobs():
    """Each store has its own build: what differs between the stores is SQL, and what a sanitizer
    sees it sees on either."""
    every_page, every_habit = (f"tests/browser/every_{what}.test.mjs" for what in ("page", "habit"))
    pages = {str(path.relative_to(ROOT)) for path in (ROOT / "tests/browser").glob("*.test.mjs")}
    release = str(BUILD / "release/muster")  # of commands that only prepare what is tested
    packages = "scripts/build_sdk.py && /usr/bin/python3 -m pytest -q -p no:cacheprovider sdk/tests && " \
        "node --test sdk/typescript/tests/*.test.mjs"  # fmt: skip
    return [
        black_box("black-box tests on PostgreSQL, of the release", "postgres", *on_store("postgres"),
                  workers=3, beside=WITH_POSTGRES),
        black_box("black-box tests on SQLite, under ASan and UBSan", "asan", files_in("tests/integration"),
                  on("asan", "sqlite", MUSTER_TEST_COMMANDS=release), workers=3),
        browser("the portal in a browser: what pages do", "browser", sorted(pages - {every_page, every_habit})),
        browser("the portal in a browser: what holds in every page", "browser-habits", [every_habit]),
        browser("the portal in a browser: what every page shows", "browser-every", [every_page]),
        black_box("black-box tests on SQLite, under TSan", "tsan", files_in("tests/integration", THREADED),
                  on("tsan", "sqlite", MUSTER_TEST_COMMANDS=release, MUSTER_TEST_ANSWERS="",
                     MUSTER_TEST_THREADS="1")),
        black_box("kill -9, SIGTERM and failing disks under load", "crash", files_in("tests/crash"),
                  {"TMPDIR": os.environ["MUSTER_TEST_DISK"], "MUSTER_TEST_WAIT_MS": "60000"},
                  beside=WITH_POSTGRES, options=["-rPfE"]),
        ctest("C tests under ASan and UBSan: unit, drivers, fuzz corpora", "c-asan", "asan"),
        ctest("threaded C tests under TSan", "c-tsan", "tsan",
              "-R", "^unit/(http|engine|api|features)", "-E", ONE_THREAD),
        black_box("the Python library for agents", "sdk", files_in("sdk/python/tests"), on("release", "sqlite")),
        Job("the packages for agents, the guide and the Node.js library", "sdk-packages",
            ["sh", "-c", packages], on("release", "sqlite")),
        black_box("help, README, demo and gates", "program",
                  [file for part in ("program", "gates", "contract") for file in files_in(f"tests/{part}")], {}),
    ]  # fmt: skip


def check_jobs():
    """The files with tests that are marked: to collect all takes longer than to run these."""
    files = files_in("tests/integration")
    smoke = [file for file in files if "pytest.mark.smoke" in (ROOT / file).read_text()]
    return [
        ctest("unit tests and SQLite drivers", "c-dev", "dev", "-L", "unit|drivers", "-E", "drivers/postgres"),
        Job("black-box smoke tests", "smoke", pytest("-m", "smoke", *smoke), on("dev", "sqlite")),
    ]


def build_all():
    def first():
        if run("gates but clang-tidy (scripts/lint quick)", ["scripts/lint", "quick"]):
            build("release", "muster", "test_hooks")

    def second():
        if build("asan"):
            build("tsan", "muster", "test_hooks", "threaded_tests")

    side_by_side(first, second)


def start_tidy():
    """It uses what others leave idle."""
    return subprocess.Popen(
        ["nice", "-n", "19", "/usr/bin/python3", "scripts/check_tidy.py"],
        cwd=ROOT, stdout=(BUILD / "logs/tidy.log").open("wb"), stderr=subprocess.STDOUT,
    )  # fmt: skip


def run_last():
    """What runs with nothing else at work, and what looks at the answers that all others had."""
    Job("overload of the release, with nothing else at work", "overload", pytest(EXCLUSIVE, beside=WITH_POSTGRES),
        on("release", "postgres", MUSTER_TEST_WAIT_MS="")).run()  # fmt: skip
    Job("every answer is as docs/openapi.json says, every route was reached", "contract",
        pytest("tests/contract/check_answers.py")).run()  # fmt: skip


def test_all():
    for old in (BUILD / "answers", BUILD / "browser"):
        shutil.rmtree(old, ignore_errors=True)
    build_all()
    if failed:
        return
    tidy = start_tidy()
    try:
        run_all((AT_ONCE, all_jobs()))
        run("clang-tidy", ["sh", "-c", f"tail --pid={tidy.pid} -f /dev/null; cat build/logs/tidy.log; exit {tidy.wait()}"])
    finally:
        tidy.kill()
    run_last()


def check():
    if build("dev", "muster", "test_hooks", "unit_tests", "drivers_sqlite"):
        run_all((2, check_jobs()))


def run_kinds(kinds):
    known = {job.kind: job for job in all_jobs() + cluster_jobs.all_jobs()}
    if unknown := set(kinds) - known.keys():
        sys.exit(f"{', '.join(unknown)}: the kinds are {', '.join(known)}")
    run_all((AT_ONCE, [known[kind] for kind in kinds]))


VERBS = {"all": test_all, "check": check, "citus": cluster_jobs.test_citus, "cluster": cluster_jobs.test_cluster}


def memory_folder():
    """Where there is room the tests' databases, which sync all the time, are in memory."""
    free = os.statvfs("/dev/shm") if os.path.isdir("/dev/shm") else None
    return "/dev/shm" if free and free.f_bavail * free.f_frsize >= ROOM_BYTES else None


def main():
    verb, *kinds = sys.argv[1:] or ["all"]
    if verb not in (*VERBS, "run") or bool(kinds) != (verb == "run"):
        sys.exit(__doc__)
    for number in (signal.SIGTERM, signal.SIGHUP, signal.SIGINT):
        signal.signal(number, stop)
    shutil.rmtree(BUILD / "logs", ignore_errors=True)
    (BUILD / "logs").mkdir(parents=True)
    os.environ.update(SANITIZERS, MUSTER_TEST_ANSWERS=str(BUILD / "answers"),
                      PYTHONPYCACHEPREFIX=str(BUILD / "pycache"), PYTHONDONTWRITEBYTECODE="")
    os.environ.setdefault("CMAKE_BUILD_PARALLEL_LEVEL", str(CORES))
    with (
        tempfile.TemporaryDirectory(prefix="m") as disk,
        tempfile.TemporaryDirectory(prefix="m", dir=memory_folder()) as memory,
    ):
        for folder in (disk, memory):
            os.chmod(folder, 0o711)  # PostgreSQL's own user passes through
        os.environ.update(TMPDIR=memory, MUSTER_TEST_DISK=disk, MUSTER_TEST_CLUSTER=f"{memory}/initdb")
        guarded("the run itself", *((run_kinds, kinds) if kinds else (VERBS[verb],)))
    sys.exit(verdict())


if __name__ == "__main__":
    main()
