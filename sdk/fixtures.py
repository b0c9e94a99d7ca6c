"""What the tests of the libraries share: the real binary on loopback.

service      a running server that the session shares
workspace    a new tenant on it, with a workspace key
own_workspace, own_service  a server of the test's own, which it may stop, kill and restart
scripted     a server that gives the answers it is told to, and remembers the requests
make_agent   agents with a state folder of the test's own, closed at the end
"""

import importlib.util
import json
import os
import sys
import threading
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[1]
LIBRARY = ROOT / "sdk/python"
sys.path.insert(0, str(LIBRARY))

import muster  # noqa: E402

for setting in [name for name in os.environ if name.startswith("MUSTER_")]:
    if not setting.startswith("MUSTER_TEST"):
        del os.environ[setting]
os.environ["no_proxy"] = "*"


def load_harness():
    """tests/integration/muster.py, whose name is also that of the library."""
    spec = importlib.util.spec_from_file_location(
        "muster_harness", ROOT / "tests/integration/muster.py"
    )
    module = importlib.util.module_from_spec(spec)
    sys.modules["muster_harness"] = module
    spec.loader.exec_module(module)
    return module


harness = load_harness()


def url_of(server):
    return f"http://{server.address[0]}:{server.address[1]}"


def started(folder, **more):
    server = harness.Server(folder / "data", **more)
    server.recorder = harness.Recorder(folder / "answers")  # these are not the contract's tests
    server.admin.recorder = server.recorder
    return server.start()


@pytest.fixture(scope="session")
def service(tmp_path_factory):
    server = started(tmp_path_factory.mktemp("service"))
    yield server
    server.stop()


@pytest.fixture
def own_service(tmp_path):
    server = started(tmp_path)
    yield server
    if server.process is not None:
        server.stop()


@pytest.fixture
def clocked_workspace(tmp_path):
    """On a server whose clocks the test moves: `clocked_workspace.clock.advance(seconds)`."""
    clock = harness.Clock(tmp_path)
    server = started(tmp_path, environment=clock.environment)
    workspace = Workspace(server, server.add_tenant(), tmp_path / "state")
    workspace.clock = clock
    yield workspace
    server.stop()


class Workspace:
    """A tenant, what it has stored, and what an agent's environment must say."""

    def __init__(self, server, tenant, state):
        self.server, self.tenant, self.state = server, tenant, state

    @property
    def settings(self):
        return {"url": url_of(self.server), "token": self.tenant.token, "tenant": self.tenant.slug}

    @property
    def environment(self):
        named = {f"MUSTER_{key.upper()}": value for key, value in self.settings.items()}
        clean = {key: value for key, value in os.environ.items() if not key.startswith("MUSTER_")}
        path = {"PYTHONPATH": str(LIBRARY), "MUSTER_STATE_DIR": str(self.state)}
        return {**clean, **named, **path}

    def read(self, path):
        with_key = self.server.client(self.tenant.token)
        answer = with_key.get(self.tenant.path(path))
        with_key.close()
        assert answer.status == 200, answer.body
        return answer.json()

    def runs(self):
        return self.read("dashboard/runs?limit=1000")["runs"]

    def events(self, run_id):
        return self.read(f"runs/{run_id}/events")["events"]

    def usage(self):
        groups = self.read("llm/usage?group_by=model")["groups"]
        return {row["model"]: row for row in groups}

    def kpis(self):
        return {row["key"]: row["value"] for row in self.read("business/summary")["kpis"]}


@pytest.fixture
def workspace(service, tmp_path):
    return Workspace(service, service.add_tenant(), tmp_path / "state")


@pytest.fixture
def own_workspace(own_service, tmp_path):
    return Workspace(own_service, own_service.add_tenant(), tmp_path / "state")


@pytest.fixture
def make_agent(tmp_path):
    made = []

    def make(settings, name="collector", **more):
        agent = muster.Agent(name, **{"state_dir": tmp_path / "state", **settings, **more})
        made.append(agent)
        return agent

    yield make
    for agent in made:
        agent.close(0.0)


class Scripted:
    """Answers requests for a path with what `script` says, the last answer for ever."""

    def __init__(self):
        self.requests = []  # method, path, token, body, headers, query
        self.script = {}  # path: [(status, headers, body)]
        self.changed = threading.Condition()
        outer = self

        class Handler(BaseHTTPRequestHandler):
            def answer(self):
                length = int(self.headers.get("Content-Length") or 0)
                body = self.rfile.read(length)
                path, _, query = self.path.partition("?")
                with outer.changed:
                    token = (self.headers["Authorization"] or "").partition(" ")[2]
                    outer.requests.append((self.command, path, token, body, self.headers, query))
                    answers = outer.script.get(path, [])
                    status, headers, sent = answers[0] if answers else outer.good(path, body)
                    if len(answers) > 1:
                        del answers[0]
                    outer.changed.notify_all()
                data = json.dumps(sent).encode()
                self.send_response(status)
                for key, value in {**headers, "Content-Length": str(len(data))}.items():
                    self.send_header(key, value)
                self.end_headers()
                self.wfile.write(data)

            do_GET = do_POST = answer

            def log_message(self, *_):
                pass

        self.http = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        threading.Thread(target=self.http.serve_forever, args=(0.05,), daemon=True).start()

    @staticmethod
    def good(path, body):
        if path.endswith("/batch"):
            return 202, {}, {"results": []}
        if path.endswith("/register"):
            return 200, {}, {"warnings": []}
        return 202, {}, {"status": "accepted"}

    @property
    def settings(self):
        return {"url": f"http://127.0.0.1:{self.http.server_port}", "token": "k", "tenant": "acme"}

    def seen(self, path):
        with self.changed:
            return [request for request in self.requests if request[1] == path]

    def wait_for(self, path, count, timeout=15):
        with self.changed:
            return self.changed.wait_for(
                lambda: sum(request[1] == path for request in self.requests) >= count, timeout
            )


@pytest.fixture
def scripted():
    server = Scripted()
    yield server
    server.http.shutdown()
    server.http.server_close()
