"""Jobs of the tests: commands of the standard runners (ctest, pytest, node --test), a few at once.

Each job's output is in build/logs/. What failed is repeated at the end, where one looks first, and which
part of a cut log is kept. A job that hangs is ended and has failed; so has one that ran no test.
"""

import contextlib
import os
import re
import resource
import signal
import subprocess
import threading
import time
import traceback
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
BUILD = ROOT / "build"
CORES = os.cpu_count()
MOST_S = 3600  # of one job: much longer than any takes on a busy machine
END_S = 20  # from SIGTERM, by which databases and browsers end, too, to SIGKILL
LAST_LINES = 130  # of the output, for what failed
LEAST_LINES, MOST_LINES = 12, 60  # of them for one job
LINE_COLUMNS = 300

# Each pytest process has a PostgreSQL, or Citus, of its own beside it.
PYTEST = ["/usr/bin/python3", "-m", "pytest", "-q", "-p", "no:cacheprovider", "--tb=short", "-rfE"]
WITH_POSTGRES = "tests/drivers/with_postgres"
WITH_CITUS = "tests/cluster/with_citus"

RAN = (  # what pytest, Node.js and ctest say at their end; of ctest each program is one test
    re.compile(r"\b(\d+) (?:passed|failed|errors?)\b(?=.* in [\d.]+s)"),
    re.compile(r"^(?:#|ℹ) (?:pass|fail) (\d+)$", re.M),
    re.compile(r"tests passed, \d+ tests failed out of (\d+)"),
)
OF_PASSED = re.compile(r"^[.sxFE]+ *\[ *\d+%\]$|^ *Start +\d+: |^ *\d+/\d+ Test .* Passed |^ok \d+|^ *(?:✔|▶|#) ")

output = threading.Lock()
failed = {}  # by name of a job: why, as lines
counts = {}  # by name of a job: how many tests ran
running = set()  # processes, each the leader of its group


def pytest(*arguments, beside=None, workers=1):
    """A command that divides test files among so many processes."""
    if workers == 1:
        return [*([beside] if beside else []), *PYTEST, *arguments]
    python = f"{beside} /usr/bin/python3" if beside else "/usr/bin/python3"
    return [*PYTEST, "--dist=loadfile", f"--tx={workers}*popen//python={python}", *arguments]


def count_tests(said):
    return sum(int(n) for ran in RAN for n in ran.findall(said))


def end(processes, number=signal.SIGTERM):
    for process in processes:
        with contextlib.suppress(ProcessLookupError):
            os.killpg(process.pid, number)


def stop(number, _frame):
    """On a signal: what runs is ended, and databases with it."""
    end(list(running))
    deadline = time.monotonic() + END_S
    while any(process.poll() is None for process in running) and time.monotonic() < deadline:
        time.sleep(0.05)
    end(list(running), signal.SIGKILL)
    os._exit(128 + number)


def run(name, command, environment=None, has_tests=False):
    """Runs a command to its end and says how it went; whether it succeeded."""
    log = BUILD / "logs" / (re.sub(r"\W+", "_", name) + ".log")
    began = time.monotonic()
    with log.open("wb") as file:
        process = subprocess.Popen(
            ["timeout", f"--kill-after={END_S}", str(MOST_S), *map(str, command)], cwd=ROOT,
            stdin=subprocess.DEVNULL, stdout=file, stderr=subprocess.STDOUT,
            env={**os.environ, **(environment or {})}, start_new_session=True,
        )  # fmt: skip
        running.add(process)
        _, status, spent = os.wait4(process.pid, 0)
        process.returncode = status = os.waitstatus_to_exitcode(status)
        running.discard(process)
    said = log.read_text(errors="replace")
    if has_tests:
        counts[name] = count_tests(said)
    if status != 0:
        hung = [f"took more than {MOST_S} s, and was ended"] if status in (124, 137, -signal.SIGKILL) else []
        failed[name] = [line for line in said.splitlines() if not OF_PASSED.search(line)] + hung
    elif has_tests and counts[name] == 0:
        failed[name] = ["no test ran"]
    with output:
        tests = f", {counts[name]} tests" if has_tests else ""
        took = f"{time.monotonic() - began:.0f} s, {spent.ru_utime + spent.ru_stime:.0f} s of processors"
        print(f"=== {'FAILED' if name in failed else 'ok'}: {name}{tests}, {took}", flush=True)
    return name not in failed


class Job:
    """A command that runs tests."""

    def __init__(self, name, kind, command, environment=None):
        self.name, self.kind, self.command, self.environment = name, kind, command, environment

    def run(self):
        return run(self.name, self.command, self.environment, has_tests=True)


def run_all(*queues):
    """Queues are pairs: how many of its jobs run at once, and the jobs, the longest first."""
    with contextlib.ExitStack() as all_ended:
        for workers, jobs in queues:
            lanes = all_ended.enter_context(ThreadPoolExecutor(workers))
            for job in jobs:
                counts[job.name] = 0
                lanes.submit(guarded, job.name, job.run)


def guarded(name, function, *arguments):
    """An exception in a thread is a failure of the run, not silence."""
    try:
        return function(*arguments)
    except BaseException:
        failed[name] = traceback.format_exc().splitlines()
        return False


def build(preset, *targets):
    target = f"--target {' '.join(targets)}" if targets else ""
    what = f"build {preset}{': ' if targets else ''}{' '.join(targets)}"
    return run(what, ["sh", "-c", f"cmake --preset {preset} && cmake --build --preset {preset} {target}"])


def side_by_side(*functions):
    with ThreadPoolExecutor(len(functions)) as threads:
        for function in functions:
            threads.submit(guarded, function.__name__, function)


def verdict():
    """How many tests ran and what failed, at the end of the output; the status of the whole run."""
    print("\n=== tests that ran")
    for name, count in counts.items():
        print(f"{count:7,} {name}")
    print(f"{sum(counts.values()):7,} in all")
    if not counts and not failed:
        failed["tests"] = ["no job ran"]
    room = max(LEAST_LINES, min(MOST_LINES, LAST_LINES // max(1, len(failed))))
    for name, why in failed.items():
        print(f"\n=== FAILED: {name}", *(line[:LINE_COLUMNS] for line in why[-room:]), sep="\n")
    if failed:
        print("", *(f"=== FAILED: {name}" for name in failed), sep="\n", flush=True)
        return 1
    spent = resource.getrusage(resource.RUSAGE_CHILDREN)
    print(f"\n=== all stages ok, {time.monotonic() - BEGAN:.0f} s, {spent.ru_utime + spent.ru_stime:.0f} s of processors")
    return 0


BEGAN = time.monotonic()
