"""Fixtures of the black-box tests. Each test that asks for a server runs over every store.

    tenant        a new tenant with a workspace key on a server that the session shares
    server        that shared server
    own_server    a server of the test's own, already started; it may be stopped, killed, restarted
    clock         moves that server's clocks: the test asks for both

Passwords are hashed with little effort; those that are marked `real_hash` have an `own_server` that
hashes them as users' does. Those that are marked `administered` do not mind that their `own_server`
has an administrator from the start with PostgreSQL: requests prepare it, and commands ask the server.

MUSTER_TEST_BINARY names the binary, MUSTER_TEST_STORES the stores (default "sqlite postgres").
MUSTER_TEST_COMMANDS names another binary, for commands that ask a running server in tests that are
not marked `commands`. MUSTER_TEST_STORED=1 leaves out the tests that are the same for each store, and
MUSTER_TEST_THREADS=1 those that are marked `same_threads`: TSan has seen in others what threads do in
them. Under tests/cluster/with_citus none is left out. Those that are marked `smoke` are what `make check`
runs.
"""

import os
import sys
from functools import partial
from pathlib import Path

import pytest

sys.path.insert(0, str(Path(__file__).parent))

from muster import BINARY, REAL_HASH, Clock, Server, running  # noqa: E402
from people import add_user, log_in  # noqa: E402

STORES = os.environ.get("MUSTER_TEST_STORES", "sqlite postgres").split()


def pytest_configure(config):
    config.addinivalue_line("markers", "smoke: one of the few that `make check` runs")
    config.addinivalue_line("markers", "real_hash: its own_server hashes passwords at full cost")
    config.addinivalue_line("markers", "administered: its own_server has an administrator")
    config.addinivalue_line("markers", "same_threads: what threads do in it they do in others too")
    config.addinivalue_line("markers", "commands: commands are what it tests")


def pytest_collection_modifyitems(config, items):
    def leave_out(is_in_vain):
        config.hook.pytest_deselected(items=[item for item in items if is_in_vain(item)])
        items[:] = [item for item in items if not is_in_vain(item)]

    if os.environ.get("MUSTER_TEST_STORED"):
        leave_out(lambda item: "store" not in item.fixturenames)
    if os.environ.get("MUSTER_TEST_THREADS"):
        leave_out(lambda item: item.get_closest_marker("same_threads"))


@pytest.fixture(scope="session", params=STORES)
def store(request):
    return request.param


@pytest.fixture(scope="session")
def server(store, tmp_path_factory):
    with running(store, tmp_path_factory.mktemp(store), administered=True) as started:
        if started.database:
            email = add_user(started, "--role", "platform_admin")
            started.sign_in = partial(log_in, started, email)
            started.admin = started.sign_in()
        yield started


@pytest.fixture(autouse=True)
def commands(request, monkeypatch):
    """They ask the shared server in tests that are marked `administered`, and its store in others.
    Where they are what is tested the binary under test gives them."""
    if request.node.get_closest_marker("commands"):
        monkeypatch.setattr(Server, "commands", BINARY)
    if "server" in request.fixturenames:
        server = request.getfixturevalue("server")
        server.is_asked = bool(server.admin_token and request.node.get_closest_marker("administered"))


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
    known = request.node.get_closest_marker("administered") is not None
    environment = {**clock.environment, **real}
    with running(store, tmp_path, administered=known, environment=environment) as started:
        yield started
