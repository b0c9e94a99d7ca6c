"""Backup, restore and check: a copy made under load has all that was acknowledged before."""

import contextlib
import json
import random
import shutil
import sqlite3
import stat
import threading
import uuid

import pytest
from muster import Server
from waiting import until

ROUNDS = 3


def refused(done, *words):
    assert (done.returncode, done.stdout) == (1, ""), done
    assert done.stderr.startswith("muster: ")
    for word in words:
        assert word in done.stderr


def fresh(folder, name):
    return Server(folder / name / "data")


def restore(folder, name, file):
    """Into a new data directory, with the master key, which no backup holds."""
    server = fresh(folder, name)
    (folder / name).mkdir()
    assert "master.key" in server.cli("restore", str(file))
    shutil.copy(folder / "data" / "master.key", server.data)
    return server


@pytest.fixture
def embedded(tmp_path):
    server = Server(tmp_path / "data").start()
    yield server
    server.stop()


class Load:
    """Batches of events until it is told to end; what was acknowledged, run by run."""

    def __init__(self, tenant):
        self.tenant, self.acknowledged, self.ended = tenant, {}, threading.Event()
        self.thread = threading.Thread(target=self._run)

    def _run(self):
        client = self.tenant.server.client(self.tenant.token)
        while not self.ended.is_set():
            run = str(uuid.uuid4())
            events = [self.tenant.event(run_id=run, seq=i) for i in range(50)]
            answer = client.post("/api/v1/telemetry/batch", {"events": events})
            assert answer.status == 202
            self.acknowledged[run] = [event["event_id"] for event in events]
        client.close()

    def __enter__(self):
        self.thread.start()
        return self

    def __exit__(self, *failure):
        self.ended.set()
        self.thread.join()


def test_a_backup_under_load_has_all_that_was_acknowledged_before(embedded, tmp_path):
    tenant = embedded.add_tenant()
    copies = []
    with Load(tenant) as load:
        for i in range(ROUNDS):
            until(lambda n=(i + 1) * 20: len(load.acknowledged) >= n)
            before = dict(load.acknowledged)
            copies.append((tmp_path / f"copy-{i}", before))
            embedded.cli("backup", str(copies[-1][0]))
    for i, (file, before) in enumerate(copies):
        assert stat.S_IMODE(file.stat().st_mode) == 0o600
        server = restore(tmp_path, f"restored-{i}", file)
        assert server.run("check").returncode == 0
        server.start()
        client = server.client(tenant.token)
        for run, ids in before.items():
            story = client.get(tenant.path(f"runs/{run}/events"))
            assert [event["event_id"] for event in story.json()["events"]] == ids
        retry = tenant.event(event_id=next(iter(before.values()))[0])
        assert client.post("/api/v1/telemetry", retry).json()["status"] == "duplicate"
        client.close()
        server.stop()
    tenant.client.close()


def test_a_backup_replaces_nothing_and_leaves_no_half_of_itself(embedded, tmp_path):
    embedded.add_tenant()
    file = tmp_path / "copy"
    told = json.loads(embedded.cli("backup", str(file), "--json"))
    assert told == {"file": str(file), "bytes": file.stat().st_size}
    before = file.read_bytes()
    refused(embedded.run("backup", str(file)), str(file), "never replaces")
    assert file.read_bytes() == before
    refused(embedded.run("backup", str(tmp_path / "none" / "copy")), "none/copy")
    (tmp_path / "link").symlink_to(tmp_path / "nowhere")
    refused(embedded.run("backup", str(tmp_path / "link")), "link")
    embedded.stop()
    embedded.cli("backup", str(tmp_path / "second"))  # with no server running
    refused(fresh(tmp_path, "empty").run("backup", str(tmp_path / "third")),
            "empty/data' not found: ", "`muster serve` creates it", "--data", "`muster login`")  # fmt: skip
    names = {path.name for path in tmp_path.iterdir()}
    assert names == {"copy", "second", "link", "data", "data.stderr"}
    embedded.start()


def test_restore_wants_a_place_without_a_database_and_a_sound_file(embedded, tmp_path):
    tenant = embedded.add_tenant()
    file = tmp_path / "copy"
    embedded.cli("backup", str(file))
    refused(embedded.run("restore", str(file)), "another muster is using")
    embedded.stop()
    refused(embedded.run("restore", str(file)), "muster.db", "move it away")
    (embedded.data / "muster.db").rename(tmp_path / "away")
    refused(embedded.run("restore", str(file)), "muster.db-wal")
    (tmp_path / "away").rename(embedded.data / "muster.db")
    bad = {"cut": file.read_bytes()[:10000], "text": b"no database\n" * 100, "empty": b""}
    newer = tmp_path / "newer"
    shutil.copy(file, newer)
    connection = sqlite3.connect(newer)
    connection.execute("INSERT INTO schema_version (number, name, applied_at, oldest) VALUES (9999, 'later', 0, 9999)")
    connection.commit()
    connection.close()
    for name, content in bad.items():
        (tmp_path / name).write_bytes(content)
    for name in (*bad, "newer", "nothing"):
        server = fresh(tmp_path, f"into-{name}")
        (tmp_path / f"into-{name}").mkdir()
        why = "No such file or directory" if name == "nothing" else ""
        refused(server.run("restore", str(tmp_path / name)), name, why)
        assert not (server.data / "muster.db").exists()
    embedded.start()
    tenant.client.close()


def test_check_finds_damage_and_changes_nothing(embedded, tmp_path):
    tenant = embedded.add_tenant()
    for _ in range(30):
        batch = [tenant.event(message="x" * 200) for _ in range(100)]
        assert tenant.client.post("/api/v1/telemetry/batch", {"events": batch}).status == 202
    assert "intact" in embedded.cli("check")  # beside the server
    tenant.client.close()
    embedded.stop()
    file = embedded.data / "muster.db"
    connection = sqlite3.connect(file)
    connection.execute("VACUUM")  # no page is free
    connection.close()
    good = file.read_bytes()
    assert embedded.run("check").returncode == 0
    assert file.read_bytes() == good
    rng, pages = random.Random(3), len(good) // 4096
    for _ in range(20):
        damaged, page = bytearray(good), rng.randrange(1, pages)
        damaged[page * 4096 : page * 4096 + 8] = rng.randbytes(8)
        file.write_bytes(damaged)
        done = embedded.run("check")
        assert done.returncode == 1, page
        assert done.stderr.startswith("muster: ")
    file.write_bytes(good)
    connection = sqlite3.connect(file)
    connection.execute("UPDATE audit_log SET actor = 'nobody'")
    connection.commit()
    connection.close()
    done = embedded.run("check", "--json")
    assert done.returncode == 1
    problems = json.loads(done.stdout)["problems"]
    assert ["the platform" in problems[0], tenant.slug in problems[1]] == [True, True]
    assert done.stderr.splitlines() == [f"muster: {problem}" for problem in problems]
    assert embedded.run("check").stderr == done.stderr
    file.write_bytes(good)
    (embedded.data / "muster.db-wal").unlink(missing_ok=True)
    (embedded.data / "muster.db-shm").unlink(missing_ok=True)
    embedded.start()


@pytest.mark.parametrize("n", [1, 3, 100])
def test_check_prints_every_problem_in_full(embedded, n):
    """Rows whose agent does not exist: one problem each."""
    embedded.stop()
    file = embedded.data / "muster.db"
    with contextlib.closing(sqlite3.connect(file)) as connection:
        for i in range(1, n + 1):
            connection.execute(
                "INSERT INTO business_runs (run_no, tenant_id, agent_id, run_id, timestamp,"
                " agent_version) VALUES (?, 1, 999, 'r' || ?, 0, '')", (i, i))  # fmt: skip
        connection.commit()
    wanted = [f"row {i} of business_runs refers to a row of agents that does not exist"
              for i in range(1, n + 1)]  # fmt: skip
    done = embedded.run("check", "--json")
    assert (done.returncode, json.loads(done.stdout)) == (1, {"ok": False, "problems": wanted})
    assert embedded.run("check").stderr.splitlines() == [f"muster: {line}" for line in wanted]
    with contextlib.closing(sqlite3.connect(file)) as connection:
        connection.execute("DELETE FROM business_runs")
        connection.commit()
    assert embedded.run("check").returncode == 0
    embedded.start()
