"""A database in the data directory that a service with another one would not use."""

import json

import pytest
from muster import Postgres, Server, Trouble


@pytest.fixture
def beside(own_server, tmp_path):
    """A data directory with a muster.db of its own, and the URL of another database: a new one in
    SQLite, and one that is in use in PostgreSQL."""
    server = Server(tmp_path / "beside")
    server.start()
    server.stop()
    url = own_server.database or f"sqlite:{server.data}/second.db"
    own_server.stop()
    return server, url


def with_other(server, url):
    """In its data directory; each database has a master key of its own."""
    other = Server(server.data, url)
    there = server.data.parent / "data" / "master.key"  # of own_server
    other.environment["MUSTER_MASTER_KEY_FILE"] = str(there if "postgres" in url else server.data / "second.key")
    return other


def refused_start(server):
    with pytest.raises(Trouble, match="no start"):
        server.start().stop()
    return server.log().splitlines()[-1]


def add(server, *slugs):
    for slug in slugs:
        server.cli("tenant", "add", slug)


def test_a_service_beside_a_database_with_workspaces_does_not_start(beside, tmp_path):
    server, url = beside
    other = with_other(server, url)
    other.start()  # a muster.db without workspaces is none
    other.stop()
    add(server, "one")
    said = refused_start(other)
    assert f"there is '{server.data}/muster.db' with 1 workspace, and `database` names an empty one" in said
    assert "move it and its -wal away" in said
    add(server, "two")
    assert "with 2 workspaces" in refused_start(other)
    server.start()  # as the sentence says: without database=
    server.stop()
    Server(server.data, f"sqlite:{server.data}/muster.db").start().stop()  # the same one
    server.cli("tenant", "delete", "one", "--confirm", "one")
    server.cli("tenant", "delete", "two", "--confirm", "two")
    other.start()
    other.stop()
    add(server, "three")
    (server.data / "muster.db").rename(tmp_path / "away.db")
    for more in server.data.glob("muster.db-*"):
        more.unlink()
    other.start()
    other.stop()


def test_a_service_with_workspaces_of_its_own_starts_beside_an_old_database(beside):
    server, url = beside
    other = with_other(server, url).start()
    add(other, "own")
    other.stop()
    add(server, "old")
    said = len(other.log())
    other.start()
    assert json.loads(other.cli("tenant", "list", "--json"))["tenants"][0]["slug"] == "own"
    warning = f"'{server.data}/muster.db' is not used, since `database` names another one; it has 1 workspace"
    assert other.log()[said:].count(warning) == 1
    other.stop()


def test_a_database_without_tables_is_refused_beside_an_old_one(beside, tmp_path):
    server, url = beside
    add(server, "old")
    postgres = Postgres() if "postgres" in url else None
    new = postgres.create() if postgres else f"sqlite:{tmp_path}/new.db"
    try:
        other = with_other(server, new)
        assert "with 1 workspace, and `database` names an empty one" in refused_start(other)
        refused = other.run("tenant", "add", "two")
        assert refused.returncode == 1 and "names an empty one" in refused.stderr
    finally:
        if postgres:
            postgres.drop(new)


def test_a_database_that_cannot_be_reached_is_not_taken_for_an_empty_one(beside):
    server, _ = beside
    add(server, "old")
    said = refused_start(Server(server.data, "postgresql://127.0.0.1:1/none"))
    assert "muster.db" not in said and "Connection refused" in said


def test_a_file_that_is_no_database_of_ours_is_no_obstacle(beside):
    server, url = beside
    for file in server.data.glob("muster.db*"):
        file.unlink()
    (server.data / "muster.db").write_text("notes")
    with_other(server, url).start().stop()


def test_commands_do_not_make_a_second_database_but_work_on_one_that_is_there(beside, tmp_path):
    server, url = beside
    add(server, "one")
    new = f"sqlite:{tmp_path}/third.db"
    for words in (("tenant", "list"), ("tenant", "add", "two")):
        refused = with_other(server, new).run(*words)
        assert refused.returncode == 1 and "with 1 workspace," in refused.stderr
    assert not (tmp_path / "third.db").exists()
    assert "not a muster database" in with_other(server, new).run("vault", "reset", "--confirm").stderr
    there = Server(tmp_path / "elsewhere", url)
    if not url.startswith("postgres"):
        there.start().stop()
    before = json.loads(there.cli("tenant", "list", "--json"))
    assert json.loads(with_other(server, url).cli("tenant", "list", "--json")) == before
    with_other(server, url).cli("check")
    server.cli("check")
    server.cli("backup", str(tmp_path / "copy"))
    restored = Server(tmp_path / "restored")
    restored.cli("restore", str(tmp_path / "copy"))
    restored.cli("check")
