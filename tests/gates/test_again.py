"""Tests that failed while the machine was taken away are run once more, alone; all others count at once."""

import sys
from pathlib import Path
from types import SimpleNamespace

import pytest

sys.path.insert(0, str(Path(__file__).resolve().parents[2] / "scripts"))

import jobs  # noqa: E402
from machine import Watch  # noqa: E402

RED = "=== short test summary info ===\nFAILED tests/test_{}.py::test_a[sqlite] - assert 503 == 200\n"
TAKEN_AWAY = SimpleNamespace(lost=lambda began, ended: "others had 80%" if ended > 100 else "")
OURS = SimpleNamespace(lost=lambda began, ended: "")
COMMAND = ["python3", "-m", "pytest"]


class Machine:
    """A clock that moves when somebody sleeps, and the counters of /proc/stat."""

    def __init__(self):
        self.now, self.ticks, self.stolen, self.late_s, self.share = 0.0, 0, 0, 0.0, 0.0

    def sleep(self, seconds):
        passed = seconds + self.late_s
        self.now += passed
        self.ticks += int(passed * 1000)
        self.stolen += int(passed * 1000 * self.share)

    def watch(self):
        return Watch(lambda: (self.ticks, self.stolen), lambda: self.now, self.sleep)


@pytest.fixture
def ran(monkeypatch):
    """The commands that were run, all of which succeed; what failed before is set in jobs.failed."""
    commands = []
    monkeypatch.setattr(jobs, "failed", [])
    monkeypatch.setattr(jobs, "run", lambda name, command, environment: commands.append(command))
    return commands


def fail(*, number=1, said=RED, command=COMMAND, times=(50, 150)):
    for n in range(number):
        jobs.failed.append(jobs.Failed(f"job {n}", said.format(n), command, {}, times))


def test_a_machine_of_our_own_took_nothing_away():
    machine = Machine()
    watch = machine.watch()
    machine.late_s, machine.share = 0.5, 0.1
    for _ in range(200):
        watch.look()
    assert watch.lost(0, machine.now) == ""


@pytest.mark.parametrize(("late_s", "share"), [(1.5, 0), (0, 0.5)])
def test_a_machine_that_was_taken_away_is_told(late_s, share):
    machine = Machine()
    watch = machine.watch()
    machine.late_s, machine.share = late_s, share
    for _ in range(60):
        watch.look()
    machine.late_s = machine.share = 0
    for _ in range(100):
        watch.look()
    assert watch.lost(0, machine.now)
    assert watch.lost(0, 5)
    assert watch.lost(machine.now - 5, machine.now) == "", "it was ours again"


def test_few_failures_on_a_machine_that_was_taken_away_run_again(ran, capsys):
    fail(number=2)
    assert jobs.run_again(TAKEN_AWAY) == 2
    assert ran == [[*COMMAND, f"tests/test_{n}.py::test_a[sqlite]"] for n in range(2)]
    assert jobs.failed == []
    shown = capsys.readouterr().out
    assert "FAILED AT FIRST (others had 80%): job 1" in shown
    assert "tests/test_1.py::test_a[sqlite] - assert 503 == 200" in shown


@pytest.mark.parametrize(
    ("machine", "failures"),
    [
        (OURS, {}),
        (TAKEN_AWAY, {"times": (0, 90)}),
        (TAKEN_AWAY, {"number": jobs.MOST_AGAIN + 1}),
        (TAKEN_AWAY, {"said": "FAILED: base/str.c.o\n"}),
        (TAKEN_AWAY, {"command": None}),
    ],
    ids=["a machine of our own", "ours then", "many failures", "no tests", "not to be repeated"],
)
def test_all_others_count_at_once(ran, machine, failures):
    fail(**failures)
    before = list(jobs.failed)
    assert jobs.run_again(machine) == 0
    assert ran == []
    assert jobs.failed == before


def test_one_failure_that_is_not_to_be_repeated_ends_it_for_all(ran):
    fail()
    fail(command=None)
    jobs.run_again(TAKEN_AWAY)
    assert ran == []
    assert len(jobs.failed) == 2
