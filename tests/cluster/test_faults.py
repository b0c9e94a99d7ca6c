"""Three nodes on one PostgreSQL under load, while nodes and the database die: nothing is lost.

What was acknowledged is held against the database at the end. SECONDS is how long the load goes on.
"""

import os
import random
import signal
import time
from contextlib import suppress

import pytest
from account import Load, Sender
from muster import running
from nodes import more_servers
from postgres import SqlError
from stored import stored
from waiting import until

SECONDS = int(os.environ.get("SECONDS", "60"))
CLIENTS = 12


def kill_a_node(nodes, chance):
    node = chance.choice(nodes)
    node.kill()
    node.start()


def kill_a_backend(nodes, chance):
    """PostgreSQL ends all sessions and recovers."""
    asked = "SELECT pid FROM pg_stat_activity WHERE application_name = 'muster'"
    with suppress(Exception):  # it may be recovering
        pids = [row["pid"] for row in stored(nodes[0], asked)]
        os.kill(chance.choice(pids), signal.SIGKILL)


def answers(node):
    """Does its database, which a node may take for well a moment after its end?"""
    with suppress(SqlError):
        return stored(node, "SELECT 1 AS n")


@pytest.mark.parametrize("fault", [kill_a_node, kill_a_backend])
def test_what_was_acknowledged_is_stored_once(tmp_path, fault):
    chance = random.Random(1)
    with running("postgres", tmp_path) as first, more_servers(first, tmp_path, 2) as others:
        nodes = [first, *others]
        tenant = first.add_tenant("--max-agents", "1000")
        with Load(Sender(n, tenant, lambda: chance.choice(nodes)) for n in range(CLIENTS)) as load:
            ends = time.monotonic() + SECONDS
            while time.monotonic() < ends:
                time.sleep(SECONDS / 10)
                fault(nodes, chance)
        until(lambda: answers(first) and first.client().get("/api/v1/health").status == 200)
        refused = sum(sum(sender.refused.values()) for sender in load.senders)
        slowest = max(sender.slowest for sender in load.senders)
        print(f"{load.holds(first)} acknowledged, {refused} refused, slowest {slowest:.1f} s")
        kept = stored(
            first,
            "SELECT (SELECT SUM(event_count) FROM runs) AS counted, (SELECT COUNT(*) FROM events) AS n",
        )
        assert kept[0]["counted"] == kept[0]["n"]
        first.cli("check")
