"""Second factors: codes of an authenticator app, each good once, and recovery codes."""

import base64
import json
import subprocess
import time
from concurrent.futures import ThreadPoolExecutor

import pytest
from muster import BINARY, COMMAND_S, Clock, running
from people import (
    OTHER_PASSWORD, PASSWORD, STEP, Person, add_user, code_at, log_in, platform_admin, post_log_in,
    tenant_person,
)  # fmt: skip

FACTOR, LOG_IN = "/api/v1/auth/second-factor", "/api/v1/auth/login"


@pytest.fixture(scope="module")
def shared(store, tmp_path_factory):
    """A server with the clock that it follows."""
    folder = tmp_path_factory.mktemp("factors")
    ticking = Clock(folder)
    with running(store, folder, environment=ticking.environment) as started:
        started.admin, started.clock, started.ahead = started.admin or platform_admin(started), ticking, 0
        yield started


def later(server, seconds):
    server.clock.advance(seconds)
    server.ahead += seconds


@pytest.fixture
def server(shared):
    """Sign-ins that failed in earlier tests count no longer."""
    later(shared, 16 * 60)
    if isinstance(shared.admin, Person) and not shared.admin.is_in():
        shared.admin = log_in(shared, shared.admin.email)
    return shared


def now_code(server, secret, ahead=0):
    return code_at(secret, time.time() + server.ahead + ahead)


def enrol(server, person):
    """(secret, recovery codes); the next code is one of a later step."""
    begun = person.post(FACTOR, {"current_password": PASSWORD})
    assert begun.status == 200, begun.body
    secret = begun.json()["secret"]
    assert f"secret={secret}&" in begun.json()["uri"]
    done = person.post(f"{FACTOR}/confirm", {"code": now_code(server, secret)})
    assert done.status == 200, done.body
    later(server, 2 * STEP)
    return secret, done.json()["recovery_codes"]


def sign_in(server, email, code=None, password=PASSWORD):
    client = server.client()
    answer = client.post(LOG_IN, {"email": email, "password": password, "code": code})
    client.close()
    return answer


@pytest.mark.smoke
def test_sign_in_asks_for_a_code_once_one_was_confirmed(server, tenant):
    person = tenant_person(tenant, "admin")
    assert person.get(FACTOR).json() == {"active": False, "recovery_codes_left": 0, "confirmed_at": None}
    begun = person.post(FACTOR, {"current_password": PASSWORD}).json()
    assert sign_in(server, person.email).status == 200  # not confirmed yet
    wrong = person.post(f"{FACTOR}/confirm", {"code": "000000"})
    assert wrong.status == 422 and wrong.json()["detail"][0]["loc"] == ["body", "code"]
    done = person.post(f"{FACTOR}/confirm", {"code": now_code(server, begun["secret"])})
    assert done.status == 200 and len(set(done.json()["recovery_codes"])) == 10
    state = person.get(FACTOR).json()
    assert state["active"] and state["recovery_codes_left"] == 10 and state["confirmed_at"]
    later(server, 2 * STEP)
    asked = sign_in(server, person.email)
    assert asked.status == 422 and asked.json()["detail"][0]["loc"] == ["body", "code"]
    assert "Set-Cookie" not in asked.headers
    good = sign_in(server, person.email, now_code(server, begun["secret"]))
    assert good.status == 200 and good.json()["email"] == person.email
    assert person.is_in()  # sessions stay


def test_a_code_is_good_once_and_a_step_early_or_late(server, tenant):
    person = tenant_person(tenant, "member")
    secret, _ = enrol(server, person)
    code = now_code(server, secret)
    assert sign_in(server, person.email, code).status == 200
    again = sign_in(server, person.email, code)
    assert again.status == 401 and "used already" in again.json()["detail"]
    later(server, 3 * STEP)
    assert sign_in(server, person.email, now_code(server, secret, 4 * STEP)).status == 401
    assert sign_in(server, person.email, now_code(server, secret, -4 * STEP)).status == 401
    assert sign_in(server, person.email, now_code(server, secret)).status == 200
    later(server, 3 * STEP)
    code = now_code(server, secret)
    with ThreadPoolExecutor(4) as pool:
        answers = list(pool.map(lambda _: sign_in(server, person.email, code), range(4)))
    assert sorted(answer.status for answer in answers) == [200, 401, 401, 401]


def test_a_code_that_was_used_elsewhere_signs_nobody_in(server, tenant):
    """Whoever reads one over a shoulder while it adds the factor, or makes a token, has nothing."""
    person = tenant_person(tenant, "member")
    secret = person.post(FACTOR, {"current_password": PASSWORD}).json()["secret"]
    code = now_code(server, secret)
    assert person.post(f"{FACTOR}/confirm", {"code": code}).status == 200
    assert sign_in(server, person.email, code).status == 401
    later(server, 16 * 60)  # a session of this age is asked again before it makes a token
    code, given = now_code(server, secret), {"name": "x", "current_password": PASSWORD}
    assert person.post("/api/v1/auth/tokens", given).status == 422
    assert person.post("/api/v1/auth/tokens", {**given, "code": code}).status == 201
    assert person.post("/api/v1/auth/tokens", {**given, "code": code}).status == 403
    assert sign_in(server, person.email, code).status == 401
    later(server, 2 * STEP)
    assert sign_in(server, person.email, now_code(server, secret)).status == 200


def test_the_code_alone_or_a_wrong_password_says_nothing_about_the_factor(server, tenant):
    person = tenant_person(tenant, "member")
    secret, _ = enrol(server, person)
    for code in (None, now_code(server, secret), "123456"):
        refused = sign_in(server, person.email, code, "certainly not this")
        assert refused.status == 401 and refused.json()["detail"] == "Wrong e-mail or password"
    assert sign_in(server, person.email, now_code(server, secret)).status == 200


def test_guessing_codes_is_throttled_and_asking_for_one_is_no_failure(server, tenant):
    person = tenant_person(tenant, "member")
    secret, _ = enrol(server, person)
    assert [sign_in(server, person.email).status for _ in range(12)] == [422] * 12
    guesses = [sign_in(server, person.email, "000000").status for _ in range(12)]
    assert guesses == [401] * 10 + [429] * 2
    assert sign_in(server, person.email, now_code(server, secret)).status == 429
    later(server, 16 * 60)
    assert sign_in(server, person.email, now_code(server, secret)).status == 200


def test_a_recovery_code_signs_in_once(server, tenant):
    person = tenant_person(tenant, "member")
    _, codes = enrol(server, person)
    assert sign_in(server, person.email, codes[0].upper().replace("-", " ")).status == 200
    assert sign_in(server, person.email, codes[0]).status == 401
    assert person.get(FACTOR).json()["recovery_codes_left"] == 9
    assert person.post(f"{FACTOR}/recovery-codes", {"current_password": "wrong"}).status == 403
    fresh = person.post(f"{FACTOR}/recovery-codes", {"current_password": PASSWORD}).json()["recovery_codes"]
    assert not set(fresh) & set(codes)
    assert sign_in(server, person.email, codes[1]).status == 401
    assert sign_in(server, person.email, fresh[9]).status == 200
    other = tenant_person(tenant, "member")
    enrol(server, other)
    assert sign_in(server, other.email, fresh[0]).status == 401  # of another user


def test_a_session_without_the_password_changes_no_factor(server, tenant):
    person = tenant_person(tenant, "member")
    wrong = {"current_password": "not the password"}
    assert person.post(FACTOR, wrong).status == 403
    secret, _ = enrol(server, person)
    assert person.post(f"{FACTOR}/remove", wrong).status == 403
    assert person.post(FACTOR, {"current_password": PASSWORD}).status == 409
    assert person.post(f"{FACTOR}/confirm", {"code": now_code(server, secret)}).status == 409
    made = person.post("/api/v1/auth/tokens", {"name": "x"}).json()
    client = server.client(made["token"])
    right = {"current_password": PASSWORD}
    for path in (FACTOR, f"{FACTOR}/remove", f"{FACTOR}/recovery-codes"):
        assert client.post(path, right).status == 403
        assert server.client().post(path, right).status == 401
        assert person.request("POST", path, right, {"X-CSRF-Token": "x"}).status == 403
    assert person.get(FACTOR).json()["active"]
    assert person.post(f"{FACTOR}/remove", right).json()["active"] is False
    assert sign_in(server, person.email).status == 200


def test_only_a_platform_admin_removes_the_factor_of_another_user(server, tenant):
    person, boss = tenant_person(tenant, "admin"), platform_admin(server)
    enrol(server, person)
    path = f"/api/v1/platform/users/{person.email}/second-factor"
    for stranger in (tenant_person(tenant, "admin"), server.client(), tenant.client):
        assert stranger.get(path).status in (401, 403)
        assert stranger.delete(path).status in (401, 403)
    assert boss.get(path).json()["active"]
    assert boss.delete(path).json() == {"active": False, "recovery_codes_left": 0, "confirmed_at": None}
    assert sign_in(server, person.email).status == 200
    assert boss.delete("/api/v1/platform/users/no@example.com/second-factor").status == 404


def test_a_stolen_admins_session_or_token_removes_no_factor_of_its_user(server):
    boss, other = platform_admin(server), platform_admin(server)
    made = boss.post("/api/v1/auth/tokens", {"name": "x", "role": "platform_admin"}).json()
    enrol(server, boss)
    path = f"/api/v1/platform/users/{boss.email}/second-factor"
    own = boss.delete(path)
    assert own.status == 403 and "own user" in own.json()["detail"]
    for email in (boss.email, other.email):
        by_token = server.client(made["token"]).delete(f"/api/v1/platform/users/{email}/second-factor")
        assert by_token.status == 403 and "personal access token" in by_token.json()["detail"]
    assert boss.get(FACTOR).json()["active"]
    assert other.delete(path).json()["active"] is False


def test_a_factor_is_confirmed_within_15_minutes(server, tenant):
    person = tenant_person(tenant, "member")
    secret = person.post(FACTOR, {"current_password": PASSWORD}).json()["secret"]
    later(server, 16 * 60)
    late = person.post(f"{FACTOR}/confirm", {"code": now_code(server, secret)})
    assert late.status == 409 and "begin again" in late.json()["detail"]
    enrol(server, person)


def test_a_new_password_keeps_the_factor_and_a_new_user_has_none(server, tenant):
    person, boss = tenant_person(tenant, "admin"), platform_admin(server)
    secret, _ = enrol(server, person)
    made = boss.post(f"/api/v1/platform/users/{person.email}/reset-link", {"show_link": True}).json()
    accept = {"token": made["url"].split("token=")[1], "password": OTHER_PASSWORD}
    assert server.client().post("/api/v1/auth/link/accept", accept).status == 200
    assert sign_in(server, person.email, None, OTHER_PASSWORD).status == 422
    assert sign_in(server, person.email, now_code(server, secret), OTHER_PASSWORD).status == 200
    assert boss.delete(f"/api/v1/platform/users/{person.email}").status == 200
    add_user(server, "--tenant", tenant.slug, "--role", "admin", email=person.email)
    assert log_in(server, person.email).get(FACTOR).json()["active"] is False


def test_what_a_factor_did_is_in_the_audit_log_without_secrets(server, tenant):
    person = tenant_person(tenant, "admin")
    secret, codes = enrol(server, person)
    assert sign_in(server, person.email, "000000").status == 401
    assert person.post(f"{FACTOR}/remove", {"current_password": PASSWORD}).status == 200
    entries = person.get(tenant.path("audit")).json()["entries"]
    actions = [entry["action"] for entry in entries]
    assert actions[:3] == ["factor.remove", "session.refuse", "factor.add"]
    assert "second factor" in json.dumps(entries[1])
    assert secret not in str(entries) and not any(code in str(entries) for code in codes)


def test_keys_and_recovery_codes_are_not_readable_in_the_store(own_server):
    person = platform_admin(own_server)
    begun = person.post(FACTOR, {"current_password": PASSWORD}).json()
    done = person.post(f"{FACTOR}/confirm", {"code": code_at(begun["secret"], time.time())})
    codes = done.json()["recovery_codes"]
    said = own_server.cli("second-factor", "show", person.email)
    assert said.startswith("active since") and "10 recovery codes left" in said
    own_server.stop()
    secrets = [begun["secret"].encode(), base64.b32decode(begun["secret"])]
    secrets += [code.encode() for code in codes] + [code.replace("-", "").encode() for code in codes]
    assert not any(secret in own_server.log().encode() for secret in secrets)
    if not own_server.database:
        files = [file.read_bytes() for file in own_server.data.iterdir() if file.is_file()]
        assert not any(secret in content for secret in secrets for content in files)
    own_server.start()
    assert post_log_in(own_server, person.email).status == 422  # also after a restart
    own_server.cli("second-factor", "delete", person.email)
    log_in(own_server, person.email)


def test_muster_login_sends_the_code(server, tenant, tmp_path):
    person = tenant_person(tenant, "admin")
    secret, _ = enrol(server, person)

    def login(*more):
        url = f"http://127.0.0.1:{server.address[1]}"
        command = [BINARY, "login", "--server", url, "--user", person.email, "--password-stdin", *more]
        return subprocess.run(command, capture_output=True, text=True, input=PASSWORD + "\n", check=False,
                              timeout=COMMAND_S, cwd=tmp_path, env={"HOME": str(tmp_path)},
                              start_new_session=True)  # fmt: skip

    asked = login()
    assert asked.returncode == 1 and "authenticator app" in asked.stderr
    assert login("--code", "000000").returncode == 1
    done = login("--code", now_code(server, secret))
    assert done.returncode == 0, done.stderr
