"""Clients that send unique events as fast as they are answered, and remember what became of each.

An event is *acked* when its 202 was read to the last byte, and *in doubt* when it was sent and no
whole answer came. Nothing else may ever be found in the store.
"""

import json
import socket
import threading
import time
import uuid
from dataclasses import dataclass, field

BATCH = 10  # every fourth client sends batches of this many
ANSWER_S = 30


@dataclass
class Sent:
    """One request: what it carried, when it had left us whole, and how it ended."""

    event_ids: list
    run_id: str
    sent_at: float = None  # monotonic; None: not all bytes were taken
    acked: bool = False
    refused: int = None  # the status, when it was answered but not 202
    partial: bool = False  # the answer began and was cut off
    statuses: list = field(default_factory=list)  # what the 202 said of each event


class Cut(Exception):
    """The connection ended before the answer did; `got` are the bytes that came."""

    def __init__(self, got):
        super().__init__()
        self.got = got


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
            chunk = b""
        if not chunk:
            raise Cut(self.rest)
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


class Sender(threading.Thread):
    """One client with one run; goes on until told to stop or cut off."""

    def __init__(self, address, slug, token, batch, stop):
        super().__init__(daemon=True)
        self.address, self.slug, self.token = address, slug, token
        self.batch, self.stop = batch, stop
        self.run_id = str(uuid.uuid4())
        self.sent = []
        self.trouble = None

    def event(self, event_id, seq):
        return {
            "event_id": event_id,
            "agent_name": "crash",
            "client_id": self.slug,
            "run_id": self.run_id,
            "event": "in_progress",
            "timestamp": "2025-01-02T03:04:05Z",
            "message": f"step {seq}",
            "seq": seq,
        }

    def request(self, number):
        ids = [f"{self.run_id}/{number}/{i}" for i in range(self.batch or 1)]
        events = [self.event(event_id, number) for event_id in ids]
        path = "/api/v1/telemetry/batch" if self.batch else "/api/v1/telemetry"
        body = {"events": events} if self.batch else events[0]
        return Sent(ids, self.run_id), request_bytes(path, self.token, body)

    def run(self):
        try:
            wire = Wire(self.address)
        except OSError:
            return  # killed before we came
        try:
            for number in range(10**9):
                if self.stop.is_set() or not self.exchange(wire, number):
                    return
        except Exception as error:  # a thread's exception would go unseen
            self.trouble = error
        finally:
            wire.close()

    def exchange(self, wire, number):
        """One request and its answer; False when there can be no other on this connection."""
        sent, request = self.request(number)
        self.sent.append(sent)
        try:
            wire.socket.sendall(request)
            sent.sent_at = time.monotonic()
            status, headers, body = wire.read_answer()
        except Cut as cut:
            sent.partial = bool(cut.got)
            return False
        except ConnectionError:
            return False
        if status == 202:
            answer = json.loads(body)
            sent.acked = True
            sent.statuses = [row["status"] for row in answer.get("results", [answer])]
        else:
            sent.refused = status
        return headers.get("connection") != "close"


def takes_batches(server):
    paths = server.client().get("/openapi.json").json()["paths"]
    return "/api/v1/telemetry/batch" in paths


def start_senders(server, tenant, clients):
    """All clients at once, already sending; `stop` tells them to end after the current answer."""
    stop = threading.Event()
    batches = takes_batches(server)
    senders = [
        Sender(
            server.address, tenant.slug, tenant.token, BATCH if i % 4 == 0 and batches else 0, stop
        )
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
