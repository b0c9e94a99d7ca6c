"""`make demo`: a fleet to look at, sent through the public API, gone after Ctrl-C."""

import http.client
import http.server
import importlib
import itertools
import json
import re
import resource
import signal
import subprocess
import sys
import threading
from datetime import datetime, timedelta
from pathlib import Path

import pytest
from muster import BINARY

ROOT = Path(__file__).parent.parent.parent
# Of processor time: how long it takes depends on what else the machine does. Sanitizers cost more.
CPU_SECONDS_MAX = 300 if "san" in BINARY.parent.name else 30
SOON = timedelta(seconds=10)  # of the twenty that are promised; the rest is for a slow machine
T = "/api/v1/tenants/acme"


def heed_ctrl_c():
    """A shell that starts the tests in the background lets its children ignore it."""
    signal.signal(signal.SIGINT, signal.SIG_DFL)


@pytest.fixture
def demo(tmp_path):
    process = subprocess.Popen(
        [sys.executable, "-B", ROOT / "demo", "--binary", BINARY, "--data", tmp_path / "kept"],
        stdout=subprocess.PIPE, text=True, preexec_fn=heed_ctrl_c,
    )  # fmt: skip
    yield process
    process.kill()
    process.wait()


def told(process):
    """What it prints up to the line about Ctrl-C."""
    lines = []
    for line in process.stdout:
        lines.append(line)
        if "Ctrl-C" in line:
            break
    return "".join(lines)


def cpu_seconds():
    """Of all processes that were started here and have ended, with those that they started."""
    used = resource.getrusage(resource.RUSAGE_CHILDREN)
    return used.ru_utime + used.ru_stime


def test_a_fleet_of_thirty_days_costs_half_a_minute_and_ends_with_ctrl_c(demo, tmp_path):
    before = cpu_seconds()
    text = told(demo)
    assert re.search(r"http://127\.0\.0\.1:\d+/#/t/acme/overview\n", text), text
    door = re.search(r"http://(127\.0\.0\.1:\d+)(/enter/\S+)", text).groups()
    service, cookie = assert_signs_in_once(door)
    ended = threading.Timer(600, demo.kill)  # else a line that never comes is waited for
    ended.start()
    awaited = {("agent.failing", "price-watcher"), ("agent.silent", "uptime-probe")}
    # What the webhook is sent; on a busy machine before the line about Ctrl-C, too.
    for line in itertools.chain(text.splitlines(), demo.stdout):
        awaited -= {one for one in awaited if all(word in line for word in one)}
        if not awaited:
            break
    ended.cancel()
    assert not awaited
    assert_due_soon(lambda path: json.loads(get(service, path, Cookie=cookie)[1]))
    assert int(re.search(r"(\d+) runs", text).group(1)) > 2000
    demo.send_signal(signal.SIGINT)
    assert demo.wait(timeout=600) == 0
    assert 0 < cpu_seconds() - before < CPU_SECONDS_MAX
    assert_fleet(tmp_path / "kept")


def assert_due_soon(ask):
    """A failure and a silence are due seconds after the last thing that the demo prepares, the tests
    of its webhooks, and each has its message: all by times that a slow machine does not delay."""
    moment = datetime.fromisoformat
    tests = ask(f"{T}/audit?action=webhook.test")["entries"]
    prepared = max(moment(one["at"]) for one in tests)
    alerts = {(one["type"], one["agent_name"]): one for one in ask(f"{T}/alerts?limit=100")["alerts"]}
    failing, silent = alerts["agent.failing", "price-watcher"], alerts["agent.silent", "uptime-probe"]
    runs = ask(f"{T}/dashboard/runs?agent_name=price-watcher&status=failed&limit=100")["runs"]
    begun = {one["run_id"]: moment(one["started_at"]) for one in runs}
    # the first that is not of the past; on a quick machine it may have begun while webhooks were tested
    first = min((at for at in begun.values() if at >= prepared), default=prepared)
    assert moment(failing["since_at"]) - first <= SOON
    assert moment(ask(f"{T}/agents/uptime-probe")["silent_at"]) - prepared <= SOON
    hooks = ask(f"{T}/webhooks")["webhooks"]
    (on_call,) = [one["webhook_id"] for one in hooks if one["label"] == "on-call"]
    sent = ask(f"{T}/webhooks/{on_call}/deliveries?limit=100")["deliveries"]
    for alert in (failing, silent):
        messages = [one for one in sent if one["type"] == alert["type"]]
        assert any(moment(one["created_at"]) >= moment(alert["opened_at"]) for one in messages)


def get(address, path, **headers):
    connection = http.client.HTTPConnection(address, timeout=120)
    connection.request("GET", path, headers=headers)
    reply = connection.getresponse()
    body = reply.read()
    connection.close()
    return reply, body


def assert_signs_in_once(link):
    reply, _ = get(*link)
    assert reply.status == 302
    service = re.match(r"http://([^/]+)/#/t/acme/overview$", reply.headers["Location"]).group(1)
    cookie = reply.headers["Set-Cookie"].partition(";")[0]
    reply, me = get(service, "/api/v1/auth/me", Cookie=cookie)
    assert (reply.status, json.loads(me)["email"]) == (200, "demo@example.org")
    assert get(*link)[0].status == 410
    return service, cookie


class Sink:
    """Takes what agents send."""

    def __init__(self):
        self.sent = []

    def post(self, path, body):
        self.sent.append((path.rpartition("/")[2], body))


def test_after_a_night_asleep_the_runs_that_were_due_are_dated_as_they_were_due(monkeypatch):
    monkeypatch.syspath_prepend(str(ROOT / "demo"))
    live = __import__("live")
    now, night = 1_768_000_000, 8 * 3600
    sink = Sink()
    agenda = live.Agenda(sink, "acme", now)
    agenda.start_due(now + night)
    agenda.send_due(now + night)
    begun = [b["timestamp"] for p, b in sink.sent if b.get("event") == "started"
             and b["agent_name"] == "support-triage"]  # fmt: skip
    assert len(begun) in (7, 8) and len({one[:13] for one in begun}) == len(begun)  # one per hour


def assert_fleet(data):
    """Twelve agents, one of them switched off."""
    listed = subprocess.run(
        [BINARY, "agent", "list", "--tenant", "acme", "--data", data, "--json"],
        capture_output=True, text=True, check=True,
    ).stdout  # fmt: skip
    assert listed.count('"agent_name"') == 12
    assert listed.count('"state":"disabled"') == 1


def test_the_demo_asks_a_busy_service_again(monkeypatch):
    monkeypatch.syspath_prepend(str(ROOT / "demo"))
    client = importlib.import_module("client")
    answers = [(503, "3"), (429, None), (200, None), (400, None)]
    bodies, pauses = [], []

    class Busy(http.server.BaseHTTPRequestHandler):
        def do_POST(self):
            bodies.append(self.rfile.read(int(self.headers["Content-Length"])))
            status, pause = answers.pop(0)
            self.send_response(status)
            if pause is not None:
                self.send_header("Retry-After", pause)
            self.end_headers()
            self.wfile.write(b"{}")

        def log_message(self, *_):
            pass

    service = http.server.HTTPServer(("127.0.0.1", 0), Busy)
    threading.Thread(target=service.serve_forever, daemon=True).start()
    monkeypatch.setattr(client.time, "sleep", pauses.append)
    try:
        demo = client.Client(service.server_port)
        assert demo.post("/x", {"n": 1}) == {}
        assert (bodies, pauses) == ([b'{"n": 1}'] * 3, [3, 1])
        with pytest.raises(client.Refused, match="400"):
            demo.post("/x", {})
    finally:
        service.shutdown()
        service.server_close()
