"""One tenant that does all it may at once, and one address without a key that does all it can.

A process of its own, so that its threads take no turns with the honest client's:
    hostile.py HOST PORT SLUG SECONDS [ATTACK...] < tokens, one per line, the workspace key first
It prints, as JSON, how often each attack had which outcome. Without names it makes all attacks.
"""

import contextlib
import http.client
import itertools
import json
import os
import socket
import sys
import threading
import time
import uuid
from collections import Counter

STRANGER = ("127.0.0.2", 0)  # the address without a key
PAUSE_S = 0.05  # between two tries of one attacker: refusals are cheap to ask for
MIB = 1 << 20
RUN_BATCHES = 6  # of 3.2 MB each: more than a page of a narrative holds


class Attack(threading.Thread):
    """Repeats one kind of attack until the time is over; refusals are what it expects."""

    def __init__(self, field, name, once):
        super().__init__(daemon=True)
        self.field, self.name, self.once = field, name, once

    def run(self):
        while time.monotonic() < self.field.until:
            try:
                outcome = self.once()
            except (OSError, http.client.HTTPException) as error:
                outcome = type(error).__name__
            self.field.count(self.name, outcome)
            time.sleep(PAUSE_S)


class Field:
    def __init__(self, address, slug, tokens, seconds):
        self.address, self.slug, self.tokens = address, slug, tokens
        self.until = time.monotonic() + seconds
        self.counts, self.lock = {}, threading.Lock()
        self.turn = itertools.count()
        self.run_id = str(uuid.uuid4())  # a large run, for reads

    def count(self, name, outcome):
        with self.lock:
            self.counts.setdefault(name, Counter())[str(outcome)] += 1

    def token(self):
        """Each key in turn, so that the rate limit of none ends an attack."""
        return self.tokens[next(self.turn) % len(self.tokens)]

    def connect(self, source=None):
        made = socket.create_connection(self.address, timeout=30, source_address=source)
        return contextlib.closing(made)

    def ask(self, method, path, body=None, token=None, source=None):
        headers = {"Authorization": f"Bearer {token}"} if token else {}
        return self.send(method, path, json.dumps(body) if body else None, headers, source)

    def send(self, method, path, text, headers, source):
        connection = http.client.HTTPConnection(*self.address, timeout=60, source_address=source)
        with contextlib.closing(connection):
            connection.request(method, path, text, headers)
            answer = connection.getresponse()
            answer.read()
            return answer.status

    def wait(self, most):
        time.sleep(max(0.0, min(most, self.until - time.monotonic())))

    # what a tenant may do

    def report(self, path, **fields):
        agent = f"agent-{next(self.turn) % 20}"
        body = {
            "agent_name": agent,
            "client_id": self.slug,
            "run_id": str(uuid.uuid4()),
            "timestamp": time.strftime("%Y-%m-%dT%H:%M:%SZ", time.gmtime()),
            **fields,
        }
        return self.ask("POST", path, body, self.token())

    def event(self, run_id, number, text):
        return {
            "agent_name": "agent-0",
            "client_id": self.slug,
            "run_id": run_id,
            "event": "in_progress",
            "event_id": f"{run_id}/{number}/{uuid.uuid4()}",
            "timestamp": time.strftime("%Y-%m-%dT%H:%M:%SZ", time.gmtime()),
            "message": text,
            "seq": number,
        }

    def flood(self):
        events = [self.event(str(uuid.uuid4()), i, "x" * 200) for i in range(1000)]
        return self.ask("POST", "/api/v1/telemetry/batch", {"events": events}, self.token())

    def grow_run(self):
        events = [self.event(self.run_id, i, "x" * 16000) for i in range(200)]
        return self.ask("POST", "/api/v1/telemetry/batch", {"events": events}, self.token())

    def register(self):
        names = [f"name-{i}" for i in range(1000)]
        body = {
            "agent_name": f"agent-{next(self.turn) % 20}",
            "client_id": self.slug,
            "business_kpis": [{"key": name} for name in names],
            "inputs": [{"key": name} for name in names],
            "outputs": [{"key": name} for name in names],
        }
        return self.ask("POST", "/api/v1/agents/register", body, self.token())

    def replace_maxima(self):
        value = -next(self.turn)
        metrics = {f"metric {i}": value for i in range(100)}
        path = "/api/v1/telemetry/business"
        return self.report(path, run_id=self.run_id, metrics=metrics)

    def break_down(self):
        cells = []
        for _ in range(100):
            name = uuid.uuid4().hex * 6
            point = {"a": "x", name: "y", "value": 1}
            cells.append({"metric": "m", "by": ["a", name], "points": [point]})
        return self.report("/api/v1/telemetry/business", metrics={"m": 1}, breakdowns=cells)

    def fail(self):
        return self.report("/api/v1/telemetry", event="failed", event_id=str(uuid.uuid4()))

    def half_a_report(self):
        path = "/api/v1/telemetry/business"
        return self.fill(lambda size: self.unfinished(path, self.token(), 2 * size, size), 5 * MIB)

    def read(self, path):
        return self.ask("GET", f"/api/v1/tenants/{self.slug}/{path}", token=self.token())

    def read_nothing(self, path):
        with self.connect() as connection:
            connection.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 4096)
            connection.sendall(
                f"GET /api/v1/tenants/{self.slug}/{path} HTTP/1.1\r\nHost: x\r\n"
                f"Authorization: Bearer {self.token()}\r\n\r\n".encode()
            )
            status = connection.recv(12)[9:12].decode()
            if status == "200":
                self.wait(20)
            return status

    # what anybody can do

    @staticmethod
    def fill(attempt, largest):
        """Takes what room there is: after a refusal half as much, to the last bytes."""
        size = largest
        while size > 256:
            outcome = attempt(size)
            if outcome == "held":
                break
            size //= 2
        return outcome

    def unfinished(self, path, token, declared, sent, source=None):
        with self.connect(source) as connection:
            method = "GET" if path.endswith("health") else "POST"
            bearer = f"Authorization: Bearer {token}\r\n" if token else ""
            head = (
                f"{method} {path} HTTP/1.1\r\nHost: x\r\nContent-Type: application/json\r\n"
                f"{bearer}Content-Length: {declared}\r\n\r\n"
            )
            with contextlib.suppress(BrokenPipeError, ConnectionResetError):
                connection.sendall(head.encode() + b" " * sent)
            connection.settimeout(max(1.0, min(20, self.until - time.monotonic())))
            try:
                return connection.recv(12)[9:12].decode() or "closed"
            except TimeoutError:
                return "held"
            except ConnectionResetError:
                return "reset"

    def unfinished_sign_in(self):
        path = "/api/v1/auth/login"
        return self.fill(lambda size: self.unfinished(path, None, MIB, size, STRANGER), MIB - 600)

    def unfinished_get(self):
        path = "/api/v1/health"
        return self.fill(lambda size: self.unfinished(path, None, MIB, size, STRANGER), MIB - 600)

    def guess(self):
        token = f"mst_ws_{uuid.uuid4().hex}"
        return self.ask("POST", "/api/v1/telemetry", {"a": 1}, token, STRANGER)

    def sign_in(self):
        body = {"email": "nobody@example.com", "password": uuid.uuid4().hex}
        return self.ask("POST", "/api/v1/auth/login", body, source=STRANGER)

    def hoard(self):
        held = []
        with contextlib.suppress(OSError):
            for _ in range(1500):
                made = socket.create_connection(self.address, 5, source_address=STRANGER)
                made.sendall(b"GET / HTTP/1.1\r\nX-Slow: ")
                held.append(made)
        self.wait(20)
        for connection in held:
            connection.close()
        return "held"

    def attacks(self):
        narrative = f"runs/{self.run_id}/events"
        runs = "dashboard/runs?limit=1000"
        kinds = [
            (4, "flood", self.flood),
            (1, "grow a run", self.grow_run),
            (2, "register", self.register),
            (2, "replace maxima", self.replace_maxima),
            (2, "break down", self.break_down),
            (2, "failed runs", self.fail),
            (8, "half a report", self.half_a_report),
            (2, "read a narrative", lambda: self.read(narrative)),
            (2, "read a breakdown", lambda: self.read("business/breakdown?metric=m&by=a")),
            (2, "read runs with steps", lambda: self.read(f"{runs}&include_steps=true")),
            (20, "read nothing of a narrative", lambda: self.read_nothing(narrative)),
            (20, "read nothing of a list", lambda: self.read_nothing(runs)),
            (3, "read nothing of an export", lambda: self.read_nothing("export/events")),
            (20, "hold a stream", lambda: self.read_nothing("stream")),
            (8, "unfinished sign-in", self.unfinished_sign_in),
            (8, "unfinished GET", self.unfinished_get),
            (2, "guess a token", self.guess),
            (2, "guess a password", self.sign_in),
            (1, "hoard connections", self.hoard),
        ]
        return [Attack(self, name, once) for n, name, once in kinds for _ in range(n)]


def main(host, port, slug, seconds, *names):
    os.nice(10)
    tokens = sys.stdin.read().split()
    field = Field((host, int(port)), slug, tokens, float(seconds))
    while sum(field.grow_run() == 202 for _ in range(RUN_BATCHES)) == 0:
        field.wait(1)  # a run worth reading, before all else
    attacks = [attack for attack in field.attacks() if not names or attack.name in names]
    for attack in attacks:
        attack.start()
    for attack in attacks:
        attack.join()
    print(json.dumps(field.counts))


if __name__ == "__main__":
    main(*sys.argv[1:])
