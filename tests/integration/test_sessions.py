"""Sessions: their user lists and ends them, a platform admin any user's, and no one else."""

import json

import pytest
from nodes import more_servers
from people import add_user, log_in, platform_admin, post_log_in, tenant_person
from waiting import until

SESSIONS = "/api/v1/auth/sessions"
ME = "/api/v1/auth/me"


def of_user(email):
    return f"/api/v1/platform/users/{email}/sessions"


def ids(answer):
    assert answer.status == 200, answer.body
    return [session["session_id"] for session in answer.json()["sessions"]]


def current(person):
    (one,) = [one for one in person.get(SESSIONS).json()["sessions"] if one["current"]]
    return one


@pytest.mark.smoke
def test_a_user_sees_each_session_with_its_times_and_where_it_was_opened(server):
    email = add_user(server, "--role", "platform_admin")
    long = "Browser/1.0 (\u00e9\t) " + "x" * 400
    assert post_log_in(server, email, headers={"User-Agent": long}).status == 200
    person = log_in(server, email)
    mine, other = person.get(SESSIONS).json()["sessions"]
    assert mine["current"] and not other["current"]
    assert mine["address"] in ("127.0.0.1", "::1") and mine["user_agent"] == ""
    assert other["user_agent"].startswith("Browser/1.0 (??) xxx") and len(other["user_agent"]) == 200
    assert other["created_at"] <= mine["created_at"] <= mine["last_used_at"] < mine["expires_at"]
    cookie = person.session.split("=")[1]
    assert cookie not in str(mine) and mine["session_id"].startswith("ses_")


def test_a_user_ends_one_session_or_all_others_at_once(server):
    email = add_user(server, "--role", "platform_admin")
    first, second, third, fourth = (log_in(server, email) for _ in range(4))
    ended = current(second)["session_id"]
    left = ids(first.delete(f"{SESSIONS}/{ended}"))
    assert ended not in left and len(left) == 3
    assert not second.is_in() and third.is_in()
    assert first.delete(f"{SESSIONS}/{ended}").status == 404
    assert ids(first.delete(SESSIONS)) == [current(first)["session_id"]]
    assert [one.is_in() for one in (first, third, fourth)] == [True, False, False]
    own = first.delete(f"{SESSIONS}/{current(first)['session_id']}")
    assert own.status == 200 and "Max-Age=0" in own.headers["Set-Cookie"]
    assert not first.is_in()


def test_the_sessions_of_another_user_cannot_be_seen_or_ended(server, tenant):
    victim, other = tenant_person(tenant, "member"), server.add_tenant()
    target = current(victim)["session_id"]
    for thief in (tenant_person(tenant, "admin"), tenant_person(other, "admin")):
        assert thief.delete(f"{SESSIONS}/{target}").status == 404
        assert target not in str(thief.get(SESSIONS).json())
        assert thief.delete(SESSIONS).status == 200
        for method, path in (("GET", ""), ("DELETE", ""), ("DELETE", f"/{target}")):
            assert thief.request(method, of_user(victim.email) + path).status == 403
    for stranger in (server.client(), tenant.client):
        for path in (SESSIONS, f"{SESSIONS}/{target}", of_user(victim.email), f"{of_user(victim.email)}/{target}"):
            assert stranger.request("DELETE", path).status in (401, 403)
    assert victim.is_in()


def test_a_change_of_sessions_needs_the_csrf_token_and_no_personal_token(server, tenant):
    person = tenant_person(tenant, "admin")
    other = log_in(server, person.email)
    assert person.request("DELETE", SESSIONS, headers={"X-CSRF-Token": "x"}).status == 403
    assert person.request("DELETE", SESSIONS, headers={"Sec-Fetch-Site": "cross-site"}).status == 403
    made = person.post("/api/v1/auth/tokens", {"name": "x", "role": "admin"}).json()
    client = server.client(made["token"])
    assert client.request("DELETE", SESSIONS).status == 403
    listed = client.get(SESSIONS).json()["sessions"]
    assert len(listed) == 2 and not any(one["current"] for one in listed)
    assert other.is_in()


def test_a_platform_admin_ends_the_sessions_of_any_user(server, tenant):
    admin, person = platform_admin(server), tenant_person(tenant, "member")
    other, token = log_in(server, person.email), person.post("/api/v1/auth/tokens", {"name": "x"}).json()["token"]
    path = of_user(person.email.upper())
    (one,) = [one for one in admin.get(path).json()["sessions"] if one["session_id"] == current(other)["session_id"]]
    assert not one["current"]
    assert len(ids(admin.delete(f"{path}/{one['session_id']}"))) == 1
    assert person.is_in() and not other.is_in()
    assert ids(admin.delete(path)) == []
    assert not person.is_in() and admin.is_in()
    assert server.client(token).get(ME).status == 200
    assert admin.get(of_user("no@example.com")).status == 404
    assert admin.delete(of_user("no@example.com")).status == 404


def test_ending_sessions_is_in_the_audit_log(server, tenant):
    person = tenant_person(tenant, "admin")
    assert person.delete(SESSIONS).status == 200
    entries = person.get(tenant.path("audit")).json()["entries"]
    (entry,) = [entry for entry in entries if entry["action"] == "session.end"]
    assert entry["target"] == person.email and "others" in str(entry)


def last_uses(server, email):
    told = json.loads(server.cli("session", "list", "--user", email, "--json"))
    return {one["last_used_at"] for one in told["sessions"]}


def test_an_idle_session_is_not_listed_and_one_in_use_is(own_server, clock):
    email = add_user(own_server, "--role", "platform_admin")
    idle, used = log_in(own_server, email), log_in(own_server, email)
    signed_in = last_uses(own_server, email)
    clock.advance(8 * 3600)
    assert used.is_in()
    # stored once a second: else the session is stored as one that was idle all the time
    until(lambda: last_uses(own_server, email) - signed_in)
    clock.advance(5 * 3600)
    (left,) = used.get(SESSIONS).json()["sessions"]
    assert left["current"] and left["last_used_at"] > left["created_at"]
    assert not idle.is_in()
    # the command reads what is stored, and uses are stored once a second
    (shown,) = until(lambda: own_server.cli("session", "list", "--user", email).splitlines()[1:])
    assert shown.split()[0] == left["session_id"]
    assert own_server.cli("user", "sign-out", email).strip() == f"all sessions of '{email}' ended"
    until(lambda: not used.is_in())  # the command may have told the database alone


def test_a_session_that_is_ended_on_one_node_ends_on_all(own_server, tmp_path):
    if not own_server.database:
        pytest.skip("several nodes need PostgreSQL")
    email = add_user(own_server, "--role", "platform_admin")
    person, victim = log_in(own_server, email), log_in(own_server, email)
    with more_servers(own_server, tmp_path, 1) as (other,):
        there, elsewhere = other.client(), log_in(other, email)
        cookie = {"Cookie": victim.session}
        assert there.get(ME, headers=cookie).status == 200  # unknown there, and looked up
        assert elsewhere.post("/api/v1/auth/logout").status == 200
        assert ids(person.delete(SESSIONS)) == [current(person)["session_id"]]
        until(lambda: there.get(ME, headers=cookie).status == 401)
