"""One caller never stops another: what the door holds is shared among callers.

Attackers connect from 127.0.0.1, the others from 127.0.0.2.
"""

import contextlib
import http.client
import json
import re
import socket
import time

import pytest
from conftest import running
from muster import ANSWER_S, BINARY, Client
from people import PASSWORD, add_user
from waiting import until

TELEMETRY, LOG_IN = "/api/v1/telemetry", "/api/v1/auth/login"
BATCHES, BUSINESS = "/api/v1/telemetry/batch", "/api/v1/telemetry/business"
OTHERS = ("127.0.0.2", 0)
KIB, MIB = 1 << 10, 1 << 20
EVENTS = 50  # of another caller
METRICS = ("--metrics-token", "who-counts-the-bodies")
IS_SANITIZED = b"__ubsan_" in BINARY.read_bytes() or b"__tsan_" in BINARY.read_bytes()


def elsewhere(server, token=None):
    """A client at another address."""
    connection = http.client.HTTPConnection(
        *server.address, timeout=ANSWER_S, source_address=OTHERS
    )
    return Client(connection, token)


def begin(server, stack, method, path, length, sent, token=None, more=""):
    """A request whose body goes on after `sent` bytes."""
    connection = stack.enter_context(socket.create_connection(server.address, timeout=ANSWER_S))
    head = f"{method} {path} HTTP/1.1\r\nHost: muster\r\nContent-Length: {length}\r\n"
    head += f"Authorization: Bearer {token}\r\n{more}" if token else more
    with contextlib.suppress(ConnectionError):  # it may be refused before it has sent all
        connection.sendall(head.encode() + b"\r\n" + b" " * sent)
    return connection


def status_of(connection):
    """Of the answer, once it is there."""
    got = b""
    with contextlib.suppress(ConnectionError):
        while b"\r\n\r\n" not in got:
            chunk = connection.recv(65536)
            if not chunk:
                break
            got += chunk
    return int(got.split()[1]) if got else 0, got


def used(tenant, kind):
    """By the tenant, as its key is told."""
    rows = tenant.client.get("/api/v1/limits").json()["budgets"]
    return next(row for row in rows if row["kind"] == kind)


def metric(server, name):
    text = server.client(METRICS[1]).get("/metrics").body.decode()
    return int(re.search(rf"^{re.escape(name)} (\d+)$", text, re.M)[1])


def held_without_key(server):
    """Bytes of bodies of all callers who have shown no key."""
    return metric(server, 'muster_budget_used{level="open",kind="body_bytes"}')


def stored(client, tenant):
    """How many of another caller's events, of 16 KB each, are accepted."""
    events = (tenant.event(message="x" * 16_000) for _ in range(EVENTS))
    answers = [client.post(TELEMETRY, event) for event in events]
    return sum(answer.status == 202 for answer in answers)


# A1: routes without a body, and those that need no key. Without a pool of their own, these bodies
# fill the room for all but for 1,152 bytes.
@pytest.mark.parametrize(
    ("method", "path", "sent"), [("GET", "/api/v1/health", 65_500), ("POST", LOG_IN, 16_000)]
)
def test_unfinished_bodies_of_callers_without_a_key_stop_nobody(store, tmp_path, method, path, sent):
    arguments = ["--log-level", "error", "--inflight-max-bytes", str(2 * MIB), *METRICS]
    with running(store, tmp_path, arguments=arguments) as server, contextlib.ExitStack() as stack:
        tenant, email = server.add_tenant(), add_user(server, "--role", "platform_admin")
        other = elsewhere(server, tenant.token)
        for _ in range(150):
            begin(server, stack, method, path, sent + 1, sent)
        assert stored(other, tenant) == EVENTS
        assert held_without_key(server) <= 64 * KIB, "an address has more than its share"
        answer = elsewhere(server).post(LOG_IN, {"email": email, "password": PASSWORD})
        assert answer.status == 200, answer.body


def test_behind_a_trusted_proxy_callers_without_a_key_have_shares_of_their_own(tmp_path):
    """The proxy passes bodies on as they come: what one of its clients parks is its own."""
    arguments = ["--log-level", "error", "--trusted-proxies", "127.0.0.1", *METRICS]
    with running("sqlite", tmp_path, arguments=arguments) as server, contextlib.ExitStack() as stack:
        for _ in range(70):
            client = "X-Forwarded-For: 192.0.2.1\r\n"
            begin(server, stack, "POST", LOG_IN, 16_000, 15_900, more=client)
        body = {"email": "a@example.com", "password": PASSWORD}
        answer = server.client().post(LOG_IN, body, headers={"X-Forwarded-For": "192.0.2.2"})
        assert answer.status == 401, answer.body
        assert 0 < held_without_key(server) <= 64 * KIB
    # and the stop has found that all addresses were let go of


def test_a_route_without_a_body_reads_one_and_keeps_nothing_of_it(tenant):
    for size in (1, MIB):
        assert tenant.client.request("GET", "/api/v1/limits", b"x" * size).status == 200
    assert tenant.client.request("GET", "/api/v1/limits", b"x" * (MIB + 1)).status == 413
    until(lambda: used(tenant, "body_bytes")["tenant_used"] == 0)  # also what made the tenant


def test_a_route_without_a_key_takes_small_bodies_only(server):
    answer = server.client().post(LOG_IN, b" " * (16 * KIB + 1))
    assert answer.status == 413 and answer.json()["limit"] == 16 * KIB


# A2: a tenant that sends far more than its share, with two keys.
def test_a_tenant_holds_its_share_and_leaves_the_rest(store, tmp_path):
    share = 8 * MIB
    arguments = ["--log-level", "error", "--inflight-max-bytes", str(3 * share)]
    with running(store, tmp_path, arguments=arguments) as server, contextlib.ExitStack() as stack:
        greedy, tenant = server.add_tenant(), server.add_tenant()
        other = elsewhere(server, tenant.token)
        large = json.dumps({"events": [tenant.event(message="x" * 1000) for _ in range(1000)]})
        assert other.post(BATCHES, large).status == 202
        tokens = (greedy.token, greedy.add_key())
        held = [
            begin(server, stack, "POST", BATCHES, MIB + 1, MIB, token)
            for token in tokens for _ in range(8)
        ]  # fmt: skip
        until(lambda: used(greedy, "body_bytes")["tenant_used"] >= MIB)
        assert used(greedy, "body_bytes")["tenant_used"] <= used(greedy, "body_bytes")["tenant_max"]
        assert used(greedy, "body_bytes")["tenant_max"] == share
        assert stored(other, tenant) == EVENTS
        assert other.post(BATCHES, large).status == 202
        refused = b"".join(answered(held))
        assert b"share of request bodies in progress is used up" in refused
        assert b"Retry-After" in refused


def answered(connections):
    """What those of the connections have that were answered."""
    for connection in connections:
        connection.setblocking(False)
        with contextlib.suppress(BlockingIOError, ConnectionError):
            yield connection.recv(65536)


# A3: a half-sent body of 10 MiB, in a service that has room for little more.
def test_a_half_sent_body_blocks_nobody_and_has_a_deadline(store, tmp_path, clock):
    arguments = ["--log-level", "error", "--inflight-max-bytes", str(8 * MIB)]
    environment = clock.environment
    with running(store, tmp_path, arguments=arguments, environment=environment) as server:
        with contextlib.ExitStack() as stack:
            slow, tenant = server.add_tenant(), server.add_tenant()
            half = begin(server, stack, "POST", BUSINESS, 10 * MIB, 5 * MIB, slow.token)
            until(lambda: used(slow, "body_bytes")["tenant_used"] == 5 * MIB)
            other = elsewhere(server, tenant.token)
            assert stored(other, tenant) == EVENTS
            report = {"agent_name": "collector", "run_id": tenant.event()["run_id"],
                      "timestamp": "2025-01-01T00:00:00Z", "metrics": {"k": 1}}  # fmt: skip
            padded = json.dumps(report) + " " * (9 * MIB)
            assert other.post(BUSINESS, padded).status == 202  # the slowest makes room
            status, got = status_of(half)
            assert status == 503 and b"too slowly" in got


@pytest.mark.parametrize(("more_s", "status"), [(0, 202), (15, 408)])
def test_a_body_has_30_seconds_and_its_size_at_64_kib_per_second(own_server, clock, more_s, status):
    """5 MiB have 110 s, however their bytes are spread."""
    tenant, size = own_server.add_tenant(), 5 * MIB
    event = json.dumps({"events": [tenant.event()]}).encode()
    sent = size - 4 - len(event)
    with contextlib.ExitStack() as stack:
        slow = begin(own_server, stack, "POST", BATCHES, size, sent, tenant.token)
        until(lambda: used(tenant, "body_bytes")["tenant_used"] == sent)
        for more in range(1, 5):
            clock.advance(25 if more_s else 20)  # the rest is for a busy machine
            slow.sendall(b" ")
            until(lambda n=more: used(tenant, "body_bytes")["tenant_used"] == sent + n)
        clock.advance(more_s)
        if more_s == 0:
            slow.sendall(event)
        slow.settimeout(25)  # or it would time out without progress
        assert status_of(slow)[0] == status


# A4 and F13: replies that nobody reads, and one that is read slowly.
def long_list(tenant, mib):
    """The path of a list of runs of about this size."""
    for _ in range(mib):
        events = [
            tenant.event(event="failed", error_message="x" * 16_000) for _ in range(66)
        ]
        assert tenant.client.post(BATCHES, {"events": events}).status == 202
    return tenant.path("dashboard/runs?limit=1000")


def ask(server, stack, path, token, room=None):
    """A request on a connection whose answer nobody has read yet."""
    connection = stack.enter_context(socket.socket())
    connection.settimeout(ANSWER_S)
    if room:
        connection.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, room)
    connection.connect(server.address)
    head = f"GET {path} HTTP/1.1\r\nHost: muster\r\nAuthorization: Bearer {token}\r\n\r\n"
    connection.sendall(head.encode())
    return connection


def refusal(tenant, path, words):
    """The answer, if it is a 503 that says so; reads that wait may be refused first."""
    answer = tenant.client.get(path)
    return answer if answer.status == 503 and words in answer.body else None


def rss(server):
    with open(f"/proc/{server.process.pid}/status") as file:
        return next(int(line.split()[1]) << 10 for line in file if line.startswith("VmHWM"))


def test_replies_that_nobody_reads_are_counted_and_reads_refused(store, tmp_path):
    arguments = ["--log-level", "error"]
    with running(store, tmp_path, arguments=arguments) as server, contextlib.ExitStack() as stack:
        greedy, other = server.add_tenant(), server.add_tenant()
        path = long_list(greedy, 8)
        for _ in range(1000):
            ask(server, stack, path, greedy.token, room=4096)
        refused = until(lambda: refusal(greedy, path, b"replies that were not read yet"))
        assert refused.headers["Retry-After"]
        held = used(greedy, "reply_bytes")
        assert 16 * MIB < held["tenant_used"] <= held["key_max"] < held["tenant_max"]
        client = elsewhere(server, other.token)
        assert stored(client, other) == EVENTS
        assert client.get(other.path("dashboard/runs")).status == 200
        if not IS_SANITIZED:
            assert rss(server) <= 256 * MIB, rss(server) / MIB


def test_a_client_that_reads_28_kib_per_second_gets_all_of_it(tmp_path, clock):
    with running("sqlite", tmp_path, environment=clock.environment) as server:
        tenant = server.add_tenant()
        path = long_list(tenant, 8)
        with contextlib.ExitStack() as stack:
            slow = ask(server, stack, path, tenant.token, room=64 * KIB)
            got = 0
            for step in range(1, 6):
                while got < step * 840 * KIB:
                    got += len(slow.recv(step * 840 * KIB - got))
                time.sleep(0.1)  # for the acknowledgement
                clock.advance(30)
                time.sleep(0.6)  # a loop looks at its clients twice a second
            while got < 8 * MIB and (chunk := slow.recv(MIB)):
                got += len(chunk)
            assert got >= 8 * MIB


# A12: one address has so many connections; a trusted proxy, and a setting of 0, any number.
@pytest.mark.parametrize(
    ("arguments", "open_ones"),
    [
        (["--max-connections-per-address", "20"], 20),
        (["--max-connections-per-address", "0"], 30),
        (["--max-connections-per-address", "20", "--trusted-proxies", "10.0.0.1,127.0.0.1"], 30),
    ],
)
def test_an_address_has_a_share_of_the_connections(store, tmp_path, arguments, open_ones):
    with running(store, tmp_path, arguments=arguments) as server, contextlib.ExitStack() as stack:
        request = b"GET /api/v1/health HTTP/1.1\r\nHost: muster\r\n\r\n"
        statuses = []
        for _ in range(30):
            connection = stack.enter_context(
                socket.create_connection(server.address, timeout=ANSWER_S)
            )
            with contextlib.suppress(ConnectionError):
                connection.sendall(request)
            statuses.append(status_of(connection)[0])
        assert statuses == [200] * open_ones + [503] * (30 - open_ones)
        assert elsewhere(server).get("/api/v1/health").status == 200


def test_what_an_address_sends_ahead_is_bounded(tmp_path):
    """Live streams, whose requests never end, and 64 KiB behind each of 30 of them."""
    kept = 'muster_budget_used{level="open",kind="pipelined_bytes"}'
    refused = 'muster_budget_refused_total{level="address",kind="pipelined_bytes"}'
    with running("sqlite", tmp_path, arguments=METRICS) as server, contextlib.ExitStack() as stack:
        tenant = server.add_tenant()
        head = f"GET {tenant.path('stream')} HTTP/1.1\r\nHost: x\r\nAuthorization: Bearer "
        for _ in range(30):
            connection = socket.create_connection(server.address, timeout=ANSWER_S)
            stack.enter_context(connection).sendall(f"{head}{tenant.token}\r\n\r\n".encode())
            assert status_of(connection)[0] == 200
            connection.sendall(b"x" * 64 * KIB)
        until(lambda: metric(server, refused) > 0)
        assert 0 < metric(server, kept) <= MIB
        assert tenant.client.post(TELEMETRY, tenant.event()).status == 202
    # and the stop has found that all of it was given back
