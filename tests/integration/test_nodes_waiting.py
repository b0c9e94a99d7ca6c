"""A PostgreSQL that hangs, or commits nothing: everyone is answered within the limit."""

import json
import os
import signal
import threading
import time
import uuid
from contextlib import closing, contextmanager, suppress
from pathlib import Path

import pytest
from conftest import running
from nodes import in_threads, more_servers
from people import PASSWORD, Person, add_user, post_log_in
from postgres import Session, is_distributed, lock_waits, place_of, run_sql, servers_of
from stored import stored
from test_access import AGENT, BODIES, OTHER_VALUES, QUERIES, ROWS, VALUES
from waiting import until

LIMIT_S = 10  # from when the server has the request to when it has answered it
IMPATIENT = {"MUSTER_LOG_FORMAT": "json", "PGCONNECT_TIMEOUT": "2"}  # as users run it: other tests wait longer
LEAST_S = 4  # what a database that is slow has at least
SEEN_S = 30  # in which each node must see what it sees in 8 s: a busy machine is late
TRIES = 3  # a busy machine is late now and then: the best of them counts, for each kind of request
NO_DATABASE = "/openapi.json"


@pytest.fixture(name="node", scope="module")
def one_node(store, tmp_path_factory):
    if store != "postgres":
        pytest.skip("the embedded store waits for no one")
    with running(store, tmp_path_factory.mktemp("node"), environment=IMPATIENT) as server:
        yield server


def parent(pid):
    status = Path(f"/proc/{pid}/status").read_text(encoding="utf-8")
    return int(status.split("PPid:")[1].split()[0])


def processes(url):
    """Those of a PostgreSQL server."""
    asked = "SELECT pid FROM pg_stat_activity WHERE backend_type = 'checkpointer'"
    master = parent(run_sql(url, asked)[0][0])
    found = [master]
    for folder in Path("/proc").iterdir():
        try:
            if folder.name.isdigit() and parent(folder.name) == master:
                found.append(int(folder.name))
        except OSError:
            continue  # it has ended meanwhile
    return found


@contextmanager
def stopped(urls):
    """All of these servers."""

    def send(number):
        for pid in pids:
            with suppress(ProcessLookupError):  # it has ended meanwhile
                os.kill(pid, number)

    pids = [pid for url in urls for pid in processes(url)]
    try:
        send(signal.SIGSTOP)
        yield
    finally:
        send(signal.SIGCONT)


def sql(node, statement):
    """On each server of its database."""
    for url in servers_of(node.database):
        run_sql(url, statement)


@contextmanager
def without_commits(node):
    """No commit returns: it waits for a standby that is not there."""
    sql(node, "ALTER SYSTEM SET synchronous_standby_names = 'absent'")
    sql(node, "SELECT pg_reload_conf()")
    try:
        yield
    finally:
        sql(node, "ALTER SYSTEM RESET synchronous_standby_names")
        sql(node, "SELECT pg_reload_conf()")


def log_size(node):
    return node.stderr.stat().st_size


def seconds_of(node, since, answers):
    """What the server says it took for each of these answers, in its log from this byte on."""
    wanted, found = {answer.headers["X-Request-Id"] for answer in answers}, {}

    def look():
        with node.stderr.open("rb") as log:
            log.seek(since)
            for line in log.read().split(b"\n")[:-1]:  # the last may still be written
                row = json.loads(line)
                if row.get("request_id") in wanted and "us" in row:
                    found[row["request_id"]] = int(row["us"]) / 1e6
        return wanted <= set(found)

    until(look)  # a line is written after its answer
    return found


def answered(node, requests):
    """The status and seconds of each of these, by its kind, all sent at once. The seconds are what the
    server says it took, less what the slowest of some took meanwhile that need no database."""
    seen, control, ends, before = [], [], threading.Event(), log_size(node)

    def ask(kind, request):
        seen.append((kind, request()))

    def ask_control():
        while not ends.wait(0.05):
            control.append(node.client().get(NO_DATABASE))
            assert control[-1].status == 200

    beside = threading.Thread(target=ask_control)
    beside.start()
    try:
        in_threads([lambda r=r: ask(*r) for r in requests])
    finally:
        ends.set()
        beside.join()
    took = seconds_of(node, before, [answer for _, answer in seen] + control)
    busy = max((took[answer.headers["X-Request-Id"]] for answer in control), default=0)
    return [(kind, answer.status, took[answer.headers["X-Request-Id"]] - busy) for kind, answer in seen]


def too_late(tries):
    """What was not answered in time in any of these tries: kind and seconds of the best."""
    kinds = {kind for seen in tries for kind, _, _ in seen}
    soonest = {kind: min(max(s for k, _, s in seen if k == kind) for seen in tries) for kind in kinds}
    print({kind: f"{s:.2f}" for kind, s in sorted(soonest.items(), key=lambda one: -one[1])})
    return {kind: s for kind, s in soonest.items() if s >= LIMIT_S}


def are_in_time(attempt):
    """Each kind of request of an attempt, in the best of a few. It answers what requests met, in lists of
    which each is held to the limit by itself."""
    tries = []
    while not tries or any(map(too_late, zip(*tries))):
        assert len(tries) < TRIES, [too_late(one) for one in zip(*tries)]
        tries.append(attempt())


def health(node):
    return node.client().get("/api/v1/health").status


def report(node, tenant):
    return node.client(tenant.token).post("/api/v1/telemetry", tenant.event()).status


def becomes_well(node, tenant):
    until(lambda: health(node) == 200)
    until(lambda: report(node, tenant) == 202)


def connections(node):
    """That the node has to its database."""
    asked = "SELECT count(*) AS n FROM pg_stat_activity" \
        " WHERE datname = current_database() AND application_name = 'muster'"  # fmt: skip
    return stored(node, asked)[0]["n"]


def test_a_node_has_as_many_connections_as_it_reads_at_once(node):
    """Two writers, the watcher, the courier and the listener; what it evaluates by itself may read
    beside a request. With one for each of the readers and the hasher it would have ten."""
    until(lambda: 5 <= connections(node) <= 6)  # those of commands end a moment after them
    tenant = node.add_tenant()
    for _ in range(10):
        assert node.client(tenant.token).get(tenant.path("dashboard/runs")).status == 200
    until(lambda: 6 <= connections(node) <= 7)


def every_kind(node, tenant, admin):
    """A request of each kind: (what it is, how it is sent)."""
    agent = tenant.add_key("collector")

    def of(client, *request):
        return lambda: client().request(*request)

    def key():
        return node.client(tenant.token)

    def person():
        return Person(node.client().connection, node.recorder, admin)

    sign_in = {"email": admin.json()["email"], "password": PASSWORD}
    kpis = {"agent_name": "collector", "run_id": str(uuid.uuid4()), "metrics": {"tickets": 1},
            "timestamp": "2025-01-02T03:04:05Z"}  # fmt: skip
    reads = ["dashboard/runs", "dashboard/totals", "agents", "agents/collector", "alerts", "llm/usage",
             "business/summary", "keys", "webhooks", "retention"]  # fmt: skip
    return [
        ("report", of(key, "POST", "/api/v1/telemetry", tenant.event())),
        ("batch", of(key, "POST", "/api/v1/telemetry/batch", {"events": [tenant.event()]})),
        ("KPIs", of(key, "POST", "/api/v1/telemetry/business", kpis)),
        ("runs", of(key, "GET", tenant.path("dashboard/runs"))),
        ("config", of(lambda: node.client(agent), "GET", "/api/v1/agents/config?agent_name=collector")),
        ("sign-in", of(node.client, "POST", "/api/v1/auth/login", sign_in)),
        ("export", of(key, "GET", tenant.path("export/events"))),
        ("plan", of(person, "PATCH", f"/api/v1/tenants/{tenant.slug}", {"max_agents": 7})),
        ("new key", of(person, "POST", tenant.path("keys"), {})),
        *[(f"page: {read}", of(person, "GET", tenant.path(read))) for read in reads],
    ]


@pytest.fixture(name="admin", scope="module")
def administrator(node):
    """The answer to their sign-in."""
    return post_log_in(node, add_user(node, "--role", "platform_admin"))


def hang(node, urls, requests, sick):
    """What each of these requests is answered while these servers hang: first, and when their connections
    were given up. Health is 503 then."""
    with stopped(urls):
        seen = [answered(node, requests * 2) for _ in range(2)]
        until(lambda: health(node) == sick)
    until(lambda: health(node) == 200)
    until(lambda: requests[0][1]().status == 202)
    assert {status for one in seen for _, status, _ in one} == {503}
    return seen


def test_a_database_that_hangs_keeps_no_request_waiting(node, admin):
    tenant = node.add_tenant()
    assert report(node, tenant) == 202
    requests = every_kind(node, tenant, admin)
    for kind, request in requests:
        assert request().status in (200, 201, 202), kind
    are_in_time(lambda: hang(node, servers_of(node.database), requests, 503))


def caller_of(node, level, keys, admin):
    """Who may ask for an operation of this level."""
    if level == "open":
        return node.client()
    if level in ("own_agent", "report", "register", "pull"):
        return node.client(keys["agent"])
    if level in ("key", "sign", "ask"):
        return node.client(keys["workspace"])
    return Person(node.client().connection, node.recorder, admin)


def every_operation(node, admin):
    """A request of each, of those whose answer has an end: (what it is, how it is sent)."""
    tenant = node.add_tenant()
    keys = {"agent": tenant.add_key(AGENT), "workspace": tenant.token}
    for token in keys.values():
        assert node.client(token).get("/api/v1/limits").status == 200

    def ask(level, method, path):
        operation = f"{method} {path}"
        values = {**VALUES, **OTHER_VALUES.get(operation, {}), "slug": tenant.slug}
        target = path.format(**values) + (f"?{QUERIES[operation]}" if operation in QUERIES else "")
        body = json.dumps(BODIES.get(operation)).replace('"client_id": ""', f'"client_id": "{tenant.slug}"')
        return caller_of(node, level, keys, admin).request(method, target, json.loads(body))

    return [(f"{method} {path}", lambda row=(level, method, path): ask(*row))
            for level, method, path in ROWS if not path.endswith("/stream")]  # fmt: skip


def test_a_database_that_hangs_keeps_no_operation_waiting(node):
    """All at once: some find no room in a queue and are 503 at once, the others fill them. Some need no
    database, and some find a mistake before they need it."""

    def attempt():
        requests = every_operation(node, post_log_in(node, add_user(node, "--role", "platform_admin")))
        with stopped(servers_of(node.database)):
            seen = answered(node, requests)
        until(lambda: health(node) == 200)
        assert {status for _, status, _ in seen if status >= 500} == {503}
        waited = {kind for kind, status, s in seen if status == 503 and s > 1}
        assert len(waited) > 100, waited
        return [seen]

    are_in_time(attempt)


def is_waited_for(node, lock, request, wanted):
    """Does a request get what it wants that waits for most of the time for a lock?"""
    seen = []
    with closing(Session(node.database)) as holder:
        holder.run("BEGIN")
        holder.run(lock)

        def ask():
            seen.append(request().status)

        def let_go():
            began = time.monotonic()
            until(lambda: lock_waits(node.database) or seen)
            time.sleep(max(0, began + LEAST_S - time.monotonic()))  # what the test is about is time
            holder.run("COMMIT")

        in_threads([ask, let_go])
    return seen == [wanted]


def test_a_database_that_is_slow_has_nearly_all_of_the_time(node):
    tenant = node.add_tenant()
    run = tenant.event(agent_name="slow")
    assert node.client(tenant.token).post("/api/v1/telemetry", run).status == 202
    (row,) = stored(node, f"SELECT tenant_id FROM tenants WHERE slug = '{tenant.slug}'")

    def send():
        event = tenant.event(agent_name="slow", run_id=run["run_id"], event="in_progress")
        return node.client(tenant.token).post("/api/v1/telemetry", event)

    def read():
        return node.client(tenant.token).get(tenant.path("alerts"))

    held = f"UPDATE runs SET event_count = event_count WHERE tenant_id = {row['tenant_id']}"
    locked = "LOCK TABLE alerts IN ACCESS EXCLUSIVE MODE"
    for lock, request, wanted in ((held, send, 202), (locked, read, 200)):
        assert any(is_waited_for(node, lock, request, wanted) for _ in range(TRIES)), lock


def tenants_everywhere(node):
    """Tenants, one on each server that has rows of some."""
    found = {}
    while len(found) < max(1, len(servers_of(node.database)) - 1):
        tenant = node.add_tenant()
        (row,) = stored(node, f"SELECT tenant_id FROM tenants WHERE slug = '{tenant.slug}'")
        found.setdefault(place_of(node.database, "events", row["tenant_id"])[0], tenant)
    return list(found.values())


def test_workers_that_hang_keep_no_request_waiting(node, admin):
    """Those of Citus. The coordinator answers: nobody waits longer for what it asks of them. Each has a
    tenant that reports: so it is known that no report can be stored."""
    if not is_distributed():
        pytest.skip("one server has everything")
    first, *others = tenants_everywhere(node)
    requests = every_kind(node, first, admin)
    for tenant in others:
        requests += [one for one in every_kind(node, tenant, admin) if one[0] == "report"]
    are_in_time(lambda: hang(node, servers_of(node.database)[1:], requests, 503))


def test_commits_that_do_not_return_are_503_and_seen_by_health(node):
    tenants = tenants_everywhere(node)
    for tenant in tenants:
        assert report(node, tenant) == 202

    def write(tenant):
        return node.client(tenant.token).post("/api/v1/telemetry", tenant.event())

    def attempt():
        with without_commits(node):
            until(lambda: report(node, tenants[0]) == 503)  # the server has read its settings
            seen = answered(node, [("report", lambda t=t: write(t)) for t in tenants] * 6)
            until(lambda: health(node) == 503)  # Citus is asked first whether its servers answer
            runs = [node.client(t.token).get(t.path("dashboard/runs")).status for t in tenants]
        assert set(runs) == {200}, "reads go on"
        for tenant in tenants:
            becomes_well(node, tenant)
        assert {status for _, status, _ in seen} == {503}
        return [seen]

    are_in_time(attempt)


def test_each_node_sees_that_no_commit_returns(node, tmp_path):
    """Also one that has nothing to store, and one that waits for what a commit of another one has locked."""
    if is_distributed():
        pytest.skip("each of several servers is judged by what is stored there")
    tenant = node.add_tenant()
    run, acked = str(uuid.uuid4()), []

    def step(server):
        event = tenant.event(run_id=run, event="in_progress")
        if server.client(tenant.token).post("/api/v1/telemetry", event).status == 202:
            acked.append(event["event_id"])

    def are_all(status):
        return [health(server) for server in nodes] == [status] * len(nodes)

    with more_servers(node, tmp_path, 2) as others:
        nodes = [node, *others]
        in_threads([lambda s=s: step(s) for s in nodes])
        assert len(acked) == len(nodes) and are_all(200)
        with without_commits(node):
            until(lambda: are_all(503), SEEN_S)
        until(lambda: are_all(200), SEEN_S)
        with without_commits(node):
            in_threads([lambda s=s: step(s) for s in nodes[:2]])
            until(lambda: are_all(503), SEEN_S)
            assert all(are_all(503) for _ in range(100)), "it stays so"
        until(lambda: are_all(200), SEEN_S)
        for server in nodes:
            becomes_well(server, tenant)
    told = node.client(tenant.token).get(tenant.path(f"runs/{run}/events")).json()
    assert set(acked) <= {event["event_id"] for event in told["events"]}
