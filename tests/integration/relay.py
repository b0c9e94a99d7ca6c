"""A relay before PostgreSQL that counts the statements that pass: one for each turn of a reader."""

import collections
import contextlib
import re
import socket
import struct
import threading

from muster import Postgres, Server
from waiting import until

ENCRYPTION = (80877103, 80877104)  # what a client asks before it starts its session: SSL, GSS
PARSE, BIND, EXECUTE, SIMPLE = b"P", b"B", b"E", b"Q"
HEARTBEAT, BEATS = "INSERT INTO nodes", 3  # of a node, every two seconds
ROWS = ("SELECT", "INSERT", "UPDATE", "DELETE", "WITH")
SYNC = b"S"  # the end of a pipeline: as after SIMPLE, the server answers


class Messages:
    """What a client sends, cut into messages: those before a session have no type."""

    def __init__(self):
        self.bytes, self.started = b"", False
        self.bound, self.texts = "", {}  # of statements that are prepared, by name
        self.turns, self.asked = 0, False  # has a statement of the turn been asked for, and not by a tick?

    def take(self, data):
        """The types and contents of the messages that are whole with these bytes."""
        self.bytes += data
        found = []
        while len(self.bytes) >= (5 if self.started else 8):
            head = 1 if self.started else 0
            size = head + struct.unpack_from("!I", self.bytes, head)[0]
            if len(self.bytes) < size:
                break
            if self.started:
                found.append((self.bytes[:1], self.bytes[5:size]))
            else:
                self.started = struct.unpack_from("!I", self.bytes, 4)[0] not in ENCRYPTION
            self.bytes = self.bytes[size:]
        return found

    def statements(self, data, ticks):
        """The texts of the statements that are run by the messages that are whole with these bytes."""
        for kind, content in self.take(data):
            if kind == PARSE:
                name, text, _ = content.split(b"\0", 2)
                self.texts[name] = text.decode()
            if kind == BIND:
                self.bound = self.texts.get(content.split(b"\0", 2)[1], "")
            if kind == EXECUTE:
                self.asked |= self.bound not in ticks
                yield self.bound
            if kind in (SYNC, SIMPLE):
                self.turns += self.asked or kind == SIMPLE
                self.asked = False


class Relay:
    """Listens until it is closed. `statements` is how many have been run through it, and `texts` how often
    each of them. What the service runs by itself is counted in neither `statements` nor `turns` once
    learn_ticks() has seen it: a slow machine has more of it in the time of a request."""

    def __init__(self, url):
        self.host, port = re.search(r"@([^:/]*):(\d+)", url).groups()
        self.port, self.texts, self.ticks = int(port), collections.Counter(), set()
        self.listener = socket.create_server(("127.0.0.1", 0))
        here = self.listener.getsockname()[1]
        self.url = re.sub(r"@[^:/]*:\d+", f"@127.0.0.1:{here}", url)
        self.lock, self.open, self.sessions = threading.Lock(), [], []
        threading.Thread(target=self._accept, daemon=True).start()

    @property
    def statements(self):
        with self.lock:
            return sum(n for text, n in self.texts.items() if text not in self.ticks)

    def learn_ticks(self):
        """While nobody asks anything. What begins and ends transactions is everybody's."""
        with self.lock:
            before = self.texts.copy()
        beats = self.runs_of(HEARTBEAT)
        until(lambda: self.runs_of(HEARTBEAT) >= beats + BEATS)
        with self.lock:
            self.ticks = {text for text in self.texts - before if text.startswith(ROWS)}

    @property
    def turns(self):
        """How often the server was waited for."""
        with self.lock:
            return sum(session.turns for session in self.sessions)

    def runs_of(self, *parts):
        """How often statements have been run that have one of these in their text."""
        with self.lock:
            return sum(n for text, n in self.texts.items() if any(part in text for part in parts))

    def _accept(self):
        with contextlib.suppress(OSError):  # it was closed
            while True:
                client, _ = self.listener.accept()
                server = socket.create_connection((self.host, self.port))
                self.open += [client, server]
                for one in (client, server):
                    one.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
                self.sessions.append(Messages())
                threading.Thread(target=self._pass, args=(client, server, self.sessions[-1]), daemon=True).start()
                threading.Thread(target=self._pass, args=(server, client, None), daemon=True).start()

    def _pass(self, source, target, messages):
        with contextlib.suppress(OSError):
            while data := source.recv(65536):
                if messages:
                    with self.lock:
                        self.texts.update(messages.statements(data, self.ticks))
                target.sendall(data)
        for one in (source, target):
            with contextlib.suppress(OSError):
                one.shutdown(socket.SHUT_RDWR)

    def close(self):
        with contextlib.suppress(OSError):
            self.listener.shutdown(socket.SHUT_RDWR)
        self.listener.close()
        for one in self.open:
            one.close()


@contextlib.contextmanager
def counted_server(folder, **more):
    """A started server on a new database, and the relay between the two; both are gone afterwards."""
    postgres = Postgres()
    url, token = postgres.create_administered()
    relay = Relay(url)
    server = Server(folder / "data", relay.url, **more)
    server.be_administered(token)
    try:
        yield server.start(), relay
        server.stop()
    finally:
        if server.process is not None:
            server.process.kill()
            server.process.wait()
        relay.close()
        postgres.drop(url)
