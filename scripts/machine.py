"""Whether the machine was taken away while something ran on it: other machines of the same host may get its
processors, and then everything here stands still, clocks excepted. And whether it has nothing to do.
"""

import threading
import time
from pathlib import Path

TICK_S = 0.2
LATE_S = 1.0  # by which a thread that only sleeps wakes too late; not seen under our own load
WINDOW_S = 10.0
STOLEN = 0.2  # of all processors in a window
IDLE, STEAL = 3, 7  # columns of /proc/stat


def ticks_of(column):
    """Ticks of all processors since the start, and those of them in a column."""
    ticks = [int(tick) for tick in Path("/proc/stat").read_text().partition("\n")[0].split()[1:9]]
    return sum(ticks), ticks[column]


def used():
    """All, and those that others had."""
    return ticks_of(STEAL)


def rested():
    """All, and those in which there was nothing to do."""
    return ticks_of(IDLE)


class Watch(threading.Thread):
    """Looks from now on, and remembers when the machine was taken away."""

    def __init__(self, counters=used, clock=time.monotonic, sleep=time.sleep):
        super().__init__(daemon=True)
        self.counters, self.clock, self.sleep = counters, clock, sleep
        self.losses = []  # from when to when, and what was lost in words
        self.window = (clock(), *counters())

    def look(self):
        before = self.clock()
        self.sleep(TICK_S)
        now = self.clock()
        late = now - before - TICK_S
        if late >= LATE_S:
            self.losses.append((before, now, f"nothing ran for {late:.1f} s"))
        began, total, stolen = self.window
        if now - began >= WINDOW_S:
            total_now, stolen_now = self.counters()
            share = (stolen_now - stolen) / max(1, total_now - total)
            if share >= STOLEN:
                words = f"others had {share:.0%} of the processors for {now - began:.0f} s"
                self.losses.append((began, now, words))
            self.window = (now, total_now, stolen_now)

    def run(self):
        while True:
            self.look()

    def lost(self, began, ended):
        """What was lost first between two moments of the clock; "" if the machine was ours all the time."""
        within = [words for first, last, words in self.losses if first < ended and last > began]
        return within[0] if within else ""
