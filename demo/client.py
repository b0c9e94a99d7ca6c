"""The API as an agent with a key uses it, and as a person who is logged in."""

import http.client
import json
import threading
import time
from urllib.parse import quote

BUSY = (429, 503)  # nothing was stored: the same request is sent again after a while
PATIENCE_S = 120  # ends a demo whose service never answers, or is always busy


class Refused(Exception):
    """The service answered with an error."""


class Client:
    """Keeps one connection per thread. Without a token or a session it is not authenticated."""

    def __init__(self, port, token=None):
        self.port = port
        self.headers = {"Content-Type": "application/json"}
        if token is not None:
            self.headers["Authorization"] = f"Bearer {token}"
        self.local = threading.local()

    def _connection(self):
        if not hasattr(self.local, "connection"):
            self.local.connection = http.client.HTTPConnection(
                "127.0.0.1", self.port, timeout=PATIENCE_S
            )
        return self.local.connection

    def _exchange(self, method, path, body):
        connection = self._connection()
        connection.request(method, path, body, self.headers)
        reply = connection.getresponse()
        return reply, reply.read()

    def _try(self, method, path, text):
        """A broken connection is opened once more."""
        try:
            return self._exchange(method, path, text)
        except (http.client.HTTPException, ConnectionError):
            self._connection().close()
            return self._exchange(method, path, text)

    def call(self, method, path, body=None):
        """The answer to a request that is in order, once the service is not too busy for it."""
        text = None if body is None else json.dumps(body)
        reply, data = self._try(method, path, text)
        waited = 0
        while reply.status in BUSY and waited < PATIENCE_S:
            pause = max(1, int(reply.getheader("Retry-After") or 1))
            time.sleep(pause)
            waited += pause
            reply, data = self._try(method, path, text)
        if reply.status >= 400:
            raise Refused(f"{method} {path}: {reply.status} {data.decode()}")
        self._take_cookie(reply)
        return json.loads(data)

    def post(self, path, body):
        return self.call("POST", path, body)

    def _take_cookie(self, reply):
        cookie = reply.getheader("Set-Cookie")
        if cookie is not None:
            self.headers["Cookie"] = cookie.partition(";")[0]

    def log_in(self, email, password):
        me = self.post("/api/v1/auth/login", {"email": email, "password": password})
        self.headers["X-CSRF-Token"] = me["csrf_token"]


def path_of(*segments):
    return "/api/v1/" + "/".join(quote(segment, safe="") for segment in segments)
