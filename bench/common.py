"""What the measures share: rows of the table, rounds in turn, and a store that is not empty."""

import shutil
from dataclasses import dataclass, field
from statistics import median

from servers import Muster, scratch

BATCH = {"connections": 8, "batch": 500}


@dataclass
class Row:
    measure: str
    ours: float
    unit: str
    bar: str
    ok: bool
    theirs: float = None
    ratio: float = None
    rounds: dict = field(default_factory=dict)


@dataclass
class Plan:
    rounds: int
    seconds: int  # of one round of single events, and of saturation
    events: int  # of one round of batches
    stored: int  # events in the store that is not empty
    postgres_events: int
    business: int  # values that a summary is of
    usage_reports: int  # of LLM usage in the store that has many
    filled: "Filled" = None

    def store(self):
        """The store that is not empty; made once."""
        self.filled = self.filled or Filled(self.stored)
        return self.filled

    def clean_up(self):
        if self.filled:
            shutil.rmtree(self.filled.data, ignore_errors=True)


class Filled:
    """A data directory with `n` events, and what was seen on the way."""

    def __init__(self, n, data=None, starts=True):
        self.data, self.n, self.event_bytes = data or scratch(), 0, 0.0
        self.starts = {0: self.start_seconds()} if starts else {}
        for part in (n // 3, n):
            self.fill(part)
            if starts:
                self.starts[part] = self.start_seconds()
        self.disk_bytes = Muster(self.data).bytes_on_disk()
        self.idle_mib = self.memory_at_rest() if starts else None

    def fill(self, n):
        with Muster(self.data) as server:
            done = server.load(count=n - self.n, first=self.n, **BATCH)
        check_most_accepted(done)
        self.n, self.event_bytes = n, done["event_bytes"]

    def memory_at_rest(self):
        with Muster(self.data) as server:
            server.wait_for_rest()
            return server.memory_mib()

    def start_seconds(self):
        seconds = []
        for _ in range(3):
            server = Muster(self.data)
            seconds.append(server.start())
            server.stop()
        return median(seconds)


def check_all_accepted(done):
    refused = [name for name in done if name.startswith("status_") and name != "status_202"]
    if refused or done["broken"] or done["unanswered"]:
        raise RuntimeError(f"not everything was accepted: {done}")


def check_most_accepted(done):
    """For what is only stored, not measured: a machine that stands still for a second may refuse a few."""
    refused = sum(n for name, n in done.items() if name.startswith("status_") and name != "status_202")
    if refused > done["status_202"] / 1000 or done["broken"] or done["unanswered"]:
        raise RuntimeError(f"too few were accepted: {done}")


def alternate(plan, ours, theirs, times=1):
    """Medians of the rounds of both, and the rounds; `times` as many of them, for short ones."""
    rounds = {"ours": [], "theirs": []}
    for i in range(times * plan.rounds):
        rounds["theirs"].append(theirs(i))
        rounds["ours"].append(ours(i))
    return median(rounds["ours"]), median(rounds["theirs"]), rounds


def compared(plan, measure, unit, bar, ours, theirs):
    mine, other, rounds = alternate(plan, ours, theirs)
    return Row(measure, mine, unit, f">= {bar}", mine / other >= bar, other, mine / other, rounds)


def cpu_row(what, cpu_us):
    """No bar is set for it, but it hardly moves when the machine is busy with other things."""
    mine, other = (median(cpu_us[side]) for side in ("ours", "theirs"))
    return Row(f"CPU of {what}", mine, "us", "", True, other, mine / other, cpu_us)
