"""Citus: how many agents a tenant has is kept on its own server, and the cap is exact.

Under tests/cluster/with_citus, which starts a coordinator and two workers.
"""

import threading

from muster import running
from nodes import in_threads
from postgres import Session, run_sql
from stored import of_tenant, stored
from test_citus import beside, url_of_worker

COUNT = "SELECT agents AS n FROM agent_counts WHERE "
ROWS = "SELECT COUNT(*) AS n FROM agents WHERE deleted_at IS NULL AND "


def node_on_a_worker(first, folder):
    return beside(first, folder / "on-a-worker", url_of_worker(first.database, 0))


def report(node, tenant, names):
    """Each in a request of its own, all at once: the statuses."""
    statuses, lock = [], threading.Lock()

    def send(name):
        client = node.client(tenant.token)
        answer = client.post("/api/v1/telemetry", tenant.event(agent_name=name))
        client.close()
        with lock:
            statuses.append(answer.status)

    in_threads([lambda name=name: send(name) for name in names])
    return statuses


def number(node, sql, tenant):
    (row,) = stored(node, sql + of_tenant(tenant))
    return row["n"]


def names(n, prefix="agent"):
    return [f"{prefix}-{i}" for i in range(n)]


def test_the_cap_is_exact_on_nodes_of_two_servers(tmp_path):
    with running("postgres", tmp_path) as first, node_on_a_worker(first, tmp_path) as second:
        for tenant in [first.add_tenant("--max-agents", "25") for _ in range(3)]:
            seen = []
            in_threads([
                lambda n=node, t=tenant, s=seen, p=prefix: s.extend(report(n, t, names(20, p)))
                for node, prefix in ((first, "a"), (second, "b"))
            ])  # fmt: skip
            assert sorted(seen) == [202] * 25 + [403] * 15
            assert number(first, ROWS, tenant) == number(first, COUNT, tenant) == 25
            known = stored(first, "SELECT agent_name AS n FROM agents WHERE " + of_tenant(tenant))
            first.cli("agent", "delete", known[0]["n"], "--tenant", tenant.slug)
            assert number(first, ROWS, tenant) == number(first, COUNT, tenant) == 24
            assert sorted(report(second, tenant, names(2, "late"))) == [202, 403]
            assert number(first, ROWS, tenant) == number(first, COUNT, tenant) == 25
        assert "intact" in first.cli("check")


def test_a_count_that_is_too_low_is_found_and_made_again(tmp_path):
    with running("postgres", tmp_path) as server:
        tenant = server.add_tenant("--max-agents", "100")
        assert set(report(server, tenant, names(10))) == {202}
        counts = "UPDATE agent_counts SET agents = {} WHERE " + of_tenant(tenant)
        run_sql(server.database, counts.format(7))
        told = server.run("check")
        assert told.returncode == 1 and "has 10 agents, but is counted for 7" in told.stderr
        assert set(report(server, tenant, ["one-more"])) == {202}
        assert number(server, COUNT, tenant) == 8, "the rows were counted"
        run_sql(server.database, counts.format(1000000000))  # as docs/OPERATIONS.md says
        assert set(report(server, tenant, ["another"])) == {202}
        assert number(server, COUNT, tenant) == number(server, ROWS, tenant) == 12
        assert "intact" in server.cli("check")


def test_who_waited_for_another_node_counts_what_it_added(tmp_path):
    """The count is read as it is once the lock is there, not as it was before the wait."""
    with running("postgres", tmp_path) as server:
        tenant = server.add_tenant("--max-agents", "11")
        (row,) = stored(server, f"SELECT tenant_id FROM tenants WHERE slug = '{tenant.slug}'")
        assert set(report(server, tenant, names(10))) == {202}
        other, seen = Session(server.database), []
        other.run("BEGIN")
        other.run(f"UPDATE agent_counts SET agents = agents + 1 WHERE tenant_id = {row['tenant_id']}")
        other.run("INSERT INTO agents (tenant_id, agent_name, enabled, first_seen_at, agent_id)"
                  f" OVERRIDING SYSTEM VALUE VALUES ({row['tenant_id']}, 'of-another', 1, 1, 77)")  # fmt: skip
        waits = threading.Thread(target=lambda: seen.extend(report(server, tenant, ["late"])))
        waits.start()
        session = Session(server.database)
        while not session.run("SELECT 1 FROM citus_lock_waits"):
            assert waits.is_alive()
        other.run("COMMIT")
        waits.join()
        session.close()
        other.close()
        assert seen == [403]
        assert number(server, ROWS, tenant) == number(server, COUNT, tenant) == 11
