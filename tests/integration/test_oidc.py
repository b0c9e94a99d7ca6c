"""Sign-in by a real OpenID provider: who gets in, as whom, with which roles, and who does not."""

import contextlib
import itertools
import json
import subprocess
import threading

import pytest
from exposition import read, value
from mail_server import mail_server
from muster import BINARY, COMMAND_S, Clock, Server, running
from openid import CALLBACK, PUBLIC_URL, SECRET, fetch_page, openid_provider, sign_in_there
from people import PASSWORD, Person, add_user, log_in, post_log_in
from stored import stored
from waiting import until

WAYS, BEGIN, COMPLETE = "/api/v1/auth/oidc", "/api/v1/auth/oidc/begin", "/api/v1/auth/oidc/complete"
SIGN_OUT, GROUPS = "/api/v1/auth/oidc/sign-out", "/api/v1/platform/oidc/groups"
HOUR_S, DAY_S, MAIL_S, SLOW_S = 3601, 24 * 3600, 120, 120
numbers = itertools.count(1)


@pytest.fixture(scope="module")
def provider():
    with openid_provider() as started:
        yield started


def settings(folder, issuer, **more):
    secret = folder / "client_secret"
    secret.write_text(SECRET + "\n")
    given = {"oidc_issuer": issuer, "oidc_client_id": "muster", "public_url": PUBLIC_URL,
             "oidc_client_secret_file": secret, "oidc_scopes": "openid email groups",
             "oidc_name": "Example Corp", "trusted_proxies": "127.0.0.1", **more}  # fmt: skip
    return {f"MUSTER_{name.upper()}": str(value) for name, value in given.items()}


@pytest.fixture(scope="module")
def server(store, provider, tmp_path_factory):
    folder = tmp_path_factory.mktemp("oidc")
    ticking = Clock(folder)
    with mail_server() as mail, running(store, folder, environment={
        **ticking.environment,
        **settings(folder, provider.issuer, smtp_url=mail.url, smtp_from="muster@example.com"),
    }) as started:  # fmt: skip
        started.clock, started.provider, started.mail = ticking, provider, mail
        started.secret = folder / "client_secret"
        add_user(started, "--role", "platform_admin")
        yield started


@pytest.fixture(autouse=True)
def a_good_provider(request):
    if "server" in request.fixturenames:
        request.getfixturevalue("server").provider.set(down=False, tamper=None, people={})


class Visitor:
    """A browser, at an address of its own, so that its failures do not count for others."""

    def __init__(self, server):
        self.server, self.client, self.flow = server, server.client(), None
        self.headers = {"X-Forwarded-For": f"10.9.{next(numbers) // 250}.{next(numbers) % 250}"}

    def begin(self):
        answer = self.client.post(BEGIN, headers=self.headers)
        if answer.status == 200:
            self.flow, _, rest = answer.headers["Set-Cookie"].partition(";")
            assert "HttpOnly" in rest and "SameSite=Strict" in rest and "Max-Age=900" in rest
        return answer

    def complete(self, given, flow=None):
        cookie = self.flow if flow is None else flow
        headers = {**self.headers, **({"Cookie": cookie} if cookie else {})}
        return self.client.post(COMPLETE, given, headers=headers)

    def go(self, subject):
        """All the way; the answer of the last step. On a busy machine a provider may be too slow."""
        return until(lambda: self._try(subject), patience=SLOW_S)

    def _try(self, subject):
        begun = self.begin()
        if begun.status == 503:
            return None
        assert begun.status == 200, begun.body
        back = sign_in_there(begun.json()["url"], subject)
        assert "error" not in back, back
        answer = self.complete(back)
        return None if answer.status == 503 else answer


def new_person(server, groups, verified=True):
    """A person at the provider: (subject, e-mail address)."""
    subject = f"sub-{next(numbers)}"
    email = f"{subject}@corp.example"
    change_person(server, subject, groups, email, verified)
    return subject, email


def change_person(server, subject, groups, email=None, verified=True):
    claims = {"email": email or f"{subject}@corp.example", "email_verified": verified}
    if groups is not None:
        claims["groups"] = groups
    server.provider.set(people={subject: claims})


def add_group(server, group, role, tenant=None):
    words = ["group", "add", group, "--role", role] + (["--tenant", tenant] if tenant else [])
    return json.loads(cli(server, *words, "--json").stdout)["group_id"]


def cli(server, *words, status=0):
    done = subprocess.run([BINARY, *words, *server.store_arguments], env=server.program_environment(),
                          capture_output=True, text=True, timeout=COMMAND_S)  # fmt: skip
    assert done.returncode == status, (done.stdout, done.stderr)
    return done


def person_of(server, answer):
    assert answer.status == 200, answer.body
    return Person(server.client().connection, server.recorder, answer)


def group_name():
    return f"group {next(numbers)} / ä"


@pytest.mark.smoke
def test_a_person_in_a_mapped_group_signs_in_and_out(server, tenant_here):
    group = group_name()
    add_group(server, group, "member", tenant_here)
    subject, email = new_person(server, ["other", group])
    before = server.provider.seen()["challenges"]
    answer = Visitor(server).go(subject)
    person = person_of(server, answer)
    assert server.provider.seen()["challenges"] > before
    said = answer.json()
    assert said["email"] == email and said["role"] is None
    assert [(one["slug"], one["role"]) for one in said["tenants"]] == [(tenant_here, "member")]
    assert person.is_in() and person.get(f"/api/v1/tenants/{tenant_here}/agents").status == 200
    assert person.get(f"/api/v1/tenants/{tenant_here}/keys").status == 403
    entry = cli(server, "audit", "list", "--tenant", tenant_here, "--limit", "3", "--json")
    opened = [one for one in json.loads(entry.stdout)["entries"] if one["action"] == "session.open"]
    assert opened[0]["target"] == email and opened[0]["detail"]["subject"] == subject
    assert opened[0]["detail"]["user"] == "created"
    assert person.post("/api/v1/auth/logout").status == 200 and not person.is_in()


@pytest.fixture
def tenant_here(server):
    slug = f"oidc-{next(numbers)}"
    cli(server, "tenant", "add", slug)
    return slug


def test_the_sign_in_page_learns_the_ways(server):
    client = server.client()
    assert client.get(WAYS).json() == {"enabled": True, "name": "Example Corp", "password_sign_in": True}
    begun = Visitor(server).begin().json()["url"]
    assert begun.startswith(f"{server.provider.issuer}/auth?response_type=code&client_id=muster&")
    assert "redirect_uri=http%3A%2F%2Fmuster.example%2Foidc%2Fcallback" in begun
    assert "code_challenge_method=S256" in begun and "scope=openid%20email%20groups" in begun
    client.close()


def test_roles_are_those_of_the_groups_at_each_sign_in(server, tenant_here):
    other = f"{tenant_here}-b"
    cli(server, "tenant", "add", other)
    strong, weak, admin = group_name(), group_name(), group_name()
    add_group(server, strong, "admin", tenant_here)
    add_group(server, weak, "member", tenant_here)
    here = add_group(server, weak, "admin", other)
    subject, email = new_person(server, [weak, strong])

    def roles():
        said = Visitor(server).go(subject).json()
        return {one["slug"]: one["role"] for one in said["tenants"]}, said["role"]

    assert roles() == ({tenant_here: "admin", other: "admin"}, None)  # the stronger one
    change_person(server, subject, [weak])
    assert roles() == ({tenant_here: "member", other: "admin"}, None)
    change_person(server, subject, [strong])
    assert roles() == ({tenant_here: "admin"}, None)
    # without a group for it, a tenant's roles are given by hand, and stay
    cli(server, "group", "delete", here)
    given = json.loads(cli(server, "group", "list", "--json").stdout)["groups"]
    assert here not in [one["group_id"] for one in given]
    add_role = {"email": email, "role": "member"}
    assert operator(server).post(f"/api/v1/tenants/{other}/users", add_role).status == 201
    assert roles() == ({tenant_here: "admin", other: "member"}, None)
    made = add_group(server, admin, "platform_admin")
    change_person(server, subject, [admin])
    assert roles() == ({other: "member"}, "platform_admin")
    change_person(server, subject, [strong])
    assert roles() == ({tenant_here: "admin", other: "member"}, None)
    cli(server, "group", "delete", made)


def operator(server):
    """Someone who may do everything, over HTTP."""
    if server.admin:
        return server.admin
    server.boss = getattr(server, "boss", None) or log_in_boss(server)
    return server.boss


def log_in_boss(server):
    answer = post_log_in(server, add_user(server, "--role", "platform_admin"))
    return person_of(server, answer)


def test_who_leaves_the_groups_has_no_session_and_no_token_after_the_next_sign_in(server, tenant_here):
    group = group_name()
    add_group(server, group, "admin", tenant_here)
    subject, email = new_person(server, [group])
    person = person_of(server, Visitor(server).go(subject))
    made = person.post("/api/v1/auth/tokens", {"name": "x", "role": "member", "expires_in_days": 7})
    assert made.status == 201, made.body
    token = made.json()["token"]
    path = f"/api/v1/tenants/{tenant_here}/agents"
    client = server.client()
    assert client.get(path, token=token).status == 200
    change_person(server, subject, ["another group"])
    refused = Visitor(server).go(subject)
    assert refused.status == 403 and "None of your groups" in refused.json()["detail"]
    assert "Set-Cookie" not in refused.headers
    assert not person.is_in() and client.get(path, token=token).status == 401
    users = operator(server).get(f"/api/v1/tenants/{tenant_here}/users").json()["users"]
    assert email not in [one["email"] for one in users]
    change_person(server, subject, [group])
    assert Visitor(server).go(subject).json()["email"] == email
    client.close()


def test_a_provider_that_says_no_groups_takes_nothing_away(server, tenant_here):
    group = group_name()
    add_group(server, group, "admin", tenant_here)
    subject, email = new_person(server, [group])
    person = person_of(server, Visitor(server).go(subject))
    made = person.post("/api/v1/auth/tokens", {"name": "x", "role": "member", "expires_in_days": 7})
    change_person(server, subject, None)
    refused = Visitor(server).go(subject)
    assert refused.status == 403 and "does not say which groups" in refused.json()["detail"]
    client = server.client()
    path = f"/api/v1/tenants/{tenant_here}/agents"
    assert person.is_in() and client.get(path, token=made.json()["token"]).status == 200
    client.close()


def test_a_token_ends_when_its_user_has_not_signed_in_for_a_month(store, provider, tmp_path):
    ticking = Clock(tmp_path)
    environment = {**ticking.environment, **settings(tmp_path, provider.issuer)}
    with running(store, tmp_path, environment=environment) as started:
        started.provider = provider
        add_group(started, "ops", "platform_admin")
        subject, _ = new_person(started, ["ops"])
        person = person_of(started, Visitor(started).go(subject))
        made = person.post("/api/v1/auth/tokens", {"name": "x", "role": "member", "expires_in_days": 366})
        client, token = started.client(), made.json()["token"]
        ticking.advance(11 * 60)
        late = person.post("/api/v1/auth/tokens", {"name": "y"})  # there is no password to ask for
        assert late.status == 403 and "Sign in again by the identity provider" in late.json()["detail"]
        ticking.advance(29 * DAY_S)
        assert client.get("/api/v1/auth/me", token=token).status == 200
        ticking.advance(2 * DAY_S)
        until(lambda: looked_again(ticking, client, token))
        client.close()


def looked_again(ticking, client, token):
    ticking.advance(HOUR_S)
    return client.get("/api/v1/auth/me", token=token).status == 401


def test_people_without_a_mapped_group_or_a_verified_address_are_refused_in_words(server, tenant_here):
    group = group_name()
    add_group(server, group, "member", tenant_here)
    for groups, verified, words in (
        (["unknown"], True, "None of your groups has a role here"),
        ([], True, "None of your groups has a role here"),
        (None, True, "does not say which groups"),
        ([group], False, "has not verified your e-mail address"),
    ):
        subject, email = new_person(server, groups, verified)
        visitor = Visitor(server)
        refused = visitor.go(subject)
        assert refused.status == 403 and words in refused.json()["detail"], refused.body
        lines = [line for line in server.log().splitlines() if f"subject={subject} " in line]
        assert lines and all("sign-in refused" in line and words in line for line in lines), server.log()
        assert visitor.flow.partition("=")[2] not in server.log()
        assert cli(server, "identity", "list", email, status=1).stderr.count("There is no user")
    entries = json.loads(cli(server, "audit", "list", "--limit", "10", "--json").stdout)["entries"]
    assert [one["detail"]["by"] for one in entries if one["action"] == "session.refuse"][:4] == ["oidc"] * 4


def test_an_existing_user_is_linked_by_hand_and_never_by_the_address(server, tenant_here):
    group = group_name()
    add_group(server, group, "admin", tenant_here)
    subject, email = new_person(server, [group])
    add_user(server, "--tenant", tenant_here, "--role", "member", email=email)
    refused = Visitor(server).go(subject)
    assert refused.status == 403
    assert "muster identity add" in refused.json()["detail"]
    assert f"'{email}'" in refused.json()["detail"] and f"'{subject}'" in refused.json()["detail"]
    cli(server, "identity", "add", email, subject)
    said = Visitor(server).go(subject).json()
    assert said["email"] == email and said["tenants"][0]["role"] == "admin"
    assert post_log_in(server, email).status == 200  # its password still works
    listed = json.loads(cli(server, "identity", "list", email, "--json").stdout)["identities"]
    assert [(one["issuer"], one["subject"]) for one in listed] == [(server.provider.issuer, subject)]
    assert listed[0]["last_login_at"]
    # the same person cannot be two users, and another address at the provider changes nothing
    other = add_user(server, "--tenant", tenant_here, "--role", "member")
    assert "linked to a user already" in cli(server, "identity", "add", other, subject, status=1).stderr
    change_person(server, subject, [group], email=other)
    assert Visitor(server).go(subject).json()["email"] == email
    cli(server, "identity", "delete", email)
    assert "not linked" in cli(server, "identity", "delete", email, status=1).stderr
    change_person(server, subject, [group])
    assert Visitor(server).go(subject).status == 403
    # who is deleted here comes back as a new user
    assert operator(server).delete(f"/api/v1/platform/users/{email}").status == 200
    assert Visitor(server).go(subject).json()["email"] == email


def test_a_user_of_the_provider_has_no_password(server, tenant_here):
    group = group_name()
    add_group(server, group, "member", tenant_here)
    subject, email = new_person(server, [group])
    assert Visitor(server).go(subject).status == 200
    for password in ("", "any", "x" * 20):
        assert post_log_in(server, email, password).status in (401, 422)
    # nor a way to one, which would outlive the groups: the mail is for another user
    other = add_user(server, "--tenant", tenant_here, "--role", "member")
    client = server.client()
    for address in (email, other):
        assert client.post("/api/v1/auth/forgot", {"email": address}).status == 202
    assert server.mail.mails.get(timeout=MAIL_S).recipients == [f"<{other}>"]
    asked = json.loads(cli(server, "audit", "list", "--tenant", tenant_here, "--json").stdout)["entries"]
    assert [one["detail"] for one in asked if one["target"] == email and one["action"] == "reset.ask"] == [
        {"reason": "no password"}]  # fmt: skip
    client.close()


def test_a_sign_in_belongs_to_the_browser_that_began_it(server, tenant_here):
    group = group_name()
    add_group(server, group, "member", tenant_here)
    subject, _ = new_person(server, [group])
    victim, thief = Visitor(server), Visitor(server)
    back = sign_in_there(victim.begin().json()["url"], subject)
    refused = thief.complete(back, flow="")  # no cookie
    assert refused.status == 403 and "was not begun in this browser" in refused.json()["detail"]
    thief.begin()
    refused = thief.complete(back)  # the state of another browser: the provider is not even asked
    assert refused.status == 403 and "Another sign-in was begun" in refused.json()["detail"]
    mixed = {**back, "state": sign_in_there(thief.begin().json()["url"], subject)["state"]}
    assert "invalid_grant" in thief.complete(mixed).json()["detail"]  # its code: PKCE
    other = victim.complete({**back, "iss": "https://evil.example"})
    assert other.status == 403 and "another identity provider" in other.json()["detail"]
    cross = {**victim.headers, "Cookie": victim.flow, "Origin": "https://evil.example"}
    assert victim.client.post(COMPLETE, back, headers=cross).status == 403
    fresh = Visitor(server)
    back = sign_in_there(fresh.begin().json()["url"], subject)
    assert fresh.complete(back).status == 200
    again = fresh.complete(back)  # a code is good once
    assert again.status == 403 and "invalid_grant" in again.json()["detail"]


@pytest.mark.parametrize("how", ["none", "signature", "replay"])
def test_a_token_that_was_tampered_with_opens_no_session(server, tenant_here, how):
    group = group_name()
    add_group(server, group, "member", tenant_here)
    subject, email = new_person(server, [group])
    assert Visitor(server).go(subject).status == 200  # whose token is replayed
    server.provider.set(tamper=how)
    refused = Visitor(server).go(subject)
    assert refused.status == 403 and "ID token" in refused.json()["detail"], refused.body
    assert "Set-Cookie" not in refused.headers


@pytest.mark.parametrize(("alg", "new_keys"), [("ES256", True), ("RS256", True), ("RS256", "same ids")])
def test_keys_may_be_rotated_and_claims_be_in_the_token(server, tenant_here, alg, new_keys):
    group = group_name()
    add_group(server, group, "member", tenant_here)
    server.provider.set(alg=alg, in_token=alg == "ES256", new_keys=new_keys)
    server.clock.advance(11)  # since the keys were fetched last
    subject, email = new_person(server, [group])
    asked = server.provider.seen()["paths"]
    assert Visitor(server).go(subject).json()["email"] == email
    now = server.provider.seen()["paths"]
    assert now["/jwks"] == asked.get("/jwks", 0) + 1
    assert now.get("/me", 0) - asked.get("/me", 0) == (0 if alg == "ES256" else 1)
    assert Visitor(server).go(subject).status == 200
    assert server.provider.seen()["paths"]["/jwks"] == now["/jwks"]  # they are kept


def test_failures_are_throttled_by_address(server):
    visitor = Visitor(server)
    visitor.begin()
    state = sign_in_state(visitor)
    statuses = [visitor.complete({"code": "guessed", "state": state}).status for _ in range(12)]
    assert statuses == [403] * 10 + [429] * 2
    assert Visitor(server).begin().status == 200


def test_a_fault_of_the_settings_is_in_the_log_and_counts_for_no_address(server, tenant_here):
    group = group_name()
    add_group(server, group, "member", tenant_here)
    subject, email = new_person(server, [group])
    visitor = Visitor(server)
    state = sign_in_state(visitor)
    replace_secret(server, "another one")
    try:
        answers = [visitor.complete({"code": "any", "state": state}) for _ in range(12)]
    finally:
        replace_secret(server, SECRET)
    assert [one.status for one in answers] == [403] * 12
    assert all("invalid_client" in one.json()["detail"] for one in answers)
    assert server.log().count("refused the sign-in (invalid_client)") >= 12
    assert Visitor(server).go(subject).json()["email"] == email


def replace_secret(server, text):
    """As a tool that renews secrets does: by another file."""
    new = server.secret.with_name("new_secret")
    new.write_text(text + "\n")
    new.rename(server.secret)


def sign_in_state(visitor):
    url = visitor.begin().json()["url"]
    return url.split("&state=")[1].split("&")[0]


def test_while_the_provider_is_down_sign_in_says_so_and_everything_else_works(server, tenant_here):
    group = group_name()
    add_group(server, group, "member", tenant_here)
    subject, _ = new_person(server, [group])
    visitor = Visitor(server)
    back = sign_in_there(visitor.begin().json()["url"], subject)
    server.provider.set(down=True)
    refused = visitor.complete(back)
    assert refused.status == 503 and "identity provider cannot be asked" in refused.json()["detail"]
    assert refused.headers["Retry-After"] and "Set-Cookie" not in refused.headers
    server.provider.set(down=False)
    assert visitor.complete(back).status == 200  # the code was not used


def test_a_provider_that_hangs_holds_up_no_other_request(server, tenant_here):
    server.provider.set(down="hang")
    visitors = [Visitor(server) for _ in range(8)]
    states = [sign_in_state(visitor) for visitor in visitors]
    answers, asked = [], server.provider.seen()["paths"].get("/token", 0)

    def wait_for(visitor, state):
        answers.append(visitor.complete({"code": "any", "state": state}).status)

    waiting = [threading.Thread(target=wait_for, args=pair) for pair in zip(visitors, states)]
    for thread in waiting:
        thread.start()
    client = server.client()
    until(lambda: server.provider.seen()["paths"].get("/token", 0) > asked)
    assert client.get("/api/v1/health").status == 200
    assert len(answers) < len(waiting)  # they wait, all others do not
    server.provider.set(down=True)
    for thread in waiting:
        thread.join()
    assert answers == [503] * 8
    client.close()


def test_a_provider_is_asked_again_after_it_was_down_at_the_start(store, provider, tmp_path):
    ticking = Clock(tmp_path)
    provider.set(down=True)
    environment = {**ticking.environment, **settings(tmp_path, provider.issuer)}
    with running(store, tmp_path, environment=environment) as started:
        refused = Visitor(started).begin()
        assert refused.status == 503 and "Set-Cookie" not in refused.headers
        until(lambda: is_refused_without_asking(started, provider))
        provider.set(down=False)
        ticking.advance(6)
        assert Visitor(started).begin().status == 200


def is_refused_without_asking(server, provider):
    """For some seconds after a failure."""
    asked = provider.seen()["paths"]["/.well-known/openid-configuration"]
    assert Visitor(server).begin().status == 503
    return provider.seen()["paths"]["/.well-known/openid-configuration"] == asked


def test_passwords_can_be_switched_off_and_the_secret_be_sent_in_the_form(store, provider, tmp_path):
    provider.set(auth="client_secret_post")
    environment = settings(tmp_path, provider.issuer, password_sign_in=0, oidc_unverified_email=1)
    try:
        with running(store, tmp_path, environment=environment) as started:
            started.provider, client = provider, started.client()
            email = add_user(started, "--role", "platform_admin")
            assert client.get(WAYS).json()["password_sign_in"] is False
            refused = post_log_in(started, email)
            assert refused.status == 403 and "switched off" in refused.json()["detail"]
            add_group(started, "ops", "platform_admin")  # the operator still has a way in
            subject, email = new_person(started, ["ops"], verified=False)
            said = Visitor(started).go(subject).json()
            assert (said["email"], said["role"], said["tenants"]) == (email, "platform_admin", [])
            client.close()
    finally:
        provider.set(auth="client_secret_basic")


@pytest.mark.parametrize(("setting", "value", "words"), [
    ("oidc_issuer", "http://login.example.com", "not the https:// URL"),
    ("oidc_client_id", "", "is no client"),
    ("public_url", "", "oidc_issuer needs the URL that people open"),
    ("oidc_scopes", "email", "lacks openid"),
    ("oidc_client_secret_file", "/nowhere/secret", "cannot be read"),
    ("password_sign_in", "2", "a whole number from 0 to 1"),
])  # fmt: skip
def test_settings_that_cannot_work_refuse_the_start(tmp_path, setting, value, words):
    environment = {**settings(tmp_path, "https://login.example.com"), f"MUSTER_{setting.upper()}": value}
    done = run_serve(tmp_path, environment)
    assert done.returncode == 2 and setting in done.stderr and words in done.stderr, done.stderr


def test_passwords_cannot_be_switched_off_without_a_provider(tmp_path):
    done = run_serve(tmp_path, {"MUSTER_PASSWORD_SIGN_IN": "0"})
    assert done.returncode == 2 and "leaves no way to sign in" in done.stderr


def run_serve(folder, environment):
    server = Server(folder / "data", environment=environment)
    words = [BINARY, "serve", *server.store_arguments, "--listen", "127.0.0.1:0"]
    return subprocess.run(words, env=server.program_environment(), capture_output=True, text=True,
                          timeout=COMMAND_S)  # fmt: skip


def test_groups_and_identities_are_removed_over_http(server, tenant_here):
    boss = operator(server)
    group_id = add_group(server, group_name(), "member", tenant_here)
    assert [boss.delete(f"{GROUPS}/{group_id}").status for _ in range(2)] == [200, 404]
    email = add_user(server, "--tenant", tenant_here, "--role", "member")
    path = f"/api/v1/platform/users/{email}/identities"
    assert boss.post(path, {"subject": f"of {email}"}).status == 200
    assert [one["subject"] for one in boss.get(path).json()["identities"]] == [f"of {email}"]
    assert [boss.delete(path).status for _ in range(2)] == [200, 404]
    assert boss.get(path).json()["identities"] == []


def test_an_account_that_may_be_another_persons_is_not_linked(server, tenant_here):
    boss, maker = operator(server), log_in(server, add_user(server, "--tenant", tenant_here, "--role", "admin"))
    body = {"email": "held@corp.example", "role": "member", "password": PASSWORD}
    assert maker.post(f"/api/v1/tenants/{tenant_here}/users", body).status == 201
    path = f"/api/v1/platform/users/{body['email']}/identities"
    refused = boss.post(path, {"subject": "of the owner"})
    assert refused.status == 409 and "another person may know its password" in refused.json()["detail"]
    assert boss.get(path).json()["identities"] == []
    cli(server, "user", "confirm", body["email"])
    assert boss.post(path, {"subject": "of the owner"}).status == 200


def counted(server):
    """Sign-ins by the provider: (ok, refused, failed); its errors: (unavailable, invalid)."""
    seen = read(server.metrics().decode())
    sign_ins = [value(seen, "muster_sign_ins_total", way="oidc", result=one)
                for one in ("ok", "refused", "failed")]  # fmt: skip
    return [*sign_ins, *(value(seen, "muster_oidc_errors_total", reason=one)
                         for one in ("unavailable", "invalid"))]  # fmt: skip


def test_sign_ins_and_errors_of_the_provider_are_counted(server, tenant_here):
    group = group_name()
    add_group(server, group, "member", tenant_here)
    good, _ = new_person(server, [group])
    visitor = Visitor(server)
    state = sign_in_state(visitor)  # what it says about itself is known from here on

    def adds(act):
        before = counted(server)
        act()
        return [now - then for now, then in zip(counted(server), before)]

    assert adds(lambda: Visitor(server).go(good))[0] == 1
    change_person(server, good, ["another group"])
    assert adds(lambda: Visitor(server).go(good))[:2] == [0, 1]
    change_person(server, good, [group])
    assert adds(lambda: visitor.complete({"code": "wrong", "state": state})) == [0, 1, 0, 0, 0]
    server.provider.set(down=True)
    assert adds(lambda: visitor.complete({"code": "any", "state": state})) == [0, 0, 1, 1, 0]
    server.provider.set(down=False, tamper="none")
    assert adds(lambda: Visitor(server).go(good))[1::3] == [1, 1]
    server.provider.set(tamper=None)


def test_signing_out_leads_to_the_page_of_the_provider(server, tenant_here):
    group = group_name()
    add_group(server, group, "member", tenant_here)
    subject, email = new_person(server, [group])
    person = person_of(server, Visitor(server).go(subject))
    url = person.get(SIGN_OUT).json()["url"]
    start, _, token = url.partition("&id_token_hint=")
    assert start == f"{server.provider.issuer}/session/end?client_id=muster" and token.startswith("ey")
    status, text = fetch_page(url)
    assert status == 200 and "/session/end/confirm" in text, text  # it knows its token
    assert fetch_page(url + "x")[0] == 400
    kept = "SELECT voucher FROM sessions WHERE voucher <> ''"
    assert token in [row["voucher"] for row in stored(server, kept)]
    assert person.post("/api/v1/auth/logout").status == 200
    assert token not in [row["voucher"] for row in stored(server, kept)]
    assert token not in server.log()
    assert person.get(SIGN_OUT).status == 401
    by_password = log_in(server, add_user(server, "--tenant", tenant_here, "--role", "member"))
    assert by_password.get(SIGN_OUT).json() == {"url": None}


def test_a_stop_does_not_wait_for_a_provider_that_hangs(store, provider, tmp_path):
    environment, answers = settings(tmp_path, provider.issuer), []
    document = "/.well-known/openid-configuration"

    def begin(visitor):
        with contextlib.suppress(OSError):  # it came too late, when the service listened no longer
            answers.append(visitor.begin().status)

    with running(store, tmp_path, environment=environment) as started:
        provider.set(down="hang")
        try:
            asked = provider.seen()["paths"].get(document, 0)
            waiting = [threading.Thread(target=begin, args=(Visitor(started),)) for _ in range(8)]
            for thread in waiting:
                thread.start()
            until(lambda: provider.seen()["paths"].get(document, 0) > asked)
            started.stop()
            for thread in waiting:
                thread.join()
        finally:
            provider.set(down=False)
        assert "done; connections closed early: 0" in started.log()
        assert set(answers) == {503}
