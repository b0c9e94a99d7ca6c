"""PgBouncer: where it keeps sessions apart nodes work by it; where it shares them they say so."""

import os
import re
import subprocess

import pytest
from muster import WATCHES, Postgres, Server, Trouble
from nodes import in_threads
from pooler import Pooler

SENTENCE = "database leads to a pooler that shares sessions .* a pool with pool_mode = session"


@pytest.fixture(name="database")
def empty_database():
    postgres = Postgres()
    url = postgres.create_migrated()
    yield url
    postgres.drop(url)


def by(pooler, database):
    return f"{pooler.url}/{database.rsplit('/', 1)[1]}"


@pytest.mark.parametrize("size", [1, 20])  # sessions that the pooler has for all of a node's connections
@pytest.mark.parametrize("mode", ["transaction", "statement"])
def test_a_pooler_that_shares_sessions_is_refused_in_a_sentence(tmp_path, database, mode, size):
    with Pooler(os.environ["MUSTER_TEST_POSTGRES"], mode=mode, size=size) as pooler:
        server = Server(tmp_path / "data", by(pooler, database))
        with pytest.raises(Trouble, match=SENTENCE):
            server.start()


def test_a_session_that_another_writer_has_is_refused_at_the_first_connection(tmp_path, database):
    """Also by a pooler that prepares statements again in each session, where no name of one is missed."""
    with Pooler(os.environ["MUSTER_TEST_POSTGRES"], size=1) as pooler:
        url = by(pooler, database)

        def ask(sql):
            asked = ["psql", "-X", "-A", "-t", url, "-c", sql]
            return subprocess.run(asked, check=True, capture_output=True, text=True).stdout.strip()

        ask("SELECT pg_advisory_lock(721198025, 7)")
        count = "SELECT COUNT(*), pg_backend_pid() FROM pg_prepared_statements"
        before = ask(count)
        done = Server(tmp_path / "data", url).run("tenant", "list")
        assert done.returncode == 1 and re.search(SENTENCE, done.stderr), done.stderr
        assert ask(count) == before, "it prepared a statement before it saw that the session is shared"


def test_commands_by_a_pooler_that_shares_sessions_say_so(tmp_path, database):
    """One that finds no traces of another in its session works, and leaves some; the pooler gives a session
    up when a command ended within a transaction."""
    with Pooler(os.environ["MUSTER_TEST_POSTGRES"], size=1) as pooler:
        server = Server(tmp_path / "data", by(pooler, database))
        for words in ("tenant list", "tenant add", "check"):
            for number in range(5):
                named = [f"other-{number}"] if words == "tenant add" else []
                done = server.run(*words.split(), *named)
                if done.returncode != 0:
                    break
            assert done.returncode == 1, done.stdout
            assert re.search(SENTENCE, done.stderr), done.stderr


def test_a_pooler_that_keeps_sessions_apart_is_a_way_to_write(tmp_path, database):
    with Pooler(os.environ["MUSTER_TEST_POSTGRES"], mode="session", size=30) as pooler:
        token = {"MUSTER_METRICS_TOKEN": WATCHES}
        server = Server(tmp_path / "data", by(pooler, database), environment=token).start()
        try:
            tenant = server.add_tenant()

            def report():
                client = server.client(tenant.token)
                for _ in range(400):
                    assert client.post("/api/v1/telemetry", tenant.event()).status == 202
                    # the pooler makes up the number of the session by which a node knows its own words

            in_threads([report] * 4)
        finally:
            server.stop()
