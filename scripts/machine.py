"""Whether the machine was taken away while something ran on it: other machines of the same host may get its
processors, and then everything here stands still, clocks excepted.
"""

import threading
import time
from pathlib import Path

TICK_S = 0.2
LATE_S = 1.0  # by which a thread that only sleeps wakes too late: it is never so under our own load
WINDOW_S = 10.0
STOLEN = 0.2  # of all processors in a window
STEAL = 7  # column of /proc/stat


def used():
    """Ticks of all processors since the start, and those of them that others had."""
    ticks = [int(tick) for tick in Path("/proc/stat").read_text().partition("\n")[0].split()[1:9]]
    return sum(ticks), ticks[STEAL]


class Watch(threading.Thread):
    """Looks from now on; `lost()` is what it saw, in words, or "" if the machine was ours alone."""

    def __init__(self, counters=used, clock=time.monotonic, sleep=time.sleep):
        super().__init__(daemon=True)
        self.counters, self.clock, self.sleep = counters, clock, sleep
        self.most_late, self.most_stolen = 0.0, 0.0
        self.window = (clock(), *counters())

    def look(self):
        before = self.clock()
        self.sleep(TICK_S)
        now = self.clock()
        self.most_late = max(self.most_late, now - before - TICK_S)
        began, total, stolen = self.window
        if now - began >= WINDOW_S:
            total_now, stolen_now = self.counters()
            self.most_stolen = max(self.most_stolen, (stolen_now - stolen) / max(1, total_now - total))
            self.window = (now, total_now, stolen_now)

    def run(self):
        while True:
            self.look()

    def lost(self):
        if self.most_late < LATE_S and self.most_stolen < STOLEN:
            return ""
        return (
            f"others had up to {self.most_stolen:.0%} of the processors for {WINDOW_S:.0f} s, "
            f"and nothing ran here for {self.most_late:.1f} s"
        )
