"""What a thief of a session's cookie, or of a password alone, cannot do."""

import pytest
from muster import Clock, running
from people import OTHER_PASSWORD, PASSWORD, log_in, platform_admin, post_log_in, tenant_person
from test_second_factor import enrol, later, now_code

TOKENS, FACTOR = "/api/v1/auth/tokens", "/api/v1/auth/second-factor"
PASSWORD_CHANGE = "/api/v1/auth/password"
FRESH_S, WINDOW_S, FAILURES = 600, 900, 10


@pytest.fixture(scope="module")
def shared(store, tmp_path_factory):
    folder = tmp_path_factory.mktemp("stolen")
    ticking = Clock(folder)
    arguments = ["--trusted-proxies", "127.0.0.1"]
    with running(store, folder, arguments=arguments, environment=ticking.environment) as started:
        started.clock, started.ahead = ticking, 0
        yield started


@pytest.fixture
def server(shared):
    """Nothing that failed in an earlier test counts any longer."""
    later(shared, WINDOW_S + 1)
    return shared


@pytest.fixture
def person(tenant):
    return tenant_person(tenant, "member")


def create(person, where=TOKENS, **proof):
    return person.post(where, {"name": "laptop", **proof})


def missing(answer):
    assert answer.status == 422, answer.body
    (problem,) = answer.json()["detail"]
    assert "input" not in problem or problem["input"] is None
    return problem["loc"]


def test_a_session_creates_tokens_for_ten_minutes_and_then_with_the_password(server, tenant, person):
    assert create(person).status == 201
    later(server, FRESH_S - 30)
    assert create(person).status == 201
    later(server, 31)
    assert missing(create(person)) == ["body", "current_password"]
    wrong = create(person, current_password=OTHER_PASSWORD)
    assert wrong.status == 403 and OTHER_PASSWORD not in wrong.body.decode()
    assert create(person, current_password=PASSWORD).status == 201
    assert missing(create(person)) == ["body", "current_password"]  # each time
    entries = tenant_person(tenant, "admin").get(tenant.path("audit")).json()["entries"]
    (refused,) = [one for one in entries if one["action"] == "password.refuse"]
    assert refused["target"] == person.email
    assert len(person.get(TOKENS).json()["tokens"]) == 3
    assert create(log_in(server, person.email)).status == 201  # signing in again does, too


def test_with_a_second_factor_a_token_needs_a_code_that_is_good_once(server, person):
    secret, (recovery, *_) = enrol(server, person)
    later(server, FRESH_S + 1)
    assert missing(create(person)) == ["body", "current_password"]
    assert missing(create(person, current_password=PASSWORD)) == ["body", "code"]
    assert create(person, current_password=PASSWORD, code="000000").status == 403
    code = now_code(server, secret)
    assert create(person, current_password=OTHER_PASSWORD, code=code).status == 403
    assert create(person, current_password=PASSWORD, code=code).status == 201
    assert create(person, current_password=PASSWORD, code=code).status == 403
    assert create(person, current_password=PASSWORD, code=recovery).status == 201
    assert create(person, current_password=PASSWORD, code=recovery).status == 403
    assert person.get(FACTOR).json()["recovery_codes_left"] == 9


def test_the_way_of_platform_admins_is_no_way_around_it(server):
    boss = platform_admin(server)
    where = f"/api/v1/platform/users/{boss.email}/tokens"
    assert create(boss, where).status == 201
    later(server, FRESH_S + 1)
    assert create(boss, where).status == create(boss, where, current_password=PASSWORD).status == 403
    assert create(boss, current_password=OTHER_PASSWORD).status == 403
    assert create(boss, current_password=PASSWORD).status == 201
    entries = boss.get("/api/v1/platform/audit").json()["entries"]
    assert [one["action"] for one in entries[:3]] == ["token.add", "password.refuse", "token.add"]


GUESSES = {
    PASSWORD_CHANGE: lambda guess: {"current_password": guess, "new_password": "seven slow herons"},
    FACTOR: lambda guess: {"current_password": guess},
    TOKENS: lambda guess: {"name": "x", "current_password": guess},
}


def test_guesses_of_the_password_count_per_user_from_any_address(server, person):
    statuses = []
    for n in range(FAILURES + 2):
        path = list(GUESSES)[n % len(GUESSES)]
        headers = {"X-Forwarded-For": f"198.51.100.{n + 1}"}
        statuses.append(person.post(path, GUESSES[path](f"guess number {n}"), headers=headers).status)
    assert statuses == [403] * FAILURES + [429] * 2
    right = person.post(FACTOR, {"current_password": PASSWORD},
                        headers={"X-Forwarded-For": "198.51.100.99"})  # fmt: skip
    assert right.status == 429
    assert post_log_in(server, person.email).status == 200  # the owner is not locked out
    later(server, WINDOW_S + 1)
    assert person.post(FACTOR, {"current_password": PASSWORD}).status == 200


def test_an_open_session_sets_no_new_password_of_its_own_user(server):
    boss, other = platform_admin(server), platform_admin(server)
    mine = boss.request("PATCH", f"/api/v1/platform/users/{boss.email}", {"password": OTHER_PASSWORD})
    assert mine.status == 403 and "current one" in mine.json()["detail"]
    assert boss.is_in() and post_log_in(server, boss.email, OTHER_PASSWORD).status == 401
    theirs = f"/api/v1/platform/users/{other.email}"
    assert boss.request("PATCH", theirs, {"password": OTHER_PASSWORD}).status == 200
    kept = boss.request("PATCH", f"/api/v1/platform/users/{boss.email}", {"role": "platform_admin"})
    assert kept.status == 200 and boss.is_in()


def test_a_right_password_without_its_code_is_in_the_audit_log(server, tenant, person):
    enrol(server, person)
    answer = post_log_in(server, person.email, headers={"X-Forwarded-For": "203.0.113.5"})
    assert missing(answer) == ["body", "code"]
    entries = tenant_person(tenant, "admin").get(tenant.path("audit")).json()["entries"]
    (entry,) = [one for one in entries if one["action"] == "session.code"]
    assert (entry["target"], entry["origin"]) == (person.email, "203.0.113.5")
