"""`make demo`: a fleet to look at, sent through the public API, gone after Ctrl-C."""

import re
import signal
import subprocess
import sys
from pathlib import Path

import pytest
from muster import BINARY

ROOT = Path(__file__).parent.parent.parent
SECONDS_MAX = 300 if "san" in BINARY.parent.name else 30  # sanitizers take their time


@pytest.fixture
def demo(tmp_path):
    process = subprocess.Popen(
        [sys.executable, "-B", ROOT / "demo", "--binary", BINARY, "--data", tmp_path / "kept"],
        stdout=subprocess.PIPE, text=True,
    )  # fmt: skip
    yield process
    process.kill()
    process.wait()


def told(process):
    """What it prints up to the line about Ctrl-C."""
    lines = []
    for line in process.stdout:
        lines.append(line)
        if "Ctrl-C" in line:
            break
    return "".join(lines)


def test_a_fleet_of_thirty_days_is_there_within_half_a_minute_and_ends_with_ctrl_c(demo, tmp_path):
    text = told(demo)
    assert re.search(r"http://127\.0\.0\.1:\d+/#/t/acme/fleet", text), text
    assert int(re.search(r"in (\d+) s;", text).group(1)) < SECONDS_MAX
    assert int(re.search(r"(\d+) runs", text).group(1)) > 2000
    demo.send_signal(signal.SIGINT)
    assert demo.wait(timeout=20) == 0
    assert_fleet(tmp_path / "kept")


def assert_fleet(data):
    """Twelve agents, one of them switched off."""
    listed = subprocess.run(
        [BINARY, "agent", "list", "--tenant", "acme", "--data", data, "--json"],
        capture_output=True, text=True, check=True,
    ).stdout  # fmt: skip
    assert listed.count('"agent_name"') == 12
    assert listed.count('"state":"disabled"') == 1
