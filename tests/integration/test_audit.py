"""The audit log: who did what, page by page, and nothing of it can be changed unnoticed."""

import json
import random
import shutil
import sqlite3

import pytest
from postgres import run_sql
from stored import stored

MANIPULATIONS = 30


def entries(server, *more):
    return json.loads(server.cli("audit", "list", "--json", *more))["entries"]


def test_an_administrative_change_is_in_the_log_of_its_tenant(server):
    tenant = server.add_tenant()
    made = json.loads(server.cli("key", "add", "--tenant", tenant.slug, "--json"))
    tenant.client.post("/api/v1/telemetry", tenant.event(agent_name="bü/ro"))
    server.cli("agent", "disable", "bü/ro", "--tenant", tenant.slug)
    server.cli("key", "delete", made["key_id"], "--tenant", tenant.slug)
    server.cli("model", "set", "m-1", "--tenant", tenant.slug)
    told = entries(server, "--tenant", tenant.slug)
    assert [(e["seq"], e["action"], e["target"]) for e in told[:-1]] == [
        (5, "model.set", f"/api/v1/tenants/{tenant.slug}/model"),
        (4, "key.revoke", made["key_id"]),
        (3, "agent.set", "bü/ro"),
        (2, "key.add", made["key_id"]),
    ]
    assert told[2]["detail"] == {"enabled": False}
    assert told[0]["detail"]["model"] == "m-1"
    assert told[3]["detail"] == {"kind": "workspace"}
    assert {e["actor"] for e in told[:-1]} == {"operator"}
    assert made["token"] not in json.dumps(told)
    assert all(len(e["hash"]) == 64 for e in told)
    platform = entries(server, "--action", "tenant.add", "--limit", "1")
    assert [e["target"] for e in platform] == [tenant.slug]
    assert platform[0]["detail"]["max_agents"] == 100
    tenant.client.close()


def test_what_is_refused_is_not_in_the_log(server):
    tenant = server.add_tenant()
    assert server.run("key", "delete", "key_none", "--tenant", tenant.slug).returncode == 1
    assert [e["action"] for e in entries(server, "--tenant", tenant.slug)] == ["key.add"]
    tenant.client.close()


def test_pages_and_filters_give_every_entry_once(own_server):
    if own_server.database:
        return  # no socket: the commands show one page only
    operator = own_server.operator()
    operator.post("/api/v1/tenants", {"slug": "paged"})
    for i in range(25):
        path = "/api/v1/tenants/paged/model"
        assert operator.request("PUT", path, {"model": f"m-{i}"}).status == 200
        if i % 5 == 0:
            assert operator.request("DELETE", path).status == 200
    here = "/api/v1/tenants/paged/audit"
    whole = operator.get(f"{here}?limit=1000").json()
    assert whole["next"] is None
    assert [e["seq"] for e in whole["entries"]] == list(range(30, 0, -1))
    for filters, fits in (
        ("", lambda e: True),
        ("&action=model.unset", lambda e: e["action"] == "model.unset"),
        ("&actor=operator", lambda e: True),
        ("&actor=nobody", lambda e: False),
        ("&since=1h", lambda e: True),
        ("&until=1h", lambda e: False),
        (f"&until={whole['entries'][9]['at']}", lambda e: e["seq"] < 21),
    ):
        seen, cursor = [], ""
        while cursor is not None:
            page = operator.get(f"{here}?limit=4{filters}{cursor}").json()
            seen += page["entries"]
            cursor = page["next"] and f"&cursor={page['next']}"
        assert seen == [e for e in whole["entries"] if fits(e)], filters
    for bad in ("limit=0", "limit=1001", "cursor=x", "cursor=0", "since=x", "since=1h&until=2h"):
        assert operator.get(f"{here}?{bad}").status == 422, bad
    assert operator.get(f"{here}/verify").json() == {
        "ok": True, "entries": 30, "problem": None, "seq": None, "signed_to": 30,
        "unsigned_entries": 0, "reset_seq": None,
    }  # fmt: skip
    assert operator.get("/api/v1/platform/audit").json()["entries"][0]["target"] == "paged"
    assert operator.get("/api/v1/platform/audit/verify").json()["ok"]
    operator.close()


@pytest.mark.parametrize("rest", ["audit", "audit/verify", "audit/head"])
def test_keys_cannot_read_the_log(rest, tenant):
    for path in (tenant.path(rest), f"/api/v1/platform/{rest}"):
        assert tenant.client.get(path).status == 403
        stranger = tenant.server.client()
        assert stranger.get(path).status == 401
        stranger.close()


class Store:
    """The audit log of a stopped server, changed past it and put back."""

    def __init__(self, server, folder):
        self.server, self.file, self.good = server, server.data / "muster.db", folder / "good.db"
        if server.database:
            self.change("CREATE TABLE good_log AS TABLE audit_log;"
                        "CREATE TABLE good_heads AS TABLE audit_heads")  # fmt: skip
        else:
            shutil.copy(self.file, self.good)

    def change(self, sql):
        if self.server.database:
            run_sql(self.server.database, sql)
            return
        connection = sqlite3.connect(self.file)
        connection.executescript(sql)
        connection.close()

    def put_back(self):
        if not self.server.database:
            shutil.copy(self.good, self.file)
            return
        self.change("TRUNCATE audit_log; INSERT INTO audit_log SELECT * FROM good_log;"
                    "TRUNCATE audit_heads; INSERT INTO audit_heads SELECT * FROM good_heads")  # fmt: skip

    def text(self, value):
        return f"X'{value}'" if not self.server.database else f"'\\x{value}'"


def change_column(rng, store, row, chain):
    column = rng.choice(["at", "actor", "action", "target", "origin", "detail", "hash"])
    value = {
        "at": "at + 1",
        "detail": rng.choice(["NULL", "''", "'{}'", "'{\"enabled\":true} '"])
        if row["detail"] else "'{}'",
        "hash": store.text(rng.randbytes(32).hex()),
    }.get(column, f"{column} || ' '")  # fmt: skip
    store.change(f"UPDATE audit_log SET {column} = {value} WHERE {row['here']}")
    return row["seq"]


def remove(rng, store, row, chain):
    store.change(f"DELETE FROM audit_log WHERE {row['here']}")
    return row["seq"]


def remove_and_close_the_gap(rng, store, row, chain):
    if row["seq"] == chain["n"]:
        return remove(rng, store, row, chain)
    of, at = chain["of"], row["seq"]
    store.change(f"DELETE FROM audit_log WHERE {row['here']};"
                 f"UPDATE audit_log SET seq = -seq WHERE {of} AND seq > {at};"
                 f"UPDATE audit_log SET seq = -seq - 1 WHERE {of} AND seq < 0")  # fmt: skip
    return at


def swap(rng, store, row, chain):
    other = rng.choice([seq for seq in range(1, chain["n"] + 1) if seq != row["seq"]])
    of, at = chain["of"], row["seq"]
    store.change(f"UPDATE audit_log SET seq = -1 WHERE {of} AND seq = {at};"
                 f"UPDATE audit_log SET seq = {at} WHERE {of} AND seq = {other};"
                 f"UPDATE audit_log SET seq = {other} WHERE {of} AND seq = -1")  # fmt: skip
    return min(at, other)


def insert(rng, store, row, chain):
    seq = rng.choice([chain["n"] + 1, 0, -7])
    rest = "at, actor, action, target, origin, detail, hash"
    store.change(f"INSERT INTO audit_log (tenant_id, seq, {rest})"
                 f" SELECT tenant_id, {seq}, {rest} FROM audit_log WHERE {row['here']}")  # fmt: skip
    return seq


def insert_between(rng, store, row, chain):
    of, at = chain["of"], row["seq"]
    rest = "at, actor, action, target, origin, detail, hash"
    store.change(f"UPDATE audit_log SET seq = -seq WHERE {of} AND seq >= {at};"
                 f"UPDATE audit_log SET seq = 1 - seq WHERE {of} AND seq < 0;"
                 f"INSERT INTO audit_log (tenant_id, seq, {rest}) SELECT tenant_id, {at}, {rest}"
                 f" FROM audit_log WHERE {of} AND seq = {at} + 1")  # fmt: skip
    return at + 1  # its copy is good at its old place


def cut_off(rng, store, row, chain):
    store.change(f"DELETE FROM audit_log WHERE {chain['of']} AND seq >= {row['seq']}")
    return row["seq"]


def change_the_end(rng, store, row, chain):
    what, seq = rng.choice([
        (f"hash = {store.text(rng.randbytes(32).hex())}", chain["n"]),
        ("seq = seq + 1", chain["n"] + 1),
        ("seq = seq - 1", chain["n"]),
    ])  # fmt: skip
    store.change(f"UPDATE audit_heads SET {what} WHERE {chain['of']}")
    return seq


KINDS = [change_column, change_column, change_column, remove, remove_and_close_the_gap, swap,
         insert, insert_between, cut_off, change_the_end]  # fmt: skip


def grow_chains(server):
    """The platform's and two tenants', each with a few entries; what they are called, and where."""
    for slug in ("one", "two"):
        server.cli("tenant", "add", slug)
        for i in range(3):
            server.cli("key", "add", "--tenant", slug, "--label", str(i))
            server.cli("model", "set", f"m-{i}", "--tenant", slug)
    for i in range(3):
        server.cli("model", "set", f"m-{i}")
    tenants = stored(server, "SELECT tenant_id, slug FROM tenants")
    names = {0: "the platform", **{t["tenant_id"]: f"tenant '{t['slug']}'" for t in tenants}}
    return [
        {"name": name, "of": f"tenant_id = {tenant_id}",
         "n": stored(server, f"SELECT MAX(seq) AS n FROM audit_log WHERE tenant_id = {tenant_id}")
              [0]["n"]}
        for tenant_id, name in names.items()
    ]  # fmt: skip


def test_every_manipulation_of_the_log_is_named(own_server, tmp_path):
    chains = grow_chains(own_server)
    own_server.stop()
    store, rng = Store(own_server, tmp_path), random.Random(7)
    good = own_server.cli("audit", "verify")
    assert good.count("all intact") == len(chains) == 3
    for i in range(MANIPULATIONS):
        chain, kind = rng.choice(chains), KINDS[i % len(KINDS)]
        seq = rng.randint(1, chain["n"])
        (row,) = stored(own_server, f"SELECT seq, detail FROM audit_log"
                                    f" WHERE {chain['of']} AND seq = {seq}")  # fmt: skip
        row["here"] = f"{chain['of']} AND seq = {seq}"
        where = kind(rng, store, row, chain)
        done = own_server.run("audit", "verify")
        what = (kind.__name__, chain, seq, done)
        assert done.returncode == 1, what
        assert done.stderr.startswith(f"muster: audit log of {chain['name']}: "), what
        assert done.stderr.endswith(f" (entry {where})\n"), what
        assert done.stderr.count("\n") == 1, what
        assert done.stdout.count("all intact") == 2, what
        store.put_back()
    assert own_server.cli("audit", "verify") == good
    own_server.start()
