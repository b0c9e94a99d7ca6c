"""Jobs of the tests: one command each, or a queue of test files that a few workers share.

What fails is kept in `failed`, with all that it said, and shown at the end (show_failures). If the machine
was taken away meanwhile (machine.py), a few of the failed tests are run once more, alone (run_again).
What hangs is ended and has failed; so has a job that ran no test (judge_counts).
"""

import json
import contextlib
import os
import re
import signal
import subprocess
import threading
import time
from pathlib import Path

from failures import count_failed, failed_tests, what_failed
from slots import Busy, Raised, Slots, caught
from summaries import as_it_is, count_tests, last_line

ROOT = Path(__file__).resolve().parents[1]
BUILD = ROOT / "build"
DURATIONS = ROOT / "tests/durations.json"
PYTEST = ["/usr/bin/python3", "-m", "pytest", "-q", "-p", "no:cacheprovider"]
UNKNOWN_S = 60.0  # a file that was never measured may be long
FIRST_S = 1e6  # more than any pool has
WORTH_S = 8.0  # left in a queue for another worker, which has a server to start
LAST_LINES = 130  # of the output, for what failed
LEAST_LINES, MOST_LINES = 8, 60  # of them for one job
LINE_COLUMNS = 300
MOST_AGAIN = 8  # failed tests: more of them are no accident
# Of one command: much longer than a busy machine takes for any test, and for any job.
SILENT_S, MOST_S = 900, 5400
LOOK_S = 1.0
END_S = 20  # from SIGTERM, by which databases and browsers end, too, to SIGKILL

browsers = Busy()
output = threading.Lock()
failed = []  # in the order in which they failed
counts = {}  # by name of a job: how many tests ran
groups = set()  # of processes, by their leaders, that were started and have not ended
stopped = threading.Event()  # by who runs the tests


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


def end_groups(*leaders):
    """SIGTERM, and SIGKILL to what is still there later."""
    for number, patience_s in ((signal.SIGTERM, END_S), (signal.SIGKILL, 0)):
        for leader in leaders:
            with contextlib.suppress(ProcessLookupError):
                os.killpg(leader, number)
        deadline = time.monotonic() + patience_s
        while time.monotonic() < deadline and groups.intersection(leaders):
            time.sleep(0.05)


def end_when_hung(leader, log, ended):
    """Ends a group of processes that says nothing any more, or does not come to an end."""
    began = heard = time.monotonic()
    size = 0
    while not ended.wait(LOOK_S):
        now = time.monotonic()
        if log.stat().st_size != size:
            size, heard = log.stat().st_size, now
        silent, long = now - heard > SILENT_S, now - began > MOST_S
        if silent or long:
            why = f"said nothing for {SILENT_S} s" if silent else f"took more than {MOST_S} s"
            with log.open("ab") as file:
                file.write(f"\n=== it {why}, and was ended\n".encode())
            end_groups(leader)
            return


def stop():
    """Nothing more begins; what runs is ended."""
    stopped.set()
    end_groups(*groups)


def run_watched(command, environment, log):
    """Its status, and what it used; a session of its own, so that all that it started can be ended."""
    ended = threading.Event()
    if stopped.is_set():
        raise Raised("the tests were stopped")
    with log.open("ab") as file:
        process = subprocess.Popen(
            command, stdin=subprocess.DEVNULL, stdout=file, stderr=subprocess.STDOUT, cwd=ROOT,
            env={**os.environ, **(environment or {})}, start_new_session=True,
        )  # fmt: skip
        groups.add(process.pid)
        if stopped.is_set():  # meanwhile
            end_groups(process.pid)
        threading.Thread(target=end_when_hung, args=(process.pid, log, ended), daemon=True).start()
        _, status, used = os.wait4(process.pid, 0)
    ended.set()
    groups.discard(process.pid)
    process.returncode = os.waitstatus_to_exitcode(status)
    return process.returncode, used


def run(name, command, environment=None, summary=as_it_is, again=None, tests_of=None):
    """Runs a command to its end and shows it; whether it succeeded. `again`: what runs some of its tests.
    `tests_of`: the job whose tests it runs."""
    log = BUILD / "logs" / (re.sub(r"\W+", "_", name) + ".log")
    log.write_bytes(b"")
    began = time.monotonic()
    returned, used = run_watched(command, environment, log)
    ok = returned == 0
    said = log.read_text(errors="replace")
    if tests_of:
        counts[tests_of] = counts.get(tests_of, 0) + count_tests(said)
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


def in_parallel(*functions):
    raised = []
    threads = [threading.Thread(target=caught, args=(raised, function)) for function in functions]
    for one in threads:
        one.start()
    for one in threads:
        one.join()
    if raised:
        raise Raised("\n".join(raised))


def run_all(work, most=None):
    """Jobs and pools, in slots."""
    counts.update({one.name: 0 for one in work})
    Slots(work, most=most).run()


def judge_counts():
    """How many tests ran, of each job and in all; one that ran none has failed."""
    for name, count in counts.items() if counts else [("tests", 0)]:
        if count == 0 and not any(one.name.startswith(name) for one in failed):
            failed.append(Failed(name, "no test ran", None, None, (0, 0)))
    rows = "\n".join(f"{count:7,} {name}" for name, count in counts.items())
    print(f"\n=== tests that ran\n{rows}\n{sum(counts.values()):7,} in all", flush=True)


def durations():
    return json.loads(DURATIONS.read_text()) if DURATIONS.exists() else {}


def keep_durations(work):
    """Those of other kinds of work stay."""
    kept = durations()
    for one in work:
        kept.update(one.measured())
    DURATIONS.write_text(json.dumps(kept, indent=1, sort_keys=True) + "\n")


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
        run(self.name, self.command, self.environment, self.summary, self.again, self.name)
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

    def __init__(self, name, kind, files, environment=None, options=(), beside=(), again=False):
        self.name, self.kind, self.options, self.again = name, kind, options, again
        self.known = durations().get(kind, {})
        self.files = sorted(files, key=lambda file: (-self.seconds(file), file))
        self.queue, self.times = BUILD / "queue" / kind, BUILD / "queue" / f"{kind}.times"
        self.queue.write_text("".join(f"{file}\n" for file in self.files))
        self.times.mkdir()
        self.prefix = beside  # the databases of each worker
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
            again=command if self.again else None, tests_of=self.name)
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
