"""Rotation: a fresh key before the reply, five minutes for the old one, and no agent is locked out."""

import json
import threading
from datetime import datetime

import pytest
from nodes import more_servers
from people import platform_admin, tenant_person
from stored import change, of_tenant, stored
from waiting import until

pytestmark = pytest.mark.administered

GRACE_S = 300
DAY_S = 86400


def refresh(server, token):
    client = server.client(token)
    answer = client.post("/api/v1/agents/refresh-key")
    client.close()
    return answer


def rotate(server, token):
    answer = refresh(server, token)
    assert answer.status == 200, answer.body
    return answer.json()


def rotate_freely(server):
    """For tests that rotate one key more often than is allowed."""
    server.stop()
    server.arguments += ["--key-rotations-per-hour", "1000"]
    server.start()


def works(server, token):
    client = server.client(token)
    while (status := client.get("/api/v1/limits").status) == 503:
        pass  # PostgreSQL: lookups of unknown tokens per second are limited; then it asks to retry later
    client.close()
    assert status in (200, 401)
    return status == 200


def await_end(server, token):
    """Another process's change is seen within a second."""
    until(lambda: not works(server, token))


def keys(tenant):
    return json.loads(tenant.server.cli("key", "list", "--tenant", tenant.slug, "--json"))["keys"]


def seconds(text):
    return datetime.fromisoformat(text.replace("Z", "+00:00")).timestamp()


@pytest.mark.parametrize("agent", [None, "collector"])
@pytest.mark.same_threads
def test_a_rotated_key_is_of_the_same_kind_with_label_and_expiry(agent, own_server, clock):
    tenant = own_server.add_tenant()
    expires = "2099-01-02T03:04:05Z"
    token = tenant.add_key(agent, "--label", "Büro", "--expires", expires)
    made = rotate(own_server, token)
    assert set(made) == {"token", "key_id", "kind", "agent_name", "previous_key_valid_until"}
    assert made["token"].startswith(token[:7])
    assert made["token"] != token
    assert (made["kind"], made["agent_name"]) == ("agent" if agent else "workspace", agent)
    assert abs(seconds(made["previous_key_valid_until"]) - clock.now() - GRACE_S) < 60
    old, new = [row for row in keys(tenant) if row["label"] == "Büro"]
    assert new["key_id"] == made["key_id"]
    assert new["predecessor"] == old["key_id"]
    assert (new["expires_at"], new["agent_name"]) == (expires, agent)
    assert old["expires_at"] == expires
    assert works(own_server, token)
    assert works(own_server, made["token"])
    tenant.client.close()


def test_the_old_key_works_five_minutes_from_the_first_rotation(own_server, clock):
    tenant = own_server.add_tenant()
    ends_at = rotate(own_server, tenant.token)["previous_key_valid_until"]
    clock.advance(GRACE_S - 60)
    again = rotate(own_server, tenant.token)
    assert again["previous_key_valid_until"] == ends_at  # they do not start again
    clock.advance(30)
    assert works(own_server, tenant.token)
    clock.advance(30)
    assert not works(own_server, tenant.token)
    assert refresh(own_server, tenant.token).status == 401
    assert works(own_server, again["token"])
    tenant.client.close()


@pytest.mark.same_threads
def test_a_key_that_expires_within_the_grace_keeps_its_expiry(own_server, clock):
    tenant = own_server.add_tenant()
    expires = datetime.utcfromtimestamp(int(clock.now()) + 130).isoformat() + "Z"
    token = tenant.add_key("collector", "--expires", expires)
    made = rotate(own_server, token)
    assert seconds(made["previous_key_valid_until"]) == seconds(expires)
    clock.advance(90)
    assert works(own_server, token)
    clock.advance(41)
    assert not works(own_server, token)
    assert not works(own_server, made["token"])  # it has the same
    tenant.client.close()


def test_a_successor_that_nobody_used_is_replaced_and_a_used_one_stays(own_server):
    tenant = own_server.add_tenant()
    lost = rotate(own_server, tenant.token)
    second = rotate(own_server, tenant.token)
    assert not works(own_server, lost["token"])
    assert works(own_server, second["token"])
    third = rotate(own_server, tenant.token)
    assert works(own_server, second["token"])
    assert works(own_server, third["token"])
    own_server.restart()
    fourth = rotate(own_server, tenant.token)
    for made in (second, third, fourth):
        assert works(own_server, made["token"])
    ended = [row["key_id"] for row in keys(tenant) if row["revoked_at"]]
    assert ended == [lost["key_id"]]
    tenant.client.close()


@pytest.mark.same_threads
def test_rotation_is_in_the_audit_log_without_a_token(server):
    tenant = server.add_tenant()
    lost, made = rotate(server, tenant.token), rotate(server, tenant.token)
    old = keys(tenant)[0]["key_id"]
    told = json.loads(server.cli("audit", "list", "--tenant", tenant.slug, "--json"))["entries"]
    assert [(e["actor"], e["target"], e["detail"]) for e in told if e["action"] == "key.rotate"] == [
        (f"key:{old}", old, {"successor": made["key_id"], "replaced": [lost["key_id"]]}),
        (f"key:{old}", old, {"successor": lost["key_id"], "replaced": []}),
    ]
    for token in (tenant.token, lost["token"], made["token"]):
        assert token not in json.dumps(told)
        assert stored(server, f"SELECT 1 AS n FROM keys WHERE label = '{token}'") == []
    tenant.client.close()


def test_an_admin_rotates_a_key_as_the_key_does_itself(own_server, clock):
    tenant = own_server.add_tenant()
    admin = tenant_person(tenant, "admin")
    token = tenant.add_key("collector", "--label", "line 3")
    old = keys(tenant)[-1]["key_id"]
    path = tenant.path(f"keys/{old}/rotate")
    lost, answer = admin.post(path), admin.post(path)
    made = answer.json()
    assert (lost.status, answer.status) == (200, 200)
    assert (made["kind"], made["agent_name"]) == ("agent", "collector")
    assert abs(seconds(made["previous_key_valid_until"]) - clock.now() - GRACE_S) < 60
    assert not works(own_server, lost.json()["token"])  # it was never used
    assert works(own_server, token) and works(own_server, made["token"])
    row = keys(tenant)[-1]
    assert (row["key_id"], row["label"], row["predecessor"]) == (made["key_id"], "line 3", old)
    entry = admin.get(tenant.path("audit?action=key.rotate")).json()["entries"][0]
    assert entry["actor"].startswith("person:") and entry["target"] == old
    assert entry["detail"]["successor"] == made["key_id"]
    clock.advance(GRACE_S)
    assert not works(own_server, token)
    assert works(own_server, made["token"])
    tenant.client.close()


@pytest.mark.same_threads
def test_a_key_that_is_over_is_not_rotated(own_server, clock):
    tenant = own_server.add_tenant()
    admin = tenant_person(tenant, "admin")
    expires = datetime.utcfromtimestamp(int(clock.now()) + 100).isoformat() + "Z"
    tenant.add_key(None, "--label", "expired", "--expires", expires)
    tenant.add_key(None, "--label", "revoked")
    tenant.add_key(None, "--label", "replaced")
    by_label = {row["label"]: row["key_id"] for row in keys(tenant)}
    rotate_path = lambda key_id: tenant.path(f"keys/{key_id}/rotate")  # noqa: E731
    own_server.cli("key", "delete", by_label["revoked"], "--tenant", tenant.slug)
    fresh = own_server.cli("key", "rotate", by_label["replaced"], "--tenant", tenant.slug).strip()
    assert works(own_server, fresh)
    clock.advance(GRACE_S)
    for label in ("expired", "revoked", "replaced"):
        answer = admin.post(rotate_path(by_label[label]))
        assert answer.status == 409, label
        assert "has expired or was replaced" in answer.json()["detail"]
    assert admin.post(rotate_path("key_none")).status == 404
    stranger = own_server.add_tenant()
    key_id = keys(stranger)[0]["key_id"]
    assert admin.post(rotate_path(key_id)).status == 404  # of another tenant
    assert works(own_server, stranger.token)
    tenant.client.close()
    stranger.client.close()


@pytest.mark.same_threads
def test_a_disabled_agent_rotates_its_key(server):
    tenant = server.add_tenant()
    token = tenant.add_key("collector")
    tenant.client.post("/api/v1/telemetry", tenant.event())
    server.cli("agent", "disable", "collector", "--tenant", tenant.slug)
    assert works(server, rotate(server, token)["token"])
    tenant.client.close()


def test_a_rotated_key_goes_on_with_the_window_of_its_predecessor(own_server):
    tenant = own_server.add_tenant(rate_limit=10)
    token = tenant.add_key("collector")
    for _ in range(5):
        assert works(own_server, token)
    first = rotate(own_server, token)["token"]  # the sixth
    second = rotate(own_server, first)["token"]
    client = own_server.client(second)
    assert client.get("/api/v1/limits").headers["RateLimit-Remaining"] == "2"
    assert works(own_server, token)
    assert works(own_server, first)
    for each in (token, first, second):
        assert refresh(own_server, each).status == 429
    client.close()
    tenant.client.close()


def test_a_crash_after_the_commit_locks_nobody_out(own_server):
    tenant = own_server.add_tenant()
    connection = own_server.client(tenant.token).connection
    successors = f"SELECT key_id, revoked_at FROM keys WHERE predecessor IS NOT NULL AND {of_tenant(tenant)}"
    connection.request("POST", "/api/v1/agents/refresh-key",
                       headers={"Authorization": f"Bearer {tenant.token}"})  # fmt: skip
    until(lambda: stored(own_server, successors))
    own_server.kill()
    connection.close()
    own_server.start()
    made = rotate(own_server, tenant.token)
    assert works(own_server, made["token"])
    left = [row["key_id"] for row in stored(own_server, successors) if row["revoked_at"] is None]
    assert left == [made["key_id"]]  # the lost one is revoked
    tenant.client.close()


def test_a_hundred_rotations_at_once_leave_one_successor(own_server):
    rotate_freely(own_server)
    tenant = own_server.add_tenant()
    answers, gate = [], threading.Barrier(100)

    def run():
        client = own_server.client(tenant.token)
        client.connection.connect()
        gate.wait()
        answers.append(client.post("/api/v1/agents/refresh-key"))
        client.close()

    threads = [threading.Thread(target=run) for _ in range(100)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    made = [answer.json() for answer in answers if answer.status == 200]
    assert {answer.status for answer in answers} <= {200, 503}
    assert len(made) > 50
    good = [each for each in made if works(own_server, each["token"])]
    assert len(good) == 1
    assert works(own_server, tenant.token)
    live = [row for row in keys(tenant) if not row["revoked_at"]]
    assert {row["key_id"] for row in live} >= {good[0]["key_id"]}
    assert len(live) == 2
    tenant.client.close()


def test_use_and_replacement_at_once_never_revoke_a_key_in_use(own_server):
    """The first use decides: a successor that was let in once stays good."""
    rotate_freely(own_server)
    tenant = own_server.add_tenant()
    for _ in range(20):
        made, seen = rotate(own_server, tenant.token), []
        using = threading.Thread(target=lambda: seen.append(works(own_server, made["token"])))  # noqa: B023
        using.start()
        rotate(own_server, tenant.token)
        using.join()
        assert works(own_server, made["token"]) == seen[0]
    tenant.client.close()


def test_the_last_use_is_told_at_once_and_stored_in_a_minute(own_server, clock):
    tenant = own_server.add_tenant()
    token = tenant.add_key("collector")
    assert [row["last_used_at"] for row in keys(tenant)] == [None, None]
    assert works(own_server, token)
    told = [row["last_used_at"] for row in keys(tenant)]
    last = f"SELECT last_used_at FROM keys WHERE agent_name = 'collector' AND {of_tenant(tenant)}"
    if not own_server.database:  # with PostgreSQL the command is another process
        assert told[0] is None
        assert abs(seconds(told[1]) - clock.now()) < 60
    before = stored(own_server, "SELECT number FROM change_numbers WHERE topic = 'registry'")
    clock.advance(61)
    until(lambda: stored(own_server, last) != [{"last_used_at": None}])
    assert stored(own_server, "SELECT number FROM change_numbers WHERE topic = 'registry'") == before
    assert works(own_server, token)
    own_server.stop()  # and at a clean stop
    ((used,),) = [row.values() for row in stored(own_server, last)]
    assert abs(used / 1_000_000 - clock.now()) < 60
    own_server.start()
    tenant.client.close()


def test_what_one_server_rotates_holds_on_the_other(own_server, tmp_path, clock):
    if not own_server.database:
        return  # one server a data directory
    with more_servers(own_server, tmp_path, 1) as (other,):
        check_two_servers(own_server, other, clock)


def check_two_servers(own_server, other, clock):
    tenant = own_server.add_tenant()
    assert works(other, tenant.token)
    lost = rotate(own_server, tenant.token)
    used = rotate(other, tenant.token)
    assert works(own_server, used["token"])  # made there, used here
    last = rotate(other, tenant.token)  # which does not know of that use
    for server in (own_server, other):
        assert works(server, used["token"])
        assert works(server, last["token"])
        assert works(server, tenant.token)
        await_end(server, lost["token"])
    clock.advance(GRACE_S - 60)
    assert works(own_server, tenant.token)
    assert works(other, tenant.token)
    clock.advance(61)
    assert not works(own_server, tenant.token)
    assert not works(other, tenant.token)
    tenant.client.close()


def test_a_line_of_keys_rotates_ten_times_an_hour(own_server, clock):
    tenant = own_server.add_tenant()
    token, first = tenant.add_key(), keys(tenant)[-1]["key_id"]
    for _ in range(10):
        token = rotate(own_server, token)["token"]
    refused = refresh(own_server, token)
    assert refused.status == 429
    assert "at most 10 rotations in an hour" in refused.json()["detail"]
    assert 3500 < int(refused.headers["Retry-After"]) <= 3600
    assert works(own_server, token)  # it is not worse off
    last = keys(tenant)[-1]["key_id"]
    again = own_server.run("key", "rotate", last, "--tenant", tenant.slug)
    assert again.returncode == 1 and "rotated too often" in again.stderr
    assert rotate(own_server, tenant.token)  # others are not touched
    assert len(keys(tenant)) == 13 and first != last
    clock.advance(3601)
    assert works(own_server, rotate(own_server, token)["token"])


@pytest.mark.same_threads
def test_revoking_a_key_ends_all_that_came_from_it(server):
    tenant = server.add_tenant()
    other, stolen = tenant.add_key(), tenant.add_key("collector", "--label", "stolen")
    (key_id,) = [row["key_id"] for row in keys(tenant) if row["label"] == "stolen"]
    thief = [rotate(server, stolen)]
    for _ in range(2):
        thief.append(rotate(server, thief[-1]["token"]))
    said = server.cli("key", "delete", key_id, "--tenant", tenant.slug)
    ended = {key_id, *(made["key_id"] for made in thief)}
    assert {line.split("'")[1] for line in said.splitlines()} == ended
    for token in (stolen, *(made["token"] for made in thief)):
        await_end(server, token)
    assert {row["key_id"] for row in keys(tenant) if row["revoked_at"]} == ended
    assert works(server, other) and works(server, tenant.token)
    again = server.cli("key", "delete", key_id, "--tenant", tenant.slug)
    assert again.strip() == "nothing to revoke: the key was revoked before"


@pytest.mark.same_threads
def test_revoking_only_a_key_spares_its_successors(server):
    tenant = server.add_tenant()
    admin = tenant_person(tenant, "admin")
    old = keys(tenant)[0]["key_id"]
    new = rotate(server, tenant.token)
    newer = rotate(server, new["token"])
    answer = admin.request("DELETE", tenant.path(f"keys/{old}?only=true"))
    assert (answer.status, answer.json()) == (200, {"revoked": [old]})
    assert not works(server, tenant.token)
    assert works(server, newer["token"])
    said = server.cli("key", "delete", old, "--tenant", tenant.slug, "--only")
    assert "nothing to revoke" in said
    # of a key that is revoked already, what came from it can still be ended
    answer = admin.request("DELETE", tenant.path(f"keys/{old}"))
    assert sorted(answer.json()["revoked"]) == sorted([new["key_id"], newer["key_id"]])
    assert not works(server, newer["token"])


@pytest.mark.same_threads
def test_keys_are_listed_in_pages(server):
    tenant = server.add_tenant()
    for n in range(4):
        tenant.add_key(None, "--label", f"n{n}")
    admin = tenant_person(tenant, "admin")
    whole = admin.get(tenant.path("keys")).json()
    assert whole["next"] is None and len(whole["keys"]) == 5
    pages, cursor = [], ""
    while cursor is not None:
        page = admin.get(tenant.path(f"keys?limit=2{cursor}")).json()
        pages.append(page["keys"])
        cursor = page["next"] and f"&cursor={page['next']}"
    assert [len(page) for page in pages] == [2, 2, 1]
    assert sum(pages, []) == whole["keys"]
    for query in ("limit=0", "limit=1001", "cursor=key_none"):
        assert admin.get(tenant.path(f"keys?{query}")).status == 422


@pytest.mark.same_threads
def test_a_forgotten_predecessor_does_not_hide_its_descent(own_server, clock):
    """Of a line the first and the newest hundred keys are kept; revoking the first still ends the last."""
    rotate_freely(own_server)
    tenant = own_server.add_tenant()
    token = tenant.token
    for _ in range(110):
        token = rotate(own_server, token)["token"]
    clock.advance(DAY_S + GRACE_S + 60)
    for _ in range(6):  # each forgets up to two
        token = rotate(own_server, token)["token"]
    listed = keys(tenant)
    assert len(listed) == 1 + 100 + 4  # 117, of which 12 are forgotten
    ids = [row["key_id"] for row in listed]
    assert all(row["predecessor"] in ids for row in listed[1:])
    assert works(own_server, token)
    own_server.cli("key", "delete", ids[0], "--tenant", tenant.slug)
    await_end(own_server, token)
    assert all(row["revoked_at"] for row in keys(tenant))
    tenant.client.close()


@pytest.mark.same_threads
def test_a_workspace_has_a_bounded_number_of_keys(own_server):
    tenant = own_server.add_tenant()
    own_server.stop()
    some = "abcdefghijklmnopqrstuvwxyz012345"
    digest = f"CAST('{some}' || n AS BYTEA)" if own_server.database else f"CAST('{some}' || n AS BLOB)"
    change(own_server, f"""
        WITH RECURSIVE more (n) AS (SELECT 1 UNION ALL SELECT n + 1 FROM more WHERE n < 9999)
        INSERT INTO keys (tenant_id, key_id, digest, label, created_at, line)
        SELECT tenant_id, 'key_' || n, {digest}, '', n, 'key_' || n
        FROM tenants, more WHERE slug = '{tenant.slug}'""")
    own_server.start()
    path = tenant.path("keys")
    admin = own_server.admin or platform_admin(own_server)
    refused = admin.post(path, {"label": "one more"})
    assert refused.status == 409, refused.body
    assert "10000 keys already" in refused.json()["detail"]
    assert rotate(own_server, tenant.token)["token"]
    assert admin.request("DELETE", f"{path}/key_7").status == 200
    assert admin.post(path, {"label": "one more"}).status == 201
    assert admin.post(path, {"label": "and another"}).status == 409
    tenant.client.close()
