"""Data keys are replaced while everything is served, and the old ones are gone afterwards."""

import contextlib
import http.client
import json
import subprocess
import threading

import pytest
from conftest import running
from people import platform_admin
from postgres import lock_waits
from receiver import receiving
from stored import of_tenant, stored
from strace import injected
from waiting import until

AGENT = "collector"
ROTATE = "/api/v1/platform/vault/data-keys/rotate"
LOCAL = {"MUSTER_WEBHOOK_ALLOW_HTTP": "1", "MUSTER_WEBHOOK_ALLOW_PRIVATE": "1"}


def with_secrets(server, n):
    """A tenant whose agent has n secrets in its configuration, and the agent's token."""
    tenant = server.add_tenant()
    names = [f"S{i:03}" for i in range(n)]
    params = [{"key": name} for name in names]
    body = {"agent_name": AGENT, "config_schema": {"params": params}}
    assert tenant.client.post("/api/v1/agents/register", body).status == 200
    admin = server.admin or platform_admin(server)
    for name in names:
        path = tenant.path(f"secrets/{name}")
        assert admin.request("PUT", path, {"value": f"value of {name}"}).status == 200
        path = tenant.path(f"agents/{AGENT}/values/{name}")
        answer = admin.request("PUT", path, {"value": f"vault:{name}"})
        assert answer.status == 200, answer.body
    tenant.client.close()
    tenant.expected = {name: f"value of {name}" for name in names}
    return tenant, tenant.add_key(AGENT)


def config(server, token):
    client = server.client(token)
    answer = client.get(f"/api/v1/agents/config?agent_name={AGENT}")
    client.close()
    return answer


def step(admin, after):
    answer = admin.post(f"{ROTATE}?after={after}")
    assert answer.status == 200, answer.body
    return answer.json()


def rotate(admin, clock):
    """All steps; the sums. Time passes by the test's clock."""
    sums, after = {"created": 0, "re_encrypted": 0, "destroyed": 0}, 0
    while after is not None:
        done = step(admin, after)
        for name in sums:
            sums[name] += done[name]
        clock.advance(done["wait_s"])
        after = done["next"]
    return sums


def key_versions(server):
    """The version of the data key by which each sealed column says that it was sealed."""
    hexed = "encode({0}, 'hex')" if server.database else "lower(hex({0}))"
    found = {}
    for table, column in (("secrets", "sealed"), ("webhooks", "secret"), ("webhooks", "old_secret")):
        text = hexed.format(f"substr({column}, 2, 4)")
        rows = stored(server, f"SELECT {text} AS v FROM {table} WHERE {column} IS NOT NULL")
        found[f"{table}.{column}"] = {
            int.from_bytes(bytes.fromhex(row["v"]), "little") for row in rows
        }
    return found


def data_keys(server):
    keys = stored(server, "SELECT tenant_id, version FROM data_keys ORDER BY tenant_id, version")
    return [row["version"] for row in keys if row["tenant_id"] > 0]


def test_no_read_fails_while_data_keys_rotate(store, tmp_path, clock):
    environment = {**clock.environment, **LOCAL}
    with receiving() as receiver, running(store, tmp_path, environment=environment) as server:
        admin = server.admin = server.admin or platform_admin(server)
        many, token = with_secrets(server, 120)  # more than one step's worth
        few, few_token = with_secrets(server, 1)
        hook = admin.post(few.path("webhooks"), {"url": receiver.url}).json()
        new = admin.request("PATCH", few.path(f"webhooks/{hook['webhook_id']}"), {"rotate_secret": True})
        assert new.status == 200, new.body
        answers, stop = [], threading.Event()

        def read():
            while not stop.is_set():
                answers.append((config(server, token), many.expected))
                answers.append((config(server, few_token), few.expected))

        reader = threading.Thread(target=read)
        reader.start()
        for version in (2, 3):
            before = len(answers)
            assert rotate(admin, clock) == {"created": 2, "re_encrypted": 123, "destroyed": 2}
            assert data_keys(server) == [version, version]
            assert set().union(*key_versions(server).values()) == {version}
            until(lambda n=before + 3: len(answers) >= n)
        stop.set()
        reader.join()
        assert [a.body for a, expected in answers if (a.status, a.json()) != (200, expected)] == []
        tested = admin.post(few.path(f"webhooks/{hook['webhook_id']}/test")).json()
        assert tested["delivered"] or tested["status"], tested
        server.restart()  # which opens every data key
        assert config(server, token).json() == many.expected
        said = stored(server, "SELECT detail FROM audit_log WHERE action = 'vault.rotate-data'")
        assert sum(json.loads(row["detail"])["re_encrypted"] for row in said) == 246


def test_the_command_rotates_to_the_end(own_server):
    if own_server.database:
        return  # the same steps
    tenant, token = with_secrets(own_server, 3)
    said = own_server.cli("vault", "rotate-data-keys")
    assert said == "1 data keys created, 3 secrets re-encrypted, 1 old data keys destroyed\n"
    assert data_keys(own_server) == [2]
    assert config(own_server, token).json() == tenant.expected


def test_killed_between_any_two_steps_nothing_is_lost(own_server, clock):
    admin = own_server.admin or platform_admin(own_server)
    tenant, token = with_secrets(own_server, 101)
    after, steps = 0, 0
    while after is not None:
        done = step(admin, after)
        clock.advance(done["wait_s"])
        after, steps = done["next"], steps + 1
        own_server.kill()
        own_server.start()
        if own_server.database:
            admin = platform_admin(own_server)
        assert config(own_server, token).json() == tenant.expected
    assert steps >= 5  # keys, two of secrets, a wait, the end
    assert data_keys(own_server) == [2]
    assert key_versions(own_server)["secrets.sealed"] == {2}


@pytest.mark.parametrize("call", ["pwrite64", "fdatasync"])
@pytest.mark.parametrize("nth", [1, 2])
@pytest.mark.parametrize("phase", ["add", "seal", "destroy"])
def test_killed_in_the_middle_of_a_step_nothing_is_lost(tmp_path, clock, call, nth, phase):
    with running("sqlite", tmp_path, environment=clock.environment) as server:
        tenant, token = with_secrets(server, 5)
        after = 0 if phase == "add" else step(server.admin, 0)["next"]
        while phase == "destroy" and not (done := step(server.admin, after))["wait_s"]:
            after = done["next"]
        clock.advance(60)
        with injected(server, f"{call}:signal=KILL:when={nth}"):
            with contextlib.suppress(OSError, http.client.HTTPException):
                step(server.operator(), after)
        try:
            config(server, token)
        except (OSError, http.client.HTTPException):  # killed, perhaps after the step's answer
            server.process.wait(120)
        killed = server.process.poll() is not None
        if killed:
            server.process.stdout.close()
            server.process = None
            server.start()
        assert config(server, token).json() == tenant.expected
        assert rotate(server.operator(), clock)["created"] == 1
        assert config(server, token).json() == tenant.expected
        assert len(data_keys(server)) == 1
    assert killed or nth > 1, f"{call} was not called even once"


def test_a_key_that_seals_after_it_was_retired_is_not_destroyed(own_server, clock):
    """A transaction that began before the rotation, and ends after all else was sealed again."""
    if not own_server.database:
        return  # one transaction at a time
    admin = platform_admin(own_server)
    tenant, token = with_secrets(own_server, 2)
    old = stored(own_server, f"SELECT encode(sealed, 'hex') AS s FROM secrets"
                             f" WHERE {of_tenant(tenant)} ORDER BY name")[0]["s"]  # fmt: skip
    after = step(admin, 0)["next"]
    while not (done := step(admin, after))["wait_s"]:
        after = done["next"]
    slow = subprocess.Popen(["psql", "-X", "-q", "-A", "-t", own_server.database], text=True,
                            stdin=subprocess.PIPE, stdout=subprocess.PIPE)  # fmt: skip
    number = stored(own_server, f"SELECT tenant_id FROM tenants WHERE slug = '{tenant.slug}'")
    slow.stdin.write(f"BEGIN; SELECT version FROM data_keys WHERE tenant_id = {number[0]['tenant_id']}"
                     f" AND version = 1 FOR SHARE;\n")  # fmt: skip
    slow.stdin.flush()
    assert slow.stdout.readline() == "1\n"
    clock.advance(60)
    results = []
    waiting = threading.Thread(target=lambda: results.append(step(admin, after)))
    waiting.start()
    until(lambda: lock_waits(own_server.database) > 0)
    assert results == []
    slow.stdin.write(f"UPDATE secrets SET sealed = '\\x{old}' WHERE tenant_id = {number[0]['tenant_id']}"
                     f" AND name = 'S000'; COMMIT;\n")  # fmt: skip
    slow.stdin.close()
    assert slow.wait(120) == 0
    slow.stdout.close()
    waiting.join()
    assert results[0]["destroyed"] == 0
    assert config(own_server, token).json() == tenant.expected
    while after is not None:
        done = step(admin, after)
        clock.advance(done["wait_s"])
        after = done["next"]
    assert data_keys(own_server) == [2]
    assert config(own_server, token).json() == tenant.expected


def test_only_the_platform_rotates_data_keys(tenant):
    assert tenant.client.post(ROTATE).status == 403
