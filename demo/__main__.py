"""A service with a fleet to look at: `make demo`. Ctrl-C ends everything.

The fleet is made up, but what it does to the service is real: it speaks the public API alone.
"""

import argparse
import http.server
import json
import secrets
import shutil
import signal
import subprocess
import sys
import tempfile
import threading
import time
from pathlib import Path

from client import Client, Refused, path_of
from live import live
from past import send_past
from workspace import finish, register, set_up

ROOT = Path(__file__).parent.parent
TENANT = "acme"
EMAIL = "demo@example.org"
COLLEAGUE = "ada@acme.example"
LINE_MAX = 160  # characters of a message in a format that is not the standard one
MESSAGES_SHOWN = 10  # of those that the webhooks get


class Service:
    """`muster serve` on a directory of its own."""

    def __init__(self, binary, data, listen):
        self.binary, self.data = binary, data
        local = ["--webhook-allow-http", "1", "--webhook-allow-private", "1", "--allow-root", "1"]
        self.process = subprocess.Popen(
            [binary, "serve", "--data", data, "--listen", listen, "--log-level", "error", *local],
            stdout=subprocess.PIPE, text=True, start_new_session=True,
        )  # fmt: skip
        for line in self.process.stdout:
            if line.startswith("muster: listening on "):
                self.port = int(line.rpartition(":")[2])
                return
        raise SystemExit(f"demo: the service did not start; is another one at {listen}?")

    def cli(self, *words, text=""):
        done = subprocess.run(
            [self.binary, *words, "--data", self.data],
            input=text, capture_output=True, text=True, check=False,
        )  # fmt: skip
        if done.returncode != 0:
            raise SystemExit(f"demo: muster {' '.join(words)}: {done.stderr.strip()}")
        return done.stdout.strip()

    def stop(self):
        self.process.terminate()
        return self.process.wait()


def in_a_line(body):
    """What a webhook was sent. A visitor may give it another format, which is shown as it is."""
    try:
        message = json.loads(body)
        return f"{message['type']}: {message['data']['summary']}"
    except (ValueError, KeyError, TypeError):
        return " ".join(body.decode(errors="replace").split())[:LINE_MAX]


class Receiver(http.server.BaseHTTPRequestHandler):
    """Where the demo's webhooks lead: one that works, and one that is always busy. And a door: its
    address, which is good for one visit, signs the visitor in."""

    door = None  # (code, port of the service, password)
    messages_left = MESSAGES_SHOWN

    def do_GET(self):  # noqa: N802  (the name is the library's)
        code, port, password = Receiver.door or ("", 0, "")
        if code == "" or not secrets.compare_digest(self.path, f"/enter/{code}"):
            self.send_error(410, "This link was used", "Sign in with e-mail address and password")
            return
        Receiver.door = None
        person = Client(port)
        person.log_in(EMAIL, password)
        self.send_response(302)
        cookie = person.headers["Cookie"]  # a cookie is for all ports of a host
        self.send_header("Set-Cookie", f"{cookie}; Path=/; HttpOnly; SameSite=Strict")
        self.send_header("Location", f"http://127.0.0.1:{port}/#/t/{TENANT}/overview")
        self.send_header("Content-Length", "0")
        self.end_headers()

    def do_POST(self):  # noqa: N802
        body = self.rfile.read(int(self.headers.get("Content-Length", 0)))
        if self.path == "/on-call" and Receiver.messages_left > 0:
            Receiver.messages_left -= 1
            print(f"  webhook   {in_a_line(body)}", flush=True)
        self.send_response({"/on-call": 204, "/busy": 503}.get(self.path, 404))
        self.send_header("Content-Length", "0")
        self.end_headers()

    def log_message(self, *_):
        pass


def start_receiver():
    server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), Receiver)
    threading.Thread(target=server.serve_forever, daemon=True).start()
    base = f"http://127.0.0.1:{server.server_address[1]}"
    return base, [("on-call", f"{base}/on-call"), ("old pager, always busy", f"{base}/busy")]


def prepare(service, password):
    """Tenants, people and a key: what an operator does before anybody can use the API."""
    plan = ["--rate-limit", "1000000", "--max-agents", "50"]
    service.cli("tenant", "add", TENANT, "--name", "Acme Ltd", *plan)
    service.cli("tenant", "add", "newcomer", "--name", "Newcomer (no events yet)")
    service.cli("user", "add", EMAIL, "--role", "platform_admin", "--password-stdin",
                text=f"{password}\n")  # fmt: skip
    service.cli("user", "add", COLLEAGUE, "--tenant", TENANT, "--role", "member",
                "--password-stdin", text=f"{secrets.token_urlsafe(18)}\n")  # fmt: skip
    return service.cli("key", "add", "--tenant", TENANT, "--label", "fleet")


def seed(service, token, password, now):
    agents = Client(service.port, token)
    person = Client(service.port)
    person.log_in(EMAIL, password)
    register(agents)
    base, hooks = start_receiver()
    set_up(person, TENANT, hooks)
    runs, _ = send_past(agents, TENANT, now)
    finish(person, TENANT)
    for hook in person.call("GET", path_of("tenants", TENANT, "webhooks"))["webhooks"]:
        person.call("POST", path_of("tenants", TENANT, "webhooks", hook["webhook_id"], "test"))
    code = secrets.token_urlsafe(16)
    Receiver.door = (code, service.port, password)
    return agents, runs, f"{base}/enter/{code}"


def show(service, password, door, runs, seconds, data):
    print(
        f"\n  {runs} runs of the last 30 days were sent in {seconds:.0f} s; the fleet goes on.\n\n"
        f"  Look at   {door} (signs you in, once)\n"
        f"  later at  http://127.0.0.1:{service.port}/#/t/{TENANT}/overview\n"
        f"  E-mail    {EMAIL}\n"
        f"  Password  {password}\n\n"
        f"  A run fails and an agent falls silent within seconds, and a run is reported as stuck\n"
        f"  within twelve minutes. What the webhook is sent appears below, and on the overview.\n"
        f"  {data} Ctrl-C ends everything.\n",
        flush=True,
    )


def options():
    parser = argparse.ArgumentParser(prog="demo", description=__doc__.splitlines()[0])
    parser.add_argument("--binary", default=str(ROOT / "build/release/muster"))
    parser.add_argument("--listen", default="127.0.0.1:0", help="default: any free port")
    parser.add_argument("--data", help="a new directory to keep; default: one that is removed")
    return parser.parse_args()


def main():
    given = options()
    if given.data and Path(given.data, "muster.db").exists():
        raise SystemExit(f"demo: {given.data} is not empty; remove it, or name another")
    stop = threading.Event()
    for number in (signal.SIGINT, signal.SIGTERM):
        signal.signal(number, lambda *_: stop.set())
    data = given.data or tempfile.mkdtemp(prefix="muster-demo-")
    service = Service(given.binary, data, given.listen)
    try:
        password = secrets.token_urlsafe(12)
        token = prepare(service, password)
        now = time.time()
        agents, runs, door = seed(service, token, password, now)
        kept = f"What it stores stays in {data}." if given.data else "Nothing of it is kept."
        show(service, password, door, runs, time.time() - now, kept)
        live(agents, TENANT, stop)
    except (Refused, ConnectionError) as problem:
        if not stop.is_set():
            raise SystemExit(f"demo: {problem}") from problem
    finally:
        status = service.stop()
        if not given.data:
            shutil.rmtree(data, ignore_errors=True)
    return status


if __name__ == "__main__":
    sys.exit(main())
