"""A run of the tests is green only if every job of it came to its end and ran tests."""

import os
import subprocess
import sys
import threading
from collections import Counter
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
sys.path[:0] = [str(ROOT / "scripts"), str(ROOT / "tests/integration")]

import cluster_jobs  # noqa: E402
import jobs  # noqa: E402
import run_tests  # noqa: E402
from black_box import EXCLUSIVE, files_in  # noqa: E402
from waiting import until  # noqa: E402

PASSES = ["echo", "2 passed in 0.01s"]
FAILS = ["sh", "-c", "echo 'E  they differ'; echo 'FAILED tests/x.py::test_y'; echo '1 failed, 2 passed in 1.00s'; exit 1"]
PATIENCE_S = 120


@pytest.fixture
def ends(tmp_path, monkeypatch, capsys):
    """How a run of `scripts/run_tests.py VERB` ends that has these jobs alone: its status, and what it said."""
    for module in (jobs, run_tests):
        monkeypatch.setattr(module, "BUILD", tmp_path)
    for module in (jobs, run_tests, cluster_jobs):
        monkeypatch.setattr(module, "failed", failed := jobs.failed)
    for name in ("running", "counts", "failed"):
        getattr(jobs, name).clear()
    monkeypatch.setattr(run_tests, "build", lambda *_: True)
    monkeypatch.setattr(run_tests, "build_all", lambda: None)
    monkeypatch.setattr(run_tests, "run_last", lambda: None)
    monkeypatch.setattr(run_tests, "start_tidy", finds_nothing)
    monkeypatch.setattr(run_tests.signal, "signal", lambda *_: None)
    monkeypatch.setattr(os, "environ", os.environ.copy())

    def end(verb, *work):
        for name in ("all_jobs", "check_jobs"):
            monkeypatch.setattr(run_tests, name, lambda: list(work))
        monkeypatch.setattr(sys, "argv", ["run_tests.py", verb])
        with pytest.raises(SystemExit) as ended:
            run_tests.main()
        return ended.value.code, capsys.readouterr().out

    yield end
    for kept in (jobs.counts, failed):
        kept.clear()


def finds_nothing():
    (run_tests.BUILD / "logs/tidy.log").touch()
    return subprocess.Popen(["true"])


class Raises(jobs.Job):
    def run(self):
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


def test_a_job_that_fails_is_named_at_the_end_with_why_and_hides_no_other(ends, verb):
    status, said = ends(verb, job("bad", FAILS), job("good", PASSES), job("worse", FAILS))
    assert status == 1
    assert "=== ok: good" in said and "all stages ok" not in said
    shown = said[said.index("=== tests that ran") :]
    assert shown.count("E  they differ") == 2
    assert {"=== FAILED: bad", "=== FAILED: worse"} == set(shown.splitlines()[-2:])


def test_a_job_that_raises_is_red_and_the_others_run(ends, verb):
    status, said = ends(verb, job("bad", PASSES, Raises), job("good", PASSES))
    assert status == 1
    assert "TypeError: a planted fault" in said
    assert "=== ok: good" in said


def test_a_job_whose_program_is_missing_is_red(ends, verb):
    status, said = ends(verb, job("one", ["/nowhere/muster"]), job("good", PASSES))
    assert status == 1
    assert "/nowhere/muster" in said and "No such file" in said


@pytest.mark.parametrize("command", [["true"], ["echo", "no tests ran in 0.01s"], ["echo", "7 skipped in 0.01s"]])
def test_a_job_that_runs_no_test_is_red(ends, verb, command):
    status, said = ends(verb, job("empty", command), job("good", PASSES))
    assert status == 1
    assert "=== FAILED: empty\nno test ran" in said


def test_a_run_without_jobs_is_red(ends, verb):
    assert ends(verb)[0] == 1


@pytest.mark.parametrize("script", ["exec sleep 1000", "trap '' TERM; while :; do sleep 1000; done"])
def test_a_job_that_hangs_is_ended_with_all_that_it_started_and_red(ends, verb, monkeypatch, tmp_path, script):
    monkeypatch.setattr(jobs, "MOST_S", 1)
    monkeypatch.setattr(jobs, "END_S", 1)
    child = tmp_path / "child"
    status, said = ends(verb, job("hung", ["bash", "-c", f"sleep 1000 & echo $! >{child}; {script}"]), job("good", PASSES))
    assert status == 1
    assert "took more than 1 s, and was ended" in said
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
run_tests.VERBS["check"] = lambda: jobs.run_all((2, [jobs.Job("one", "one", started), jobs.Job("two", "two", ["sleep", "1000"])]))
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


def test_a_thread_that_raises_is_not_silent(ends):
    def fail():
        raise TypeError("a planted fault")

    ran = threading.Event()
    jobs.side_by_side(fail, ran.set)
    assert ran.is_set()
    assert jobs.failed["fail"][-1] == "TypeError: a planted fault"


def test_make_check_runs_tests_of_each_kind_that_it_promises():
    in_c, smoke = run_tests.check_jobs()
    assert in_c.command[:3] == ["ctest", "--test-dir", "build/dev"]
    assert "tests/integration/test_runs.py" in smoke.command
    assert smoke.environment["MUSTER_TEST_BINARY"].endswith("build/dev/muster")


def test_every_test_of_a_cluster_belongs_to_one_job(monkeypatch):
    monkeypatch.setenv("TMPDIR", "/tmp")
    counts = Counter(word for job in cluster_jobs.all_jobs() for word in job.command if word.endswith(".py"))
    own = files_in("tests/cluster")
    assert {file: counts[file] for file in own} == dict.fromkeys(own, 1)
    assert {"clock", "limits", "locks", "truth", "waiting"} <= {
        Path(file).stem.removeprefix("test_nodes_") for file in counts
    }
    assert EXCLUSIVE not in counts, "it runs with nothing else at work"


@pytest.mark.parametrize(("status", "says", "is_red"), [(77, "Citus is not installed", False), (1, "make extension failed", True)])
def test_without_citus_its_tests_are_left_out_with_a_sentence_and_a_broken_one_is_red(
    ends, tmp_path, monkeypatch, capsys, status, says, is_red
):
    (tmp_path / "logs").mkdir()
    asked = tmp_path / "with_citus"
    asked.write_text(f"#!/bin/sh\necho 'with_citus: {says}' >&2\nexit {status}\n")
    asked.chmod(0o755)
    monkeypatch.setattr(cluster_jobs, "WITH_CITUS", asked)
    assert cluster_jobs.has_citus() is False
    assert ("Citus is installed, or built once" in jobs.failed) is is_red
    assert is_red or "the tests on Citus are left out" in capsys.readouterr().out


SAID = {
    "============ 3 passed, 2 skipped, 1 warning in 0.12s ============": 3,
    "1 failed, 3 passed, 1 error in 61.20s (0:01:01)": 5,
    "no tests ran in 0.00s": 0,
    "# tests 9\n# pass 7\n# fail 1\n# skipped 1": 8,
    "33% tests passed, 2 tests failed out of 3\n": 3,
    "2 passed in 1.00s\n# pass 3\n# fail 0": 5,
}


@pytest.mark.parametrize(("text", "count"), SAID.items())
def test_tests_are_counted_by_what_their_runners_say(text, count):
    assert jobs.count_tests(text) == count
