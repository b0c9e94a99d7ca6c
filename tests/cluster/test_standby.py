"""Read-only keys read from a standby, which is never too far behind; everyone else from the primary."""

import re

import pytest
from muster import WATCHES, Server, Trouble
from people import platform_admin, tenant_person
from servers import fence
from standbys import Paused, database_of, pair_of_servers
from waiting import until

LONG_S, SHORT_S = 60, 2  # bounds that no test reaches, and that each soon does


@pytest.fixture(scope="module")
def pair():
    with pair_of_servers() as made:
        yield made


@pytest.fixture
def node(pair, tmp_path):
    """Starts a node that reads from the standby with a bound, on a database of its own."""
    started = []

    def start(max_lag_s):
        settings = {
            "MUSTER_DATABASE_STANDBY": pair.url(name),
            "MUSTER_STANDBY_MAX_LAG_S": str(max_lag_s),
            "MUSTER_METRICS_TOKEN": WATCHES,
        }
        started.append(Server(tmp_path / "node", pair.url(name), environment=settings).start())
        return started[0]

    with database_of(pair) as name:
        yield start
        for server in started:
            if server.process:
                server.kill()


def reads_of_standby(server, result="done"):
    asked = rf'muster_standby_reads_total{{result="{result}"}} (\d+)'
    return int(re.search(asked, server.metrics().decode()).group(1))


def report(tenant):
    event = tenant.event()
    assert tenant.client.post("/api/v1/telemetry", event).status == 202
    return event["run_id"]


def sees(client, tenant, run):
    """Whether the list of runs has it."""
    answer = client.get(tenant.path("dashboard/runs?limit=1000"))
    assert answer.status == 200, answer.body
    return any(found["run_id"] == run for found in answer.json()["runs"])


def of_standby(server, client, tenant):
    """Waits until the standby answers; it knows the tenant by then."""
    run = report(tenant)

    def read():
        before = reads_of_standby(server)
        return sees(client, tenant, run) and reads_of_standby(server) > before

    until(read, 60)


def test_a_read_only_key_reads_from_the_standby_and_who_may_change_something_does_not(pair, node):
    server = node(LONG_S)
    tenant = server.add_tenant()
    watcher = server.client(tenant.add_key(None, "--read-only"))
    person = tenant_person(tenant, "member")
    of_standby(server, watcher, tenant)
    with Paused(pair):
        run = report(tenant)
        assert sees(tenant.client, tenant, run) and sees(person, tenant, run)
        assert not sees(watcher, tenant, run), "it was read from the primary"
    until(lambda: sees(watcher, tenant, run))


def test_a_key_that_was_revoked_is_refused_at_once_however_late_the_standby_is(pair, node):
    server = node(LONG_S)
    server.admin = platform_admin(server)
    tenant = server.add_tenant()
    keys = [server.make(tenant.path("keys"), {"read_only": True}) for _ in range(5)]
    for key in keys:
        of_standby(server, server.client(key["token"]), tenant)
    with Paused(pair):
        for key in keys:
            watcher = server.client(key["token"])
            assert sees(watcher, tenant, "") is False
            revoked = server.admin.delete(tenant.path(f"keys/{key['key_id']}"))
            assert revoked.status in (200, 204), revoked.body
            assert watcher.get(tenant.path("dashboard/runs")).status == 401


def test_a_standby_that_is_later_than_the_bound_is_not_read(pair, node):
    server = node(SHORT_S)
    tenant = server.add_tenant()
    watcher = server.client(tenant.add_key(None, "--read-only"))
    of_standby(server, watcher, tenant)
    with Paused(pair):
        run = report(tenant)
        until(lambda: sees(watcher, tenant, run))
        before = reads_of_standby(server)
        for _ in range(5):
            assert sees(watcher, tenant, run)
        assert reads_of_standby(server) == before and reads_of_standby(server, "passed_on") > 0
    of_standby(server, watcher, tenant)


def test_reads_go_on_while_the_standby_is_away(pair, node):
    server = node(SHORT_S)
    tenant = server.add_tenant()
    watcher = server.client(tenant.add_key(None, "--read-only"))
    of_standby(server, watcher, tenant)
    fence(pair.standby)
    run = report(tenant)
    until(lambda: sees(watcher, tenant, run))  # each answer on the way is a 200
    server.restart()  # it starts without a standby, too
    watcher, tenant.client = (server.client(c.token) for c in (watcher, tenant.client))
    assert sees(watcher, tenant, run)
    assert pair.mend()
    of_standby(server, watcher, tenant)


def test_a_standby_that_was_promoted_is_the_primary_from_then_on(pair, node):
    server = node(SHORT_S)
    tenant = server.add_tenant()
    watcher = server.client(tenant.add_key(None, "--read-only"))
    of_standby(server, watcher, tenant)
    pair.primary.process.kill()
    assert pair.promote()
    until(lambda: tenant.client.post("/api/v1/telemetry", tenant.event()).status == 202, 60)
    run = report(tenant)
    until(lambda: sees(watcher, tenant, run))
    assert pair.mend()
    of_standby(server, watcher, tenant)


def test_a_standby_of_the_embedded_store_is_refused(tmp_path):
    server = Server(tmp_path / "data", environment={"MUSTER_DATABASE_STANDBY": "postgresql://x/y"})
    with pytest.raises(Trouble, match="database_standby: SQLite has none"):
        server.start()


def test_the_url_of_a_standby_alone_is_refused_in_a_sentence(pair, tmp_path):
    with database_of(pair) as name:
        alone = f"postgresql://muster@127.0.0.1:{pair.standby.port}/{name}"
        done = Server(tmp_path / "node", alone).run("tenant", "list")
        assert done.returncode == 1, done.stdout
        assert "a standby takes no changes, give the URL of the primary" in done.stderr, done.stderr
