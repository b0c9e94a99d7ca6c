"""An audit log of many large entries is listed in pages that end by their bytes, and verified in turns."""

import json

import pytest
from stored import change, of_tenant, stored
from test_audit_signature import entry_hash, fill

ENTRIES, SECRETS = 300, 1000  # entries, and the names in each: 39 MB in all
PAGE_BYTES_MAX = 16 << 20
COLUMNS = ("tenant_id", "seq", "at", "actor", "action", "target", "origin", "detail")


def quoted(server, value):
    if isinstance(value, bytes):
        return f"'\\x{value.hex()}'" if server.database else f"X'{value.hex()}'"
    return f"'{value}'" if isinstance(value, str) else str(value)


def append_large_entries(server, tenant):
    """As agents that pull 1,000 secrets leave them, past the service. Its start signs the log."""
    (end,) = stored(server, f"SELECT tenant_id, seq FROM audit_heads WHERE {of_tenant(tenant)}")
    binary = "encode(hash, 'hex')" if server.database else "hex(hash)"
    (was,) = stored(server, f"SELECT {binary} AS hash FROM audit_heads WHERE {of_tenant(tenant)}")
    names = [f"N{i:0127}" for i in range(SECRETS)]
    row = {"tenant_id": end["tenant_id"], "at": 1, "actor": "key:key_1", "action": "config.resolve",
           "target": "agent", "origin": "127.0.0.1", "detail": json.dumps({"secrets": names})}  # fmt: skip
    before = bytes.fromhex(was["hash"])
    for seq in range(end["seq"] + 1, end["seq"] + ENTRIES + 1):
        row["seq"] = seq
        before = entry_hash(before, row)
        values = ", ".join(quoted(server, row[c]) for c in COLUMNS)
        change(server, f"INSERT INTO audit_log ({', '.join(COLUMNS)}, hash)"
                       f" VALUES ({values}, {quoted(server, before)})")  # fmt: skip
    change(server, f"UPDATE audit_heads SET seq = {row['seq']}, hash = {quoted(server, before)},"
                   " signature = NULL, signed_hash = NULL, signed_seq = 0"
                   f" WHERE {of_tenant(tenant)}")  # fmt: skip
    return row["seq"]


def pages(client, path):
    cursor = ""
    while cursor is not None:
        page = client.get(f"{path}?limit=1000{cursor}")
        assert page.status == 200, page.body
        assert len(page.body) <= PAGE_BYTES_MAX
        yield [entry["seq"] for entry in page.json()["entries"]]
        cursor = page.json()["next"] and f"&cursor={page.json()['next']}"


@pytest.mark.administered
def test_a_log_of_large_entries_is_listed_and_verified(own_server):
    tenant = fill(own_server, 2)
    own_server.stop()
    last = append_large_entries(own_server, tenant)
    own_server.start()
    found = list(pages(own_server.admin, tenant.path("audit")))
    assert len(found) > 1
    assert [seq for page in found for seq in page] == list(range(last, 0, -1))
    verdict = own_server.admin.get(tenant.path("audit/verify")).json()
    assert (verdict["ok"], verdict["entries"], verdict["problem"]) == (True, last, None)
    own_server.stop()
    forged = last - 50
    change(own_server, f"UPDATE audit_log SET at = 2 WHERE {of_tenant(tenant)} AND seq = {forged}")
    own_server.start()
    verdict = own_server.admin.get(tenant.path("audit/verify")).json()
    assert (verdict["ok"], verdict["seq"]) == (False, forged)
