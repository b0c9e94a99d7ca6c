"""What the README tells a newcomer to paste under "A first event" works as it stands there."""

import os
import re
import signal
import socket
import subprocess
from datetime import datetime, timedelta, timezone

from muster import ROOT

BINARY = ROOT / "build/release/muster"  # the one that the README speaks of
HEADING = "A first event"
BLOCK = re.compile(r"^```sh\n(.*?)^```", re.M | re.S)
FENCE = re.compile(r"^```.*?^```", re.M | re.S)


def section(text, heading):
    """What stands under `heading`, up to the next heading of the same or a higher level."""
    found = re.search(rf"^(#+) {re.escape(heading)}\s*$", text, re.M)
    assert found, f"README.md has no heading '{heading}'"
    rest = text[found.end() :]
    # A '#' in a block is no heading.
    prose = FENCE.sub(lambda match: " " * len(match.group()), rest)
    until = re.search(rf"^#{{1,{len(found.group(1))}}} ", prose, re.M)
    return rest[: until.start()] if until else rest


def free_port():
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return probe.getsockname()[1]


def put_make(folder):
    """A `make` that builds this tree and runs its binary from wherever the reader stands."""
    folder.mkdir()
    shim = folder / "make"
    shim.write_text(
        f'#!/bin/sh\n[ "$1" != run ] || exec {BINARY} serve\nexec /usr/bin/make -C {ROOT} "$@"\n'
    )
    shim.chmod(0o755)


def paste(blocks, folder, address):
    """Runs all blocks in one shell, as in a terminal: what goes to the background stays there."""
    up = f"curl -s -o /dev/null --retry 30 --retry-connrefused http://{address}/api/v1/health"
    script = "\n".join(["set -e", blocks[0], up, *blocks[1:]])
    script = re.sub(r"(?:127\.0\.0\.1|localhost):8080", address, script)
    clean = {name: value for name, value in os.environ.items() if not name.startswith("MUSTER_")}
    shell = subprocess.Popen(
        ["bash", "-c", script],
        cwd=folder, text=True, start_new_session=True,
        stdin=subprocess.DEVNULL, stdout=(folder / "output").open("w"), stderr=subprocess.STDOUT,
        env={**clean, "MUSTER_ALLOW_ROOT": "1", "MUSTER_LISTEN": address, "MUSTER_DATA": str(folder / "data"),
             "PATH": f"{folder}/bin:{clean['PATH']}"},
    )  # fmt: skip
    try:
        status = shell.wait(120)
    finally:
        os.killpg(shell.pid, signal.SIGKILL)  # the server in the background
    return status, (folder / "output").read_text()


def test_the_first_event_of_the_readme_comes_back(tmp_path):
    blocks = BLOCK.findall(section((ROOT / "README.md").read_text(), HEADING))
    assert len(blocks) >= 2, "one block starts the server, another sends and reads an event"
    (tmp_path / "build").symlink_to(ROOT / "build")
    put_make(tmp_path / "bin")
    status, output = paste(blocks, tmp_path, f"127.0.0.1:{free_port()}")
    assert status == 0, output
    sent = re.findall(r'"message":\s*"([^"]+)"', "\n".join(blocks))
    assert sent, "the README's event has a message"
    assert all(message in output for message in sent), output
    times = [datetime.fromisoformat(at) for at in re.findall(r'"timestamp":\s*"([^"]+?)Z"', output)]
    assert times, output
    now = datetime.now(timezone.utc).replace(tzinfo=None)
    assert all(abs(now - at) < timedelta(hours=1) for at in times), output  # the portal shows it
