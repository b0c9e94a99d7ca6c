"""Exports: all of a time range as NDJSON or CSV, streamed, of one tenant only."""

import csv
import io
import json
import re
import socket
import uuid
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest
from conftest import running
from people import tenant_person
from runs import report as batch
from waiting import until

pytestmark = pytest.mark.administered

UNREAD_S, TRIES = 30, 3
KINDS = ("events", "business", "llm")
TYPES = {"ndjson": "application/x-ndjson", "csv": "text/csv; charset=utf-8"}
FORMULAS = ["=1+1", "+1", "-1", "@sum", "\tx", "\rx"]
NASTY = ['a "quoted", text', "two\r\nlines", "é\U0001f600", ""]


def export(tenant, kind, **query):
    """As a client would: an export that a busy machine could not begin is asked for again."""
    query = {"time_range": "all", **query}
    path = tenant.path(f"export/{kind}?" + "&".join(f"{k}={v}" for k, v in query.items()))

    def ask():
        answer = tenant.client.get(path)
        return None if answer.status == 503 else answer

    answer = until(ask)
    assert answer.status == 200, answer.body
    return answer


def lines(tenant, kind, **query):
    return [json.loads(line) for line in export(tenant, kind, **query).body.splitlines()]


def cells(answer):
    return list(csv.DictReader(io.StringIO(answer.body.decode(), newline="")))


def a_business_report(tenant, **fields):
    return {
        "agent_name": "seller",
        "run_id": str(uuid.uuid4()),
        "timestamp": "2025-01-02T03:04:05Z",
        "metrics": {"sales": 12, "rate": 0.5, "note": "=fine"},
        "breakdowns": [{"metric": "sales", "by": "shop", "slices": {"north": 5, "south": 7}}],
        **fields,
    }


def a_usage(tenant, **fields):
    return {
        "agent_name": "writer",
        "run_id": str(uuid.uuid4()),
        "timestamp": "2025-01-02T03:04:05Z",
        "model": "large-1",
        "input_tokens": 5,
        "calls": 1,
        **fields,
    }


def test_events_are_exported_as_in_the_narrative_in_order_of_arrival(tenant):
    run = str(uuid.uuid4())
    sent = [
        tenant.event(run_id=run, seq=3, event="completed", output={"a": [1, None]}),
        tenant.event(run_id=run, seq=1, metadata={"k": "v"}, links=["http://x"]),
        tenant.event(agent_name="other", metrics={"n": 1.5}, timestamp="2025-01-01T00:00:00Z"),
    ]
    batch(tenant, sent)
    told = lines(tenant, "events")
    assert [e["event_id"] for e in told] == [e["event_id"] for e in sent]
    narrative = tenant.client.get(tenant.path(f"runs/{run}/events")).json()["events"]
    assert sorted(told[:2], key=lambda e: e["seq"]) == narrative
    assert told[2]["agent_name"] == "other" and told[2]["client_id"] == tenant.slug


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("format", TYPES)
@pytest.mark.same_threads
def test_an_export_says_what_it_is(tenant, kind, format):
    answer = export(tenant, kind, format=format)
    assert answer.headers["Content-Type"] == TYPES[format]
    shown = answer.headers["Content-Disposition"]
    assert shown.startswith(f'attachment; filename="{tenant.slug}-{kind}-')
    assert shown.endswith(f'.{format}"')
    assert answer.headers["Transfer-Encoding"] == "chunked"
    assert len(answer.body.splitlines()) == (1 if format == "csv" else 0)  # nothing was reported
    again = tenant.client.request("HEAD", tenant.path(f"export/{kind}?format={format}"))
    assert again.status == 200 and again.headers["Content-Type"] == TYPES[format]


@pytest.mark.same_threads
def test_csv_has_the_cells_of_ndjson_and_no_formula(tenant):
    sent = [
        tenant.event(message=text, category=text[:200], seq=-5, output={"k": "a,b"})
        for text in FORMULAS + NASTY
    ]
    batch(tenant, sent)
    told, table = lines(tenant, "events"), cells(export(tenant, "events", format="csv"))
    assert list(table[0]) == list(told[0])
    for line, row, text in zip(told, table, FORMULAS + NASTY, strict=True):
        assert line["message"] == text
        assert row["message"] == ("'" + text if text in FORMULAS else text)
        assert row["seq"] == "-5"  # a number is not a formula
        assert json.loads(row["output"]) == line["output"] and row["duration_ms"] == ""
        assert row["timestamp"] == line["timestamp"] and row["event"] == "started"


@pytest.mark.same_threads
def test_business_has_a_line_for_each_value_and_each_cell(tenant):
    report = a_business_report(tenant)
    assert tenant.client.post("/api/v1/telemetry/business", report).status == 202
    told = lines(tenant, "business")
    assert [(e["kind"], e["key"], e["dimensions"], e["value"]) for e in told] == [
        ("value", "note", None, "=fine"),
        ("value", "rate", None, 0.5),
        ("value", "sales", None, 12),
        ("breakdown", "sales", {"shop": "north"}, 5),
        ("breakdown", "sales", {"shop": "south"}, 7),
    ]
    assert {(e["agent_name"], e["run_id"]) for e in told} == {("seller", report["run_id"])}
    table = cells(export(tenant, "business", format="csv"))
    assert [row["value"] for row in table] == ["'=fine", "0.5", "12", "5.0", "7.0"]
    assert json.loads(table[3]["dimensions"]) == {"shop": "north"}


def test_usage_comes_by_time_over_many_pages(tenant):
    stamps = [f"2025-01-01T{n // 60:02}:{n % 60:02}:00Z" for n in range(40)]
    for stamp in reversed(stamps):
        for model in ("b", "a", "B"):
            report = a_usage(tenant, timestamp=stamp, model=model, run_id=str(uuid.UUID(int=7)))
            assert tenant.client.post("/api/v1/telemetry/llm", report).status == 202
    told = lines(tenant, "llm")
    assert [(e["timestamp"], e["model"]) for e in told] == [
        (stamp, model) for stamp in stamps for model in ("B", "a", "b")
    ]
    assert told[0]["input_tokens"] == 5 and told[0]["output_tokens"] == 0


RANGES = {
    "2025-01-01T00:00:00Z/2025-01-03T00:00:00Z": 2,
    "2025-01-02T00:00:00Z/2025-01-02T00:00:00.000001Z": 1,
    "2025-01-01T00:00:00Z/2025-01-02T00:00:00Z": 1,
    "all": 3,
    "30d": 0,
}


@pytest.mark.same_threads
def test_a_range_includes_its_beginning_and_not_its_end(tenant):
    stamps = ["2025-01-01T12:00:00Z", "2025-01-02T00:00:00Z", "2025-01-03T00:00:00Z"]
    batch(tenant, [tenant.event(timestamp=stamp) for stamp in stamps])
    for stamp in stamps:
        report = a_business_report(tenant, timestamp=stamp, metrics={"k": 1}, breakdowns=[])
        assert tenant.client.post("/api/v1/telemetry/business", report).status == 202
        assert (
            tenant.client.post(
                "/api/v1/telemetry/llm", a_usage(tenant, timestamp=stamp)
            ).status
            == 202
        )
    for kind in KINDS:
        for time_range, n in RANGES.items():
            assert len(lines(tenant, kind, time_range=time_range)) == n, (kind, time_range)


BAD = ["format=xml", "time_range=soon", "time_range=2025-01-02T00:00:00Z/2025-01-01T00:00:00Z"]


@pytest.mark.parametrize("query", BAD)
@pytest.mark.same_threads
def test_a_bad_query_is_422(tenant, query):
    for kind in KINDS:
        assert tenant.client.get(tenant.path(f"export/{kind}?{query}")).status == 422


@pytest.mark.same_threads
def test_nothing_of_another_tenant_is_exported(server, tenant):
    other = server.add_tenant()
    for one, name in ((tenant, "mine"), (other, "theirs")):
        batch(one, [one.event(agent_name=name) for _ in range(20)])
        for path, report in (
            ("business", a_business_report(one, agent_name=name)),
            ("llm", a_usage(one, agent_name=name)),
        ):
            assert one.client.post(f"/api/v1/telemetry/{path}", report).status == 202
    for kind in KINDS:
        assert {e["agent_name"] for e in lines(tenant, kind)} == {"mine"}
        assert other.client.get(tenant.path(f"export/{kind}")).status == 403
        assert tenant.agent_client("mine").get(tenant.path(f"export/{kind}")).status == 403


def test_many_events_come_whole_and_once(tenant):
    sent = [tenant.event(message="x" * (n % 700)) for n in range(5000)]
    batch(tenant, sent)
    assert [e["event_id"] for e in lines(tenant, "events")] == [e["event_id"] for e in sent]


@pytest.mark.same_threads
def test_long_rows_come_whole(tenant):
    for n in range(6):
        answer = tenant.client.post(
            "/api/v1/telemetry", tenant.event(seq=n, output={"blob": "y" * 900_000})
        )
        assert answer.status == 202
    slices = {f"shop {n} " + "z" * 200: n for n in range(1000)}
    for n in range(3):
        report = a_business_report(
            tenant, breakdowns=[{"metric": f"m{n}", "by": "shop", "slices": slices}]
        )
        assert tenant.client.post("/api/v1/telemetry/business", report).status == 202
    told = lines(tenant, "events")
    assert [(e["seq"], len(e["output"]["blob"])) for e in told] == [
        (n, 900_000) for n in range(6)
    ]
    assert sum(e["kind"] == "breakdown" for e in lines(tenant, "business")) == 3000


def open_export(tenant, kind="events", sign=None):
    """An export whose client reads nothing but the head."""
    connection = socket.socket()
    connection.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 65536)  # it waits the sooner
    connection.settimeout(120)
    connection.connect(tenant.server.address)
    path = tenant.path(f"export/{kind}?time_range=all")
    sign = sign or f"Authorization: Bearer {tenant.token}"
    connection.sendall(f"GET {path} HTTP/1.1\r\nHost: x\r\n{sign}\r\n\r\n".encode())
    assert connection.recv(12) == b"HTTP/1.1 200"
    return connection


def is_cut_short(connection):
    """Reads the rest: does the last chunk lack?"""
    rest = b""
    try:
        while chunk := connection.recv(1 << 20):
            rest = (rest + chunk)[-5:]
    except ConnectionError:
        pass
    connection.close()
    return rest != b"0\r\n\r\n"


def unread(tenant):
    """Bytes of the tenant's replies that wait for their clients."""
    budgets = tenant.client.get("/api/v1/limits").json()["budgets"]
    return next(row["tenant_used"] for row in budgets if row["kind"] == "reply_bytes")


def test_a_long_breakdown_comes_whole_and_holds_little_while_nobody_reads_it(tenant):
    """One row of the database, 16 MiB of lines: what waits would count for all tenants."""
    slices = {f"s{n:03}": n for n in range(1000)}
    long = {"metric": "m", "by": "d" * 16_384, "slices": slices}
    for row in long, {**long, "metric": "n", "by": "e"}:
        report = a_business_report(tenant, metrics={}, breakdowns=[row])
        assert tenant.client.post("/api/v1/telemetry/business", report).status == 202
    slow = open_export(tenant, "business")
    assert until(lambda: unread(tenant)) < 1 << 20
    slow.close()
    until(lambda: runs(tenant))
    for told in lines(tenant, "business"), cells(export(tenant, "business", format="csv")):
        assert [(e["key"], float(e["value"])) for e in told] == [
            (key, n) for key in "mn" for n in range(1000)
        ]


def megabytes_unread():
    """More than the system takes from a server whose client reads nothing, and the server holds."""
    sent_most = int(Path("/proc/sys/net/ipv4/tcp_wmem").read_text().split()[2])
    return (sent_most >> 20) + 3


def fill(tenant):
    for _ in range(megabytes_unread()):
        batch(tenant, [tenant.event(message="m" * 16000) for _ in range(64)])
    return tenant


@pytest.fixture(scope="module")
def full(store, tmp_path_factory):
    """A server that three tenants may export from at once, and four of them whose exports wait until
    somebody reads. The last one is for those whose exports are cut."""
    folder = tmp_path_factory.mktemp("full")
    with running(store, folder, administered=True, arguments=["--max-exports", "3"]) as server:
        yield server, [fill(server.add_tenant()) for _ in range(4)]


def runs(tenant):
    """Can the tenant start another export now?"""
    return tenant.client.get(tenant.path("export/llm")).status == 200


def test_a_tenant_has_its_share_of_exports_and_leaves_the_others_theirs(full):
    _, tenants = full
    slow = [open_export(tenants[0])]
    refused = tenants[0].client.get(tenants[0].path("export/llm"))
    assert refused.status == 503 and 1 <= int(refused.headers["Retry-After"]) <= 5
    assert tenants[0].client.post("/api/v1/telemetry", tenants[0].event()).status == 202
    assert tenants[0].client.get(tenants[0].path("dashboard/runs?limit=1")).status == 200
    assert runs(tenants[3])
    slow += [open_export(tenant) for tenant in tenants[1:3]]
    assert not runs(tenants[3])  # three of three
    slow[1].close()  # a client that leaves makes room
    until(lambda: runs(tenants[3]))
    slow[0].close()  # on a busy machine it was cut, which happens after 30 seconds unread
    until(lambda: runs(tenants[0]))
    slow[0] = open_export(tenants[0])
    assert not runs(tenants[0])
    slow[0].close()
    slow[2].close()
    until(lambda: all(map(runs, tenants)))


def first_that_ends_early(server, tenant, tries, end):
    """Ends what an export needs, by `end()`. An export that nobody reads is cut after 30 seconds in any
    case; a busy machine may need as long for `end()`, so it is tried again with the next of `tries`."""

    def took_us():
        said = server.stderr.read_text()  # all of it
        return re.findall(rf"{tenant.slug}/export/events status=200 .* us=(\d+)", said)

    for n, sign in enumerate(tries, start=len(took_us())):
        connection = open_export(tenant, sign=sign)
        assert not runs(tenant)
        end()
        until(lambda: runs(tenant))
        assert is_cut_short(connection)
        until(lambda n=n: len(took_us()) > n)
        if int(took_us()[n]) < UNREAD_S * 1_000_000:
            return
    raise AssertionError(f"exports go on until they are cut: {took_us()}")


def test_a_revoked_key_ends_its_export(full):
    server, (*_, tenant) = full

    def keys():
        rows = json.loads(server.cli("key", "list", "--tenant", tenant.slug, "--json"))["keys"]
        return {row["key_id"] for row in rows}

    known = keys()

    def signs():
        for _ in range(TRIES):
            yield f"Authorization: Bearer {tenant.add_key()}"

    def revoke():
        (added,) = keys() - known
        known.add(added)
        server.cli("key", "delete", added, "--tenant", tenant.slug)

    first_that_ends_early(server, tenant, signs(), revoke)


def test_an_ended_session_ends_its_export(full):
    server, (*_, tenant) = full
    people = []

    def signs():
        for _ in range(TRIES):
            people.append(tenant_person(tenant, "member"))
            yield f"Cookie: {people[-1].session}"

    def log_out():
        assert people[-1].post("/api/v1/auth/logout").status < 300

    first_that_ends_early(server, tenant, signs(), log_out)


@pytest.mark.same_threads
def test_one_run_is_exported_in_order_of_arrival_whatever_else_there_is(tenant):
    run = str(uuid.uuid4())
    sent = []
    for n in range(3):
        mine = [tenant.event(run_id=run, seq=-n, message="x" * 5000) for _ in range(400)]
        batch(tenant, [e for one in mine for e in (one, tenant.event())])
        sent += mine
    told = lines(tenant, "events", run_id=run)
    assert [e["event_id"] for e in told] == [e["event_id"] for e in sent]
    del told
    path = f"export/events?run_id={run}"  # of all times unless a range is given
    assert len(tenant.client.get(tenant.path(path)).body.splitlines()) == 1200
    assert tenant.client.get(tenant.path(path + "&time_range=7d")).body == b""
    assert tenant.client.get(tenant.path(f"export/events?run_id={uuid.uuid4()}")).status == 404
    assert tenant.client.get(tenant.path("export/events?run_id=x")).status == 422
    said = tenant.server.cli("export", "events", "--tenant", tenant.slug, "--run", run)
    assert len(said.splitlines()) == 1200


@pytest.mark.same_threads
def test_many_values_of_one_run_come_whole_and_in_order(tenant):
    """More than a step has: it goes on within the run."""
    run, keys = str(uuid.uuid4()), []
    for n in range(12):
        metrics = {f"k{n}-{i:02}": "v" * 3000 for i in range(100)}
        slices = {f"s{i:03}": i for i in range(900)}
        report = a_business_report(tenant, run_id=run, metrics=metrics,
                                   breakdowns=[{"metric": f"m{n:02}", "by": "d" * 300,
                                                "slices": slices}])  # fmt: skip
        keys += metrics
        assert tenant.client.post("/api/v1/telemetry/business", report).status == 202
    told = lines(tenant, "business")
    assert [e["key"] for e in told if e["kind"] == "value"] == sorted(keys)
    cells = [(e["key"], e["value"]) for e in told if e["kind"] == "breakdown"]
    assert cells == [(f"m{n:02}", i) for n in range(12) for i in range(900)]


def test_a_stop_cuts_an_export_that_nobody_reads_and_the_client_notices(full):
    server, tenants = full
    connection = open_export(tenants[-1])
    with ThreadPoolExecutor() as pool:
        stopped = pool.submit(server.stop)
        stopped.result()  # exit status 0, in time
    assert is_cut_short(connection)
    server.start()
    for tenant in tenants:
        tenant.client = server.client(tenant.token)


@pytest.mark.same_threads
def test_a_client_of_http_1_0_gets_plain_lines(tenant):
    batch(tenant, [tenant.event() for _ in range(3)])
    path = tenant.path("export/events?time_range=all")
    got = tenant.server.raw(
        f"GET {path} HTTP/1.0\r\nAuthorization: Bearer {tenant.token}\r\n\r\n".encode()
    )
    head, body = got.split(b"\r\n\r\n", 1)
    assert b"chunked" not in head
    assert len([json.loads(line) for line in body.splitlines()]) == 3


@pytest.mark.same_threads
def test_the_command_writes_what_the_api_sends(server, tenant, tmp_path):
    batch(tenant, [tenant.event(message="m" * 3000) for _ in range(300)])
    said = server.cli("export", "events", "--tenant", tenant.slug, "--range", "all")
    assert said.encode() == export(tenant, "events").body
    target = tmp_path / "out.csv"
    server.cli("export", "events", "--tenant", tenant.slug, "--range", "all",
               "--format", "csv", "--output", str(target))  # fmt: skip
    assert target.read_bytes() == export(tenant, "events", format="csv").body
    for words, status in (
        (("--tenant", "nobody-here"), 1),
        ((), 2),
        (("--tenant", tenant.slug, "--format", "xml"), 1),
        (("--tenant", tenant.slug, "--output", str(tmp_path)), 1),
    ):
        done = server.run("export", "llm", *words)
        assert (done.returncode, done.stdout) == (status, "") and done.stderr


@pytest.mark.same_threads
def test_the_command_exports_without_a_server(store, tmp_path):
    with running(store, tmp_path) as server:
        tenant = server.add_tenant()
        batch(tenant, [tenant.event(message="m" * 3000) for _ in range(300)])
        body = export(tenant, "events").body
        server.stop()
        said = server.cli("export", "events", "--tenant", tenant.slug, "--range", "all")
        assert said.encode() == body
        server.start()
