"""A relay before PostgreSQL that counts the statements that pass: one for each turn of a reader."""

import contextlib
import re
import socket
import struct
import threading

ENCRYPTION = (80877103, 80877104)  # what a client asks before it starts its session: SSL, GSS
EXECUTE = b"E"


class Messages:
    """What a client sends, cut into messages: those before a session have no type."""

    def __init__(self):
        self.bytes, self.started = b"", False

    def take(self, data):
        """The types of the messages that are whole with these bytes."""
        self.bytes += data
        found = []
        while len(self.bytes) >= (5 if self.started else 8):
            head = 1 if self.started else 0
            size = head + struct.unpack_from("!I", self.bytes, head)[0]
            if len(self.bytes) < size:
                break
            if self.started:
                found.append(self.bytes[:1])
            else:
                self.started = struct.unpack_from("!I", self.bytes, 4)[0] not in ENCRYPTION
            self.bytes = self.bytes[size:]
        return found


class Relay:
    """Listens until it is closed. `statements` is how many have been run through it."""

    def __init__(self, url):
        self.host, port = re.search(r"@([^:/]*):(\d+)", url).groups()
        self.port, self.statements = int(port), 0
        self.listener = socket.create_server(("127.0.0.1", 0))
        here = self.listener.getsockname()[1]
        self.url = re.sub(r"@[^:/]*:\d+", f"@127.0.0.1:{here}", url)
        self.lock, self.open = threading.Lock(), []
        threading.Thread(target=self._accept, daemon=True).start()

    def _accept(self):
        with contextlib.suppress(OSError):  # it was closed
            while True:
                client, _ = self.listener.accept()
                server = socket.create_connection((self.host, self.port))
                self.open += [client, server]
                for one in (client, server):
                    one.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
                threading.Thread(target=self._pass, args=(client, server, Messages()), daemon=True).start()
                threading.Thread(target=self._pass, args=(server, client, None), daemon=True).start()

    def _pass(self, source, target, messages):
        with contextlib.suppress(OSError):
            while data := source.recv(65536):
                if messages:
                    with self.lock:
                        self.statements += messages.take(data).count(EXECUTE)
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
