"""Work runs in a few slots, and in more of them only while processors have nothing to do."""

import sys
import threading
from pathlib import Path

import pytest

sys.path.insert(0, str(Path(__file__).resolve().parents[2] / "scripts"))

import jobs  # noqa: E402
import slots  # noqa: E402
from machine import rested, used  # noqa: E402


PATIENCE_S = 120
LOOKS = 10  # in which slots would be added, if any were to be


class Machine:
    """Counters of one with `idle` of each hundred ticks; it is known when it was looked at often."""

    def __init__(self, idle):
        self.idle, self.looks, self.seen = idle, 0, threading.Event()

    def counters(self):
        self.looks += 1
        if self.looks > 2 * LOOKS:
            self.seen.set()
        return 100 * self.looks, self.idle * self.looks


class Task:
    """Runs until as many run at once as `together` wants, and the machine was looked at often."""

    def __init__(self, together, machine):
        self.together, self.machine, self.begun = together, machine, False

    def urgency(self):
        return 0 if self.begun else 1

    def begin(self):
        self.begun = True

    def work(self, _):
        self.together.wait(PATIENCE_S)
        assert self.machine.seen.wait(PATIENCE_S)


@pytest.fixture(autouse=True)
def quick(monkeypatch):
    for name, value in (("LOOK_S", 0.01), ("APART_S", 0), ("SLOTS", 2), ("MOST_SLOTS", 4)):
        monkeypatch.setattr(slots, name, value)


def slots_used(idle, tasks, at_once, most=None):
    machine, together = Machine(idle), threading.Barrier(at_once)
    used_slots = slots.Slots([Task(together, machine) for _ in range(tasks)], machine.counters, most)
    used_slots.run()
    assert not together.broken
    return len(used_slots.threads)


def test_an_idle_machine_gets_more_slots_and_not_more_than_the_most():
    assert slots_used(idle=30, tasks=8, at_once=4) == 4


def test_work_that_needs_much_has_fewer_slots_than_the_most():
    assert slots_used(idle=30, tasks=6, at_once=3, most=3) == 3


def test_a_busy_machine_does_not():
    assert slots_used(idle=10, tasks=8, at_once=2) == 2


def test_no_slot_is_added_when_nothing_is_left_to_begin():
    # one more, if it was added before the second one had begun
    assert slots_used(idle=100, tasks=2, at_once=2) <= 3


def test_browsers_have_as_many_slots_as_there_are_processors_and_each_has_its_turn(monkeypatch):
    running, at_once, ran = [], [], []

    def run(name, *_):
        running.append(name)
        at_once.append(len(running))
        machine.seen.wait(PATIENCE_S)  # another slot would have begun the next one
        running.remove(name)
        ran.append(name)

    machine = Machine(idle=100)
    monkeypatch.setattr(jobs, "run", run)
    monkeypatch.setattr(jobs, "browsers", slots.Busy(most=2))
    work = [jobs.BrowserJob(name, name, []) for name in ("one", "two", "three", "four")]
    slots.Slots(work, machine.counters).run()
    assert sorted(ran) == ["four", "one", "three", "two"]
    assert max(at_once) == 2


def test_the_machine_tells_all_ticks_and_a_part_of_them():
    for counters in (used, rested):
        total, part = counters()
        assert total > 0 and 0 <= part < total
