"""Three nodes on one PostgreSQL under load, while nodes and the database die: nothing is lost.

Each client keeps a ledger of what was acknowledged. At the end the ledger is held against the
database. SECONDS is how long the load goes on.
"""

import os
import random
import signal
import threading
import time
import uuid
from contextlib import suppress

import pytest
from muster import running
from nodes import more_servers
from stored import of_tenant, stored
from waiting import until

SECONDS = int(os.environ.get("SECONDS", "60"))
CLIENTS, BATCH = 12, 20


class Sender(threading.Thread):
    """Sends batches to any node, each again until it is acknowledged."""

    def __init__(self, nodes, tenant, number):
        super().__init__(daemon=True)
        self.nodes, self.tenant, self.random = nodes, tenant, random.Random(number)
        self.acknowledged, self.refused, self.slowest = [], 0, 0.0
        self.ends = threading.Event()

    def _send(self, events):
        began = time.monotonic()
        try:
            client = self.random.choice(self.nodes).client(self.tenant.token)
            answer = client.post("/api/v1/telemetry/batch", {"events": events})
            client.close()
        except OSError:
            time.sleep(0.1)  # a node that is dead
            return False
        self.slowest = max(self.slowest, time.monotonic() - began)
        self.refused += answer.status == 503
        return answer.status == 202

    def run(self):
        while not self.ends.is_set():
            run = str(uuid.uuid4())
            agent = f"agent-{self.random.randrange(50)}"
            events = [
                self.tenant.event(event_id=uuid.uuid4().hex, run_id=run, agent_name=agent)
                for _ in range(BATCH)
            ]
            while not self._send(events) and not self.ends.is_set():
                pass
            else:
                if not self.ends.is_set():
                    self.acknowledged += [event["event_id"] for event in events]


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


@pytest.mark.parametrize("fault", [kill_a_node, kill_a_backend])
def test_what_was_acknowledged_is_stored_once(tmp_path, fault):
    chance = random.Random(1)
    with running("postgres", tmp_path) as first, more_servers(first, tmp_path, 2) as others:
        nodes = [first, *others]
        tenant = first.add_tenant("--max-agents", "1000")
        senders = [Sender(nodes, tenant, number) for number in range(CLIENTS)]
        for sender in senders:
            sender.start()
        ends = time.monotonic() + SECONDS
        while time.monotonic() < ends:
            time.sleep(SECONDS / 10)
            fault(nodes, chance)
        for sender in senders:
            sender.ends.set()
        for sender in senders:
            sender.join()
        until(lambda: first.client().get("/api/v1/health").status == 200)
        acknowledged = {i for sender in senders for i in sender.acknowledged}
        asked = f"SELECT event_id FROM events WHERE {of_tenant(tenant)}"
        rows = [row["event_id"] for row in stored(first, asked)]
        counted = stored(first, f"SELECT SUM(event_count) AS n FROM runs WHERE {of_tenant(tenant)}")
        print(
            f"{len(acknowledged)} acknowledged, {len(rows)} stored,"
            f" {sum(s.refused for s in senders)} x 503, slowest"
            f" {max(s.slowest for s in senders):.1f} s"
        )
        assert acknowledged and acknowledged <= set(rows), "an acknowledged event is lost"
        assert len(rows) == len(set(rows)) == counted[0]["n"]
        first.cli("check")
