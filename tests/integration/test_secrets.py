"""Secrets: they go in and never come out to people; and the master key that guards them."""

import base64
import json
import os
import signal
import stat
from pathlib import Path

import pytest
from muster import Server, Trouble
from postgres import by_another_server
from stored import of_tenant, stored

KEY_LINE = 45
SECRET = "s3cr3t-Grüße-$%&"


def set_secret(tenant, name, value=SECRET, *more):
    arguments = ("secret", "set", name, "--tenant", tenant.slug, *more)
    return tenant.server.cli(*arguments, stdin=value)


def listed(tenant):
    return json.loads(tenant.server.cli("secret", "list", "--tenant", tenant.slug, "--json"))[
        "secrets"
    ]


def test_a_secret_is_set_listed_and_removed_but_never_shown(tenant):
    assert listed(tenant) == []
    assert set_secret(tenant, "DB_PASSWORD") == "secret 'DB_PASSWORD' set, version 1\n"
    assert set_secret(tenant, "a.b-c_1", "x", "--shared").endswith("version 1, shared\n")
    assert set_secret(tenant, "a.b-c_1", "y\n").endswith("version 2, shared\n")  # stays so
    first, second = listed(tenant)
    assert set(first) == {"name", "shared", "version", "created_at", "updated_at"}
    assert (first["name"], first["version"], first["shared"]) == ("DB_PASSWORD", 1, False)
    assert (second["name"], second["version"], second["shared"]) == ("a.b-c_1", 2, True)
    assert second["updated_at"] > second["created_at"]
    assert set_secret(tenant, "a.b-c_1", "z", "--not-shared").endswith("version 3\n")
    lines = tenant.server.cli("secret", "list", "--tenant", tenant.slug).splitlines()
    assert [line.split()[0] for line in lines] == ["NAME", "DB_PASSWORD", "a.b-c_1"]
    said = tenant.server.cli("secret", "delete", "DB_PASSWORD", "--tenant", tenant.slug)
    assert said == "secret 'DB_PASSWORD' deleted\n"
    assert [s["name"] for s in listed(tenant)] == ["a.b-c_1"]
    rows = stored(
        tenant.server,
        f"SELECT action, target, detail FROM audit_log WHERE {of_tenant(tenant)}"
        " AND action LIKE 'secret.%' ORDER BY seq",
    )
    assert [r["action"] for r in rows] == ["secret.set"] * 4 + ["secret.rm"]
    assert rows[0]["target"] == "DB_PASSWORD"
    assert json.loads(rows[1]["detail"]) == {"version": 1, "shared": True}


@pytest.mark.parametrize(
    ("arguments", "stdin", "status", "word"),
    [
        (("set", "n", "--tenant", "no-such"), "x", 1, "no-such"),
        (("set", "n"), "x", 2, "--tenant"),
        (("set", "a b", "--tenant", "{slug}"), "x", 2, "'a b'"),
        (("set", "a/b", "--tenant", "{slug}"), "x", 2, "'a/b'"),
        (("set", "-x", "--tenant", "{slug}"), "x", 2, "'-x'"),
        (("set", "n" * 129, "--tenant", "{slug}"), "x", 2, "name"),
        (("set", "n", "--tenant", "{slug}"), "", 1, "standard input is empty"),
        (("set", "n", "--tenant", "{slug}"), "\n", 1, "standard input is empty"),
        (("set", "n", "--tenant", "{slug}"), "x" * 65537, 1, "too long"),
        (("set", "n", "--tenant", "{slug}"), "a\0b", 1, "UTF-8"),
        (("set", "n", "--tenant", "{slug}", "--shared", "--not-shared"), "x", 2, "exclude"),
        (("delete", "n", "--tenant", "{slug}"), "", 1, "no secret 'n'"),
        (("list",), "", 2, "--tenant"),
    ],
)
def test_what_cannot_be_done_is_refused_with_a_sentence(tenant, arguments, stdin, status, word):
    done = tenant.server.run(
        "secret", *(a.format(slug=tenant.slug) for a in arguments), stdin=stdin
    )
    assert (done.returncode, done.stdout) == (status, "")
    assert word in done.stderr
    assert listed(tenant) == []


def test_a_secret_of_64_kib_is_taken(tenant):
    assert set_secret(tenant, "n", "x" * 65536).endswith("version 1\n")


def test_a_key_of_an_agent_or_workspace_may_neither_list_nor_set(tenant):
    bound = tenant.agent_client("a")
    for client in (tenant.client, bound):
        assert client.get(tenant.path("secrets")).status == 403
        put = client.request("PUT", tenant.path("secrets/n"), {"value": "x"})
        assert put.status == 403
        assert client.request("DELETE", tenant.path("secrets/n")).status == 403
        assert client.post("/api/v1/platform/vault/rotate").status == 403
    bound.close()


def test_what_is_no_secret_is_refused_without_an_echo(own_server):
    if own_server.database:
        return  # no socket: the commands speak to PostgreSQL themselves
    tenant = own_server.add_tenant()
    operator = own_server.operator()
    path = tenant.path("secrets/NAME")
    for body in ({}, {"value": ""}, {"value": 5}, {"value": "x\0"}, {"value": "x" * 65537}):
        refused = operator.request("PUT", path, body)
        assert refused.status == 422, body
        assert b"xxxx" not in refused.body
    assert operator.request("PUT", tenant.path("secrets/a%20b"), {"value": "x"}).status == 422
    assert operator.request("PUT", path, {"value": "x"}).status == 200
    assert operator.request("DELETE", path).json() == {"secrets": []}
    assert operator.request("DELETE", path).status == 404
    operator.close()
    tenant.client.close()


def key_file(server):
    return server.data / "master.key"


def test_the_first_start_makes_a_master_key(own_server):
    status = key_file(own_server).stat()
    assert stat.S_IMODE(status.st_mode) == 0o600
    assert (status.st_size, status.st_uid) == (KEY_LINE, os.geteuid())
    assert len(base64.b64decode(key_file(own_server).read_text())) == 32
    before = key_file(own_server).read_bytes()
    own_server.restart()
    assert key_file(own_server).read_bytes() == before


def refused_start(server, word):
    with pytest.raises(Trouble, match="no start"):
        server.start()
    assert word in server.log().splitlines()[-1], server.log()


def test_a_start_without_the_right_master_key_is_refused_with_a_sentence(own_server):
    tenant = own_server.add_tenant()
    set_secret(tenant, "n")
    tenant.client.close()
    own_server.stop()
    path, good = key_file(own_server), key_file(own_server).read_text()
    for mode in (0o640, 0o604, 0o666, 0o700):
        path.chmod(mode)
        refused_start(own_server, f"mode {mode:04o}")
    path.chmod(0o600)
    if os.geteuid() == 0:
        os.chown(path, 12345, -1)
        refused_start(own_server, "another user")
        os.chown(path, 0, -1)
    for text in ("", good[:-2], good + "x", "x" + good):
        path.write_text(text)
        refused_start(own_server, "damaged")
    path.write_text(base64.b64encode(os.urandom(32)).decode())
    refused_start(own_server, "cannot be opened with this master key")
    path.unlink()
    refused_start(own_server, "restore it, or go on with `muster vault reset --confirm`")
    assert not path.exists()
    path.write_text(good)
    path.chmod(0o600)
    own_server.start()


def test_another_node_with_another_key_does_not_start(own_server, tmp_path):
    if not own_server.database:
        return  # one data directory, one server
    other = Server(tmp_path / "other", by_another_server(own_server.database))
    refused_start(other, "no master key at")
    key_file(other).write_text(base64.b64encode(os.urandom(32)).decode())
    key_file(other).chmod(0o600)
    refused_start(other, "cannot be opened with this master key")
    key_file(other).write_bytes(key_file(own_server).read_bytes())
    other.start()
    other.stop()


def test_a_master_key_from_the_environment_leaves_no_trace(own_server, tmp_path):
    key = base64.b64encode(os.urandom(32)).decode()
    if own_server.database:
        key = key_file(own_server).read_text().strip()  # of the other node
    server = Server(
        tmp_path / "by-environment", own_server.database, environment={"MUSTER_MASTER_KEY": key}
    ).start()
    tenant = server.add_tenant(slug="by-environment")
    try:
        set_secret(tenant, "n")
        assert not key_file(server).exists()
        process = Path(f"/proc/{server.process.pid}")
        for name in ("environ", "cmdline"):
            assert key.encode() not in (process / name).read_bytes()
        assert b"PATH=" in (process / "environ").read_bytes()
        done = server.run("vault", "rotate")
        assert done.returncode == 1
        assert "MUSTER_MASTER_KEY" in done.stderr
        assert key not in server.log() + done.stderr
    finally:
        tenant.client.close()
        server.stop()
    if not own_server.database:
        del server.environment["MUSTER_MASTER_KEY"]
        refused_start(server, "no master key at")
        key_file(server).write_text(key + "\n")  # what the refusal to rotate says
        key_file(server).chmod(0o600)
        server.start()
        assert "new master key" in server.cli("vault", "rotate")
        server.stop()


def test_a_master_key_in_the_environment_that_is_none_stops_the_start(tmp_path):
    for text in ("short", base64.b64encode(os.urandom(31)).decode(), "=" * 44):
        server = Server(tmp_path / "data", environment={"MUSTER_MASTER_KEY": text})
        with pytest.raises(Trouble, match="no start"):
            server.start()
        assert "MUSTER_MASTER_KEY is not a key" in server.log()
        assert f" {text}" not in server.log()


def test_the_process_leaves_nothing_to_look_at(own_server, tmp_path):
    process = Path(f"/proc/{own_server.process.pid}")
    limits = (process / "limits").read_text()
    assert any(line.split()[:6] == ["Max", "core", "file", "size", "0", "0"]
               for line in limits.splitlines())  # fmt: skip
    status = (process / "status").read_text()
    if b"__asan_init" not in own_server.binary.read_bytes():  # which locks nothing
        assert "VmLck:\t" in status
        assert "VmLck:\t       0 kB" not in status  # the keys are locked in memory
    if os.geteuid() != 0:
        assert (process / "environ").stat().st_uid == 0  # not dumpable: it is not even ours
    own_server.process.send_signal(signal.SIGABRT)
    assert own_server.process.wait(120) == -signal.SIGABRT
    own_server.process.stdout.close()
    own_server.process = None
    assert not list(tmp_path.rglob("core*"))
    own_server.start()
