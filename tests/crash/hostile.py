"""One tenant that does all it may at once, and one address without a key that does all it can.

A process of its own, so that its threads take no turns with the honest client's:
    hostile.py HOST PORT SLUG SECONDS [ATTACK...] < tokens, one per line, the workspace key first
Tokens that begin with mst_pat_ are those of an admin of the workspace. It prints, as JSON, how often
each attack had which outcome. Without names it makes all attacks.
"""

import contextlib
import functools
import gzip
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
OF_ADMINS = "mst_pat_"
TRACE = "0123456789abcdef" * 2  # stands for another one in each request


@functools.cache
def trace_of_spans(n, attributes):
    """A request of OpenTelemetry, and the same trace in all of its spans."""
    values = [{"key": f"name {i}", "value": {"stringValue": "x" * 20}} for i in range(attributes)]
    nested = {"stringValue": "x"}
    for _ in range(14):
        nested = {"kvlistValue": {"values": [{"key": "k", "value": nested}]}}
    at = time.time_ns()
    spans = [
        {"traceId": TRACE, "spanId": f"{i + 1:016x}", "name": f"span {i}", "startTimeUnixNano": str(at),
         "endTimeUnixNano": str(at + 1000), "attributes": [*values, {"key": "deep", "value": nested}]}
        for i in range(n)
    ]  # fmt: skip
    name = [{"key": "service.name", "value": {"stringValue": "agent-0"}}]
    resource = {"resource": {"attributes": name}, "scopeSpans": [{"spans": spans}]}
    return json.dumps({"resourceSpans": [resource]}).encode()


@functools.cache
def zeros():
    """32 MiB in 150 KiB."""
    return gzip.compress(bytes(32 * MIB), 1)


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
        self.address, self.slug = address, slug
        self.tokens = [token for token in tokens if not token.startswith(OF_ADMINS)]
        self.admins = [token for token in tokens if token.startswith(OF_ADMINS)]
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
        return contextlib.closing(socket.create_connection(self.address, timeout=30, source_address=source))

    def ask(self, method, path, body=None, token=None, source=None, headers=None):
        bearer = {"Authorization": f"Bearer {token}"} if token else {}
        sent = body if body is None or isinstance(body, bytes) else json.dumps(body)
        return self.send(method, path, sent, {**bearer, **(headers or {})}, source)

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

    def trace(self, n, attributes):
        """In few bytes: what counts is what becomes of them."""
        body = trace_of_spans(n, attributes).replace(TRACE.encode(), uuid.uuid4().hex.encode())
        headers = {"Content-Type": "application/json", "Content-Encoding": "gzip"}
        return self.ask("POST", "/v1/traces", gzip.compress(body, 1), self.token(), headers=headers)

    def bomb(self):
        headers = {"Content-Type": "application/json", "Content-Encoding": "gzip"}
        path = ("/v1/traces", "/v1/logs", "/v1/metrics", "/api/v1/telemetry/batch")[next(self.turn) % 4]
        return self.ask("POST", path, zeros(), self.token(), headers=headers)

    def ask_tool(self, name, **arguments):
        params = {"name": name, "arguments": arguments}
        message = {"jsonrpc": "2.0", "id": 1, "method": "tools/call", "params": params}
        headers = {"Accept": "application/json, text/event-stream"}
        return self.ask("POST", "/mcp", message, self.token(), headers=headers)

    def use_tools(self):
        tools = (
            ("list_runs", {"limit": 1000}),
            ("get_run_events", {"run_id": self.run_id, "limit": 1000}),
            ("get_kpi_breakdown", {"metric": "m", "by": "a"}),
            ("list_agents", {}),
        )
        name, arguments = tools[next(self.turn) % len(tools)]
        return self.ask_tool(name, **arguments)

    def search(self):
        """Texts that nearly match, in messages that are one letter again and again."""
        q = "x" * 60 + uuid.uuid4().hex[:4]
        paths = (f"dashboard/runs?limit=1000&q={q}", f"dashboard/facets?q={q}", "workflows",
                 f"runs/{self.run_id}/events?q={q}", f"runs/{self.run_id}/timeline",
                 "dashboard/totals", "metrics", "agents")  # fmt: skip
        return self.read(paths[next(self.turn) % len(paths)])

    def come_and_go(self):
        """A stream whose client leaves as soon as it has begun."""
        with self.connect() as connection:
            connection.sendall(self.get("stream"))
            return connection.recv(12)[9:12].decode()

    def change(self):
        """Each change that an admin may make, large where it may be."""
        n, slug = next(self.turn), f"/api/v1/tenants/{self.slug}"
        rules = [{"key": f"m{i}", "above": i} for i in range(50)]
        changes = (
            ("PUT", f"/values/key-{n % 900}", {"value": "x" * 4000}),
            ("PUT", f"/secrets/secret-{n % 900}", {"value": "x" * 4000}),
            ("POST", "/keys", {"label": f"key {n}"}),
            ("POST", "/webhooks", {"url": f"https://hooks.invalid/{n}"}),
            ("POST", "/invitations", {"email": f"person-{n}@example.com", "role": "member"}),
            ("POST", "/users", {"email": f"user-{n}@example.com", "role": "member"}),
            ("PUT", "/rules", {"kpis": rules}),
            ("PUT", f"/agents/agent-{n % 20}/document", {"document": "x" * 500_000}),
            ("PUT", "/command-policy", {"mode": "enforce", "allow": [f"command {i}" for i in range(1000)]}),
            ("GET", "/audit/verify", None),
            ("GET", "/keys", None),
            ("POST", "/runs/rebuild", None),
        )
        method, path, body = changes[n % len(changes)]
        return self.ask(method, slug + path, body, self.admins[n % len(self.admins)])

    def half_a_trace(self):
        path = "/v1/traces"
        return self.fill(lambda size: self.unfinished(path, self.token(), 2 * size, size), 5 * MIB)

    def read(self, path):
        return self.ask("GET", f"/api/v1/tenants/{self.slug}/{path}", token=self.token())

    def get(self, path):
        return (
            f"GET /api/v1/tenants/{self.slug}/{path} HTTP/1.1\r\nHost: x\r\n"
            f"Authorization: Bearer {self.token()}\r\n\r\n"
        ).encode()

    def read_nothing(self, path):
        with self.connect() as connection:
            connection.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 4096)
            connection.sendall(self.get(path))
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

    def ask_for_links(self):
        """Links that lead in, asked for and tried out."""
        n = next(self.turn)
        path, body = (
            ("forgot", {"email": f"person-{n % 50}@example.com"}),
            ("link", {"token": f"mst_inv_{uuid.uuid4().hex}"}),
            ("link/accept", {"token": f"mst_inv_{uuid.uuid4().hex}", "password": uuid.uuid4().hex}),
            ("oidc/begin", {}),
            ("oidc/complete", {"code": uuid.uuid4().hex, "state": uuid.uuid4().hex}),
        )[n % 5]
        return self.ask("POST", f"/api/v1/auth/{path}", body, source=STRANGER)

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
            (2, "spans", lambda: self.trace(900, 10)),
            (1, "spans with many attributes", lambda: self.trace(20, 950)),
            (3, "gzip bomb", self.bomb),
            (4, "half a trace", self.half_a_trace),
            (3, "use tools", self.use_tools),
            (3, "search", self.search),
            (2, "streams that come and go", self.come_and_go),
            (2, "ask for links", self.ask_for_links),
        ]
        if self.admins:
            kinds.append((3, "change as an admin", self.change))
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
