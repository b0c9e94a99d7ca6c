"""A Debian root with systemd as its first process, as a machine boots it."""

import re
import subprocess
import time
import uuid
from contextlib import contextmanager
from pathlib import Path

import pytest

PATIENCE_S = 120
BOOT = Path(__file__).with_name("boot_root")


class Booted:
    """Runs commands among the root's own processes."""

    def __init__(self, pid):
        self.pid = pid

    def run(self, *words, check=True):
        command = ["nsenter", "-t", str(self.pid), "--mount", "--cgroup", "--pid", "--ipc", "--uts", "--root", "--wd",
                   "env", "-i", "PATH=/usr/sbin:/usr/bin:/sbin:/bin", "DEBIAN_FRONTEND=noninteractive",
                   "HOME=/root", *words]  # fmt: skip
        done = subprocess.run(command, capture_output=True, text=True, timeout=PATIENCE_S)
        assert not check or done.returncode == 0, f"{words}: {done.stdout}{done.stderr}"
        return done.stdout.strip()

    def wait(self, condition, what):
        deadline = time.monotonic() + PATIENCE_S
        while not condition():
            if time.monotonic() > deadline:
                raise AssertionError(f"{what}:\n{self.run('journalctl', '--no-pager', '-n', '40', check=False)}")
            time.sleep(0.1)


def first_process(parent):
    """The child of unshare, once it has become systemd."""
    children = Path(f"/proc/{parent}/task/{parent}/children").read_text().split()
    if children and Path(f"/proc/{children[0]}/comm").read_text() == "systemd\n":
        return int(children[0])
    return None


def remove_group(group):
    for folder in sorted(group.rglob("*/"), reverse=True):
        folder.rmdir()
    group.rmdir()


@contextmanager
def booted(path):
    mounts = re.findall(r"^\S+ (\S+) cgroup2 ", Path("/proc/mounts").read_text(), re.M)
    if not mounts:
        pytest.skip("this machine has no cgroup2 tree, which systemd needs")
    group = Path(mounts[0]) / f"muster-{uuid.uuid4().hex[:8]}"
    with (path / "boot.log").open("wb") as log:
        process = subprocess.Popen([BOOT, path, group], stdout=log, stderr=log, stdin=subprocess.DEVNULL)
    try:
        deadline = time.monotonic() + PATIENCE_S
        while (pid := first_process(process.pid)) is None:
            assert process.poll() is None and time.monotonic() < deadline, (path / "boot.log").read_text()
            time.sleep(0.05)
        root = Booted(pid)
        root.wait(lambda: root.run("systemctl", "is-system-running", check=False) in ("running", "degraded"),
                  "it does not boot")  # fmt: skip
        yield root
    finally:
        process.kill()  # and with it, by --kill-child, all of the root
        process.wait()
        deadline = time.monotonic() + PATIENCE_S
        while group.exists():
            try:
                remove_group(group)
            except OSError:  # its last processes are ending
                assert time.monotonic() < deadline
                time.sleep(0.1)
