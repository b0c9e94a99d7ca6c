"""An account is its owner's only if a link that was sent to the address, or the platform, says so."""

import time

import pytest
from links import FORGOT, URL, accept, mailed_token, mails, shared, shown_token  # noqa: F401
from people import (
    OTHER_PASSWORD, PASSWORD, add_user, code_at, log_in, new_email, platform_admin, post_log_in,
    tenant_person,
)  # fmt: skip

FACTOR = "/api/v1/auth/second-factor"
USERS, INVITATIONS = "/api/v1/platform/users", "/api/v1/platform/invitations"
MINUTES_16 = 16 * 60


@pytest.fixture
def server(shared):
    """Failed sign-ins of earlier tests count no longer."""
    shared.clock.advance(MINUTES_16)
    return shared


@pytest.fixture
def other(server):
    return server.add_tenant()


@pytest.fixture
def attacker(tenant):
    return tenant_person(tenant, "admin")


@pytest.fixture
def victim(tenant, attacker):
    """The address of a person who knows nothing of the account that the attacker made."""
    body = {"email": new_email(), "role": "member", "password": PASSWORD}
    answer = attacker.post(tenant.path("users"), body)
    assert answer.status == 201 and answer.json()["created"], answer.body
    return body["email"]


def add_role(person, tenant, email, **more):
    return person.post(tenant.path("users"), {"email": email, "role": "admin", **more})


def invite(person, path, email, show_link=False, role="admin"):
    return person.post(path, {"email": email, "role": role, "show_link": show_link})


def tenants_of(person):
    return {one["slug"]: one["role"] for one in person.answer["tenants"]}


def enrol(server, person, password=PASSWORD):
    """Adds a second factor. The code is one of the time that the service has."""
    secret = person.post(FACTOR, {"current_password": password}).json()["secret"]
    at = time.time() + server.clock.passed_us / 1_000_000
    done = person.post(f"{FACTOR}/confirm", {"code": code_at(secret, at)})
    assert done.status == 200, done.body


def is_confirmed(server, email):
    (found,) = [one for one in platform_admin(server).get(USERS).json()["users"]
                if one["email"] == email]  # fmt: skip
    return found["email_confirmed"]


@pytest.mark.smoke
def test_an_account_that_one_tenant_made_gets_no_role_in_another(server, tenant, other, victim):
    admin, boss = tenant_person(other, "admin"), platform_admin(server)
    for person in (admin, boss):
        for more in ({}, {"password": OTHER_PASSWORD}):
            refused = add_role(person, other, victim, **more)
            assert refused.status == 409, refused.body
            said = refused.json()["detail"]
            assert victim in said and "Invite the person by e-mail" in said
    assert victim not in admin.get(other.path("users")).body.decode()
    assert tenants_of(log_in(server, victim)) == {tenant.slug: "member"}
    assert not is_confirmed(server, victim)


def test_the_tenant_that_made_an_account_goes_on_to_use_it(tenant, attacker, victim):
    path = tenant.path(f"users/{victim}")
    changed = attacker.request("PATCH", path, {"role": "admin"})
    assert changed.status == 200 and changed.json()["email_confirmed"] is False
    assert attacker.delete(path).status == 200
    assert add_role(attacker, tenant, victim).status == 201
    users = {one["email"]: one["email_confirmed"] for one in attacker.get(tenant.path("users")).json()["users"]}
    assert users == {attacker.email: True, victim: False}


def test_the_reader_of_a_mailed_invitation_gets_the_account_and_the_maker_loses_it(
    server, tenant, other, attacker, victim, mails
):
    admin, held = tenant_person(other, "admin"), log_in(server, victim)
    token = held.post("/api/v1/auth/tokens", {"name": "x"}).json()["token"]
    invited = invite(admin, other.path("invitations"), victim)
    assert invited.status == 201 and invited.json()["mailed"] and invited.json()["url"] is None
    assert held.is_in() and tenants_of(log_in(server, victim)) == {tenant.slug: "member"}
    assert accept(server, mailed_token(mails, victim)).json() == {"email": victim}
    assert not held.is_in() and server.client(token).get("/api/v1/auth/me").status == 401
    assert post_log_in(server, victim).status == 401
    owner = log_in(server, victim, OTHER_PASSWORD)
    assert tenants_of(owner) == {tenant.slug: "member", other.slug: "admin"}
    assert owner.answer["role"] is None and is_confirmed(server, victim)
    third = server.add_tenant()
    assert add_role(tenant_person(third, "admin"), third, victim).status == 201
    refused = invite(attacker, tenant.path("invitations"), victim)
    assert refused.status == 409 and "already" in refused.json()["detail"]


def test_a_second_mailed_invitation_ends_when_the_first_is_accepted(server, other, victim, mails):
    third, boss = server.add_tenant(), platform_admin(server)
    first = invite(tenant_person(other, "admin"), other.path("invitations"), victim)
    token = mailed_token(mails, victim)
    second = invite(tenant_person(third, "admin"), third.path("invitations"), victim)
    late = mailed_token(mails, victim)
    assert (first.status, second.status) == (201, 201)
    assert accept(server, token).status == 200
    assert accept(server, late, PASSWORD).status == 404
    assert boss.get(third.path("invitations")).json() == {"invitations": []}
    assert third.slug not in tenants_of(log_in(server, victim, OTHER_PASSWORD))


def test_a_link_that_an_admin_has_seen_proves_nothing(server, tenant, other, attacker, mails):
    admin, path = tenant_person(other, "admin"), tenant.path("invitations")
    shown = invite(attacker, path, new_email(), show_link=True)
    mails.verdict = "550 no such mailbox"
    try:
        unsent = invite(attacker, path, new_email())
    finally:
        mails.verdict = "250 well"
    assert unsent.json()["mail_problem"]
    for answer in (shown, unsent):
        email = answer.json()["email"]
        assert accept(server, shown_token(answer)).status == 200
        assert add_role(admin, other, email).status == 409
    assert mails.mails.empty()


def test_a_mailed_invitation_confirms_and_its_answer_does_not_tell_the_link(
    server, tenant, other, attacker, mails
):
    email = new_email()
    assert invite(attacker, tenant.path("invitations"), email).json()["url"] is None
    assert accept(server, mailed_token(mails, email)).status == 200
    assert is_confirmed(server, email)
    assert add_role(tenant_person(other, "admin"), other, email).status == 201


def test_an_account_that_exists_is_given_away_by_mail_alone(server, other, victim, mails):
    admin, path = tenant_person(other, "admin"), other.path("invitations")
    for person, where in ((admin, path), (platform_admin(server), INVITATIONS)):
        role = "admin" if where == path else "platform_admin"
        refused = invite(person, where, victim, show_link=True, role=role)
        assert refused.status == 409 and "only an invitation by e-mail" in refused.json()["detail"]
    mails.verdict = "550 no such mailbox"
    try:
        unsent = invite(admin, path, victim).json()
        given = ("--tenant", other.slug, "--role", "member", *server.arguments)
        by_command = server.cli("user", "invite", victim, *given)
        shown = server.cli("user", "invite", new_email(), *given)
    finally:
        mails.verdict = "250 well"
    assert by_command.startswith("not sent by e-mail: ") and "/#/link" not in by_command
    assert f"muster user reset-link {victim} gives it to the person\n" in by_command
    problem, link = shown.splitlines()  # of an address without an account
    assert problem.startswith("not sent by e-mail: ") and URL.search(link)
    assert unsent["mail_problem"] and not unsent["mailed"] and unsent["url"] is None
    assert tenants_of(log_in(server, victim)).get(other.slug) is None


def test_a_shown_link_of_a_person_whose_address_was_taken_names_the_way(server, tenant, attacker):
    boss, email = platform_admin(server), new_email()
    shown = shown_token(invite(boss, INVITATIONS, email, show_link=True, role="none"))
    taken = attacker.post(tenant.path("users"), {"email": email, "role": "member", "password": PASSWORD})
    assert taken.status == 201
    refused = accept(server, shown)
    assert refused.status == 409
    assert "ask a platform admin for a reset link (muster user reset-link)" in refused.json()["detail"]
    reset = boss.post(f"{USERS}/{email}/reset-link", {"show_link": True})
    assert accept(server, shown_token(reset)).status == 200 and is_confirmed(server, email)
    assert accept(server, shown).status == 404  # the person has an account


def test_without_a_mail_server_the_platform_confirms(own_server):
    tenant, other = own_server.add_tenant(), own_server.add_tenant()
    maker, admin = tenant_person(tenant, "admin"), tenant_person(other, "admin")
    body = {"email": new_email(), "role": "member", "password": PASSWORD}
    assert maker.post(tenant.path("users"), body).status == 201
    refused = invite(admin, other.path("invitations"), body["email"])
    assert refused.status == 409 and "muster user reset-link" in refused.json()["detail"]
    refused = add_role(admin, other, body["email"])
    assert refused.status == 409 and "muster user reset-link" in refused.json()["detail"]
    said = own_server.cli("user", "confirm", body["email"]).strip()
    assert said.startswith(f"user '{body['email']}' confirmed; the password")
    again = own_server.cli("user", "confirm", body["email"]).strip()
    assert again == f"user '{body['email']}' was confirmed already; nothing has changed"
    assert add_role(admin, other, body["email"]).status == 201
    link = platform_admin(own_server).post(f"{USERS}/{body['email']}/reset-link", {"show_link": True})
    assert accept(own_server, shown_token(link)).status == 200
    assert tenants_of(log_in(own_server, body["email"], OTHER_PASSWORD)) == {tenant.slug: "member", other.slug: "admin"}
    listed = own_server.cli("user", "list").splitlines()
    assert listed[0].split()[-1] == "CONFIRMED" and {line.split()[-1] for line in listed[1:]} == {"yes"}


def test_confirming_alone_leaves_a_stranger_nothing_and_the_owner_a_reset(
    server, other, victim, mails
):
    boss, held = platform_admin(server), log_in(server, victim)
    token = held.post("/api/v1/auth/tokens", {"name": "x"}).json()["token"]
    enrol(server, held)
    confirm = {"email_confirmed": True}
    assert boss.request("PATCH", f"{USERS}/{victim}", confirm).json()["email_confirmed"] is True
    assert not held.is_in() and server.client(token).get("/api/v1/auth/me").status == 401
    for password in (PASSWORD, "!"):
        assert post_log_in(server, victim, password).status == 401
    assert add_role(tenant_person(other, "admin"), other, victim).status == 201
    assert server.client().post(FORGOT, {"email": victim}).status == 202
    assert accept(server, mailed_token(mails, victim)).status == 200
    owner = log_in(server, victim, OTHER_PASSWORD)
    assert tenants_of(owner)[other.slug] == "admin" and owner.get(FACTOR).json()["active"] is False
    assert boss.request("PATCH", f"{USERS}/{victim}", confirm).status == 200
    assert owner.is_in() and log_in(server, victim, OTHER_PASSWORD).is_in()  # it was confirmed


@pytest.mark.parametrize("way", ["invitation", "reset", "password"])
def test_a_strangers_second_factor_ends_when_the_owner_gets_the_account(
    server, tenant, other, victim, mails, way
):
    enrol(server, log_in(server, victim))
    assert post_log_in(server, victim).status == 422
    if way == "password":
        new = {"password": OTHER_PASSWORD}
        assert platform_admin(server).request("PATCH", f"{USERS}/{victim}", new).status == 200
    else:
        if way == "reset":
            assert server.client().post(FORGOT, {"email": victim}).status == 202
        else:
            assert invite(tenant_person(other, "admin"), other.path("invitations"), victim).status == 201
        assert accept(server, mailed_token(mails, victim)).status == 200
    owner = log_in(server, victim, OTHER_PASSWORD)
    assert owner.get(FACTOR).json()["active"] is False
    enrol(server, owner, OTHER_PASSWORD)
    assert server.client().post(FORGOT, {"email": victim}).status == 202
    assert accept(server, mailed_token(mails, victim), PASSWORD).status == 200
    assert post_log_in(server, victim).status == 422  # the owner's own stays


@pytest.mark.parametrize("way", ["password", "link"])
def test_a_tenant_does_not_end_the_mailed_invitation_of_another(
    server, tenant, other, attacker, mails, way
):
    email = new_email()
    assert invite(tenant_person(other, "admin"), other.path("invitations"), email).status == 201
    token = mailed_token(mails, email)
    if way == "password":
        assert add_role(attacker, tenant, email, password=PASSWORD).status == 201
    else:
        shown = invite(attacker, tenant.path("invitations"), email, show_link=True)
        assert accept(server, shown_token(shown), PASSWORD).status == 200
    assert accept(server, token).status == 200
    owner = log_in(server, email, OTHER_PASSWORD)
    assert tenants_of(owner) == {tenant.slug: "admin", other.slug: "admin"}


def test_an_invitation_ends_when_the_account_is_confirmed_in_another_way(server, other, victim, mails):
    assert invite(tenant_person(other, "admin"), other.path("invitations"), victim).status == 201
    token, boss = mailed_token(mails, victim), platform_admin(server)
    assert boss.request("PATCH", f"{USERS}/{victim}", {"email_confirmed": True}).status == 200
    assert boss.get(other.path("invitations")).json() == {"invitations": []}
    assert accept(server, token).status == 404


def test_no_platform_admin_is_made_of_an_account_that_another_may_hold(server, tenant, victim):
    boss, path, held = platform_admin(server), f"{USERS}/{victim}", log_in(server, victim)
    refused = boss.request("PATCH", path, {"role": "platform_admin"})
    assert refused.status == 409 and "another person may know its password" in refused.json()["detail"]
    assert held.is_in() and held.get(USERS).status == 403
    for nothing in ({"email_confirmed": None}, {"role": "none"}):
        assert boss.request("PATCH", path, nothing).json()["email_confirmed"] is False
    changed = boss.request("PATCH", path, {"role": "platform_admin", "email_confirmed": True})
    assert changed.status == 200 and changed.json()["email_confirmed"] is True
    assert not held.is_in() and post_log_in(server, victim).status == 401
    link = boss.post(f"{USERS}/{victim}/reset-link", {"show_link": True})
    assert accept(server, shown_token(link)).status == 200
    assert log_in(server, victim, OTHER_PASSWORD).answer["role"] == "platform_admin"
    (entry,) = [one for one in boss.get("/api/v1/platform/audit").json()["entries"]
                if one["action"] == "user.set" and one["target"] == victim
                and "email_confirmed" in str(one["detail"])]  # fmt: skip
    assert entry["actor"].endswith(boss.email)


@pytest.mark.parametrize("confirmed", [False, True])
def test_an_address_is_never_made_unconfirmed(server, tenant, victim, confirmed):
    """It is refused in a sentence, with everything that came along, rather than passed over."""
    boss = platform_admin(server)
    email = tenant_person(tenant, "admin").email if confirmed else victim
    before = is_confirmed(server, email)
    body = {"email_confirmed": False, "password": OTHER_PASSWORD}
    refused = boss.request("PATCH", f"{USERS}/{email}", body)
    (problem,) = refused.json()["detail"]
    assert refused.status == 422 and problem["loc"] == ["body", "email_confirmed"]
    assert "what is confirmed stays so" in problem["msg"]
    assert before == confirmed == is_confirmed(server, email)
    log_in(server, email)


def test_a_password_from_the_platform_or_by_a_reset_confirms(server, tenant, attacker, mails):
    boss = platform_admin(server)

    def made():
        email = new_email()
        assert add_role(attacker, tenant, email, password=PASSWORD).status == 201
        return email

    by_admin, by_link, by_mail = made(), made(), made()
    assert boss.request("PATCH", f"{USERS}/{by_admin}", {"password": OTHER_PASSWORD}).status == 200
    link = boss.post(f"{USERS}/{by_link}/reset-link", {"show_link": True})
    assert accept(server, shown_token(link)).status == 200
    assert server.client().post(FORGOT, {"email": by_mail}).status == 202
    assert accept(server, mailed_token(mails, by_mail)).status == 200
    assert [is_confirmed(server, one) for one in (by_admin, by_link, by_mail)] == [True] * 3


def test_users_do_not_confirm_themselves(server, other, victim):
    held = log_in(server, victim)
    change = {"current_password": PASSWORD, "new_password": OTHER_PASSWORD}
    assert held.post("/api/v1/auth/password", change).status == 200
    assert held.request("PATCH", f"{USERS}/{victim}", {"email_confirmed": True}).status == 403
    assert add_role(tenant_person(other, "admin"), other, victim).status == 409


def test_accounts_and_links_of_the_platform_are_confirmed(server, tenant, other):
    boss, admin = platform_admin(server), tenant_person(other, "admin")
    by_password, by_link = new_email(), new_email()
    body = {"email": by_password, "role": "member", "password": PASSWORD}
    assert boss.post(tenant.path("users"), body).status == 201
    made = invite(boss, tenant.path("invitations"), by_link, show_link=True)
    assert accept(server, shown_token(made)).status == 200
    for email in (by_password, by_link, add_user(server, "--tenant", tenant.slug, "--role", "member")):
        assert add_role(admin, other, email).status == 201
