"""A stored report that changed by itself is found: by each read of it, and by `muster check`."""

import contextlib
import json
import random
import re
import sqlite3
import struct
import uuid

import pytest
from conftest import STORES, running
from postgres import run_sql, update_anywhere
from stored import stored

RUN = str(uuid.UUID(int=7))
AT = "2025-03-01T12:00:30Z"
RANGE = "time_range=2025-03-01T00:00:00Z/2025-03-02T00:00:00Z"
MINUTE = "time_range=2025-03-01T12:00:00Z/2025-03-01T12:01:00Z"
TABLES = {
    "events": "tenant_id run_no agent_id event_id event_uuid event timestamp received_at seq agent_version"
    " duration_ms records_processed error_type error_message workflow_run_id message level category"
    " source metadata metrics links output",
    "business_runs": "tenant_id agent_id run_id timestamp agent_version workflow_run_id",
    "business_values": "tenant_id run_no key full_key agent_id timestamp received_at integer_value"
    " real_value text_value",
    "business_breakdowns": "tenant_id run_no metric dimensions full_dimensions agent_id timestamp"
    " received_at cells",
    "llm_usage": "tenant_id timestamp agent_id run_id model received_at input_tokens output_tokens"
    " cache_read_tokens cache_write_tokens calls agent_version workflow_run_id",
}
NUMBERS = {"real_value": "real_value + 0.5", "event": "2"}
UUID = {False: "zeroblob(16)", True: "CAST(md5(CAST(event_uuid AS TEXT)) AS UUID)"}  # True: PostgreSQL
TEXTS = {"event_id", "agent_version", "error_type", "error_message", "workflow_run_id", "message",
         "level", "category", "source", "metadata", "metrics", "links", "output", "run_id", "key",
         "full_key", "text_value", "metric", "dimensions", "full_dimensions", "cells",
         "model"}  # fmt: skip


def alter(server, *statements):
    """Changes rows behind the service's back, with what checks them there switched off."""
    if server.database:
        quiet = ["SET session_replication_role = replica", *statements]
        run_sql(server.database, *quiet)  # one by one, as Citus asks
        return
    connection = sqlite3.connect(server.data / "muster.db")
    for statement in statements:
        connection.execute(statement)
    connection.commit()
    connection.close()


def other(server, column):
    """Another value of the column, as SQL."""
    if column == "event_uuid":
        return UUID[bool(server.database)]
    if column in TEXTS:
        return f"COALESCE({column}, '') || 'x'"
    return NUMBERS.get(column, f"COALESCE({column}, 0) + 1")


def alter_column(server, table, column):
    """Of a few rows: of those with the largest value, or of all if none has one."""
    of = "event_no" if table == "events" else column
    last = stored(server, f"SELECT MAX({of}) AS n FROM {table}")[0]["n"]
    changed = f"{column} = {other(server, column)}"
    if server.database:
        update_anywhere(server.database, table, changed, "true" if last is None else f"{of} = '{last}'")
    else:
        where = "true" if last is None else f"{of} = (SELECT MAX({of}) FROM {table})"
        alter(server, f"UPDATE {table} SET {changed} WHERE {where}")


def report(tenant):
    client = tenant.client
    events = [
        tenant.event(run_id=RUN, timestamp=AT, seq=i, message=f"step {i}", duration_ms=5,
                     records_processed=6, error_type="T", error_message="m",
                     workflow_run_id=str(uuid.UUID(int=8)), metadata={"a": "b"},
                     metrics={"n": 1}, links=["https://example.com/"], output={"x": 1})
        for i in range(3)
    ]  # fmt: skip
    for some in (events[:2], events[2:]):  # the last one shares its kind on both stores
        assert client.post("/api/v1/telemetry/batch", {"events": some}).json()["accepted"] == len(some)
    business = {"agent_name": "a", "run_id": RUN, "timestamp": AT, "agent_version": "1",
                "metrics": {"whole": 3, "part": 0.25, "word": "yes", "k" * 600: 1},
                "breakdowns": [{"metric": "m", "by": ["d" * 600],
                                "rows": [{"d" * 600: "x", "value": 1}]},
                               {"metric": "m", "by": ["d"],
                                "rows": [{"d": "x", "value": 1}]}]}  # fmt: skip
    assert client.post("/api/v1/telemetry/business", business).status == 202
    usage = {"agent_name": "a", "run_id": RUN, "timestamp": AT, "model": "m", "input_tokens": 1,
             "output_tokens": 2, "cache_read_tokens": 3, "cache_write_tokens": 4, "calls": 5,
             "agent_version": "1"}  # fmt: skip
    assert client.post("/api/v1/telemetry/llm", usage).status == 202


def problems(server):
    done = server.run("check")
    assert done.returncode == (1 if done.stderr else 0)
    return done.stderr.splitlines()


def test_check_names_a_row_whichever_of_its_columns_changed(own_server):
    report(own_server.add_tenant())
    if not own_server.database:
        own_server.stop()
    assert problems(own_server) == []
    copies = [f"CREATE TABLE good_{table} AS SELECT * FROM {table}" for table in TABLES]
    back = [f"{verb} {table}{rest}" for table in TABLES
            for verb, rest in (("DELETE FROM", ""),
                               ("INSERT INTO", f" SELECT * FROM good_{table}"))]  # fmt: skip
    if own_server.database:
        back = [s.replace(" SELECT", " OVERRIDING SYSTEM VALUE SELECT") if " SELECT" in s else s
                for s in back]  # fmt: skip
    alter(own_server, *copies)
    for table, columns in TABLES.items():
        for column in columns.split():
            alter_column(own_server, table, column)
            found = problems(own_server)
            named = [line for line in found if f"a row of {table} does not match" in line]
            structure = not own_server.database and found and "checksum" not in found[0]
            assert named or structure, (table, column, found)
            assert all("tenant_id " in line for line in named)
            alter(own_server, *back)
        alter(own_server, f"UPDATE {table} SET checksum = checksum + 1")
        assert len(problems(own_server)) == stored(
            own_server, f"SELECT COUNT(*) AS n FROM {table}")[0]["n"]  # fmt: skip
        alter(own_server, *back)
    assert problems(own_server) == []
    alter(own_server, *[f"DROP TABLE good_{table}" for table in TABLES])
    if own_server.process is None:
        own_server.start()


def test_check_prints_every_damaged_row(own_server):
    tenant, n = own_server.add_tenant(), 100
    events = [tenant.event(seq=i, duration_ms=i) for i in range(n)]
    assert tenant.client.post("/api/v1/telemetry/batch", {"events": events}).status == 202
    if not own_server.database:
        own_server.stop()
    for damaged in (0, 1, 3, n):
        alter(own_server, f"UPDATE events SET duration_ms = 999 WHERE seq < {damaged}")
        found = problems(own_server)
        assert len(found) == len(set(found)) == damaged, found
        assert all("a row of events does not match" in line for line in found)
    if own_server.process is None:
        own_server.start()


def damage(tenant, *statements):
    server = tenant.server
    if server.database:
        alter(server, *statements)
        return
    server.stop()
    alter(server, *statements)
    server.start()
    tenant.client.close()
    tenant.client = server.client(tenant.client.token)


def test_no_read_answers_with_a_damaged_row(own_server):
    tenant = own_server.add_tenant()
    report(tenant)
    narrative = tenant.path(f"runs/{RUN}/events")

    def get(path):
        return tenant.client.get(path)

    sums = [f"business/series?key=whole&bucket=minute&{MINUTE}",
            f"business/breakdown?metric=m&by=d&{RANGE}", f"llm/usage?group_by=run&{RANGE}",
            f"export/business?{RANGE}", f"export/llm?{RANGE}", f"export/events?{RANGE}"]  # fmt: skip
    before = {path: get(tenant.path(path)) for path in sums}
    assert [a.status for a in before.values()] == [200] * len(sums), before
    assert "damaged" not in get(narrative).json()
    damage(
        tenant,
        "UPDATE events SET message = 'step 7' WHERE seq = 1",
        "UPDATE business_values SET integer_value = 4 WHERE key = 'whole'",
        "UPDATE business_breakdowns SET cells = '[[\"x\",2]]' WHERE dimensions = '[\"d\"]'",
        "UPDATE llm_usage SET calls = 6",
    )
    whole = get(narrative).json()
    assert [e["message"] for e in whole["events"]] == ["step 0", "step 2"]
    assert whole["damaged"] == 1
    pages, cursor = [], ""
    while cursor is not None:
        page = get(f"{narrative}?limit=1" + (f"&cursor={cursor}" if cursor else "")).json()
        pages.append([e["message"] for e in page["events"]])
        assert page.get("damaged") == (None if page["events"] else 1)
        cursor = page["next"]
    assert pages == [["step 0"], [], ["step 2"]]
    for path in sums:  # exports too: nothing of them was sent yet
        answer = get(tenant.path(path))
        assert (answer.status, "is damaged" in answer.body.decode()) == (500, True), path
    left = {}
    for path in sums[3:]:
        answer = get(tenant.path(f"{path}&damaged=skip"))
        assert answer.status == 200, answer.body
        left[path] = answer.body.count(b"\n") - before[path].body.count(b"\n")
    assert list(left.values()) == [-1, -1, -1]  # a value; a usage; an event
    of_run = get(tenant.path(f"export/events?run_id={RUN}&damaged=skip"))
    assert [json.loads(line)["message"] for line in of_run.body.splitlines()] == ["step 0", "step 2"]
    done = own_server.run("run", "rebuild", "--tenant", tenant.slug, "--json")
    assert (done.returncode, json.loads(done.stdout)) == (1, {"runs": 1, "changed": 0, "damaged": 1})
    log = own_server.log()
    for table in ("events", "business_values", "business_breakdowns", "llm_usage"):
        assert f"a row of {table} does not match its checksum: tenant_id " in log
    counted = re.search(rb"^muster_damaged_rows_total (\d+)", own_server.metrics(), re.MULTILINE)
    assert int(counted.group(1)) >= 9
    report(tenant)  # the same again replaces what is damaged
    assert [get(tenant.path(path)).status for path in sums[:3]] == [200] * 3
    tenant.client.close()


def varint(page, at):
    value = 0
    for n in range(9):
        value = value << 7 | page[at + n] & 0x7F
        if page[at + n] < 0x80:
            return value, at + n + 1
    raise AssertionError("rows of this test are small")


def rows_of(file, root, size=4096):
    """Where the records of a table are in the file: header, body and end of each."""
    page = file[(root - 1) * size : root * size]
    kind, n = page[0], int.from_bytes(page[3:5], "big")
    inner = kind in (2, 5)
    cells = struct.unpack_from(f">{n}H", page, 12 if inner else 8)
    for cell in cells:
        if inner:
            yield from rows_of(file, int.from_bytes(page[cell : cell + 4], "big"), size)
        at = cell + (4 if inner else 0)
        if kind != 5:  # its inner cells have no record
            length, at = varint(page, at)
            if kind == 13:
                _, at = varint(page, at)
            header, _ = varint(page, at)
            base = (root - 1) * size + at
            yield base, base + header, base + length
    if inner:
        yield from rows_of(file, int.from_bytes(page[8:12], "big"), size)


@pytest.fixture
def flips(tmp_path, request):
    """A database of many reports, and a way to flip bits of its rows and check it."""
    if "sqlite" not in STORES:
        pytest.skip("PostgreSQL has checksums of its pages")
    with running("sqlite", tmp_path) as server:
        tenant = server.add_tenant()
        for part in range(2):
            events = [tenant.event(message=f"m {part}.{i}", timestamp=AT) for i in range(500)]
            answer = tenant.client.post("/api/v1/telemetry/batch", {"events": events})
            assert answer.json()["accepted"] == 500
        report(tenant)
        tenant.client.close()
        server.stop()
        file = server.data / "muster.db"
        with contextlib.closing(sqlite3.connect(file)) as connection:
            connection.execute("PRAGMA wal_checkpoint(TRUNCATE)")
            roots = dict(connection.execute("SELECT name, rootpage FROM sqlite_master"))
        good = file.read_bytes()

        def check(bits):
            damaged = bytearray(good)
            for bit in bits:
                damaged[bit // 8] ^= 1 << bit % 8
            file.write_bytes(damaged)
            for suffix in ("-wal", "-shm"):
                (server.data / f"muster.db{suffix}").unlink(missing_ok=True)
            return problems(server)

        yield {table: list(rows_of(good, roots[table])) for table in TABLES}, check
        assert check([]) == []
        server.start()


def test_every_one_of_a_thousand_flipped_bits_is_found(flips):
    rows, check = flips
    rng = random.Random(5)
    assert len(rows["events"]) == 1003
    bits = [8 * rng.randrange(body, end) + rng.randrange(8) for _, body, end in rows["events"]]
    assert len(check(bits)) == 1003
    for table in TABLES:  # headers too: each bit alone, since some make rows unreadable
        for _ in range(12):
            header, body, end = rng.choice(rows[table])
            bit = 8 * rng.randrange(header, end) + rng.randrange(8)
            assert check([bit]), (table, bit - 8 * header, bit - 8 * body)
