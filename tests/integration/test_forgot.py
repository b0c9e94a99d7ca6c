"""Users who forgot their password ask for a link by e-mail; strangers who ask learn nothing."""

import queue
from concurrent.futures import ThreadPoolExecutor

import pytest
from links import FORGOT, accept, mailed_token, mails, shared  # noqa: F401
from mail_server import WAIT_S
from people import (
    OTHER_PASSWORD, PASSWORD, log_in, new_email, platform_admin, post_log_in, tenant_person,
)  # fmt: skip
from test_second_factor import later
from waiting import until

SET_UP = "/api/v1/auth/setup"
MINUTE, HOUR = 60, 3600
PER_ACCOUNT, PER_ACCOUNT_DAY, PER_ADDRESS = 3, 5, 10
OK = {"status": "ok"}


@pytest.fixture
def server(shared):
    """No request of an earlier test counts any longer."""
    later(shared, HOUR + 1)
    return shared


@pytest.fixture
def person(tenant):
    return tenant_person(tenant, "member")


def ask(server, email, address="192.0.2.1"):
    client = server.client()
    answer = client.post(FORGOT, {"email": email}, headers={"X-Forwarded-For": address})
    client.close()
    return answer


@pytest.mark.smoke
def test_a_link_by_mail_sets_a_password_once_and_ends_sessions_and_tokens(server, mails, person):
    client = server.client(person.post("/api/v1/auth/tokens", {"name": "x"}).json()["token"])
    answer = ask(server, f" {person.email.upper()}")
    assert (answer.status, answer.json()) == (202, OK)
    token = mailed_token(mails, person.email)
    assert person.is_in() and client.get("/api/v1/auth/me").status == 200  # until it is used
    assert accept(server, token).json() == {"email": person.email}
    assert not person.is_in() and client.get("/api/v1/auth/me").status == 401
    assert post_log_in(server, person.email, PASSWORD).status == 401
    log_in(server, person.email, OTHER_PASSWORD)
    assert accept(server, token).status == 404


def test_the_answer_is_the_same_for_a_stranger_and_nothing_is_mailed(server, mails, person):
    known, unknown = ask(server, person.email), ask(server, new_email())
    assert known.status == unknown.status == 202 and known.body == unknown.body
    assert set(known.headers.keys()) == set(unknown.headers.keys())
    mailed_token(mails, person.email)
    ask(server, person.email)
    mailed_token(mails, person.email)  # mails keep their order: there was none for the stranger
    assert mails.mails.empty()


def test_many_who_ask_at_once_all_get_their_mail(server, mails, tenant):
    emails = [tenant_person(tenant, "member").email for _ in range(7)]
    with ThreadPoolExecutor(len(emails)) as pool:
        answers = list(pool.map(lambda email: ask(server, email), emails))
    assert [answer.json() for answer in answers] == [OK] * len(emails)
    arrived = [mails.mails.get(timeout=WAIT_S).recipients for _ in emails]
    assert sorted(arrived) == sorted([f"<{email}>"] for email in emails)


def test_a_mail_server_that_does_not_answer_delays_no_answer(server, mails, person):
    mails.verdict = "550 no such mailbox"
    try:
        assert ask(server, person.email).status == 202
        until(lambda: "was not sent" in server.log(), WAIT_S)
    finally:
        mails.verdict = "250 well"
    assert mails.mails.empty() and person.email not in server.log()


def test_no_mailbox_is_flooded_and_the_user_always_has_a_link_that_works(server, mails, person):
    tokens = []
    for n in range(PER_ACCOUNT + 2):
        assert ask(server, person.email, f"192.0.2.{n + 10}").json() == OK
        if n < PER_ACCOUNT:
            tokens.append(mailed_token(mails, person.email))
    later(server, 50 * MINUTE)
    assert ask(server, person.email).json() == OK and mails.mails.empty()
    assert accept(server, tokens[0]).status == 200  # the later ones took nothing away
    assert [accept(server, one).status for one in tokens[1:]] == [404, 404]
    later(server, HOUR)
    for _ in range(PER_ACCOUNT_DAY - PER_ACCOUNT):
        assert ask(server, person.email).json() == OK
        mailed_token(mails, person.email)
    assert ask(server, person.email).json() == OK  # enough for now: two are left
    later(server, HOUR)
    assert ask(server, person.email).json() == OK
    mailed_token(mails, person.email)  # those of the hour before have expired
    assert ask(server, person.email).json() == OK  # and this one is left
    later(server, 24 * HOUR)
    assert ask(server, person.email).json() == OK
    mailed_token(mails, person.email)
    assert mails.mails.empty()


def test_requests_are_limited_by_address_apart_from_failed_sign_ins(server, mails, person):
    stranger = {"X-Forwarded-For": "192.0.2.7"}
    for _ in range(PER_ADDRESS):
        assert post_log_in(server, new_email(), headers=stranger).status == 401
    assert post_log_in(server, new_email(), headers=stranger).status == 429
    for _ in range(PER_ADDRESS):
        assert ask(server, new_email(), "192.0.2.7").status == 202
    refused = ask(server, person.email, "192.0.2.7")
    assert refused.status == 429 and 0 < int(refused.headers["Retry-After"]) <= 15 * MINUTE
    assert ask(server, person.email, "192.0.2.8").status == 202
    mailed_token(mails, person.email)


def test_a_new_password_ends_a_link_and_a_link_of_an_admin_stays(server, mails, person):
    boss = platform_admin(server)
    made = boss.post(f"/api/v1/platform/users/{person.email}/reset-link", {"show_link": True}).json()
    ask(server, person.email)
    token = mailed_token(mails, person.email)
    shown = server.client().post("/api/v1/auth/link", {"token": made["url"].split("=")[1]})
    assert shown.status == 200
    body = {"current_password": PASSWORD, "new_password": f"{PASSWORD} 2"}
    assert person.post("/api/v1/auth/password", body).status == 200
    assert accept(server, token).status == 404


def test_requests_are_in_the_audit_log_without_the_link(server, mails, tenant, person):
    admin = tenant_person(tenant, "admin")
    ask(server, person.email)
    token = mailed_token(mails, person.email)
    (entry,) = [one for one in admin.get(tenant.path("audit")).json()["entries"]
                if one["action"] == "reset.ask"]  # fmt: skip
    assert entry["target"] == person.email and "lnk_" in str(entry["detail"])
    assert entry["origin"] == "192.0.2.1" and token not in str(entry)
    ask(server, "stranger@example.net")
    boss = platform_admin(server)
    entries = boss.get("/api/v1/platform/audit").json()["entries"]
    (entry,) = [one for one in entries if one["action"] == "reset.ask"][:1]
    assert entry["target"] == "unknown user" and "stranger" not in str(entries)


def test_a_service_without_a_mail_server_says_whom_to_ask(own_server):
    assert own_server.client().get(SET_UP).json()["mails_links"] is False
    answer = own_server.client().post(FORGOT, {"email": "ada@example.com"})
    assert answer.status == 409 and "ask a platform admin or the operator" in answer.json()["detail"]


def test_other_origins_and_bad_addresses_are_refused(server, mails):
    assert server.client().get(SET_UP).json()["mails_links"] is True
    client = server.client()
    foreign = {"Origin": "http://evil.example", "Sec-Fetch-Site": "cross-site"}
    assert client.post(FORGOT, {"email": "ada@example.com"}, headers=foreign).status == 403
    assert client.post(FORGOT, {"email": "no address"}).status == 422
    with pytest.raises(queue.Empty):
        mails.mails.get_nowait()
