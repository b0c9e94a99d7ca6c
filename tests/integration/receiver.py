"""A receiver of webhooks on loopback: keeps what it was sent, and answers as it was told to."""

import base64
import hashlib
import hmac
import json
import queue
import threading
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

WAIT_S = 120


class Message:
    def __init__(self, path, headers, body):
        self.path, self.headers, self.body = path, dict(headers.items()), body

    @property
    def id(self):
        return self.headers["webhook-id"]

    def json(self):
        return json.loads(self.body)

    def is_signed_with(self, secret):
        """As the Standard Webhooks specification says, written from it and from nothing else."""
        key = base64.b64decode(secret.removeprefix("whsec_"))
        text = f"{self.id}.{self.headers['webhook-timestamp']}.".encode() + self.body
        wanted = base64.b64encode(hmac.new(key, text, hashlib.sha256).digest()).decode()
        given = [part.split(",", 1) for part in self.headers["webhook-signature"].split(" ")]
        return ["v1", wanted] in given


class Receiver:
    def __init__(self, host="127.0.0.1", port=0):
        self.messages, self.answer, self.headers = queue.Queue(), 200, {}
        self.connections = 0
        self.hold = threading.Event()  # answers wait while it is clear
        self.hold.set()
        receiver = self

        class Handler(BaseHTTPRequestHandler):
            def setup(self):
                receiver.connections += 1
                super().setup()

            def do_POST(self):
                body = self.rfile.read(int(self.headers["Content-Length"]))
                # What a test sets once it has the message is for the next one.
                answer = receiver.answer
                receiver.messages.put(Message(self.path, self.headers, body))
                receiver.hold.wait(WAIT_S)
                self.send_response(answer)
                for name, value in receiver.headers.items():
                    self.send_header(name, value)
                self.send_header("Content-Length", "0")
                self.end_headers()

            def log_message(self, *_):
                pass

        self.http = ThreadingHTTPServer((host, port), Handler)
        self.http.daemon_threads = True
        self.url = f"http://{host}:{self.http.server_address[1]}/hook"

    def next(self):
        """The next message; fails when none comes in time."""
        return self.messages.get(timeout=WAIT_S)

    def has_more(self):
        return not self.messages.empty()


@contextmanager
def receiving(host="127.0.0.1", port=0):
    receiver = Receiver(host, port)
    thread = threading.Thread(target=receiver.http.serve_forever, args=(0.05,))
    thread.start()
    try:
        yield receiver
    finally:
        receiver.hold.set()
        receiver.http.shutdown()
        thread.join()
        receiver.http.server_close()
