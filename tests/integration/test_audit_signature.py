"""Someone who can write the database but has no key cannot rewrite the audit log unnoticed."""

import base64
import hashlib
import json
import shutil
import struct

import pytest
from conftest import running
from muster import Server
from stored import of_tenant, stored
from test_audit import Store


def fill(server, n=6):
    """A tenant with n entries in its log."""
    tenant = server.add_tenant()
    for i in range(n - 1):
        set_model(server, tenant, f"m-{i}")
    tenant.client.close()
    return tenant


def set_model(server, tenant, model):
    """An entry of the log, by a request where that is possible."""
    if server.asks:
        done = server.admin.request("PUT", tenant.path("model"), {"model": model})
        assert done.status == 200, done.body
    else:
        server.cli("model", "set", model, "--tenant", tenant.slug)


def number(n):
    return struct.pack("<q", n)


def text(value):
    return number(-1) if value is None else number(len(value.encode())) + value.encode()


def entry_hash(before, row):
    """The hash as the program makes it: anyone can, it has no key."""
    parts = [before, number(row["tenant_id"]), number(row["seq"]), number(row["at"])]
    parts += [text(row[c]) for c in ("actor", "action", "target", "origin", "detail")]
    return hashlib.sha256(b"".join(parts)).digest()


def rows_of(server, tenant):
    where = of_tenant(tenant)
    columns = "tenant_id, seq, at, actor, action, target, origin, detail"
    return stored(server, f"SELECT {columns} FROM audit_log WHERE {where} ORDER BY seq")


def rewrite(server, store, tenant, change, extra=""):
    """Changes the rows and makes every hash and the end of the chain anew."""
    rows, before = change(rows_of(server, tenant)), bytes(32)
    where, sql = of_tenant(tenant), []
    sql.append(f"DELETE FROM audit_log WHERE {where} AND seq > {len(rows)}")
    for row in rows:
        before = entry_hash(before, row)
        sql.append(f"UPDATE audit_log SET actor = '{row['actor']}', hash = {store.text(before.hex())}"
                   f" WHERE {where} AND seq = {row['seq']}")  # fmt: skip
    sql.append(f"UPDATE audit_heads SET seq = {len(rows)}, hash = {store.text(before.hex())}{extra}"
               f" WHERE {where}")  # fmt: skip
    store.change(";".join(sql))


def blame_another(rows):
    rows[2]["actor"] = "person:innocent@example.com"
    return rows


def cut(rows):
    return rows[:-2]


def verdict(server, tenant, *more):
    done = server.run("audit", "verify", "--json", *more, *(("--tenant", tenant.slug) if not more else ()))
    chains = json.loads(done.stdout)["chains"]
    return next(chain["verdict"] for chain in chains if chain["tenant"] == tenant.slug)


NO_SIGNATURE = ", signature = NULL, signed_hash = NULL, signed_seq = 0"


def test_a_chain_rewritten_with_all_its_hashes_is_found(own_server, tmp_path):
    tenant = fill(own_server)
    own_server.stop()
    store = Store(own_server, tmp_path)
    rewrite(own_server, store, tenant, lambda rows: rows)  # the control: the same hashes as ours
    assert verdict(own_server, tenant)["ok"]
    for change in (blame_another, cut):
        for extra in ("", NO_SIGNATURE, ", signed_seq = 3", ", unsigned_entries = 9"):
            store.put_back()
            rewrite(own_server, store, tenant, change, extra)
            assert not verdict(own_server, tenant)["ok"], (change, extra)
    store.put_back()
    rewrite(own_server, store, tenant, blame_another)
    own_server.start()
    for i in range(2):  # entries that follow do not cover it up
        own_server.cli("model", "set", f"later-{i}", "--tenant", tenant.slug)
        assert not verdict(own_server, tenant)["ok"]


def test_what_was_signed_late_is_counted(own_server, tmp_path):
    tenant = fill(own_server)
    own_server.stop()
    Store(own_server, tmp_path).change(
        "UPDATE audit_heads SET signature = NULL, signed_hash = NULL, signed_seq = 0"
    )  # as an older version left it
    found = verdict(own_server, tenant)
    assert "not signed" in found["problem"]
    own_server.start()
    assert "had no signature" in own_server.log()
    own_server.cli("model", "set", "later", "--tenant", tenant.slug)
    found = verdict(own_server, tenant)
    assert (found["ok"], found["signed_to"], found["unsigned_entries"]) == (True, 7, 6)


def test_a_command_without_the_key_writes_entries_that_the_next_one_signs(own_server, tmp_path):
    if not own_server.database:
        return  # the server does it
    tenant = fill(own_server)
    stranger = Server(tmp_path / "elsewhere", own_server.database)
    stranger.cli("model", "set", "m", "--tenant", tenant.slug)
    found = verdict(own_server, tenant)
    assert (found["ok"], found["entries"], found["signed_to"]) == (True, 7, 6)
    assert verdict(stranger, tenant)["signed_to"] is None
    assert "needs the master key" in stranger.run("audit", "head").stderr
    own_server.cli("model", "set", "n", "--tenant", tenant.slug)
    found = verdict(own_server, tenant)
    assert (found["ok"], found["signed_to"], found["unsigned_entries"]) == (True, 8, 1)


def test_a_kept_head_proves_that_the_log_was_not_replaced(own_server, tmp_path):
    """Even by an older copy of the whole database, whose signature holds."""
    tenant = fill(own_server)
    if not own_server.database:
        own_server.stop()
        shutil.copy(own_server.data / "muster.db", tmp_path / "old.db")
        own_server.start()
    own_server.cli("model", "set", "later", "--tenant", tenant.slug)
    kept = tmp_path / "heads"
    kept.write_text(own_server.cli("audit", "head"))
    assert len(kept.read_text().splitlines()) == 2
    own_server.cli("model", "set", "last", "--tenant", tenant.slug)
    assert verdict(own_server, tenant, "--head", str(kept))["ok"]
    own_server.cli("vault", "rotate")  # the signature outlives the master key
    assert verdict(own_server, tenant, "--head", str(kept))["ok"]
    own_server.stop()
    store = Store(own_server, tmp_path)
    rewrite(own_server, store, tenant, blame_another)
    assert "was rewritten" in verdict(own_server, tenant, "--head", str(kept))["problem"]
    store.put_back()
    assert verdict(own_server, tenant, "--head", str(kept))["ok"]
    if not own_server.database:
        shutil.copy(tmp_path / "old.db", own_server.data / "muster.db")
        assert verdict(own_server, tenant)["ok"]  # which the log alone cannot show
        assert "missing at the end" in verdict(own_server, tenant, "--head", str(kept))["problem"]
        store.put_back()
    forged = kept.read_text().replace(".7.", ".5.")
    kept.write_text(forged)
    assert "kept head was not signed" in verdict(own_server, tenant, "--head", str(kept))["problem"]
    kept.write_text("nonsense\n")
    assert "is not a line of" in own_server.run("audit", "verify", "--head", str(kept)).stderr
    own_server.start()


def test_the_public_key_alone_checks_a_head(store, tmp_path):
    crypto = pytest.importorskip("cryptography.hazmat.primitives.asymmetric.ed25519")
    with running(store, tmp_path) as server:
        tenant = fill(server, 3)
        chains = json.loads(server.cli("audit", "head", "--json"))["chains"]
        head = next(chain["head"] for chain in chains if chain["tenant"] == tenant.slug)
        key, (signed, _, signature) = head["public_key"], head["head"].rpartition(".")
        key = crypto.Ed25519PublicKey.from_public_bytes(base64.urlsafe_b64decode(key + "="))
        key.verify(base64.urlsafe_b64decode(signature + "=="), signed.encode())
        assert signed.split(".")[2] == "3"


def test_a_head_of_another_log_and_one_that_is_none_are_refused(own_server):
    one, two = fill(own_server, 2), fill(own_server, 2)
    admin = own_server.admin
    if admin is None:
        return  # the same routes
    assert admin.get("/api/v1/platform/audit/head").json()["seq"] > 0
    head = admin.get(one.path("audit/head")).json()["head"]
    assert admin.get(one.path(f"audit/verify?head={head}")).json()["ok"]
    assert admin.get(two.path(f"audit/verify?head={head}")).status == 409
    for bad in ("x", "mh1", head[:-1], head.replace("mh1", "mh2"), head + "A"):
        assert admin.get(one.path(f"audit/verify?head={bad}")).status == 422, bad
