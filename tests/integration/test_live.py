"""Live updates: server-sent events of what changed, for one tenant, without gaps."""

import contextlib
import http.client
import json
import socket
import time
import uuid
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest
from conftest import running
from people import tenant_person
from stored import stored

pytestmark = pytest.mark.administered

MANY = 1000
APART_S = 0.8  # two messages about the same run
PATIENCE_S = 120
HEARTBEAT = b":\n"


class Live:
    """One open stream."""

    def __init__(self, tenant, last_id=None, token=None, cookie=None):
        headers = {"Authorization": f"Bearer {token or tenant.token}"}
        if cookie:
            headers = {"Cookie": cookie}
        if last_id is not None:
            headers["Last-Event-ID"] = last_id
        self.connection = http.client.HTTPConnection(*tenant.server.address, timeout=PATIENCE_S)
        self.connection.request("GET", tenant.path("stream"), headers=headers)
        self.answer = self.connection.getresponse()
        self.last_id = last_id

    def next(self):
        """The next (event, data); a comment is (None, None)."""
        event = data = None
        while (line := self.answer.readline()) != b"\n":
            assert line, "the stream has ended"
            line = line.decode().rstrip("\n")
            name, _, value = line.partition(": ")
            if name == "event":
                event = value
            elif name == "data":
                data = json.loads(value)
            elif name == "id":
                self.last_id = value
            else:
                assert line == ":", line
        return event, data

    def until(self, wanted):
        """The data of the next event of this name, whatever comes before; heartbeats go on."""
        deadline = time.monotonic() + 2 * PATIENCE_S
        while time.monotonic() < deadline:
            event, data = self.next()
            if event == wanted:
                return data
        raise AssertionError(f"no {wanted} comes")

    def ended(self):
        """Reads to the last chunk; what came before it."""
        return self.answer.read()

    def close(self):
        self.answer.close()
        self.connection.close()


@pytest.fixture
def live(tenant):
    with contextlib.ExitStack() as stack:

        def listen(one=tenant, **more):
            stream = Live(one, **more)
            stack.callback(stream.close)
            return stream

        yield listen


def send(tenant, **fields):
    event = tenant.event(**fields)
    assert tenant.client.post("/api/v1/telemetry", event).status == 202
    return event


def test_a_stream_says_what_it_is_and_where_it_begins(live):
    stream = live()
    assert stream.answer.status == 200
    assert stream.answer.headers["Content-Type"] == "text/event-stream"
    assert stream.answer.headers["Cache-Control"] == "no-store"
    assert stream.next() == ("ready", {}) and stream.last_id


def test_a_run_and_its_agent_are_told_as_they_change(tenant, live):
    stream = live()
    stream.until("ready")
    run = str(uuid.uuid4())
    for event, status in (
        ("started", "in_progress"),
        ("failed", "failed"),
        ("in_progress", "failed"),
    ):
        send(tenant, run_id=run, event=event, agent_name="worker")
        told = {"run_id": run, "agent_name": "worker", "status": status}
        assert stream.until("run") == told
        assert stream.until("agent") == {"agent_name": "worker"}


def test_reports_and_heartbeats_show_their_agent(tenant, live):
    stream = live()
    stream.until("ready")
    report = {"agent_name": "reporter", "run_id": str(uuid.uuid4()),
              "timestamp": "2025-01-01T00:00:00Z"}  # fmt: skip
    tenant.client.post("/api/v1/telemetry/business", {**report, "metrics": {"k": 1}})
    assert stream.until("agent") == {"agent_name": "reporter"}
    tenant.client.post("/api/v1/telemetry/llm", {**report, "model": "m"})
    assert stream.until("agent") == {"agent_name": "reporter"}
    tenant.agent_client("reporter").post("/api/v1/heartbeat?client_id=p1")
    assert stream.until("agent") == {"agent_name": "reporter"}


def test_many_events_of_a_run_are_one_message_at_a_time(tenant, live):
    stream = live()
    stream.until("ready")
    run = str(uuid.uuid4())
    began, messages = time.monotonic(), []
    for n in range(60):
        send(tenant, run_id=run, seq=n, event="in_progress")
    send(tenant, run_id=run, seq=99, event="completed")
    while not messages or messages[-1]["status"] != "completed":
        messages.append(stream.until("run"))
    assert len(messages) <= 2 + (time.monotonic() - began) / APART_S


def test_who_comes_back_gets_what_was_missed(tenant, live):
    first = live()
    first.until("ready")
    send(tenant, run_id=str(uuid.UUID(int=1)))
    first.until("agent")
    first.close()
    missed = [str(uuid.UUID(int=n)) for n in (2, 3)]
    other = live()  # sees that they have been told
    other.until("ready")
    for run in missed:
        send(tenant, run_id=run)
        while other.until("run")["run_id"] != run:
            pass
    again = live(last_id=first.last_id)
    assert [again.until("run")["run_id"] for _ in missed] == missed
    send(tenant, run_id=str(uuid.UUID(int=4)))
    assert again.until("run")["run_id"] == str(uuid.UUID(int=4))


@pytest.mark.parametrize("last_id", ["1", "abc-5", "0-0", "x" * 500, "99999999999999-1", "5-"])
def test_an_id_that_is_not_known_is_told_to_load_anew(live, last_id):
    stream = live(last_id=last_id)
    assert stream.next() == ("reset", {}) and stream.last_id != last_id


def test_a_flood_is_one_reset(tenant, live):
    stream = live()
    stream.until("ready")
    events = [tenant.event() for _ in range(1000)]
    assert tenant.client.post("/api/v1/telemetry/batch", {"events": events}).status == 202
    stream.until("reset")
    send(tenant, agent_name="after-it")
    while stream.until("agent") != {"agent_name": "after-it"}:
        pass


def test_nothing_of_another_tenant_is_told(server, tenant, live):
    other = server.add_tenant()
    mine, theirs = live(), live(other)
    mine.until("ready")
    theirs.until("ready")
    for n in range(3):
        theirs_event = send(other, agent_name="theirs")
        assert theirs.until("run")["run_id"] == theirs_event["run_id"]
        send(tenant, agent_name="mine")
        assert mine.until("run")["agent_name"] == "mine"
        assert mine.until("agent") == {"agent_name": "mine"}
    assert live(other, last_id=mine.last_id).next()[0] == "reset"  # nor by its id


def test_head_and_a_client_that_ends_its_side_get_an_end(tenant):
    answer = tenant.client.request("HEAD", tenant.path("stream"))
    assert answer.status == 200 and answer.headers["Content-Type"] == "text/event-stream"
    got = tenant.server.raw(
        f"GET {tenant.path('stream')} HTTP/1.1\r\nHost: x\r\n"
        f"Authorization: Bearer {tenant.token}\r\n\r\n".encode()
    )
    assert got.startswith(b"HTTP/1.1 200") and got.endswith(b"0\r\n\r\n")


def test_a_heartbeat_comes_every_15_seconds_and_a_revoked_key_hears_no_more(own_server, clock):
    tenant = own_server.add_tenant()
    token = tenant.add_key()
    shown = json.loads(own_server.cli("key", "list", "--tenant", tenant.slug, "--json"))["keys"]
    (key,) = [k for k in shown if k["created_at"] == max(k["created_at"] for k in shown)]
    streams = [Live(tenant), Live(tenant, token=token)]
    for stream in streams:
        stream.until("ready")
    for _ in range(3):
        clock.advance(15)
        for stream in streams:
            stream.until(None)
    own_server.cli("key", "delete", key["key_id"], "--tenant", tenant.slug)
    with ThreadPoolExecutor(1) as pool:
        ended = pool.submit(streams[1].ended)  # reads to the end
        deadline = time.monotonic() + PATIENCE_S
        while not ended.done() and time.monotonic() < deadline:
            clock.advance(15)
            streams[0].until(None)  # the other one goes on
        assert ended.done()
    for stream in streams:
        stream.close()


def test_revoking_a_key_ends_the_streams_of_its_successors_at_once(own_server):
    tenant = own_server.add_tenant()
    old = tenant.add_key()
    (key_id,) = [row["key_id"] for row in stored(
        own_server, "SELECT key_id FROM keys ORDER BY created_at DESC LIMIT 1")]  # fmt: skip
    client = own_server.client(old)
    new = client.post("/api/v1/agents/refresh-key").json()["token"]
    client.close()
    streams = [Live(tenant, token=old), Live(tenant, token=new)]
    for stream in streams:
        stream.until("ready")
    own_server.cli("key", "delete", key_id, "--tenant", tenant.slug)
    for stream in streams:
        # They end before the heartbeats of 15 s go on; one of them may be due since the server's start.
        assert stream.ended().count(HEARTBEAT) <= 1
        stream.close()


def test_a_person_listens_until_the_session_ends(own_server, clock):
    tenant = own_server.add_tenant()
    person = tenant_person(tenant, "member")
    streams = [Live(tenant, cookie=person.session), Live(tenant)]
    for stream in streams:
        assert stream.until("ready") == {}
    run = send(tenant)["run_id"]
    assert streams[0].until("run")["run_id"] == run
    assert person.post("/api/v1/auth/logout").status < 300
    clock.advance(15)
    streams[1].until(None)
    while streams[0].answer.readline():
        pass  # to its end
    for stream in streams:
        stream.close()


def test_a_stop_ends_streams_whole_and_at_once(own_server):
    tenant = own_server.add_tenant()
    streams = [Live(tenant) for _ in range(20)]
    for stream in streams:
        stream.until("ready")
    own_server.stop()
    assert "done; connections closed early: 0" in own_server.log()  # as the deadline would
    for stream in streams:
        assert stream.ended() is not None  # a missing last chunk would raise
        stream.close()
    own_server.start()
    again = Live(tenant, last_id=streams[0].last_id)
    assert again.next()[0] == "reset"  # another process has other ids
    again.close()


def memory_kib(server):
    text = Path(f"/proc/{server.process.pid}/status").read_text()
    return int(text.split("VmRSS:")[1].split()[0])


def open_raw(tenant):
    connection = socket.create_connection(tenant.server.address, timeout=PATIENCE_S)
    connection.sendall(
        f"GET {tenant.path('stream')} HTTP/1.1\r\nHost: x\r\n"
        f"Authorization: Bearer {tenant.token}\r\n\r\n".encode()
    )
    return connection


def read_until(connection, text):
    got = b""
    while text not in got:
        chunk = connection.recv(65536)
        assert chunk, got
        got += chunk
    return got


def test_a_thousand_streams_cost_little_and_one_more_is_503(store, tmp_path):
    arguments = ["--max-live-streams", str(4 * MANY), "--max-connections-per-address", "0"]
    with running(store, tmp_path, arguments=arguments) as server, contextlib.ExitStack() as stack:
        tenant = server.add_tenant()
        send(tenant)
        before = memory_kib(server)
        streams = [stack.enter_context(open_raw(tenant)) for _ in range(MANY)]
        for stream in streams:
            read_until(stream, b"event: ready")
        each = (memory_kib(server) - before) / MANY
        print(f"{each:.1f} KiB for each of {MANY} idle streams")
        assert each < (64 if "asan" in str(server.binary) or "tsan" in str(server.binary) else 24)
        refused = tenant.client.get(tenant.path("stream"))
        assert refused.status == 503 and refused.headers["Retry-After"]
        event = send(tenant)
        with ThreadPoolExecutor(8) as pool:
            list(pool.map(lambda s: read_until(s, event["run_id"].encode()), streams))
        for stream in streams[:10]:
            stream.close()
        while tenant.client.request("HEAD", tenant.path("stream")).status == 503:
            send(tenant)  # a closed stream is noticed with the next message


def test_one_tenant_cannot_take_all_places(store, tmp_path):
    arguments = ["--max-live-streams", "8"]
    with running(store, tmp_path, arguments=arguments) as server, contextlib.ExitStack() as stack:
        greedy, modest = server.add_tenant(), server.add_tenant()
        for _ in range(2):
            read_until(stack.enter_context(open_raw(greedy)), b"event: ready")
        assert greedy.client.get(greedy.path("stream")).status == 503
        read_until(stack.enter_context(open_raw(modest)), b"event: ready")
