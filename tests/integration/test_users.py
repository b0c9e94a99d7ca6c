"""Users and roles: the first admin, who may make and change whom, and what is kept of them."""

import json
import os
import pty
import re
import subprocess
from concurrent.futures import ThreadPoolExecutor

import pytest
from people import (
    OTHER_PASSWORD, PASSWORD, Person, add_user, log_in, new_email, platform_admin, post_log_in,
    set_up_code, tenant_person,
)  # fmt: skip
from stored import change, of_tenant, stored
from waiting import until

SET_UP, USERS = "/api/v1/auth/setup", "/api/v1/platform/users"


def set_up(server, code, email=None, password=PASSWORD):
    body = {"code": code, "email": email or new_email(), "password": password}
    client = server.client()
    answer = client.post(SET_UP, body)
    client.close()
    return answer


def is_needed(server):
    client = server.client()
    answer = client.get(SET_UP)
    client.close()
    assert answer.status == 200
    return answer.json()["needed"]


def test_the_first_admin_is_made_by_the_link_of_the_last_start(own_server):
    first = set_up_code(own_server)
    assert f"http://127.0.0.1:{own_server.address[1]}/#/setup?code=" in own_server.said.decode()
    assert re.fullmatch(r"[A-Za-z0-9_-]{43}", first)
    own_server.restart()
    code = set_up_code(own_server)
    assert code != first
    assert is_needed(own_server)
    for wrong in (first, "", code[:-1], code + "x"):
        assert set_up(own_server, wrong).status == 403
    assert set_up(own_server, code, password="short").status == 422
    assert set_up(own_server, code, email="nobody").status == 422
    assert is_needed(own_server)
    email = new_email()
    made = set_up(own_server, code, email)
    assert made.status == 200
    assert made.json()["role"] == "platform_admin"
    person = Person(own_server.client().connection, own_server.recorder, made)
    assert person.get("/api/v1/tenants").status == 200
    assert not is_needed(own_server)
    assert set_up(own_server, code).status == 409
    own_server.restart()
    assert set_up_code(own_server) is None
    assert log_in(own_server, email).is_in()


def test_of_two_who_set_up_at_once_one_wins(own_server):
    code = set_up_code(own_server)
    with ThreadPoolExecutor(4) as pool:
        answers = list(pool.map(lambda _: set_up(own_server, code).status, range(4)))
    assert sorted(answers) == [200, 409, 409, 409]
    assert len(stored(own_server, "SELECT email FROM users")) == 1


def test_the_link_is_void_once_the_command_line_made_a_user(own_server, store):
    code = set_up_code(own_server)
    email = add_user(own_server, "--role", "platform_admin")
    assert store == "postgres" or not is_needed(own_server)
    until(lambda: not is_needed(own_server))  # PostgreSQL: another process made it
    assert set_up(own_server, code).status == 409
    assert log_in(own_server, email).is_in()


def test_a_platform_admin_makes_lists_changes_and_removes_users(server):
    admin, email = platform_admin(server), new_email()
    made = admin.post(USERS, {"email": f" {email.upper()} ", "password": PASSWORD})
    assert made.status == 201
    user = made.json()
    assert (user["email"], user["role"], user["tenants"]) == (email, None, [])
    assert user["last_login_at"] is None
    assert admin.post(USERS, {"email": email, "password": PASSWORD}).status == 409
    assert user in admin.get(USERS).json()["users"]
    person = log_in(server, email)
    assert person.get(USERS).status == 403
    path = f"{USERS}/{email.replace('@', '%40').upper()}"
    raised = admin.request("PATCH", path, {"role": "platform_admin"})
    assert (raised.status, raised.json()["role"]) == (200, "platform_admin")
    assert log_in(server, email).get(USERS).status == 200
    unclear = admin.request("PATCH", path, {"role": None})  # what an answer calls no role
    assert unclear.status == 422 and unclear.json()["detail"][0]["loc"] == ["body", "role"]
    assert "'none'" in unclear.json()["detail"][0]["msg"]
    lowered = admin.request("PATCH", path, {"role": "none", "password": OTHER_PASSWORD})
    assert (lowered.status, lowered.json()["role"]) == (200, None)
    assert log_in(server, email, OTHER_PASSWORD).get(USERS).status == 403
    left = admin.request("DELETE", path)
    assert left.status == 200
    assert email not in [row["email"] for row in left.json()["users"]]
    for method, body in (("DELETE", None), ("PATCH", {"role": "none"})):
        assert admin.request(method, path, body).status == 404


@pytest.mark.parametrize(
    "email", ["", "x", "@", "a@", "@b", "a b@c", "a@b@c", "a@b..c", "x" * 250 + "@b.de", "a\n@b"]
)
def test_what_is_no_address_is_refused(email, server, tenant):
    admin = platform_admin(server)
    tenant.client.get("/api/v1/limits")
    for path, more in ((USERS, {"password": PASSWORD}), (tenant.path("users"), {"role": "member"})):
        answer = admin.post(path, {"email": email, **more})
        assert answer.status == 422
        assert answer.json()["detail"][0]["loc"] == ["body", "email"]


def test_a_tenant_admin_manages_the_roles_of_their_tenant_and_nothing_else(server, tenant):
    other = server.add_tenant()
    admin, email = tenant_person(tenant, "admin"), new_email()
    users = tenant.path("users")
    unknown = admin.post(users, {"email": email, "role": "member"})
    assert unknown.status == 409  # a new user needs a password
    made = admin.post(users, {"email": email, "role": "member", "password": PASSWORD})
    assert made.status == 201
    assert (made.json()["role"], made.json()["created"]) == ("member", True)
    assert admin.post(users, {"email": email, "role": "admin"}).status == 409
    listed = {row["email"]: row["role"] for row in admin.get(users).json()["users"]}
    assert listed == {admin.email: "admin", email: "member"}
    # a known user gets the role and keeps the password, whatever is sent
    theirs = tenant_person(other, "admin")
    body = {"email": theirs.email, "role": "member", "password": OTHER_PASSWORD}
    given = admin.post(users, body)
    assert (given.status, given.json()["created"]) == (201, False)
    assert post_log_in(server, theirs.email, OTHER_PASSWORD).status == 401
    theirs = log_in(server, theirs.email)
    roles = {row["slug"]: row["role"] for row in theirs.answer["tenants"]}
    assert roles == {tenant.slug: "member", other.slug: "admin"}
    assert theirs.get(users).status == 403
    assert theirs.get(other.path("users")).status == 200
    raised = admin.request("PATCH", f"{users}/{theirs.email}", {"role": "admin"})
    assert (raised.status, raised.json()["role"]) == (200, "admin")
    assert log_in(server, theirs.email).get(users).status == 200
    assert admin.request("DELETE", f"{users}/{theirs.email}").status == 200
    theirs = log_in(server, theirs.email)  # still a user, of the other tenant alone
    assert [row["slug"] for row in theirs.answer["tenants"]] == [other.slug]
    assert theirs.get(tenant.path("dashboard/runs")).status == 403
    for method, more in (("PATCH", {"role": "member"}), ("DELETE", None)):
        assert admin.request(method, f"{users}/{theirs.email}", more).status == 404
        assert admin.request(method, f"{users}/nobody@example.com", more).status == 404
    for method, path, more in (
        ("GET", USERS, None), ("POST", USERS, {"email": new_email(), "password": PASSWORD}),
        ("PATCH", f"{USERS}/{email}", {"password": OTHER_PASSWORD}),
        ("PATCH", f"{USERS}/{admin.email}", {"role": "platform_admin"}),
        ("DELETE", f"{USERS}/{email}", None), ("GET", other.path("users"), None),
        ("POST", other.path("users"), {"email": admin.email, "role": "admin"}),
    ):  # fmt: skip
        assert admin.request(method, path, more).status == 403


def test_a_tenant_has_no_power_over_those_who_are_also_elsewhere(own_server):
    """Giving a user a role needs no consent: it must be no way to log them out or watch them."""
    here, there = own_server.add_tenant(), own_server.add_tenant()
    admin = tenant_person(here, "admin")
    boss, neighbour = platform_admin(own_server), tenant_person(there, "member")
    for victim in (boss, neighbour):
        body = {"email": victim.email, "role": "admin"}
        added = admin.post(here.path("users"), body)
        assert (added.status, added.json()["created"]) == (201, False)
        assert victim.get(here.path("keys")).status == 200
        role = here.path(f"users/{victim.email}")
        assert admin.request("PATCH", role, {"role": "member"}).status == 200
        assert victim.is_in()
        assert victim.get(here.path("keys")).status == (200 if victim is boss else 403)
        log_in(own_server, victim.email).post("/api/v1/auth/logout")
        post_log_in(own_server, victim.email, "wrong password!")
        assert admin.request("DELETE", role).status == 200
        assert victim.is_in()
        seen = admin.get(here.path("audit")).json()["entries"]
        assert not [e for e in seen if e["action"].startswith("session.")
                    and e["target"] == victim.email]  # fmt: skip
    told = boss.get("/api/v1/platform/audit").json()["entries"]
    assert {e["action"] for e in told if e["target"] == boss.email} >= {
        "session.open", "session.close", "session.refuse",
    }  # fmt: skip


def test_the_last_platform_admin_cannot_go(own_server):
    admin = platform_admin(own_server)
    path = f"{USERS}/{admin.email}"
    for method, body in (("DELETE", None), ("PATCH", {"role": "none"})):
        refused = admin.request(method, path, body)
        assert refused.status == 409
        assert "last platform admin" in refused.json()["detail"]
    done = own_server.run("user", "delete", admin.email)
    assert done.returncode == 1 and "last platform admin" in done.stderr
    assert admin.is_in()
    second = platform_admin(own_server)
    assert admin.request("DELETE", path).status == 200
    assert not admin.is_in()
    assert second.request("DELETE", f"{USERS}/{second.email}").status == 409


def test_of_two_last_admins_who_remove_each_other_one_stays(own_server):
    one, two = platform_admin(own_server), platform_admin(own_server)
    pairs = ((one, two.email), (two, one.email))
    with ThreadPoolExecutor(2) as pool:
        statuses = pool.map(lambda p: p[0].request("DELETE", f"{USERS}/{p[1]}").status, pairs)
        assert sorted(statuses) in ([200, 401], [200, 409])
    assert len(stored(own_server, "SELECT email FROM users")) == 1


def test_the_command_line_makes_lists_and_removes_users(server, tenant):
    email = new_email()
    done = server.run(
        "user", "add", email, "--tenant", tenant.slug, "--role", "member", "--password-stdin",
        stdin=PASSWORD + "\n",
    )  # fmt: skip
    assert (done.returncode, done.stdout) == (0, f"user '{email}' is member in tenant '{tenant.slug}'\n"), done.stderr
    assert f"{tenant.slug}:member" in server.cli("user", "list")
    other = server.add_tenant()
    said = server.cli("user", "add", email, "--tenant", other.slug, "--role", "member",
                      "--password-stdin", stdin=OTHER_PASSWORD + "\n")  # fmt: skip
    assert "the user exists and keeps the password" in said
    server.cli("user", "delete", email, "--tenant", other.slug)
    for role, more in (("admin", ("--tenant", tenant.slug)), ("platform_admin", ()), ("none", ()),
                       ("member", ("--tenant", tenant.slug))):  # fmt: skip
        said = server.cli("user", "set", email, "--role", role, *more)
        assert said.startswith(f"role of '{email}'") and said.endswith(f": {role}\n")
        (row,) = [row for row in json.loads(server.cli("user", "list", "--json"))["users"] if row["email"] == email]
        now = row["tenants"][0]["role"] if more else row["role"] or "none"
        assert now == role
    (row,) = json.loads(server.cli("user", "list", "--tenant", tenant.slug, "--json"))["users"]
    assert (row["email"], row["role"], row["last_login_at"]) == (email, "member", None)
    assert email in server.cli("user", "list", "--tenant", tenant.slug)
    other = server.add_tenant()  # a known user needs no password
    server.cli("user", "add", email, "--tenant", other.slug, "--role", "admin")
    person = log_in(server, email)
    assert len(person.answer["tenants"]) == 2
    server.cli("user", "passwd", email, "--password-stdin", stdin=OTHER_PASSWORD + "\n")
    assert log_in(server, email, OTHER_PASSWORD).is_in()
    server.cli("user", "delete", email, "--tenant", other.slug)
    assert len(log_in(server, email, OTHER_PASSWORD).answer["tenants"]) == 1
    server.cli("user", "delete", email)
    assert email not in server.cli("user", "list")


@pytest.mark.parametrize(
    ("arguments", "stdin", "status", "word"),
    [
        (["add", "a@example.com", "--role", "king", "--password-stdin"], PASSWORD, 2, "--role"),
        (["add", "a@example.com", "--password-stdin"], PASSWORD, 2, "--role"),
        (["add", "a@example.com", "--role", "admin", "--password-stdin"], PASSWORD, 2, "--tenant"),
        (["add", "nobody", "--role", "platform_admin", "--password-stdin"], PASSWORD, 1, "e-mail"),
        (["add", "a@example.com", "--role", "platform_admin", "--password-stdin"], "canary7f3", 1, "12"),
        (["add", "a@example.com", "--role", "platform_admin", "--password-stdin"], "", 2, "password"),
        (["add", "a@example.com", "--role", "platform_admin"], PASSWORD, 2, "--password-stdin"),
        (["add", "a@example.com", "--tenant", "no-such", "--role", "admin", "--password-stdin"], PASSWORD, 1, "no-such"),
        (["set", "a@example.com", "--role", "admin"], "", 2, "--tenant"),
        (["set", "none@example.com", "--role", "none"], "", 1, "none@example.com"),
        (["passwd", "none@example.com", "--password-stdin"], PASSWORD, 1, "none@example.com"),
        (["delete", "none@example.com"], "", 1, "none@example.com"),
        (["list", "--tenant", "no-such"], "", 1, "no-such"),
    ],
)  # fmt: skip
def test_what_the_command_line_refuses_is_said_in_a_sentence(arguments, stdin, status, word, server):
    done = subprocess.run(
        [server.binary, "user", *arguments, *server.store_arguments], input=stdin, text=True,
        capture_output=True, timeout=120, check=False, start_new_session=True,  # no terminal
    )  # fmt: skip
    assert done.returncode == status, done
    assert done.stderr.startswith("muster: ") and word in done.stderr
    assert "canary" not in done.stderr and done.stdout == ""


def type_passwords(server, email, *lines, questions=(b"New password: ", b"Again: ")):
    """`user add` on a terminal of its own: a line after each question. What it shows, and its exit
    status."""
    pid, terminal = pty.fork()
    if pid == 0:
        words = ["user", "add", email, "--role", "platform_admin", *server.store_arguments]
        os.execve(server.binary, [str(server.binary), *words], server.program_environment())
    shown = b""
    for question, line in zip(questions, lines, strict=True):
        while not shown.endswith(question):
            shown += os.read(terminal, 1024)
        os.write(terminal, line.encode() + b"\n")
    try:
        while chunk := os.read(terminal, 1024):
            shown += chunk
    except OSError:  # the end of a terminal
        pass
    os.close(terminal)
    return shown.decode(), os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1])


def test_a_typed_password_is_asked_for_twice_and_not_shown(server):
    email = new_email()
    shown, status = type_passwords(server, email, PASSWORD, OTHER_PASSWORD)
    assert status == 2 and "differ" in shown
    shown, status = type_passwords(server, email, PASSWORD, PASSWORD)
    assert status == 0 and f"'{email}' is platform_admin" in shown
    assert PASSWORD not in shown
    assert log_in(server, email).is_in()


def test_a_password_typed_ahead_is_read_and_not_shown(server):
    email = new_email()
    both = f"{PASSWORD}\n{PASSWORD}"
    shown, status = type_passwords(server, email, both, questions=(b"New password: ",))
    assert status == 0 and PASSWORD not in shown
    assert log_in(server, email).is_in()



def everything_stored(server):
    """Every byte of the embedded store, or every row of every table of the other."""
    if not server.database:
        return b"".join(path.read_bytes() for path in server.data.glob("muster.db*"))
    tables = stored(server, "SELECT tablename FROM pg_tables WHERE schemaname = 'public'")
    return "".join(
        json.dumps(stored(server, f"SELECT t::text FROM {row['tablename']} t")) for row in tables
    ).encode()


def test_no_secret_of_a_person_is_stored_logged_or_answered(own_server):
    own_server.stop()
    own_server.arguments = ["--log-level", "debug"]
    own_server.start()
    secrets = {"canary one pass", "canary two pass", "canary three pass", "canary four pass"}
    one, two, three, four = sorted(secrets)
    code = set_up_code(own_server)
    answers = [set_up(own_server, code, password=one)]
    admin = Person(own_server.client().connection, own_server.recorder, answers[0])
    tenant = own_server.add_tenant()
    tenant.client.get("/api/v1/limits")
    email = new_email()
    answers += [
        admin.post(tenant.path("users"), {"email": email, "role": "admin", "password": two}),
        admin.post(USERS, {"email": new_email(), "password": three, "role": "king"}),
        admin.post(USERS, {"email": 5, "password": three}),
        admin.post(USERS, {"password": three}),
        admin.post(USERS, {"email": email, "password": [three]}),
        admin.post(USERS, json.dumps({"email": email, "password": three})[:-1]),
        post_log_in(own_server, email, three),
        post_log_in(own_server, f"x{email}", three),
        post_log_in(own_server, {"x": three}, three),
        admin.request("PATCH", f"{USERS}/{email}", {"password": four}),
        admin.post("/api/v1/auth/password", {"current_password": four, "new_password": three}),
        admin.get("/api/v1/auth/me"), admin.get(USERS), admin.get("/api/v1/platform/audit"),
    ]  # fmt: skip
    person = log_in(own_server, email, four)
    secrets |= {code, *(who.session.split("=")[1] for who in (admin, person)), admin.csrf}
    told = b"".join(answer.body for answer in answers[1:])
    before = everything_stored(own_server)
    own_server.stop()
    kept = before + everything_stored(own_server) + own_server.stderr.read_bytes()
    assert b"argon2id" in kept and b"argon2id" not in told
    for secret in secrets:
        assert secret.encode() not in kept
        assert secret.encode() not in told or secret == admin.csrf


@pytest.mark.real_hash
def test_a_password_is_hashed_by_argon2id_with_64_mib_and_three_passes(own_server):
    add_user(own_server, "--role", "platform_admin")
    (row,) = stored(own_server, "SELECT password FROM users")
    assert row["password"].startswith("$argon2id$v=19$m=65536,t=3,p=1$")


def test_what_people_do_is_in_the_audit_log(own_server):
    admin = platform_admin(own_server)
    tenant = own_server.add_tenant()
    person = tenant_person(tenant, "admin")
    post_log_in(own_server, person.email, "wrong password!")
    post_log_in(own_server, "secret-name@example.com", "wrong password!")
    person.post("/api/v1/auth/password", {"current_password": PASSWORD, "new_password": OTHER_PASSWORD})
    person.post(tenant.path("keys"), {})
    person.post("/api/v1/auth/logout")
    admin.request("PATCH", f"{USERS}/{person.email}", {"role": "none", "password": PASSWORD})
    admin.request("DELETE", tenant.path(f"users/{person.email}"))
    admin.request("DELETE", f"{USERS}/{person.email}")
    them, us = f"person:{person.email}", f"person:{admin.email}"

    def entries(path):
        rows = admin.get(path).json()["entries"]
        assert {row["origin"] for row in rows} <= {"127.0.0.1", "unix", "local"}
        return [(row["actor"], row["action"], row["target"]) for row in reversed(rows)]

    mine = entries(tenant.path("audit"))
    key = [target for _, action, target in mine if action == "key.add"][-1]
    assert mine[-7:] == [
        ("operator", "role.add", person.email),
        (them, "session.open", person.email),
        ("anonymous", "session.refuse", person.email),
        (them, "password.change", person.email),
        (them, "key.add", key),
        (them, "session.close", person.email),
        (us, "role.remove", person.email),
    ]
    platform = entries("/api/v1/platform/audit")
    assert ("anonymous", "session.refuse", "unknown user") in platform
    assert platform[-2:] == [(us, "user.set", person.email), (us, "user.remove", person.email)]
    assert "secret-name" not in json.dumps(platform)
    (detail,) = [row["detail"] for row in admin.get("/api/v1/platform/audit").json()["entries"]
                 if row["action"] == "user.set"]  # fmt: skip
    assert detail == {"role": "none", "password": "set"}


def test_the_access_log_names_a_person_by_a_public_id(own_server):
    tenant = own_server.add_tenant()
    person = tenant_person(tenant, "member")
    assert person.get(tenant.path("dashboard/runs")).status == 200
    assert platform_admin(own_server).request("DELETE", f"{USERS}/{person.email}").status == 200
    own_server.stop()
    log = own_server.stderr.read_text()
    assert "path=/api/v1/platform/users/{email} " in log or 'users/{email}" ' in log
    assert f"tenant={tenant.slug} person={person.answer['user_id']}" in log
    assert person.email not in log


def test_a_workspace_has_a_bounded_number_of_users(own_server):
    tenant = own_server.add_tenant()
    own_server.stop()
    change(own_server, f"""
        WITH RECURSIVE more (n) AS (SELECT 1 UNION ALL SELECT n + 1 FROM more WHERE n < 1000)
        INSERT INTO user_roles (tenant_id, user_id, role)
        SELECT tenant_id, 'user_' || n, 1 FROM tenants, more WHERE {of_tenant(tenant)}""")
    own_server.start()
    admin = own_server.admin or platform_admin(own_server)
    body = {"email": new_email(), "role": "member", "password": PASSWORD}
    refused = admin.post(tenant.path("users"), body)
    assert refused.status == 409, refused.body
    assert "1000 users already" in refused.json()["detail"]
    count = f"SELECT COUNT(*) AS n FROM users WHERE email = '{body['email']}'"
    assert stored(own_server, count) == [{"n": 0}]  # nothing half-done
    own_server.stop()
    change(own_server, f"DELETE FROM user_roles WHERE user_id = 'user_1' AND {of_tenant(tenant)}")
    own_server.start()
    admin = own_server.admin or platform_admin(own_server)
    assert admin.post(tenant.path("users"), body).status == 201
    tenant.client.close()
