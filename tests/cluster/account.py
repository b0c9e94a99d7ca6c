"""An account of what was acknowledged, held against what the database has.

Each sender numbers its events from 0 and sends a batch again until it is acknowledged, so that all
below `acknowledged` must be stored, each once.
"""

import http.client
import threading
import time
import uuid
from collections import Counter

from nodes import in_threads
from stored import stored
from waiting import until

ID = "COALESCE(event_id, CAST(event_uuid AS TEXT))"  # SQL
LONG_S = 1  # a batch that is not acknowledged within it waits


def sent_id(sender, n):
    """Of the sender's event `n`; every other sender's ids are UUIDs, which are stored in another way."""
    return f"{sender:08d}-0000-4000-8000-{n:012d}" if sender % 2 == 0 else f"sent-{sender}-{n}"


class Sender(threading.Thread):
    """Sends batches of a tenant's events to the node that `choose` names, at most one at a time."""

    def __init__(self, number, tenant, choose, batch=20, pause=0.0, place=None):
        super().__init__(daemon=True)
        self.number, self.tenant, self.choose, self.place = number, tenant, choose, place
        self.batch, self.pause = batch, pause
        self.acknowledged, self.refused, self.slowest = 0, Counter(), 0.0
        self.began = time.monotonic()
        self.ends = threading.Event()

    @property
    def waits(self):
        return time.monotonic() - self.began > LONG_S

    def _events(self):
        run = str(uuid.uuid4())
        agent = f"agent-{self.acknowledged // self.batch % 50}"
        return [
            self.tenant.event(event_id=sent_id(self.number, self.acknowledged + i), run_id=run,
                              agent_name=agent, event="in_progress")
            for i in range(self.batch)
        ]  # fmt: skip

    def _send(self, events):
        try:
            client = self.choose().client(self.tenant.token)
            answer = client.post("/api/v1/telemetry/batch", {"events": events})
            client.close()
        except (OSError, http.client.HTTPException):
            self.ends.wait(0.1)  # a node that is dead
            return False
        if answer.status != 202:
            self.refused[answer.status] += 1
            self.ends.wait(0.05)
        return answer.status == 202

    def run(self):
        while not self.ends.is_set():
            events = self._events()
            self.began = time.monotonic()
            while not self._send(events):
                if self.ends.is_set():
                    return
            self.slowest = max(self.slowest, time.monotonic() - self.began)
            self.acknowledged += len(events)
            self.ends.wait(self.pause)

    def stop(self):
        self.ends.set()
        self.join()


class Load:
    """Senders that send while it is entered, and the account of them."""

    def __init__(self, senders):
        self.senders = list(senders)

    @classmethod
    def of(cls, nodes, tenants, first=0, pause=0.02):
        """A sender for each tenant and node, with numbers from `first` on."""
        return cls(
            Sender(first + len(nodes) * t + n, tenant, lambda node=node: node, pause=pause, place=n)
            for t, tenant in enumerate(tenants)
            for n, node in enumerate(nodes)
        )

    def __enter__(self):
        for sender in self.senders:
            sender.start()
        return self

    def __exit__(self, *trouble):
        self.stop()

    def stop(self):
        in_threads([sender.stop for sender in self.senders])

    def chosen(self, slugs=None, places=None):
        """Those of these tenants, at these nodes; of all, if none are named."""
        return [s for s in self.senders
                if (slugs is None or s.tenant.slug in slugs) and (places is None or s.place in places)]  # fmt: skip

    def moves(self, slugs=None, places=None, batches=1):
        """Each of them has so many more batches acknowledged."""
        chosen = self.chosen(slugs, places)
        before = [s.acknowledged for s in chosen]
        until(lambda: all(s.acknowledged >= n + batches * s.batch for s, n in zip(chosen, before, strict=True)), 90)

    def stands(self, slugs=None, places=None):
        """How much is acknowledged of these."""
        return sum(sender.acknowledged for sender in self.chosen(slugs, places))

    def holds(self, server, refused=frozenset({503})):
        """All that was acknowledged is stored, once, and nothing was refused in another way; how much it is."""
        acknowledged, lost, twice = balance(server, self.senders)
        assert acknowledged and (lost, twice) == (0, 0)
        statuses = {status for sender in self.senders for status in sender.refused}
        assert statuses <= refused, statuses
        return acknowledged


def balance(server, senders):
    """How many events of `senders` were acknowledged, are lost, and are stored twice."""
    below = {sender.number: sender.acknowledged for sender in senders}
    cases = " ".join(f"WHEN {number} THEN {n}" for number, n in below.items())
    rows = stored(
        server,
        f"SELECT COUNT(*) AS n, COUNT(DISTINCT id) AS ids, COALESCE(SUM(CASE WHEN number < CASE sender {cases}"
        " END THEN 1 ELSE 0 END), 0) AS below FROM (SELECT id, CAST(split_part(id, '-', CASE WHEN id LIKE"
        " 'sent-%' THEN 2 ELSE 1 END) AS BIGINT) AS sender, CAST(split_part(id, '-', CASE WHEN id LIKE"
        f" 'sent-%' THEN 3 ELSE 5 END) AS BIGINT) AS number FROM (SELECT {ID} AS id FROM events) AS e"
        " WHERE id LIKE 'sent-%' OR id LIKE '%-0000-4000-8000-%') AS x",
    )
    twice = rows[0]["n"] - rows[0]["ids"]
    acknowledged = sum(below.values())
    return acknowledged, acknowledged - (rows[0]["below"] - twice), twice
