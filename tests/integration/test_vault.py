"""The vault against those who get at the database, the disk or the process: nothing comes out."""

import base64
import contextlib
import http.client
import json
import secrets as chance
import sqlite3
import subprocess
import threading
from urllib.parse import quote

import pytest
from conftest import running
from muster import STOP_S, Server
from people import add_user, log_in, platform_admin, tenant_person
from postgres import add_trigger, by_another_server, drop_trigger, run_sql
from stored import of_tenant, stored
from strace import injected
from waiting import until

AGENT = "collector"


def register(tenant, *keys):
    body = {"agent_name": AGENT, "config_schema": {"params": [{"key": key} for key in keys]}}
    assert tenant.client.post("/api/v1/agents/register", body).status == 200


def put(tenant, path, body):
    answer = tenant.server.admin.request("PUT", tenant.path(path), body)
    assert answer.status in (200, 201), answer.body


def set_secret(tenant, name, value):
    """By a request where that is possible, which costs little; test_secrets.py tests the command."""
    if tenant.server.asks:
        put(tenant, f"secrets/{name}", {"value": value})
    else:
        tenant.server.cli("secret", "set", name, "--tenant", tenant.slug, stdin=value)


def set_value(tenant, key, value):
    if tenant.server.asks:
        put(tenant, f"agents/{AGENT}/values/{key}", {"value": value})
    else:
        tenant.server.cli("value", "set", key, value, "--tenant", tenant.slug, "--agent", AGENT)


def config(client):
    return client.get(f"/api/v1/agents/config?agent_name={AGENT}")


def with_secrets(server, names, prefix="value of "):
    """A tenant whose agent has every secret as a parameter of its name; and its client."""
    tenant = server.add_tenant()
    register(tenant, *names)
    for name in names:
        set_secret(tenant, name, prefix + name)
        set_value(tenant, name, f"vault:{name}")
    client = tenant.agent_client(AGENT)
    assert config(client).json() == {name: prefix + name for name in names}
    return tenant, client


def execute(server, statements):
    """Changes rows behind the service's back. The embedded store must not be served meanwhile."""
    if server.database:
        run_sql(server.database, ";".join(statements))
        return
    with contextlib.closing(sqlite3.connect(server.data / "muster.db")) as database:
        for statement in statements:
            database.execute(statement)
        database.commit()


def blob(server, data):
    return f"'\\x{data.hex()}'" if server.database else f"x'{data.hex()}'"


def rows_of(server, table, columns, value):
    function = "encode(%s, 'hex')" if server.database else "lower(hex(%s))"
    select = f"SELECT {columns}, {function % value} AS bytes FROM {table} ORDER BY {columns}"
    return [(row, bytes.fromhex(row.pop("bytes"))) for row in stored(server, select)]


@contextlib.contextmanager
def changed(server, statements):
    """The server over rows that were changed behind its back."""
    if server.database:
        execute(server, statements)
        yield
        return
    server.stop()
    execute(server, statements)
    server.start()
    yield


def test_rows_swapped_or_changed_in_the_database_are_refused(own_server):
    one, client_one = with_secrets(own_server, ["A", "B"], "one's ")
    two, client_two = with_secrets(own_server, ["A", "B"], "two's ")
    for client in (client_one, client_two):
        client.close()
    sealed = rows_of(own_server, "secrets", "tenant_id, name", "sealed")
    assert len(sealed) == 4
    set_secret(one, "A", "newer")
    newer = rows_of(own_server, "secrets", "tenant_id, name", "sealed")
    others = {(row["tenant_id"], row["name"]): data for row, data in sealed + newer}
    target = sealed[0][0]
    assert others[target["tenant_id"], target["name"]] == newer[0][1]
    bad = [data for _, data in sealed]  # another name's, another tenant's, an older version's
    bad += [newer[0][1][:-1], b"", newer[0][1] + b"x"]
    bad += [bytes(b ^ (at == i) for i, b in enumerate(newer[0][1])) for at in (0, 1, 5, 29, -1 % 50)]
    token = one.add_key(AGENT)
    for data in bad:
        assert data != newer[0][1]
        update = (
            f"UPDATE secrets SET sealed = {blob(own_server, data)}"
            f" WHERE tenant_id = {target['tenant_id']} AND name = 'A'"
        )
        with changed(own_server, [update]):
            client = own_server.client(token)
            answer = config(client)
            client.close()
            assert answer.status == 503, answer.body
            assert "cannot be opened" in own_server.log()
            for text in (b"one's", b"two's", b"newer"):
                assert text not in answer.body
    good = f"UPDATE secrets SET sealed = {blob(own_server, newer[0][1])} WHERE name = 'A' AND "
    with changed(own_server, [good + of_tenant(one)]):
        client = own_server.client(token)
        assert config(client).json() == {"A": "newer", "B": "one's B"}
        client.close()
    one.client.close()
    two.client.close()


def test_a_data_key_swapped_in_the_database_stops_the_next_start(own_server):
    tenant, client = with_secrets(own_server, ["A"])
    other, other_client = with_secrets(own_server, ["A"])
    for one in (client, other_client, tenant.client, other.client):
        one.close()
    keys = rows_of(own_server, "data_keys", "tenant_id, version", "wrapped")
    assert len(keys) == 3  # the platform's, and one for each tenant
    own_server.stop()
    flipped = keys[1][1][:30] + bytes([keys[1][1][30] ^ 1]) + keys[1][1][31:]
    for data in (keys[0][1], keys[2][1], flipped, keys[1][1][:-1]):
        update = "UPDATE data_keys SET wrapped = {} WHERE tenant_id = {}"
        where = keys[1][0]["tenant_id"]
        execute(own_server, [update.format(blob(own_server, data), where)])
        with pytest.raises(AssertionError, match="cannot be opened"):
            own_server.start()
        execute(own_server, [update.format(blob(own_server, keys[1][1]), where)])
    own_server.start()


def rotate(server):
    return json.loads(server.cli("vault", "rotate", "--json"))


def test_no_read_fails_while_keys_rotate(own_server):
    tenant, client = with_secrets(own_server, ["A", "B"])
    client.close()
    token = tenant.add_key(AGENT)
    first = (own_server.data / "master.key").read_bytes()
    answers, stop = [], threading.Event()

    def read():
        mine = own_server.client(token)
        while not stop.is_set():
            answers.append(config(mine))
        mine.close()

    readers = [threading.Thread(target=read) for _ in range(3)]
    for reader in readers:
        reader.start()
    for _ in range(8):
        before = len(answers)
        said = rotate(own_server)
        assert said == {"data_keys": 2, "old_key_removed": True}
        until(lambda n=before + 3: len(answers) >= n)  # some come after each
    stop.set()
    for reader in readers:
        reader.join()
    failed = [answer.body for answer in answers if answer.status != 200]
    assert failed == []
    assert len({answer.headers["ETag"] for answer in answers}) == 1  # nothing to read again
    last = (own_server.data / "master.key").read_bytes()
    assert len(last) == 45
    assert last != first
    own_server.restart()  # with the last key alone
    client = own_server.client(token)
    assert config(client).json() == {"A": "value of A", "B": "value of B"}
    client.close()
    set_secret(tenant, "A", "new")
    tenant.client.close()
    rows = stored(own_server, "SELECT actor, detail FROM audit_log WHERE action = 'vault.rotate'")
    assert [json.loads(row["detail"]) for row in rows] == [{"data_keys": 2}] * 8
    own_server.stop()
    (own_server.data / "master.key").write_bytes(first)  # and it is good for nothing now
    with pytest.raises(AssertionError, match="cannot be opened"):
        own_server.start()
    (own_server.data / "master.key").write_bytes(last)
    own_server.start()


def test_another_node_goes_on_after_a_rotation(own_server, tmp_path):
    if not own_server.database:
        return  # one server alone
    tenant, client = with_secrets(own_server, ["A"])
    shared = {"MUSTER_MASTER_KEY_FILE": str(own_server.data / "master.key")}
    other = Server(tmp_path / "other", by_another_server(own_server.database), environment=shared).start()
    try:
        there = other.client(tenant.add_key(AGENT))
        for _ in range(3):
            assert config(there).json() == config(client).json() == {"A": "value of A"}
            rotate(own_server)  # a third process
        fresh, its_client = with_secrets(other, ["B"])  # a new data key, made by a command
        here = own_server.client(fresh.add_key(AGENT))
        assert config(here).json() == {"B": "value of B"}
        for one in (there, its_client, here, fresh.client):
            one.close()
    finally:
        other.stop()
    client.close()
    tenant.client.close()
    own_server.restart()  # all data keys open


def has_died(server):
    """Whether it was killed; it is waited for, since that is no matter of a moment."""
    try:
        with contextlib.closing(server.client()) as client:
            return client.get("/api/v1/health").status != 200
    except (OSError, http.client.HTTPException):
        server.process.wait(STOP_S)
        return True


@pytest.mark.parametrize("call", ["unlink", "rename", "fsync", "pwrite64", "fdatasync"])
@pytest.mark.parametrize("nth", [1, 2, 3])
def test_killed_in_the_middle_of_a_rotation_nothing_is_lost(store, tmp_path, call, nth):
    if store != "sqlite":
        return  # commands rotate there, and the steps are the same
    with running(store, tmp_path) as server:
        tenant, client = with_secrets(server, ["A"])
        client.close()
        token = tenant.add_key(AGENT)
        tenant.client.close()
        with injected(server, f"{call}:signal=KILL:when={nth}"):
            server.run("vault", "rotate")
        killed = has_died(server)
        if killed:
            server.process.stdout.close()
            server.process = None
            server.start()
        client = server.client(token)
        assert config(client).json() == {"A": "value of A"}
        client.close()
        assert len((server.data / "master.key").read_bytes()) == 45  # the start has finished it
        assert rotate(server)["old_key_removed"]
        server.restart()
    assert killed or nth > 1, f"{call} was not called even once"


def test_without_its_entry_in_the_audit_log_no_secret_leaves(own_server, clock):
    tenant, client = with_secrets(own_server, ["A"])
    clock.advance(3601)  # what it gets now has to be entered again
    entries = f"SELECT 1 AS one FROM audit_log WHERE {of_tenant(tenant)} AND action = 'config.resolve'"
    before = len(stored(own_server, entries))
    if own_server.database:
        add_trigger(own_server.database, "refuse", "BEFORE INSERT ON audit_log",
                    "RAISE EXCEPTION 'no' USING ERRCODE = '53100'")  # fmt: skip
        answer = config(client)
        drop_trigger(own_server.database, "refuse", "audit_log")
    else:
        with injected(own_server, "pwrite64:error=ENOSPC") as lines:
            answer = config(client)
            # An hour later it also writes by itself: strace must let go of no thread in a write, which
            # would then fail in another way.
            own_server.kill()
        assert "INJECTED" in "".join(lines)
        own_server.start()
        client = own_server.client(client.token)
    assert answer.status == 503, answer.body
    assert int(answer.headers["Retry-After"]) >= 1
    assert b"value of A" not in answer.body
    assert len(stored(own_server, entries)) == before
    assert config(client).json() == {"A": "value of A"}
    assert len(stored(own_server, entries)) == before + 1
    client.close()
    tenant.client.close()


def everything_in(folder):
    """Every file below, whole."""
    for path in sorted(folder.rglob("*")):
        if path.is_file():
            yield str(path), path.read_bytes()


def forms(text):
    """A secret as it might stand somewhere."""
    raw = text.encode()
    return {
        raw, raw.hex().encode(), raw.hex().upper().encode(), base64.b64encode(raw).rstrip(b"="),
        quote(text).encode(), json.dumps(text)[1:-1].encode(),
    }  # fmt: skip


def find(planted, haystacks):
    """(where, what) of everything planted that is found."""
    return [
        (where, name)
        for where, data in haystacks
        for name, text in planted.items()
        if any(form in data for form in forms(text))
    ]


def dump(server):
    if not server.database:
        return b""
    done = subprocess.run(["pg_dump", server.database], capture_output=True, check=True, timeout=120)
    return done.stdout


def answers_to(person, tenant):
    """Every GET that people have, about this tenant."""
    document = person.get("/openapi.json").json()
    names = {"slug": tenant.slug, "agent_name": AGENT, "key": "password", "name": "PW",
             "version": "1", "run_id": "3f2b8c1e-9a4d-4e6f-8b7a-0c1d2e3f4a5b"}  # fmt: skip
    for path, item in document["paths"].items():
        if "get" in item and "/stream" not in path:
            filled = path
            for name in ("slug", "agent_name", "key", "name", "version", "run_id"):
                filled = filled.replace("{" + name + "}", names[name])
            query = "" if "agents/" not in path else f"?agent_name={AGENT}&from=1&to=1"
            answer = person.get(filled + query)
            yield f"GET {path} {answer.status}", answer.body


def test_no_secret_is_found_anywhere(store, tmp_path):
    random = chance.token_urlsafe(12)
    planted = {"password of a person": f"pa ss-{random}", "new secret": f"nü-{random}",
               "old secret": f"öld-{random}", "removed secret": f"gone-{random}"}  # fmt: skip
    with running(store, tmp_path, arguments=["--log-level", "debug"]) as server:
        tenant = server.add_tenant()
        register(tenant, "password", "url")
        server.cli("secret", "set", "PW", "--tenant", tenant.slug, stdin=planted["old secret"])
        set_secret(tenant, "PW", planted["new secret"])
        server.cli("secret", "set", "GONE", "--tenant", tenant.slug, "--shared",
                   stdin=planted["removed secret"])  # fmt: skip
        set_value(tenant, "password", "vault:PW")
        set_value(tenant, "url", "http://u:${vault:PW}@${vault:GONE}/")
        client = tenant.agent_client(AGENT)
        said = config(client)
        assert planted["new secret"] in said.json()["url"]
        rotate(server)
        server.cli("secret", "delete", "GONE", "--tenant", tenant.slug)
        missing = config(client)
        assert missing.status == 409
        email = add_user(server, "--role", "platform_admin", password=planted["password of a person"])
        person = log_in(server, email, planted["password of a person"])
        replies = list(answers_to(person, tenant))
        assert sum(" 200" in where for where, _ in replies) > 20
        replies.append(("409", missing.body))
        planted |= {"workspace token": tenant.token, "agent's token": client.token,
                    "session": person.session.split("=", 1)[1]}  # fmt: skip
        planted["master key"] = (server.data / "master.key").read_text().strip()
        for one in (client, person, tenant.client):
            one.close()
        server.run("secret", "set", "bad name", "--tenant", tenant.slug, stdin=random)
        live = [*everything_in(tmp_path), ("pg_dump", dump(server)), *replies]
        assert any(where.endswith(".stderr") for where, _ in live)
        process = f"/proc/{server.process.pid}/"
        live += [(name, open(process + name, "rb").read()) for name in ("environ", "cmdline")]  # noqa: SIM115
    found = [hit for hit in find(planted, live) if not hit[0].endswith("/master.key")]
    assert found == []
    assert find(planted, [("planted", said.body)]) == [("planted", "new secret"),
                                                       ("planted", "removed secret")]  # fmt: skip
    assert find({"marked": "agents"}, [("openapi", replies[0][1]), *replies])  # it does search
    after = [hit for hit in find(planted, everything_in(tmp_path)) if "master.key" not in hit[0]]
    assert after == []


def test_members_edit_and_see_what_the_catalog_lets_them(tenant):
    register(tenant, "for_admins", "for_members", "unseen", "password")
    cli, slug = tenant.server.cli, tenant.slug
    cli("catalog", "set", "for_members", "--tenant", slug, "--edit", "member")
    cli("catalog", "set", "unseen", "--tenant", slug, "--see", "admin")
    cli("catalog", "set", "password", "--tenant", slug, "--edit", "member")
    for key in ("for_admins", "for_members", "unseen"):
        set_value(tenant, key, f"text of {key}")
    set_value(tenant, "password", "vault:PW")
    member, admin = tenant_person(tenant, "member"), tenant_person(tenant, "admin")
    path = tenant.path(f"agents/{AGENT}/values")

    def shown(person):
        rows = person.get(path).json()["values"]
        return {row["key"]: (row["value"], row["hidden"]) for row in rows}

    assert shown(admin) == {
        "for_admins": ("text of for_admins", False), "unseen": ("text of unseen", False),
        "for_members": ("text of for_members", False), "password": ("vault:PW", False),
    }  # fmt: skip
    assert shown(member) == {
        "for_admins": ("text of for_admins", False), "unseen": (None, True),
        "for_members": ("text of for_members", False), "password": (None, True),
    }  # fmt: skip

    def put(person, key, value, base=path):
        return person.request("PUT", f"{base}/{key}", {"value": value}).status

    assert put(member, "for_members", "mine") == 200
    assert put(member, "for_admins", "mine") == 403
    assert put(member, "for_admins", "mine", tenant.path("values")) == 403
    assert put(member, "new-key", "mine") == 403
    assert put(member, "for_members", "vault:PW") == 403  # a secret is an admin's to give
    assert put(member, "password", "${vault:PW}") == 403
    assert put(member, "password", "in the clear") == 422
    assert member.request("DELETE", f"{path}/for_admins").status == 403
    assert put(admin, "for_admins", "mine") == 200
    assert put(admin, "password", "${vault:PW}") == 200
    for method, where, body in (
        ("GET", "secrets", None), ("PUT", "secrets/N", {"value": "x"}),
        ("DELETE", "secrets/N", None), ("PATCH", "catalog/for_admins", {"edit": "member"}),
        ("PUT", f"agents/{AGENT}/document", {"document": "x"}),
    ):  # fmt: skip
        assert member.request(method, tenant.path(where), body).status == 403
    assert member.get(tenant.path("catalog")).status == 200
    assert admin.request("PUT", tenant.path("secrets/N"), {"value": "x"}).status == 200
    assert admin.post("/api/v1/platform/vault/rotate").status == 403
    platform = platform_admin(tenant.server)
    assert platform.post("/api/v1/platform/vault/rotate").status == 200
    for person in (member, admin, platform):
        person.close()
    author = stored(
        tenant.server,
        f"SELECT author FROM config_values WHERE {of_tenant(tenant)} AND key = 'for_members'",
    )
    assert author == [{"author": f"person:{member.email}"}]
