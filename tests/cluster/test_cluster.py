"""`make cluster`: what its parts do when others are killed, and the account that must see a loss."""

import importlib.machinery
import importlib.util
import os
import re
import signal
import subprocess
import sys
import threading
from pathlib import Path
from types import SimpleNamespace

import pytest
from account import ID, Load, Sender, balance, sent_id
from muster import BINARY, Postgres
from topology import running_cluster
from waiting import until

ROOT = Path(__file__).resolve().parents[2]
BY_BALANCER = {502, 503, 504}  # a node that is killed or away is the balancer's to tell
COMMAND = [sys.executable, "-B", str(ROOT / "scripts/cluster")]


@pytest.fixture(scope="module")
def cluster():
    with running_cluster(down_s=0.5) as made:
        yield made


@pytest.fixture
def load(cluster):
    tenant = cluster.nodes[0].add_tenant()
    first = int(tenant.slug.rsplit("-", 1)[1]) * 100
    with Load(Sender(first + i, tenant, lambda: cluster.balancer, pause=0.02) for i in range(4)) as made:
        yield made


def kill(cluster, name):
    """Until it is dead."""
    process = cluster.named()[name]
    cluster.kill(name)
    process.wait(60)


@pytest.mark.parametrize("name", ["node-2", "primary", "standby", "primary"])
def test_nothing_acknowledged_is_lost_when_a_part_is_killed(cluster, load, name):
    load.moves()
    running = set(cluster.named().values())
    cluster.kill(name)
    until(lambda: cluster.healed() and set(cluster.named().values()) != running, 90)
    load.moves()
    load.stop()
    load.holds(cluster.reads, BY_BALANCER)


def test_nothing_acknowledged_is_lost_when_both_databases_are_killed_at_once(cluster, load):
    load.moves()
    for name in ("standby", "primary"):
        kill(cluster, name)
    until(cluster.healed, 120)
    load.moves()
    # and the primary a moment later, when it was seen that the standby is away
    kill(cluster, "standby")
    cluster.look()
    kill(cluster, "primary")
    until(cluster.healed, 120)
    load.moves()
    load.stop()
    load.holds(cluster.reads, BY_BALANCER)


def test_the_account_sees_an_event_that_is_gone(cluster, load):
    load.moves()
    load.stop()
    of_sender = f"{ID} = '{sent_id(load.senders[0].number, 3)}'"
    Postgres()._sql(f"DELETE FROM events WHERE {of_sender}", url=cluster.reads.database)
    assert balance(cluster.reads, load.senders)[1:] == (1, 0)


def test_the_command_prints_what_to_open_and_to_kill_and_keeps_nothing():
    given = {**os.environ, "MUSTER_TEST_BINARY": str(BINARY), "CITUS": "0"}
    process = subprocess.Popen(COMMAND, stdout=subprocess.PIPE, text=True, env=given)
    late = threading.Timer(120, process.kill)
    late.start()
    try:
        told = ""
        for line in process.stdout:
            told += line
            if re.search(r"acknowledged [1-9]", line):
                break
        assert re.search(r"Sign in +http://127\.0\.0\.1:\d+/#/link\?token=\S+\n", told), told
        assert "lost 0, twice 0" in line
        folder = Path(re.search(r"^ +(\S+)/kill primary$", told, re.M).group(1))
        wrong = subprocess.run([folder / "kill", "node-9"], capture_output=True, text=True, check=False)
        assert wrong.returncode == 2 and "node-1|node-2|node-3|primary|standby" in wrong.stderr
        subprocess.run([folder / "kill", "node-3"], check=True)
        assert any("node-3 is back" in line for line in process.stdout)
        process.send_signal(signal.SIGINT)
        process.stdout.read()
        assert process.wait(60) == 0
        assert not folder.exists()
    finally:
        late.cancel()
        process.kill()
        process.wait()


def load_command():
    loader = importlib.machinery.SourceFileLoader("cluster_command", COMMAND[-1])
    command = importlib.util.module_from_spec(importlib.util.spec_from_loader(loader.name, loader))
    loader.exec_module(command)
    return command


def test_a_database_that_is_away_is_no_loss_and_no_end(capsys):
    command, nowhere = load_command(), SimpleNamespace(database="postgresql://127.0.0.1:1/nowhere")
    sender = SimpleNamespace(number=0, acknowledged=1)
    assert command.account(SimpleNamespace(reads=nowhere), [sender]) is True
    assert "the database does not answer" in capsys.readouterr().out


def test_a_loss_that_was_seen_stays_the_verdict(monkeypatch):
    command = load_command()
    stop, looks = threading.Event(), []

    def look():
        looks.append(1)
        if len(looks) > 1:  # Ctrl-C ends what it waits for
            stop.set()
            raise subprocess.CalledProcessError(-2, "psql")

    monkeypatch.setattr(command, "account", lambda *_: False)
    assert command.watch(SimpleNamespace(look=look), [], stop) is False


def test_wrong_use_is_refused_in_a_sentence():
    wrong = subprocess.run([*COMMAND, "now"], capture_output=True, text=True, check=False)
    assert wrong.returncode == 2 and "usage: make cluster" in wrong.stderr
    none = {**os.environ, "MUSTER_TEST_BINARY": "/nowhere/muster"}
    absent = subprocess.run(COMMAND, capture_output=True, text=True, check=False, env=none)
    assert absent.returncode == 1 and "run make build" in absent.stderr
