"""A part of a processor for some processes, by a control group of Linux. It needs root."""

import os
from pathlib import Path

PERIOD_US = 20_000
CPU_V1 = Path("/sys/fs/cgroup/cpu")
CPU_V2 = Path("/sys/fs/cgroup")


def root():
    """The folder in which groups are made, or None if this machine lets us make no such group."""
    if (CPU_V1 / "cpu.cfs_quota_us").exists() and os.access(CPU_V1, os.W_OK):
        return CPU_V1
    control = CPU_V2 / "cgroup.subtree_control"
    if control.exists() and os.access(control, os.W_OK) and "cpu" in control.read_text().split():
        return CPU_V2
    return None


class Quota:
    """While it lasts, the processes that were added may together use `part` of one processor."""

    numbers = iter(range(1, 1 << 30))

    def __init__(self, part):
        self.us = int(part * PERIOD_US)
        self.group = root() / f"muster-bench-{os.getpid()}-{next(self.numbers)}"

    def __enter__(self):
        self.group.mkdir()
        if (self.group / "cpu.max").exists():
            (self.group / "cpu.max").write_text(f"{self.us} {PERIOD_US}")
        else:
            (self.group / "cpu.cfs_period_us").write_text(str(PERIOD_US))
            (self.group / "cpu.cfs_quota_us").write_text(str(self.us))
        return self

    def add(self, pid):
        (self.group / "cgroup.procs").write_text(str(pid))

    def __exit__(self, *_):
        for pid in (self.group / "cgroup.procs").read_text().split():
            (self.group.parent / "cgroup.procs").write_text(pid)
        self.group.rmdir()
