"""Personal access tokens: they act as their user, with at most their role, until they end."""

import re
from urllib.parse import quote, urlencode
from uuid import uuid4

import pytest
from nodes import more_servers
from people import OTHER_PASSWORD, PASSWORD, add_user, log_in, platform_admin, tenant_person
from waiting import until

TOKENS = "/api/v1/auth/tokens"
ME = "/api/v1/auth/me"
FORM = re.compile(r"mst_pat_[0-9A-Za-z]{36}")


def make(person, role="member", **more):
    answer = person.post(TOKENS, {"name": "laptop", "role": role, **more})
    assert answer.status == 201, answer.body
    assert FORM.fullmatch(answer.json()["token"])
    return answer.json()


def bearer(server, made):
    return server.client(made["token"])


def statuses(client, tenant):
    """What a token may do: read, change settings of the tenant, and see the platform."""
    return (
        client.get(tenant.path("dashboard/runs")).status,
        client.post(tenant.path("keys"), {"label": "by a token"}).status,
        client.get("/api/v1/platform/users").status,
    )


def test_a_token_acts_as_its_user_with_at_most_its_role(server, tenant):
    other, person = server.add_tenant(), tenant_person(tenant, "admin")
    member, admin = bearer(server, make(person)), bearer(server, make(person, "admin"))
    assert statuses(member, tenant) == (200, 403, 403)
    assert statuses(admin, tenant) == (200, 201, 403)
    assert statuses(admin, other) == (403, 403, 403)
    refused = person.post(TOKENS, {"name": "x", "role": "platform_admin"})
    assert refused.status == 403 and "no platform admin" in refused.json()["detail"]
    reader = tenant_person(tenant, "member")
    assert statuses(bearer(server, make(reader, "admin")), tenant) == (200, 403, 403)
    said = member.get(ME).json()
    assert said["email"] == person.email and said["csrf_token"] == ""


def test_a_members_token_does_what_a_member_may(server, tenant):
    """As the portal, the mail of an invitation and the docs say it."""
    answer = tenant.client.post("/api/v1/agents/register", {"agent_name": "collector"})
    assert answer.status == 200, answer.body
    member = bearer(server, make(tenant_person(tenant, "admin")))
    mute = member.request("PUT", tenant.path("agents/collector/mute"), {"until": "2099-01-01T00:00:00Z"})
    acknowledged = member.post(tenant.path("alerts/acknowledge"), {"alert_ids": []})
    window = {"from": "2099-01-01T00:00:00Z", "until": "2099-01-02T00:00:00Z"}
    planned = member.post(tenant.path("maintenance"), window)
    assert (mute.status, acknowledged.status, planned.status) == (200, 200, 201), planned.body


def test_a_platform_admins_token_has_its_role_everywhere(server, tenant):
    person = platform_admin(server)
    assert statuses(bearer(server, make(person)), tenant) == (200, 403, 403)
    assert statuses(bearer(server, make(person, "admin")), tenant) == (200, 201, 403)
    assert statuses(bearer(server, make(person, "platform_admin")), tenant) == (200, 201, 200)


def test_a_token_makes_no_token_reports_nothing_and_ends_no_session(server, tenant):
    person = platform_admin(server)
    made = make(person, "platform_admin")
    client = bearer(server, made)
    assert client.post(TOKENS, {"name": "x"}).status == 403
    own = f"/api/v1/platform/users/{person.email}/tokens"
    assert client.post(own, {"name": "x"}).status == 403
    assert person.post(own, {"name": "x"}).status == 201
    assert client.request("DELETE", f"{TOKENS}/{make(person)['token_id']}").status == 403
    assert client.post("/api/v1/auth/logout").status == 403
    change = {"current_password": PASSWORD, "new_password": OTHER_PASSWORD}
    assert client.post("/api/v1/auth/password", change).status == 403
    refused = client.post("/api/v1/telemetry", tenant.event())
    assert refused.status == 403 and "use a key" in refused.json()["detail"]
    assert client.get(ME).status == 200 and person.is_in()


def test_an_admin_makes_no_token_that_acts_as_another_user(server):
    person, other = platform_admin(server), add_user(server, "--role", "platform_admin")
    path = f"/api/v1/platform/users/{other}/tokens"
    assert person.post(path, {"name": "x"}).status == 403
    assert person.get(path).json() == {"tokens": []}
    assert person.post("/api/v1/platform/users/no@example.com/tokens", {"name": "x"}).status == 404


def test_a_token_ends_at_once_when_it_is_deleted(server, tenant):
    person = tenant_person(tenant, "admin")
    first, second = make(person), make(person)
    clients = [bearer(server, first), bearer(server, second)]
    assert [client.get(ME).status for client in clients] == [200, 200]
    left = person.request("DELETE", f"{TOKENS}/{first['token_id']}").json()["tokens"]
    assert [token["token_id"] for token in left] == [second["token_id"]]
    assert [client.get(ME).status for client in clients] == [401, 200]
    stranger = tenant_person(tenant, "admin")
    assert stranger.request("DELETE", f"{TOKENS}/{second['token_id']}").status == 404
    path = f"/api/v1/platform/users/{person.email}/tokens/{second['token_id']}"
    assert platform_admin(server).request("DELETE", path).json() == {"tokens": []}
    assert [client.get(ME).status for client in clients] == [401, 401]


def test_a_patch_that_changes_nothing_ends_nothing_and_a_new_password_ends_all(server):
    admin, person = platform_admin(server), platform_admin(server)
    client, path = bearer(server, make(person)), f"/api/v1/platform/users/{person.email}"
    for same in ({}, {"role": "platform_admin"}):
        assert admin.request("PATCH", path, same).status == 200
        assert person.is_in() and client.get(ME).status == 200
    assert admin.request("PATCH", path, {"role": "none"}).status == 200
    assert not person.is_in()
    assert client.get(ME).status == 200 and client.get("/api/v1/platform/users").status == 403
    assert admin.request("PATCH", path, {"password": OTHER_PASSWORD}).status == 200
    assert client.get(ME).status == 401


def test_the_same_role_in_a_tenant_ends_no_session_and_another_ends_all(server, tenant):
    admin, person = platform_admin(server), tenant_person(tenant, "admin")
    path = f"/api/v1/tenants/{tenant.slug}/users/{person.email}"
    assert admin.request("PATCH", path, {"role": "admin"}).status == 200
    assert person.is_in()
    assert admin.request("PATCH", path, {"role": "member"}).status == 200
    assert not person.is_in()


def test_a_token_can_do_at_once_only_what_its_owner_still_may(server, tenant):
    """The token stays: it may do what the roles that its owner has at that moment allow."""
    boss, person = platform_admin(server), tenant_person(tenant, "admin")
    path, client = f"{tenant.path('users')}/{person.email}", bearer(server, make(person, "admin"))
    assert statuses(client, tenant) == (200, 201, 403)
    assert boss.request("PATCH", path, {"role": "member"}).status == 200
    assert statuses(client, tenant) == (200, 403, 403)
    assert boss.request("DELETE", path).status == 200
    assert statuses(client, tenant) == (403, 403, 403) and client.get(ME).json()["tenants"] == []
    assert boss.post(tenant.path("users"), {"email": person.email, "role": "admin"}).status == 201
    assert statuses(client, tenant) == (200, 201, 403)


def test_a_token_may_end_itself_and_no_other(server, tenant):
    person, stranger = tenant_person(tenant, "admin"), tenant_person(tenant, "admin")
    first, second, third = make(person, "admin"), make(person), make(stranger)
    client = bearer(server, first)
    for other in (second, third):
        assert client.request("DELETE", f"{TOKENS}/{other['token_id']}").status == 403
    left = client.request("DELETE", f"{TOKENS}/{first['token_id']}")
    assert [token["token_id"] for token in left.json()["tokens"]] == [second["token_id"]]
    assert client.get(ME).status == 401
    assert bearer(server, second).get(ME).status == bearer(server, third).get(ME).status == 200


@pytest.mark.parametrize("keep", [None, False, True])
def test_a_new_password_deletes_the_tokens_unless_they_are_kept(server, tenant, keep):
    person, other = tenant_person(tenant, "member"), tenant_person(tenant, "member")
    client, stranger = bearer(server, make(person)), bearer(server, make(other))
    change = {"current_password": PASSWORD, "new_password": OTHER_PASSWORD}
    wrong = {**change, "current_password": OTHER_PASSWORD}
    assert person.post("/api/v1/auth/password", wrong).status == 403
    assert client.get(ME).status == 200, "what is refused deletes nothing"
    body = change if keep is None else {**change, "keep_tokens": keep}
    assert person.post("/api/v1/auth/password", body).status == 200
    assert client.get(ME).status == (200 if keep else 401)
    assert stranger.get(ME).status == 200 and person.is_in()


def test_the_audit_log_tells_a_tokens_acts_from_its_users(server, tenant):
    person = tenant_person(tenant, "admin")
    made = make(person, "admin")
    assert person.post(tenant.path("keys"), {"label": "by hand"}).status == 201
    assert bearer(server, made).post(tenant.path("keys"), {"label": "by token"}).status == 201
    whole = f"person:{person.email} token:{made['token_id']}"

    def actors(actor):
        answer = person.get(tenant.path(f"audit?action=key.add&actor={quote(actor)}"))
        return [entry["actor"] for entry in answer.json()["entries"]]

    assert actors(f"person:{person.email}") == [whole, f"person:{person.email}"]
    assert actors(whole) == [whole]
    assert actors(f"person:{person.email[:-1]}") == [] == actors("")


def test_a_token_on_mcp_is_told_what_to_use(server, tenant):
    client = bearer(server, make(tenant_person(tenant, "admin")))
    body = {"jsonrpc": "2.0", "id": 1, "method": "tools/list"}
    refused = client.post("/mcp", body)
    assert refused.status == 403 and "use a read-only key" in refused.body.decode(), refused.body


def test_a_token_ends_with_its_user(server):
    person = platform_admin(server)
    client = bearer(server, make(person))
    assert platform_admin(server).request("DELETE", f"/api/v1/platform/users/{person.email}").status == 200
    assert client.get(ME).status == 401


def test_a_user_has_at_most_twenty_tokens(server, tenant):
    person = tenant_person(tenant, "member")
    for _ in range(20):
        make(person)
    refused = person.post(TOKENS, {"name": "one more"})
    assert refused.status == 409 and "20 tokens" in refused.json()["detail"]
    person.request("DELETE", f"{TOKENS}/{person.get(TOKENS).json()['tokens'][0]['token_id']}")
    make(person)


@pytest.mark.parametrize("body", [{}, {"name": ""}, {"name": "x", "role": "king"}, {"name": "x", "more": 1},
                                  {"name": "x", "expires_in_days": 0}, {"name": "x", "expires_in_days": 367}])  # fmt: skip
def test_a_token_that_makes_no_sense_is_refused(server, tenant, body):
    person = tenant_person(tenant, "member")
    assert person.post(TOKENS, body).status == 422
    assert person.get(TOKENS).json() == {"tokens": []}


def test_a_token_expires_and_is_stored_and_logged_nowhere(own_server, clock, tmp_path):
    email = add_user(own_server, "--role", "platform_admin")
    token = own_server.cli("token", "add", "laptop", "--user", email, "--expires-in-days", "2").strip()
    assert FORM.fullmatch(token)
    client = own_server.client(token)
    until(lambda: client.get(ME).status == 200)
    (listed,) = own_server.cli("token", "list", "--user", email).splitlines()[1:]
    token_id = listed.split()[0]
    assert own_server.client("mst_pat_" + "0" * 36).get(ME).status == 401
    person = log_in(own_server, email)
    entries = person.get("/api/v1/platform/audit").json()["entries"]
    (entry,) = [entry for entry in entries if entry["action"] == "token.add"]
    assert token_id in str(entry) and token not in str(entries)
    own_server.stop()
    assert f"token={token_id}" in own_server.log() and token not in own_server.log()
    if not own_server.database:
        files = [file.read_bytes() for file in own_server.data.iterdir() if file.is_file()]
        assert not any(token.encode() in content for content in files)
    own_server.start()
    client = own_server.client(token)
    until(lambda: client.get(ME).status == 200)
    clock.advance(2 * 86400 + 60)
    assert client.get(ME).status == 401


def test_a_deleted_token_ends_on_every_node(own_server, tmp_path):
    if not own_server.database:
        pytest.skip("several nodes need PostgreSQL")
    person = platform_admin(own_server)
    made = make(person)
    with more_servers(own_server, tmp_path, 1) as (other,):
        client, later = bearer(other, made), bearer(other, make(person))
        assert client.get(ME).status == later.get(ME).status == 200  # known there at its first use
        assert person.request("DELETE", f"{TOKENS}/{made['token_id']}").status == 200
        until(lambda: client.get(ME).status == 401)
        assert later.get(ME).status == 200


def operations(document):
    """Every declared operation, as a request about a tenant that does not exist."""
    for path, methods in document["paths"].items():
        for method, operation in methods.items():
            values = {p["name"]: p["example"] for p in operation.get("parameters", []) if p["required"]}
            where = path.format(**{**values, "slug": "no-such-tenant", "run_id": str(uuid4())})
            query = {p["name"]: values[p["name"]] for p in operation.get("parameters", [])
                     if p["in"] == "query" and p["required"]}  # fmt: skip
            body = operation.get("requestBody", {}).get("content", {}).get("application/json", {})
            schemes = {name for one in operation["security"] for name in one}
            yield method.upper(), f"{where}?{urlencode(query)}", body.get("example"), schemes


REFUSALS = {
    "PersonalAccessToken": (
        b"cannot report or pull; use a key", b"Not allowed with a personal access token",
        b"A personal access token does not work here",
    ),
    "HTTPBearer": (b"Not allowed with a key",),
}  # fmt: skip


def test_the_document_says_where_keys_and_tokens_are_accepted(server, tenant):
    person = tenant_person(server.add_tenant(), "member")
    holders = {"PersonalAccessToken": bearer(server, make(person)), "HTTPBearer": tenant.client}
    seen = set()
    for method, path, body, schemes in operations(tenant.client.get("/openapi.json").json()):
        for scheme, client in holders.items() if schemes else ():
            answer = client.request(method, path, body)
            refused = answer.status == 403 and any(said in answer.body for said in REFUSALS[scheme])
            assert refused == (scheme not in schemes), (method, path, scheme, answer.status, answer.body[:200])
            seen.add((scheme, refused))
    assert len(seen) == 4
