"""Little disk space: reports are refused, and administration goes on."""

import json
import time

import pytest
from disk import RealDisk, small_disk
from exposition import read, value
from muster import WATCHES, Server
from waiting import until

TELEMETRY = "/api/v1/telemetry"
LOW = {
    "status": "unavailable",
    "reason": "Free disk space is below the floor, so reports are refused",
}
REFUSED = {
    "detail": "The service is low on disk space and stored nothing of this request; retry later"
}
MORE_THAN_ANY_DISK = str(1 << 50)
NO_FLOOR = "1"


def restart(server, min_free):
    server.stop()
    server.arguments = ["--min-free-bytes", min_free]
    server.start()


def metrics(server):
    return read(server.client(WATCHES).get("/metrics").body.decode())


def revoke(server, tenant, key_id):
    return server.run("key", "delete", key_id, "--tenant", tenant.slug)


def key_of(server, tenant):
    """The public id of the tenant's first key."""
    told = json.loads(server.cli("key", "list", "--tenant", tenant.slug, "--json"))
    return told["keys"][0]["key_id"]


def reports(tenant):
    """A request of each kind that stores what agents report."""
    about = {"agent_name": "collector", "client_id": tenant.slug}
    event = tenant.event()
    run = {**about, "run_id": event["run_id"], "timestamp": event["timestamp"]}
    return [
        (TELEMETRY, tenant.event()),
        (f"{TELEMETRY}/batch", {"events": [tenant.event()]}),
        (f"{TELEMETRY}/business", {**run, "metrics": {"sold": 1}}),
        (f"{TELEMETRY}/llm", {**run, "model": "m", "input_tokens": 1, "output_tokens": 1}),
        ("/api/v1/agents/register", about),
    ]


def test_below_the_floor_only_reports_are_refused(own_server):
    tenant = own_server.add_tenant()
    event = tenant.event()
    assert tenant.client.post(TELEMETRY, event).status == 202
    restart(own_server, MORE_THAN_ANY_DISK)
    client = own_server.client(tenant.token)
    if own_server.database:  # its disk is not ours to see
        assert client.post(TELEMETRY, tenant.event()).status == 202
        assert value(metrics(own_server), "muster_disk_low") == 0
        return
    for path, body in reports(tenant):
        answer = client.post(path, body)
        assert (answer.status, answer.json()) == (503, REFUSED), path
        assert 1 <= int(answer.headers["Retry-After"]) <= 5
    health = client.get("/api/v1/health")
    assert (health.status, health.json()) == (503, LOW)
    assert client.get("/livez").json() == {"status": "ok"}
    seen = metrics(own_server)
    assert value(seen, "muster_disk_low") == 1
    assert value(seen, "muster_healthy") == 0
    assert 0 < value(seen, "muster_disk_free_bytes") < value(seen, "muster_disk_floor_bytes")
    assert client.get(tenant.path(f"runs/{event['run_id']}/events")).status == 200
    rotated = client.post("/api/v1/agents/refresh-key")
    assert rotated.status == 200
    assert revoke(own_server, tenant, key_of(own_server, tenant)).returncode == 0
    assert client.get("/api/v1/limits").status == 401
    assert "key.revoke" in own_server.cli("audit", "list", "--tenant", tenant.slug)
    restart(own_server, NO_FLOOR)
    client = own_server.client(tenant.add_key())
    for path, body in reports(tenant):
        assert client.post(path, body).status in (200, 202), path
    assert client.get("/api/v1/health").json() == {"status": "ok"}
    assert value(metrics(own_server), "muster_disk_low") == 0


@pytest.mark.parametrize("min_free", ["0", NO_FLOOR])
def test_on_a_full_disk_a_key_can_be_revoked(store, tmp_path, min_free):
    """Others fill the disk; with no floor there is no reserve either, and the revocation fails."""
    if store != "sqlite":
        pytest.skip("the embedded database's own disk")
    with small_disk(tmp_path, 1 << 20) as disk:
        if not isinstance(disk, RealDisk):
            pytest.skip(disk.way)
        server = Server(disk.folder / "data", arguments=["--min-free-bytes", min_free]).start()
        try:
            tenant = server.add_tenant()
            assert tenant.client.post(TELEMETRY, tenant.event()).status == 202
            began = time.monotonic()
            key_id = key_of(server, tenant)
            command_s = time.monotonic() - began
            disk.fill()
            began = time.monotonic()
            done = revoke(server, tenant, key_id)
            took = time.monotonic() - began
            if min_free == NO_FLOOR:
                assert done.returncode == 1, "the disk was not full"
                assert tenant.client.get("/api/v1/limits").status == 200
            else:
                assert done.returncode == 0, done.stderr
                assert took < 5 + 5 * command_s  # on a busy machine every command takes longer
                assert tenant.client.get("/api/v1/limits").status == 401
                until(lambda: tenant.client.get("/api/v1/health").json() == LOW)
            (disk.folder / "ballast").unlink()
            until(lambda: tenant.client.get("/api/v1/health").status == 200)
        finally:
            tenant.client.close()
            server.stop()
