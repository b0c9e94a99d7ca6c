"""Runs work in a few slots at once, and in more of them while processors have nothing to do.

Tests often wait: for a server, a clock, a process that starts. How often they do so at the same time
depends on the machine, so it is looked at while they run. The more slots there are the more of the
tests' waiting is hidden behind the work of others: so what keeps a processor busy all the time (Busy)
has only as many slots as there are processors, and the others are for what waits.
"""

import os
import threading
import time
import traceback

from machine import rested


class Raised(Exception):
    """What threads raised, as they would have printed it: a thread that ends so ends alone."""


def caught(raised, function):
    try:
        function()
    except BaseException:
        raised.append(traceback.format_exc())

CORES = os.cpu_count()
SLOTS, MOST_SLOTS = CORES + 1, 3 * CORES
LOOK_S = 3.0
IDLE = 0.15  # of all processors between two looks: one more slot has work for them
APART_S = 0.5  # so that a slot has taken its first file when the next one looks


class Busy:
    """Counts what keeps a processor busy all the time, and says whether more of it may begin."""

    def __init__(self, most=CORES):
        self.most, self.running, self.counting = most, 0, threading.Lock()

    def is_full(self):
        return self.running >= self.most

    def add(self, change):
        with self.counting:
            self.running += change


class Slots:
    """What is in `work` has urgency(), begin() and work(), which gets what begin() said: the most urgent
    comes first, and what has an urgency of 0 needs no further slot."""

    def __init__(self, work, counters=rested, most=None):
        self.work, self.counters, self.most = work, counters, most or MOST_SLOTS
        self.deciding = threading.Lock()
        self.threads, self.raised = [], []

    def next_one(self):
        with self.deciding:
            chosen = max(self.work, key=lambda one: one.urgency())
            if chosen.urgency() == 0:
                return None
            return chosen, chosen.begin()

    def use(self):
        while begun := self.next_one():
            one, number = begun
            one.work(number)

    def add(self):
        self.threads.append(threading.Thread(target=caught, args=(self.raised, self.use)))
        self.threads[-1].start()

    def is_wanted(self):
        with self.deciding:
            return len(self.threads) < self.most and any(one.urgency() > 0 for one in self.work)

    def look(self):
        """Adds a slot if processors are idle for the next LOOK_S seconds."""
        total, idle = self.counters()
        self.threads[0].join(LOOK_S)
        total_now, idle_now = self.counters()
        if idle_now - idle >= IDLE * max(1, total_now - total) and self.is_wanted():
            self.add()

    def run(self):
        for _ in range(SLOTS):
            self.add()
            time.sleep(APART_S)
        while self.threads[0].is_alive():
            self.look()
        for one in self.threads:
            one.join()
        if self.raised:
            raise Raised("\n".join(self.raised))
