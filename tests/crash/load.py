"""Clients that send unique things as fast as they are answered, and remember what became of each.

A request is *acked* when its 202 was read to the last byte, and *in doubt* when it was sent and no
whole answer came. Nothing else may ever be found in the store.
"""

import itertools
import json
import socket
import threading
import time
import uuid
from dataclasses import dataclass, field

import reports

BATCH = 10  # events
ANSWER_S = 120
EVENT, BATCHES = "/api/v1/telemetry", "/api/v1/telemetry/batch"
BUSINESS, LLM = "/api/v1/telemetry/business", "/api/v1/telemetry/llm"
CHANNELS = (BATCHES, BUSINESS, LLM, EVENT)  # of the clients, in turn


@dataclass
class Sent:
    """One request: what it carried, when it had left us whole, and how it ended."""

    event_ids: list
    run_id: str
    began_at: float = None  # monotonic, as the two others
    sent_at: float = None  # None: not all bytes were taken
    answered_at: float = None
    acked: bool = False
    refused: int = None  # the status, when it was answered but not 202
    retry_after: str = None  # the header, when it was refused
    partial: bool = False  # the answer began and was cut off
    reset: bool = False  # not all of it had been read when the connection ended
    statuses: list = field(default_factory=list)  # what the 202 said of each event
    path: str = EVENT
    body: dict = None  # of a report
    rows: dict = field(default_factory=dict)  # what a report must become
    replaced: dict = field(default_factory=dict)  # rows that the next report of the run replaces


class Cut(Exception):
    """The connection ended before the answer did; `got` are the bytes that came. It was reset when
    the server had not read all of the request."""

    def __init__(self, got, reset):
        super().__init__()
        self.got, self.reset = got, reset


class Wire:
    """A keep-alive connection that reads exactly one answer for each request."""

    def __init__(self, address):
        self.socket = socket.create_connection(address, timeout=ANSWER_S)
        self.socket.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        self.rest = b""

    def _more(self):
        try:
            chunk = self.socket.recv(65536)
        except ConnectionError:
            raise Cut(self.rest, reset=True) from None
        if not chunk:
            raise Cut(self.rest, reset=False)
        self.rest += chunk

    def read_answer(self):
        while b"\r\n\r\n" not in self.rest:
            self._more()
        head, _, _ = self.rest.partition(b"\r\n\r\n")
        lines = head.decode("latin-1").split("\r\n")
        headers = dict(line.lower().split(": ", 1) for line in lines[1:])
        whole = len(head) + 4 + int(headers["content-length"])
        while len(self.rest) < whole:
            self._more()
        body, self.rest = self.rest[len(head) + 4 : whole], self.rest[whole:]
        return int(lines[0].split()[1]), headers, body

    def close(self):
        self.socket.close()


def request_bytes(path, token, body):
    text = json.dumps(body).encode()
    head = (
        f"POST {path} HTTP/1.1\r\nHost: localhost\r\nAuthorization: Bearer {token}\r\n"
        f"Content-Type: application/json\r\nContent-Length: {len(text)}\r\n\r\n"
    )
    return head.encode() + text


def event(slug, run_id, event_id, seq):
    return {
        "event_id": event_id,
        "agent_name": "crash",
        "client_id": slug,
        "run_id": run_id,
        "event": "in_progress",
        "timestamp": "2025-01-02T03:04:05Z",
        "message": f"step {seq}",
        "seq": seq,
    }


class Sender(threading.Thread):
    """One client with one run; goes on until told to stop, cut off, or at the end of `most`."""

    def __init__(self, address, tenant, path, stop, most=None):
        super().__init__(daemon=True)
        self.address, self.slug, self.token = address, tenant.slug, tenant.token
        self.path, self.stop, self.most = path, stop, most
        self.run_id = str(uuid.uuid4())
        self.sent = []
        self.trouble = None

    def report(self, number):
        make = reports.business if self.path == BUSINESS else reports.llm
        body, rows, replaced = make(self.slug, self.run_id, number)
        return Sent([], self.run_id, path=self.path, body=body, rows=rows, replaced=replaced)

    def request(self, number):
        if self.path in (BUSINESS, LLM):
            sent = self.report(number)
            return sent, request_bytes(self.path, self.token, sent.body)
        n = BATCH if self.path == BATCHES else 1
        ids = [f"{self.run_id}/{number}/{i}" for i in range(n)]
        events = [event(self.slug, self.run_id, event_id, number) for event_id in ids]
        body = {"events": events} if self.path == BATCHES else events[0]
        sent = Sent(ids, self.run_id, path=self.path)
        return sent, request_bytes(self.path, self.token, body)

    def run(self):
        try:
            wire = Wire(self.address)
        except OSError:
            return  # killed before we came
        try:
            for number in itertools.count():
                if self.stop.is_set() or number == self.most or not self.exchange(wire, number):
                    return
        except Exception as error:  # a thread's exception would go unseen
            self.trouble = error
        finally:
            wire.close()

    def exchange(self, wire, number):
        """One request and its answer; False when there can be no other on this connection."""
        sent, request = self.request(number)
        self.sent.append(sent)
        sent.began_at = time.monotonic()
        try:
            wire.socket.sendall(request)
            sent.sent_at = time.monotonic()
            status, headers, body = wire.read_answer()
            sent.answered_at = time.monotonic()
        except Cut as cut:
            sent.partial, sent.reset = bool(cut.got), cut.reset
            return False
        except ConnectionError:
            return False
        if status == 202:
            answer = json.loads(body)
            sent.acked = True
            sent.statuses = [row["status"] for row in answer.get("results", [answer])]
        else:
            sent.refused = status
            sent.retry_after = headers.get("retry-after")
        return headers.get("connection") != "close"


def check_routes(server):
    """A channel that is not served would be a channel that is not tested."""
    paths = server.client().get("/openapi.json").json()["paths"]
    missing = [path for path in CHANNELS if path not in paths]
    assert not missing, f"the server has no {', '.join(missing)}: these were to be tested"


def start_senders(server, tenant, clients, most=None):
    """All clients at once, already sending; `stop` tells them to end after the current answer."""
    stop = threading.Event()
    assert clients >= len(CHANNELS), f"{clients} clients do not fill {len(CHANNELS)} channels"
    check_routes(server)
    senders = [
        Sender(server.address, tenant, CHANNELS[i % len(CHANNELS)], stop, most)
        for i in range(clients)
    ]
    for sender in senders:
        sender.start()
    return senders, stop


def join(senders):
    """Waits for all; what they sent, in one list."""
    for sender in senders:
        sender.join(ANSWER_S + 5)
        assert not sender.is_alive(), "a client waits for an answer that does not come"
        if sender.trouble:
            raise sender.trouble
    return [sent for sender in senders for sent in sender.sent]
