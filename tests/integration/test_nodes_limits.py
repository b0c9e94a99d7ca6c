"""One limit for all nodes, and across restarts: requests of a key, and failed sign-ins."""

import re
import signal
import time
from concurrent.futures import ThreadPoolExecutor
from contextlib import closing

import pytest
from conftest import running
from muster import WATCHES
from nodes import more_servers
from people import add_user, platform_admin, post_log_in
from postgres import Session, lock_waits
from stored import stored
from waiting import until

LIMIT = 100
ANY = "/api/v1/limits"
NODES = re.compile(rb"^muster_nodes ([0-9]+)", re.MULTILINE)


def ask(node, token, times=1):
    client = node.client(token)
    statuses = [client.get(ANY).status for _ in range(times)]
    client.close()
    assert set(statuses) <= {200, 429}, statuses
    return statuses.count(200)


def windows(server):
    return {row["name"] for row in stored(server, "SELECT name FROM rate_windows")}


def stored_requests(server, but=()):
    """How many requests the store knows of, but for those of some windows."""
    rows = stored(server, "SELECT name, n FROM rate_windows")
    return sum(row["n"] for row in rows if row["name"] not in but)


@pytest.mark.parametrize("how", [signal.SIGTERM, signal.SIGKILL])
def test_a_restart_does_not_refill_the_window(own_server, clock, how):
    tenant = own_server.add_tenant(rate_limit=LIMIT)
    before = ask(own_server, tenant.token, LIMIT // 2)
    if how == signal.SIGKILL:
        until(lambda: stored_requests(own_server) >= before - LIMIT // 10)  # what is missing is small
        own_server.kill()
        own_server.start()
    else:
        own_server.restart()
    after = ask(own_server, tenant.token, LIMIT)
    assert LIMIT <= before + after <= LIMIT * 1.1
    clock.advance(62)
    assert ask(own_server, tenant.token, LIMIT + 5) == LIMIT


def test_a_clock_that_is_set_back_does_not_prolong_the_window(own_server, clock):
    tenant = own_server.add_tenant(rate_limit=LIMIT)
    assert ask(own_server, tenant.token, LIMIT + 1) == LIMIT
    until(lambda: stored_requests(own_server) >= LIMIT * 0.9)
    own_server.stop()
    clock.step(-3600)  # PostgreSQL has a clock of its own
    own_server.start()
    clock.advance(61)
    assert ask(own_server, tenant.token) == 1


def test_failures_outlive_a_restart(own_server, clock):
    email = add_user(own_server, "--role", "platform_admin")
    for n in range(10):
        assert post_log_in(own_server, f"n{n}@example.com", "wrong password!").status == 401
    own_server.kill()
    own_server.start()
    closed = post_log_in(own_server, email)
    assert closed.status == 429 and 13 * 60 < int(closed.headers["Retry-After"]) <= 15 * 60
    clock.advance(15 * 60 + 1)
    assert post_log_in(own_server, email).status == 200


@pytest.fixture(name="nodes", scope="module")
def three_nodes(store, tmp_path_factory):
    if store != "postgres":
        pytest.skip("one process has the embedded store")
    folder = tmp_path_factory.mktemp("nodes")
    proxies = {"MUSTER_TRUSTED_PROXIES": "127.0.0.1", "MUSTER_METRICS_TOKEN": WATCHES}
    with (
        running(store, folder, environment=proxies) as first,
        more_servers(first, folder, 2) as others,
    ):
        first.admin = platform_admin(first)
        nodes = [first, *others]
        await_all(nodes)
        yield nodes


def await_all(nodes):
    """Until each knows how many there are: then none lets more than its part through alone."""
    for node in nodes:
        until(lambda n=node: len(nodes) == seen_by(n))


def seen_by(node):
    return int(NODES.search(node.metrics()).group(1))


def test_after_its_first_seconds_a_burst_passes_at_no_node(nodes):
    tenant = nodes[0].add_tenant(rate_limit=LIMIT)
    with ThreadPoolExecutor(len(nodes)) as pool:
        began = time.monotonic()
        passed = sum(pool.map(lambda node: ask(node, tenant.token, LIMIT), nodes))
        assert LIMIT <= passed <= LIMIT * len(nodes)
        until(lambda: not any([ask(node, tenant.token) for node in nodes]))
        later = sum(pool.map(lambda node: ask(node, tenant.token, LIMIT), nodes))
    assert later == 0 or time.monotonic() - began > 60


def test_a_window_that_could_not_be_stored_is_stored_later(nodes):
    tenant = nodes[0].add_tenant(rate_limit=LIMIT)
    others, url = windows(nodes[0]), nodes[0].database
    with closing(Session(url)) as stranger:
        stranger.run("BEGIN")
        stranger.run("LOCK TABLE rate_windows IN ACCESS EXCLUSIVE MODE")
        began = time.monotonic()
        passed = ask(nodes[0], tenant.token, LIMIT // 4)
        until(lambda: lock_waits(url))
        until(lambda: not lock_waits(url))  # they gave up
        stranger.run("ROLLBACK")
    passed += ask(nodes[0], tenant.token)
    until(lambda: stored_requests(nodes[0], others) >= passed)
    assert ask(nodes[0], tenant.token, LIMIT) <= LIMIT - passed or time.monotonic() - began > 60


def test_a_node_that_falls_and_starts_again_has_no_fresh_window(nodes):
    tenant = nodes[0].add_tenant(rate_limit=LIMIT)
    others, began = windows(nodes[0]), time.monotonic()
    passed = ask(nodes[2], tenant.token, LIMIT // 2)
    until(lambda: stored_requests(nodes[0], others) >= LIMIT * 0.4)
    nodes[2].kill()
    nodes[2].start()
    passed += ask(nodes[2], tenant.token, LIMIT)
    assert LIMIT <= passed <= LIMIT * 1.15 or time.monotonic() - began > 60


def fail(node, email, address):
    headers = {"X-Forwarded-For": address}
    return post_log_in(node, email, "wrong password!", headers).status


def test_ten_failures_of_an_account_close_it_on_every_node(nodes):
    email = add_user(nodes[0], "--role", "platform_admin")
    statuses = [fail(nodes[n % 3], email, f"10.7.0.{n}") for n in range(12)]
    assert statuses == [401] * 10 + [429] * 2
    closed = post_log_in(nodes[1], email, headers={"X-Forwarded-For": "10.7.1.1"})
    assert closed.status == 429 and 0 < int(closed.headers["Retry-After"]) <= 15 * 60


def test_a_sign_in_at_one_node_forgets_the_failures_at_others(nodes):
    email = add_user(nodes[0], "--role", "platform_admin")
    assert [fail(nodes[n % 3], email, f"10.8.0.{n}") for n in range(9)] == [401] * 9
    owner = {"X-Forwarded-For": "10.8.1.1"}
    assert post_log_in(nodes[1], email, headers=owner).status == 200
    assert fail(nodes[2], email, "10.8.2.1") == 401
    assert post_log_in(nodes[0], email, headers={"X-Forwarded-For": "10.8.2.2"}).status == 200
