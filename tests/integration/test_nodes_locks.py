"""Three servers on one PostgreSQL that want the same rows: they wait, but never in a circle."""

import random
import time
import uuid
from contextlib import closing
from datetime import datetime

import pytest
from conftest import running
from exposition import read, value
from muster import Server
from nodes import in_threads, more_servers
from postgres import Session, is_distributed, lock_waits, place_of
from stored import of_tenant, stored
from waiting import until

TOKEN = "a-token-for-scrapers"
GRACE_S = 300  # of a key that was rotated
TENANTS, CLIENTS, AGENTS = 6, 12, 25  # agents that each client brings


@pytest.fixture(name="nodes", scope="module")
def three_nodes(store, tmp_path_factory):
    if store != "postgres":
        pytest.skip("one process has the embedded store")
    folder = tmp_path_factory.mktemp("nodes")
    token = {"MUSTER_METRICS_TOKEN": TOKEN}
    with (
        running(store, folder, environment=token) as first,
        more_servers(first, folder, 2) as others,
    ):
        yield [first, *others]


def retried(node):
    seen = read(node.client(TOKEN).get("/metrics").body.decode())
    return value(seen, "muster_commits_retried_total")


def register(client, tenant, agent, interval):
    body = {"agent_name": agent, "client_id": tenant.slug, "interval_seconds": interval}
    answer = client.post("/api/v1/agents/register", body)
    assert answer.status == 200, answer.body
    return answer.json()["status"]


def agents_of(node, tenant):
    """As they are counted for the cap, and how many there are."""
    table = "agent_counts" if is_distributed() else "tenants"
    (row,) = stored(
        node,
        f"SELECT c.agents, (SELECT COUNT(*) FROM agents WHERE {of_tenant(tenant)}) AS n"
        f" FROM {table} c WHERE c.{of_tenant(tenant)}",
    )
    return row


def test_first_contacts_of_six_tenants_meet_no_deadlock(nodes):
    tenants = [nodes[0].add_tenant("--max-agents", "100000") for _ in range(TENANTS)]
    for tenant in tenants:
        for node in nodes:  # each knows the key
            assert node.client(tenant.token).get("/api/v1/limits").status == 200
    before = sum(map(retried, nodes))

    def bring(number):
        node, order = nodes[number % len(nodes)], random.Random(number)
        clients = [(tenant, node.client(tenant.token)) for tenant in tenants]
        for i in range(AGENTS):
            tenant, client = order.choice(clients)
            event = tenant.event(agent_name=f"agent-{number}-{i}")
            answer = client.post("/api/v1/telemetry", event)
            assert answer.status == 202, answer.body

    began = time.monotonic()
    in_threads([lambda n=n: bring(n) for n in range(CLIENTS)])
    print(f"{CLIENTS * AGENTS / (time.monotonic() - began):.0f} first contacts a second")
    assert sum(map(retried, nodes)) == before
    rows = [agents_of(nodes[0], tenant) for tenant in tenants]
    assert sum(row["n"] for row in rows) == CLIENTS * AGENTS
    assert all(row["agents"] == row["n"] for row in rows)


def test_new_agents_and_known_ones_of_the_tenants_between_do_not_wait_in_circles(nodes):
    """New agents of a group are added together; its other jobs lock rows of tenants between."""
    tenants = [nodes[0].add_tenant("--max-agents", "100000") for _ in range(TENANTS)]
    for tenant in tenants:
        for node in nodes:
            assert register(node.client(tenant.token), tenant, "known", 60) in ("registered", "updated")
    before = sum(map(retried, nodes))

    def bring(number):
        node, order = nodes[number % len(nodes)], random.Random(number)
        clients = [(tenant, node.client(tenant.token)) for tenant in tenants]
        for i in range(2 * AGENTS):
            tenant, client = order.choice(clients)
            if order.random() < 0.5:
                assert register(client, tenant, "known", order.randrange(60, 600)) == "updated"
            else:
                assert register(client, tenant, f"new-{number}-{i}", 60) == "registered"

    in_threads([lambda n=n: bring(n) for n in range(3 * CLIENTS)])
    # With tenants in the wrong order they are so many that requests fail. A single one is seen now and
    # then, of what nodes do besides; it is tried again.
    assert sum(map(retried, nodes)) <= before + 3 * CLIENTS


def test_the_same_new_agents_of_all_nodes_are_added_once_and_the_cap_is_exact(nodes):
    tenants = [nodes[0].add_tenant("--max-agents", "30") for _ in range(2)]
    before, statuses = sum(map(retried, nodes)), []

    def bring(number):
        node, order = nodes[number % len(nodes)], random.Random(number)
        for tenant in order.sample(tenants, len(tenants)):
            names = [f"agent-{i}" for i in range(50)]
            order.shuffle(names)
            for part in (names[:20], names[20:]):
                events = [tenant.event(agent_name=name) for name in part]
                answer = node.client(tenant.token).post("/api/v1/telemetry/batch", {"events": events})
                assert answer.status == 202, answer.body
                statuses.extend(result["status"] for result in answer.json()["results"])

    in_threads([lambda n=n: bring(n) for n in range(6)])
    assert set(statuses) == {"accepted", "rejected"}
    assert statuses.count("accepted") == 6 * 30 * len(tenants)  # of each sender, the same 30
    assert sum(map(retried, nodes)) == before
    for tenant in tenants:
        assert agents_of(nodes[0], tenant) == {"agents": 30, "n": 30}


def test_batches_of_the_same_ids_in_any_order_are_stored_once_without_a_deadlock(nodes):
    tenant = nodes[0].add_tenant()
    ids = [uuid.uuid4().hex for _ in range(200)]
    before, accepted = sum(map(retried, nodes)), []

    def send(number):
        client = nodes[number % len(nodes)].client(tenant.token)
        for turn in range(5):
            mine = [f"{turn}-{i}" for i in ids]
            random.Random(number * 100 + turn).shuffle(mine)
            run = str(uuid.uuid4())
            events = [tenant.event(event_id=i, run_id=run, agent_name="a") for i in mine]
            answer = client.post("/api/v1/telemetry/batch", {"events": events})
            assert answer.status == 202, answer.body
            accepted.append(answer.json()["accepted"])

    in_threads([lambda n=n: send(n) for n in range(9)])
    assert sum(accepted) == 5 * len(ids)
    assert sum(map(retried, nodes)) == before
    counted = stored(nodes[0], f"SELECT SUM(event_count) AS n FROM runs WHERE {of_tenant(tenant)}")
    assert counted[0]["n"] == 5 * len(ids)


def stranger_of(node, tenant):
    """A session on the server that has the tenant's rows. What it says to take the id of an event there, and
    to get the lock that a writer holds while it adds an agent."""
    (row,) = stored(node, f"SELECT tenant_id FROM tenants WHERE slug = '{tenant.slug}'")
    server, events = place_of(node.database, "events", row["tenant_id"])
    take = (
        f"INSERT INTO {events} (tenant_id, run_no, agent_id, event_no, event_id, event, timestamp,"
        " received_at, seq, agent_version, message, level, category, source, checksum) OVERRIDING SYSTEM VALUE"
        f" VALUES ({row['tenant_id']}, 1, 1, 1, 'taken', 0, 0, 0, 0, '', '', '', '', '', 0)"
    )
    cross = f"UPDATE tenants SET name = 'x' WHERE slug = '{tenant.slug}'"
    if is_distributed():
        locked = place_of(node.database, "tenant_bytes", row["tenant_id"])[1]
        cross = (f"INSERT INTO {locked} (tenant_id, part, bytes) VALUES ({row['tenant_id']}, 64, 0)"
                 " ON CONFLICT (tenant_id, part) DO UPDATE SET bytes = excluded.bytes")  # fmt: skip
    return Session(server), take, cross


def test_a_deadlock_is_tried_again_counted_and_logged(nodes):
    """The control: a stranger takes an event's id, then wants the lock that the writer holds."""
    node, tenant = nodes[0], nodes[0].add_tenant()
    before, statuses = retried(node), []
    event = tenant.event(event_id="taken", agent_name="new")
    stranger, take, cross = stranger_of(node, tenant)
    with closing(stranger):
        stranger.run("SET deadlock_timeout = '30s'")  # the other one finds it
        stranger.run("BEGIN")
        stranger.run(take)

        def report():
            statuses.append(node.client(tenant.token).post("/api/v1/telemetry", event).status)

        def meet():
            until(lambda: lock_waits(node.database))
            stranger.run(cross)
            stranger.run("ROLLBACK")

        in_threads([report, meet])
    assert statuses == [202]
    assert retried(node) == before + 1
    assert "(40P01): attempt 1 of a transaction of 1 events" in node.log()  # a deadlock


def test_a_command_waits_for_a_row_longer_than_a_request_may(nodes, tmp_path):
    """Nobody waits behind it. A node that was killed may hold the row until PostgreSQL notices."""
    tenant = nodes[0].add_tenant()
    assert tenant.client.post("/api/v1/telemetry", tenant.event()).status == 202
    command = Server(tmp_path / "data", nodes[0].database,
                     environment={"MUSTER_QUEUE_MAX_WAIT_MS": "1"})  # fmt: skip
    done = []
    with closing(Session(nodes[0].database)) as holder:
        holder.run("BEGIN")
        holder.run(f"UPDATE runs SET event_count = event_count WHERE {of_tenant(tenant)}")

        def rebuild():
            done.append(command.run("run", "rebuild", "--tenant", tenant.slug))

        def let_go():
            until(lambda: lock_waits(nodes[0].database, longer_than_s=2) or done)  # a request has one at least
            holder.run("COMMIT")

        in_threads([rebuild, let_go])
    assert done[0].returncode == 0, done[0].stderr


def rotated(node, tenant):
    answer = node.client(tenant.token).post("/api/v1/agents/refresh-key")
    assert answer.status == 200, answer.body
    return datetime.fromisoformat(answer.json()["previous_key_valid_until"].replace("Z", "+00:00"))


def test_a_change_that_waited_for_another_is_of_the_time_after_it(nodes):
    """By the clock of before, the grace of a key would end too early."""
    if is_distributed():
        pytest.skip("a row of all servers cannot be locked on one")
    node, tenants = nodes[0], [nodes[0].add_tenant() for _ in range(6)]
    for tenant in tenants[1:]:  # both writers have prepared their statements
        rotated(node, tenant)
    valid_until = []
    with closing(Session(node.database)) as session:
        session.run("BEGIN")
        session.run("SELECT number FROM change_numbers WHERE topic = 'registry' FOR UPDATE")

        def let_go():
            until(lambda: lock_waits(node.database, "UPDATE change_numbers%"))
            session.run("SELECT pg_sleep(0.5)")
            session.run("CREATE TEMP TABLE ended AS SELECT EXTRACT(EPOCH FROM clock_timestamp()) AS at")
            session.run("COMMIT")

        in_threads([lambda: valid_until.append(rotated(node, tenants[0])), let_go])
        ((ended,),) = session.run("SELECT at FROM ended")
    assert valid_until[0].timestamp() >= float(ended) + GRACE_S
