"""Fixtures of the black-box tests. Each test that asks for a server runs over every store.

    tenant        a new tenant with a workspace key on a server that the session shares
    server        that shared server
    own_server    a server of the test's own, already started; it may be stopped, killed, restarted
    clock         moves that server's clocks: the test asks for both

Passwords are hashed with little effort; those that are marked `real_hash` have an `own_server` that
hashes them as users' does.

MUSTER_TEST_BINARY names the binary, MUSTER_TEST_STORES the stores (default "sqlite postgres").
MUSTER_TEST_STORED=1 leaves out the tests that are the same for each store. What is marked `one_server`
asks one PostgreSQL for its locks or plans, or does to its rows what Citus would not: left out under
tests/cluster/with_citus. Those that are marked
`smoke` are what `make check` runs.
"""

import os
import sys
from pathlib import Path

import pytest

sys.path.insert(0, str(Path(__file__).parent))

from muster import REAL_HASH, Clock, running  # noqa: E402
from people import platform_admin  # noqa: E402

STORES = os.environ.get("MUSTER_TEST_STORES", "sqlite postgres").split()


def pytest_configure(config):
    config.addinivalue_line("markers", "smoke: one of the few that `make check` runs")
    config.addinivalue_line("markers", "one_server: not for a database of several servers")
    config.addinivalue_line("markers", "real_hash: its own_server hashes passwords at full cost")


def pytest_collection_modifyitems(config, items):
    if os.environ.get("MUSTER_TEST_CITUS"):
        config.hook.pytest_deselected(items=[i for i in items if i.get_closest_marker("one_server")])
        items[:] = [i for i in items if not i.get_closest_marker("one_server")]
    if os.environ.get("MUSTER_TEST_STORED"):
        config.hook.pytest_deselected(items=[i for i in items if "store" not in i.fixturenames])
        items[:] = [i for i in items if "store" in i.fixturenames]


@pytest.fixture(scope="session", params=STORES)
def store(request):
    return request.param


@pytest.fixture(scope="session")
def server(store, tmp_path_factory):
    with running(store, tmp_path_factory.mktemp(store)) as started:
        started.admin = started.admin or platform_admin(started)
        yield started


@pytest.fixture
def tenant(server):
    made = server.add_tenant()
    yield made
    made.client.close()
    assert server.process.poll() is None, f"the server died:\n{server.log()}"


@pytest.fixture
def clock(tmp_path):
    return Clock(tmp_path)


@pytest.fixture
def own_server(request, store, tmp_path, clock):
    real = REAL_HASH if request.node.get_closest_marker("real_hash") else {}
    with running(store, tmp_path, environment={**clock.environment, **real}) as started:
        yield started
