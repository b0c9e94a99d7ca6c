"""Invitations and reset links: they work once, expire, and give what they were created for."""

from concurrent.futures import ThreadPoolExecutor

import pytest
from links import URL, mails, shared, shown_token, text_of  # noqa: F401
from links import accept as accept_link
from mail_server import WAIT_S
from muster import running
from people import (
    OTHER_PASSWORD, PASSWORD, Person, add_user, log_in, new_email, platform_admin, post_log_in,
    set_up_code, tenant_person,
)  # fmt: skip

SHOW = "/api/v1/auth/link"
PLATFORM = "/api/v1/platform/invitations"
ME = "/api/v1/auth/me"
HOUR, DAY = 3600, 24 * 3600


@pytest.fixture
def server(shared):
    """Links that were refused to earlier tests count no longer."""
    shared.clock.advance(16 * 60)
    shared.admin = shared.admin or platform_admin(shared)
    if isinstance(shared.admin, Person) and not shared.admin.is_in():
        shared.admin = log_in(shared, shared.admin.email)
    return shared


def invite(person, path, email=None, role="member", show_link=True, **more):
    body = {"email": email or new_email(), "role": role, "show_link": show_link, **more}
    answer = person.post(path, body)
    assert answer.status == 201, answer.body
    made = answer.json()
    made["token"] = URL.match(made["url"]).group(1) if made["url"] else None
    return made


def reset(person, email):
    answer = person.post(f"/api/v1/platform/users/{email}/reset-link", {"show_link": True})
    assert answer.status == 201, answer.body
    return shown_token(answer)


def accept(server, token, password=PASSWORD, **more):
    return accept_link(server, token, password, **more)


def show(server, token):
    return server.client().post(SHOW, {"token": token})


@pytest.fixture
def admin(tenant):
    return tenant_person(tenant, "admin")


@pytest.mark.smoke
def test_an_invited_person_chooses_a_password_and_has_the_role(server, tenant, admin):
    made = invite(admin, tenant.path("invitations"), role="admin")
    assert not made["mailed"] and made["mail_problem"] is None
    assert made["url"].startswith("http://muster.example.com/#/")
    seen = show(server, made["token"]).json()
    assert (seen["kind"], seen["email"], seen["role"]) == ("invitation", made["email"], None)
    assert [(one["slug"], one["role"]) for one in seen["tenants"]] == [(tenant.slug, "admin")]
    (listed,) = admin.get(tenant.path("invitations")).json()["invitations"]
    assert listed["link_id"] == made["link_id"] and listed["made_by"] == admin.email
    assert made["token"] not in str(listed)
    answer = accept(server, made["token"])
    assert answer.json() == {"email": made["email"]} and "Set-Cookie" not in answer.headers
    person = log_in(server, made["email"])
    assert [(one["slug"], one["role"]) for one in person.answer["tenants"]] == [(tenant.slug, "admin")]
    assert person.answer["role"] is None
    assert admin.get(tenant.path("invitations")).json() == {"invitations": []}


def test_a_link_works_once_also_when_it_is_used_many_times_at_once(server, tenant, admin):
    made = invite(admin, tenant.path("invitations"))
    with ThreadPoolExecutor(4) as pool:
        answers = list(pool.map(lambda n: accept(server, made["token"], f"{PASSWORD} {n}"), range(4)))
    # 409: it was still open when it was found, and the user was there a moment later
    first, *others = sorted(answer.status for answer in answers)
    assert first == 200 and set(others) <= {404, 409}
    (chosen,) = [n for n, answer in enumerate(answers) if answer.status == 200]
    log_in(server, made["email"], f"{PASSWORD} {chosen}")
    again = show(server, made["token"])
    assert again.status == 404 and "was used already" in again.json()["detail"]
    token = reset(platform_admin(server), made["email"])
    with ThreadPoolExecutor(4) as pool:
        answers = list(pool.map(lambda n: accept(server, token, f"{OTHER_PASSWORD} {n}"), range(4)))
    assert sorted(answer.status for answer in answers) == [200, 404, 404, 404]
    (chosen,) = [n for n, answer in enumerate(answers) if answer.status == 200]
    log_in(server, made["email"], f"{OTHER_PASSWORD} {chosen}")


def test_a_platform_admin_invites_with_roles_in_several_tenants(server, tenant):
    other, admin = server.add_tenant(), platform_admin(server)
    other.client.get("/api/v1/limits")
    roles = [{"slug": tenant.slug, "role": "member"}, {"slug": other.slug, "role": "admin"}]
    made = invite(admin, PLATFORM, role="none", tenants=roles)
    assert accept(server, made["token"]).status == 200
    person = log_in(server, made["email"])
    given = {one["slug"]: one["role"] for one in person.answer["tenants"]}
    assert given == {tenant.slug: "member", other.slug: "admin"} and person.answer["role"] is None
    made = invite(admin, PLATFORM, role="platform_admin")
    assert accept(server, made["token"]).status == 200
    assert log_in(server, made["email"]).answer["role"] == "platform_admin"
    made = invite(admin, PLATFORM, role="platform_admin")
    assert admin.request("DELETE", f"{PLATFORM}/{made['link_id']}").status == 200
    assert show(server, made["token"]).status == 404
    body = {"email": new_email(), "tenants": [{"slug": "no-such-tenant", "role": "admin"}]}
    assert admin.post(PLATFORM, body).status == 404


def test_a_reset_sets_the_password_ends_sessions_and_deletes_tokens(server, tenant):
    admin, person = platform_admin(server), tenant_person(tenant, "member")
    client = server.client(person.post("/api/v1/auth/tokens", {"name": "x"}).json()["token"])
    token = reset(admin, person.email)
    assert person.is_in() and client.get(ME).status == 200
    assert show(server, token).json()["kind"] == "reset"
    assert accept(server, token, OTHER_PASSWORD).json() == {"email": person.email}
    assert not person.is_in() and client.get(ME).status == 401
    assert post_log_in(server, person.email).status == 401
    assert log_in(server, person.email, OTHER_PASSWORD).answer["tenants"][0]["slug"] == tenant.slug
    assert accept(server, token).status == 404
    assert admin.post("/api/v1/platform/users/no@example.com/reset-link", {}).status == 404


def test_a_new_link_takes_the_place_of_the_old_one_and_a_new_password_ends_it(server, tenant, admin):
    email = new_email()
    first = invite(admin, tenant.path("invitations"), email)
    second = invite(admin, tenant.path("invitations"), email.upper())
    gone = show(server, first["token"])
    assert gone.status == 404 and "replaced" in gone.json()["detail"]
    assert accept(server, second["token"]).status == 200
    boss = platform_admin(server)
    old, new = reset(boss, email), reset(boss, email)
    assert accept(server, old).status == 404 and show(server, new).status == 200
    person = log_in(server, email)
    change = {"current_password": PASSWORD, "new_password": OTHER_PASSWORD}
    assert person.post("/api/v1/auth/password", change).status == 200
    assert accept(server, new).status == 404
    new = reset(boss, email)
    given = boss.request("PATCH", f"/api/v1/platform/users/{email}", {"password": PASSWORD})
    assert given.status == 200 and accept(server, new).status == 404


def test_an_invitation_never_changes_a_user_who_exists(server, tenant, admin):
    victim = platform_admin(server)
    refused = admin.post(tenant.path("invitations"), {"email": victim.email, "role": "admin"})
    assert refused.status == 409 and "already" in refused.json()["detail"]
    email = new_email()
    made = invite(admin, tenant.path("invitations"), email)
    add_user(server, "--role", "platform_admin", email=email, password=OTHER_PASSWORD)
    refused = accept(server, made["token"])
    assert refused.status == 404 and "sign in" in refused.json()["detail"]
    assert admin.get(tenant.path("invitations")).json() == {"invitations": []}
    assert post_log_in(server, email).status == 401
    assert log_in(server, email, OTHER_PASSWORD).answer["tenants"] == []


def test_an_invitation_of_a_user_who_exists_is_refused_before_the_password_is_looked_at(own_server):
    said = own_server.cli("user", "invite", "ada@example.com", "--role", "platform_admin").strip()
    body = {"code": set_up_code(own_server), "email": "ada@example.com", "password": PASSWORD}
    assert own_server.client().post("/api/v1/auth/setup", body).status in (200, 201)
    refused = accept(own_server, URL.match(said).group(1), "password1234")
    assert refused.status == 409 and "sign in" in refused.json()["detail"]


def test_invitations_do_not_bring_a_deleted_user_back(server, tenant, admin):
    boss, email = platform_admin(server), new_email()
    invited = invite(admin, tenant.path("invitations"), email), invite(boss, PLATFORM, email, "none")
    body = {"email": email, "role": "member", "password": OTHER_PASSWORD}
    assert admin.post(tenant.path("users"), body).status == 201
    assert boss.delete(f"/api/v1/platform/users/{email}").status == 200
    assert [accept(server, one["token"]).status for one in invited] == [404, 404]
    assert accept(server, invite(boss, PLATFORM, email, "none")["token"]).status == 200


def test_a_stolen_admins_session_or_token_makes_no_reset_link_for_its_user(server):
    boss, other = platform_admin(server), platform_admin(server)
    made = boss.post("/api/v1/auth/tokens", {"name": "x", "role": "platform_admin"}).json()
    own = boss.post(f"/api/v1/platform/users/{boss.email.upper()}/reset-link", {"show_link": True})
    assert own.status == 403 and "own user" in own.json()["detail"]
    for email in (boss.email, other.email):
        by_token = server.client(made["token"]).post(f"/api/v1/platform/users/{email}/reset-link", {})
        assert by_token.status == 403 and "personal access token" in by_token.json()["detail"]
    reset(other, boss.email)


def test_links_of_a_tenant_are_its_admins_alone(server, tenant, admin):
    other = server.add_tenant()
    made = invite(admin, tenant.path("invitations"))
    path = tenant.path(f"invitations/{made['link_id']}")
    member, stranger = tenant_person(tenant, "member"), tenant_person(other, "admin")
    body = {"email": new_email(), "role": "admin"}
    for person in (member, stranger, server.client(), tenant.client):
        assert person.get(tenant.path("invitations")).status in (401, 403)
        assert person.post(tenant.path("invitations"), body).status in (401, 403)
        assert person.delete(path).status in (401, 403)
        assert person.get(PLATFORM).status in (401, 403)
        assert person.post(PLATFORM, {"email": new_email()}).status in (401, 403)
        assert person.post(f"/api/v1/platform/users/{admin.email}/reset-link", {}).status in (401, 403)
    assert stranger.delete(other.path(f"invitations/{made['link_id']}")).status == 404
    assert platform_admin(server).delete(f"{PLATFORM}/{made['link_id']}").status == 404
    assert show(server, made["token"]).status == 200
    assert admin.post(PLATFORM, {"email": new_email()}).status == 403
    boss = platform_admin(server)
    of_all = invite(boss, PLATFORM, role="none")
    listed = {whose: [one["link_id"] for one in boss.get(whose).json()["invitations"]]
              for whose in (PLATFORM, tenant.path("invitations"))}  # fmt: skip
    assert listed[tenant.path("invitations")] == [made["link_id"]]
    assert of_all["link_id"] in listed[PLATFORM] and made["link_id"] not in listed[PLATFORM]
    assert admin.delete(path).json() == {"invitations": []}
    assert accept(server, made["token"]).status == 404


def test_links_end_when_their_maker_loses_the_role(server, tenant, admin):
    boss, path = platform_admin(server), tenant.path("invitations")
    first = invite(admin, path)
    kept = invite(boss, path)
    assert boss.request("PATCH", tenant.path(f"users/{admin.email}"), {"role": "member"}).status == 200
    assert accept(server, first["token"]).status == 404
    assert show(server, kept["token"]).status == 200
    leaving = tenant_person(tenant, "admin")
    last = invite(leaving, path)
    assert boss.request("DELETE", tenant.path(f"users/{leaving.email}")).status == 200
    assert [show(server, one["token"]).status for one in (last, kept)] == [404, 200]
    other = platform_admin(server)
    mine, theirs = invite(other, PLATFORM, role="platform_admin"), invite(other, path)
    assert boss.request("PATCH", f"/api/v1/platform/users/{other.email}", {"role": "none"}).status == 200
    assert [show(server, one["token"]).status for one in (mine, theirs, kept)] == [404, 404, 200]


def test_links_end_when_their_maker_gets_a_new_password_by_another_way(server, tenant):
    boss, maker = platform_admin(server), platform_admin(server)
    path = f"/api/v1/platform/users/{maker.email}"
    first, kept = invite(maker, PLATFORM, role="none"), invite(boss, PLATFORM, role="none")
    assert boss.request("PATCH", path, {"password": OTHER_PASSWORD}).status == 200
    second = invite(log_in(server, maker.email, OTHER_PASSWORD), tenant.path("invitations"))
    assert [show(server, one["token"]).status for one in (first, second)] == [404, 200]
    assert accept(server, reset(boss, maker.email)).status == 200
    assert [show(server, one["token"]).status for one in (second, kept)] == [404, 200]


def test_a_deleted_tenants_invitations_are_gone(server):
    tenant, boss = server.add_tenant(), platform_admin(server)
    tenant.client.get("/api/v1/limits")
    made = invite(boss, tenant.path("invitations"))
    both = invite(boss, PLATFORM, role="none", tenants=[{"slug": tenant.slug, "role": "admin"}])
    gone = boss.request("DELETE", f"/api/v1/tenants/{tenant.slug}", {"confirm": tenant.slug})
    assert gone.status == 200
    assert accept(server, made["token"]).status == 404
    assert accept(server, both["token"]).status == 200
    assert log_in(server, both["email"]).answer["tenants"] == []


@pytest.mark.parametrize("body", [{}, {"email": "x", "role": "admin"}, {"email": "a@b.example", "role": "king"},
                                  {"email": "a@b.example\r\nBcc: c@d.example", "role": "admin"},
                                  {"email": "a@b.example", "role": "admin", "password": "x"}])  # fmt: skip
def test_an_invitation_that_makes_no_sense_is_refused(tenant, admin, body):
    assert admin.post(tenant.path("invitations"), body).status == 422
    assert admin.get(tenant.path("invitations")).json() == {"invitations": []}


def test_a_weak_password_is_refused_and_the_link_stays(server, tenant, admin):
    made = invite(admin, tenant.path("invitations"))
    for weak in ("too few", "password1234", made["email"]):
        refused = accept(server, made["token"], weak)
        assert refused.status == 422 and weak not in refused.body.decode()
    other = {"Sec-Fetch-Site": "cross-site"}
    assert accept(server, made["token"], headers=other).status == 403
    assert accept(server, made["token"]).status == 200


def test_guessing_links_is_throttled(server):
    boss = platform_admin(server)
    made = invite(boss, PLATFORM, role="platform_admin")
    statuses = [accept(server, "A" * 43).status for _ in range(12)]
    assert statuses == [404] * 10 + [429] * 2
    throttled = show(server, made["token"])
    assert throttled.status == 429 and int(throttled.headers["Retry-After"]) > 0
    server.clock.advance(16 * 60)
    assert accept(server, made["token"]).status == 200


def test_links_expire_and_are_stored_and_logged_nowhere(own_server, clock):
    boss = platform_admin(own_server)
    invited = invite(boss, PLATFORM, role="none")
    word = reset(boss, add_user(own_server, "--role", "platform_admin"))
    assert show(own_server, word).status == 200
    clock.advance(HOUR + 60)
    late = accept(own_server, word)
    assert late.status == 404 and "expired" in late.json()["detail"]
    clock.advance(6 * DAY)
    assert show(own_server, invited["token"]).status == 200
    clock.advance(DAY)
    assert accept(own_server, invited["token"]).status == 404
    entries = log_in(own_server, boss.email).get("/api/v1/platform/audit").json()["entries"]
    actions = [entry["action"] for entry in entries]
    assert "invitation.add" in actions and "reset.add" in actions
    tokens = [word, invited["token"]]
    assert not any(token in str(entries) for token in tokens)
    own_server.stop()
    assert "/api/v1/auth/link" in own_server.log()
    assert not any(token in own_server.log() for token in tokens)
    if not own_server.database:
        files = [file.read_bytes() for file in own_server.data.iterdir() if file.is_file()]
        assert not any(token.encode() in content for token in tokens for content in files)


def test_a_tenant_has_at_most_a_hundred_open_invitations(server, tenant):
    admin, path = tenant_person(tenant, "admin"), tenant.path("invitations")
    made = [invite(admin, path) for _ in range(100)]
    refused = admin.post(path, {"email": new_email(), "role": "member"})
    assert refused.status == 409 and "100 links are open" in refused.json()["detail"]
    for one in made:
        assert admin.delete(f"{path}/{one['link_id']}").status == 200
    for _ in range(100):
        invite(admin, path, made[0]["email"])
    refused = admin.post(path, {"email": new_email(), "role": "member"})
    assert refused.status == 409 and "24 hours" in refused.json()["detail"]
    server.clock.advance(DAY + 60)
    invite(log_in(server, admin.email), path)


def test_a_link_that_is_shown_leads_to_the_port_that_is_bound(store, tmp_path):
    with running(store, tmp_path, arguments=["--listen", ":0"]) as everywhere:
        port = everywhere.address[1]
        said = everywhere.said.decode()
        assert f"http://localhost:{port}/#/setup?code=" in said and "set public_url" in said
        everywhere.address = ("127.0.0.1", port)
        made = invite(platform_admin(everywhere), PLATFORM, role="none")
        assert made["url"].startswith(f"http://localhost:{port}/#/")
        assert "only on the service's own machine: set public_url" in made["url_note"]
        assert accept(everywhere, made["token"]).status == 200
        given = ("user", "invite", new_email(), "--role", "platform_admin", "--listen", ":0")
        done = everywhere.run(*given)
        if store == "sqlite":  # the server makes the link
            assert done.stdout.startswith(f"http://localhost:{port}/#/link")
        else:  # the command does, which knows of no port
            assert (done.returncode, done.stdout) == (1, "") and "any free port" in done.stderr
        assert "set public_url" in done.stderr
        done = everywhere.run(*given, "--public-url", "https://muster.example.com/")
        maker = f"http://localhost:{port}" if store == "sqlite" else "https://muster.example.com"
        assert done.stdout.startswith(f"{maker}/#/link")
        everywhere.stop()
        everywhere.arguments = []  # on one address
        everywhere.start()
        assert "set public_url" not in everywhere.said.decode()


@pytest.mark.commands
def test_commands_invite_and_reset(own_server):
    said = own_server.cli("user", "invite", "ada@example.com", "--role", "platform_admin").strip()
    token = URL.match(said).group(1)
    (listed,) = own_server.cli("invitation", "list").splitlines()[1:]
    assert "ada@example.com" in listed and "operator" in listed
    assert accept(own_server, token).status == 200
    said = own_server.cli("user", "reset-link", "ada@example.com").strip()
    assert accept(own_server, URL.match(said).group(1), OTHER_PASSWORD).status == 200
    log_in(own_server, "ada@example.com", OTHER_PASSWORD)
    own_server.cli("user", "invite", "bob@example.com", "--role", "platform_admin")
    (listed,) = own_server.cli("invitation", "list").splitlines()[1:]
    link_id = listed.split()[0]
    assert own_server.cli("invitation", "delete", link_id).strip() == f"invitation '{link_id}' revoked"


def test_a_link_is_mailed_and_then_not_shown(server, mails):
    boss = platform_admin(server)
    made = invite(boss, PLATFORM, "zoe@example.com", role="none", show_link=False)
    assert made["mailed"] and made["url"] is None and made["mail_problem"] is None
    mail = mails.mails.get(timeout=WAIT_S)
    assert mail.recipients == ["<zoe@example.com>"] and boss.email in text_of(mail)
    (token,) = URL.findall(text_of(mail))
    assert "http://muster.example.com/#/link" in text_of(mail) and accept(server, token).status == 200
    shown = invite(boss, PLATFORM, role="none")
    assert not shown["mailed"] and shown["token"] and mails.mails.empty()


def test_the_mail_says_what_a_member_may(server, tenant, mails):
    boss, said = platform_admin(server), "can view, acknowledge alerts, mute agents and plan maintenance"
    for role in ("member", "admin"):
        made = invite(boss, tenant.path("invitations"), role=role, show_link=False)
        assert made["mailed"]
        assert (said in text_of(mails.mails.get(timeout=WAIT_S))) == (role == "member")
