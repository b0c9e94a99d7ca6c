"""A run of the tests is green only if every job of it came to its end and ran tests."""

import os
import subprocess
import sys
import threading
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
sys.path[:0] = [str(ROOT / "scripts"), str(ROOT / "tests/integration")]

import jobs  # noqa: E402
import run_tests  # noqa: E402
import slots  # noqa: E402
from summaries import count_tests  # noqa: E402
from waiting import until  # noqa: E402

PASSES = ["echo", "2 passed in 0.01s"]
PATIENCE_S = 120


@pytest.fixture
def ends(tmp_path, monkeypatch, capsys):
    """How a run of `scripts/run_tests.py VERB` ends that has these jobs alone: its status, and what it said."""
    monkeypatch.setattr(slots, "APART_S", 0)
    monkeypatch.setattr(slots, "LOOK_S", 0.05)
    monkeypatch.setattr(jobs, "LOOK_S", 0.05)
    monkeypatch.setattr(jobs, "END_S", 0.5)
    monkeypatch.setattr(jobs, "DURATIONS", tmp_path / "durations.json")
    for module in (jobs, run_tests):
        monkeypatch.setattr(module, "BUILD", tmp_path)
        monkeypatch.setattr(module, "failed", failed)
        monkeypatch.setattr(module, "build", lambda *_: True, raising=False)
    monkeypatch.setattr(run_tests, "build_all", lambda: None)
    monkeypatch.setattr(run_tests, "run_alone", lambda: None)
    monkeypatch.setattr(run_tests, "start_tidy", lambda: Tidy())
    monkeypatch.setattr(run_tests.signal, "signal", lambda *_: None)
    monkeypatch.setattr(jobs, "counts", {})
    monkeypatch.setattr(os, "environ", os.environ.copy())
    (tmp_path / "tidy.log").touch()

    def end(verb, *work):
        failed.clear()
        for name in ("all_work", "check_work"):
            monkeypatch.setattr(run_tests, name, lambda: list(work))
        monkeypatch.setattr(sys, "argv", ["run_tests.py", verb])
        status = 0
        try:
            run_tests.main()
        except SystemExit as ended:
            status = ended.code
        return status, capsys.readouterr().out

    return end


failed = []


class Tidy:
    """One that found nothing."""

    def wait(self, _=None):
        return 0

    def poll(self):
        return 0


class Raises(jobs.Job):
    def work(self, _):
        raise TypeError("a planted fault")


def job(name, command, kind=jobs.Job):
    return kind(name, name, command)


@pytest.fixture(params=["check", "all"])
def verb(request):
    return request.param


def test_jobs_that_pass_are_green_and_their_tests_are_counted(ends, verb):
    status, said = ends(verb, job("one", PASSES), job("two", ["echo", "1 passed, 3 skipped in 2.34s"]))
    assert status == 0, said
    assert "      2 one\n      1 two\n      3 in all" in said
    assert "all stages ok" in said


def test_a_job_that_raises_is_red_and_the_others_run(ends, verb):
    status, said = ends(verb, job("bad", PASSES, Raises), job("good", PASSES))
    assert status == 1, said
    assert "TypeError: a planted fault" in said
    assert "=== ok: good" in said


def test_a_job_whose_program_is_missing_is_red(ends, verb):
    status, said = ends(verb, job("one", ["/nowhere/muster"]), job("good", PASSES))
    assert status == 1, said
    assert "No such file or directory: '/nowhere/muster'" in said


@pytest.mark.parametrize("command", [["true"], ["echo", "no tests ran in 0.01s"], ["echo", "7 skipped in 0.01s"]])
def test_a_job_that_runs_no_test_is_red(ends, verb, command):
    status, said = ends(verb, job("empty", command), job("good", PASSES))
    assert status == 1, said
    assert "=== FAILED: empty\nno test ran" in said


def test_a_run_without_jobs_is_red(ends, verb):
    assert ends(verb)[0] == 1


HANGS = {
    "says nothing": ("SILENT_S", "exec sleep 1000", "said nothing for"),
    "goes on saying": ("MOST_S", "while :; do echo .; sleep 0.01; done", "took more than"),
    "ignores SIGTERM": ("SILENT_S", "trap '' TERM; while :; do sleep 1000; done", "said nothing for"),
}


@pytest.mark.parametrize(("limit", "script", "why"), HANGS.values(), ids=HANGS)
def test_a_job_that_hangs_is_ended_with_all_that_it_started_and_red(
    ends, verb, monkeypatch, tmp_path, limit, script, why
):
    monkeypatch.setattr(jobs, limit, 0.5)
    child = tmp_path / "child"
    began = f"sleep 1000 & echo $! >{child}; {script}"
    status, said = ends(verb, job("hung", ["bash", "-c", began]), job("good", PASSES))
    assert status == 1, said
    assert why in said
    until(lambda: has_ended(child.read_text().strip()))


def has_ended(pid):
    try:
        return Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0] == "Z"
    except (FileNotFoundError, ProcessLookupError):
        return True


STOPPED = """
import sys
sys.path.insert(0, {scripts!r})
from pathlib import Path
import jobs, run_tests
jobs.BUILD = run_tests.BUILD = Path({build!r})
started = ["bash", "-c", "echo $$ >{build}/started; exec sleep 1000"]
run_tests.check = lambda: jobs.run_all([jobs.Job("one", "one", started), jobs.Job("two", "two", ["sleep", "1000"])])
sys.argv[1:] = ["check"]
run_tests.main()
"""


def test_a_run_that_is_stopped_ends_what_it_started(tmp_path):
    script = STOPPED.format(scripts=str(ROOT / "scripts"), build=str(tmp_path))
    run = subprocess.Popen([sys.executable, "-c", script], stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    started = tmp_path / "started"
    until(lambda: started.exists() and started.read_text().strip())
    run.terminate()
    assert run.wait(PATIENCE_S) == 128 + 15
    until(lambda: has_ended(started.read_text().strip()))


def test_a_thread_that_raises_is_not_silent():
    def fail():
        raise TypeError("a planted fault")

    ran = threading.Event()
    with pytest.raises(slots.Raised, match="(?s)TypeError.*planted"):
        jobs.in_parallel(fail, ran.set)
    assert ran.is_set()


def test_make_check_runs_tests_of_each_kind_that_it_promises():
    in_c, smoke = run_tests.check_work()
    assert in_c.command[:3] == ["ctest", "--test-dir", "build/dev"]
    assert "tests/integration/test_runs.py" in smoke.command
    assert smoke.environment["MUSTER_TEST_BINARY"].endswith("build/dev/muster")


SAID = {
    "============ 3 passed, 2 skipped, 1 warning in 0.12s ============": 3,
    "1 failed, 3 passed, 1 error in 61.20s (0:01:01)": 5,
    "no tests ran in 0.00s": 0,
    "# tests 9\n# pass 7\n# fail 1\n# skipped 1": 8,
    "1: [==========] 7 test(s) run.\n1/3 Test  #1: unit/a ...   Passed\n"
    "2/3 Test  #2: fuzz/b ...   Passed\n3/3 Test  #3: unit/c ...***Not Run   0.00 sec": 8,
    "2 passed in 1.00s\n# pass 3\n# fail 0": 5,
}


@pytest.mark.parametrize(("text", "count"), SAID.items())
def test_tests_are_counted_by_what_their_runners_say(text, count):
    assert count_tests(text) == count
