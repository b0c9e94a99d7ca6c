"""Logging in and out: what a session is, when it ends, and what guessing costs."""

import json
import re
import select
import socket
from concurrent.futures import ThreadPoolExecutor

import pytest
from muster import ANSWER_S
from people import (
    OTHER_PASSWORD, PASSWORD, add_user, cookie_of, log_in, new_email, platform_admin, post_log_in,
    tenant_person,
)  # fmt: skip
from stored import stored
from waiting import until

HOUR, DAY = 3600, 24 * 3600
ME, PASSWORDS = "/api/v1/auth/me", "/api/v1/auth/password"


@pytest.mark.smoke
def test_a_log_in_tells_who_one_is_and_sets_the_cookie(server, tenant):
    email = new_email()
    add_user(server, "--tenant", tenant.slug, "--role", "admin", email=email.upper())
    answer = post_log_in(server, f"  {email.title()} ")
    assert answer.status == 200
    name, value, attributes = cookie_of(answer)
    assert name == "muster_session"
    assert re.fullmatch(r"[A-Za-z0-9_-]{43}", value)
    assert attributes == "; Path=/; HttpOnly; SameSite=Strict"
    body = answer.json()
    assert body["email"] == email
    assert body["role"] is None
    assert body["tenants"] == [{"slug": tenant.slug, "name": "", "role": "admin"}]
    assert value not in answer.body.decode()
    person = log_in(server, email)
    me = person.get(ME)
    assert me.status == 200
    assert {**me.json(), "expires_at": 0} == {**person.answer, "expires_at": 0}
    assert me.headers["RateLimit-Limit"] == "600"
    assert platform_admin(server).get(ME).json()["role"] == "platform_admin"


def test_each_log_in_has_a_session_of_its_own_and_takes_the_place_of_the_old(server):
    email = add_user(server, "--role", "platform_admin")
    first, elsewhere = log_in(server, email), log_in(server, email)
    again = post_log_in(server, email, headers={"Cookie": first.session})
    assert cookie_of(again)[1] not in first.session
    assert not first.is_in()
    assert elsewhere.is_in()


def test_a_cookie_that_somebody_else_chose_is_never_adopted(server):
    email = add_user(server, "--role", "platform_admin")
    chosen = "muster_session=" + "A" * 43
    answer = post_log_in(server, email, headers={"Cookie": chosen})
    assert cookie_of(answer)[1] != "A" * 43
    assert server.client().get(ME, headers={"Cookie": chosen}).status == 401


@pytest.mark.parametrize(
    "cookie",
    ["", "muster_session", "muster_session=", "muster_session=short", "muster_session=" + "A" * 43,
     "muster_session=" + "A" * 44, "other=" + "A" * 43, ";;;=;", "__Host-muster_session=" + "A" * 43],
)  # fmt: skip
def test_what_is_no_session_is_refused_in_the_words_for_nobody(cookie, server):
    answer = server.client().get(ME, headers={"Cookie": cookie})
    assert (answer.status, answer.json()) == (401, {"detail": "Not authenticated"})


@pytest.mark.real_hash
def test_an_unknown_user_and_a_wrong_password_are_answered_alike(own_server):
    """What it costs the service is compared, not how long it takes: others use this machine too."""
    email = add_user(own_server, "--role", "platform_admin")
    answers, costs = {}, {}
    for who in (email, "nobody@example.com", "no address at all", ""):
        before = own_server.processor_s()
        answers[who] = [post_log_in(own_server, who, "wrong password!") for _ in range(2)]
        costs[who] = own_server.processor_s() - before
    for answer in sum(answers.values(), []):
        assert answer.status == 401
        assert answer.body == b'{"detail":"Wrong e-mail or password"}'
        assert answer.headers["Set-Cookie"] is None
        same = [k for k in answer.headers if k not in ("Date", "X-Request-Id")]
        assert same == [k for k in answers[email][0].headers if k not in ("Date", "X-Request-Id")]
    assert costs[email] >= 0.04 and min(costs.values()) > costs[email] / 3  # all hash


def test_a_session_ends_after_twelve_hours_without_use(own_server, clock):
    email = add_user(own_server, "--role", "platform_admin")
    person, idle = log_in(own_server, email), log_in(own_server, email)
    for _ in range(3):
        clock.advance(12 * HOUR - 30)
        assert person.is_in()
    clock.advance(12 * HOUR)
    assert not person.is_in()
    assert not idle.is_in()
    assert log_in(own_server, email).is_in()


def test_the_last_use_is_stored_once_a_minute_and_survives_a_restart(own_server, clock):
    person = platform_admin(own_server)
    sql = "SELECT last_used_at FROM sessions"
    (before,) = stored(own_server, sql)
    clock.advance(11 * HOUR)
    assert person.is_in()
    clock.advance(61)
    until(lambda: stored(own_server, sql) != [before])
    clock.advance(11 * HOUR)
    assert person.is_in()
    own_server.restart()
    person.connection = own_server.client().connection
    clock.advance(11 * HOUR)
    assert person.is_in()
    clock.advance(DAY)
    assert not person.is_in()
    until(lambda: stored(own_server, sql) == [])  # and is cleared away


def test_a_log_out_ends_the_session_at_once_and_no_other(server):
    email = add_user(server, "--role", "platform_admin")
    person, other = log_in(server, email), log_in(server, email)
    answer = person.post("/api/v1/auth/logout")
    assert (answer.status, answer.json()) == (200, {"status": "ok"})
    assert cookie_of(answer)[1:] == ("", "; Path=/; HttpOnly; SameSite=Strict; Max-Age=0")
    assert not person.is_in()
    assert person.post("/api/v1/auth/logout").status == 401
    assert other.is_in()


def test_a_new_password_ends_ones_other_sessions(server):
    email = add_user(server, "--role", "platform_admin")
    person, other = log_in(server, email), log_in(server, email)
    change = {"current_password": PASSWORD, "new_password": OTHER_PASSWORD}
    answer = person.post(PASSWORDS, change)
    assert answer.status == 200
    assert answer.json()["email"] == email
    assert person.is_in()
    assert not other.is_in()
    assert log_in(server, email, OTHER_PASSWORD).is_in()
    refused = person.post(PASSWORDS, change)
    assert (refused.status, refused.json()) == (403, {"detail": "The current password is wrong"})


@pytest.mark.parametrize(
    "password", ["brief", "aaaaaaaaaaaaaaa", "password12345", "Welcome2024!", "x" * 1025]
)
def test_a_bad_new_password_is_refused_and_not_echoed(password, server):
    person = platform_admin(server)
    change = {"current_password": PASSWORD, "new_password": password}
    user = {"email": new_email(), "password": password}
    for answer in (person.post(PASSWORDS, change), person.post("/api/v1/platform/users", user)):
        assert answer.status == 422
        assert password.encode() not in answer.body
        assert b'"input"' not in answer.body
    own = person.post(PASSWORDS, {**change, "new_password": person.email})
    assert own.status == 422


@pytest.mark.parametrize("role", ["admin", "member"])
def test_whoever_is_changed_is_logged_out_at_once(role, server, tenant):
    admin = platform_admin(server)
    here = tenant.path("users")
    changes = [
        lambda who: admin.request("PATCH", f"{here}/{who}", {"role": "member" if role == "admin" else "admin"}),
        lambda who: admin.request("DELETE", f"{here}/{who}"),
        lambda who: admin.request("PATCH", f"/api/v1/platform/users/{who}", {"password": OTHER_PASSWORD}),
        lambda who: admin.request("PATCH", f"/api/v1/platform/users/{who}", {"role": "platform_admin"}),
        lambda who: admin.request("DELETE", f"/api/v1/platform/users/{who}"),
    ]  # fmt: skip
    for change in changes:
        person = tenant_person(tenant, role)
        assert person.is_in()
        assert change(person.email).status == 200
        assert not person.is_in()


def test_whoever_is_sent_away_while_a_body_is_under_way_does_nothing_with_it(own_server, clock):
    admin, boss = platform_admin(own_server), platform_admin(own_server)
    tenant = own_server.add_tenant()
    token = tenant.add_key()
    event = json.dumps(tenant.event()).encode()
    session = f"Cookie: {boss.session}\r\nX-CSRF-Token: {boss.csrf}"
    key = f"Authorization: Bearer {token}"
    assert own_server.client(token).get("/api/v1/limits").status == 200
    bodies = [
        ("/api/v1/tenants", session, b'{"slug":"too-late"}'), ("/api/v1/telemetry", key, event),
    ]  # fmt: skip
    open_ones = []
    for path, header, body in bodies:
        connection = socket.create_connection(own_server.address, ANSWER_S)
        head = f"POST {path} HTTP/1.1\r\nHost: x\r\n{header}\r\nContent-Length: {len(body)}\r\n"
        connection.sendall(head.encode() + b"Expect: 100-continue\r\n\r\n")
        assert connection.recv(4096).startswith(b"HTTP/1.1 100")  # it has looked at who asks
        open_ones.append((connection, body))
    assert admin.request("DELETE", f"/api/v1/platform/users/{boss.email}").status == 200
    keys = admin.get(tenant.path("keys")).json()["keys"]
    (key_id,) = [k["key_id"] for k in keys if k["last_used_at"] is not None]
    assert admin.request("DELETE", tenant.path(f"keys/{key_id}")).status == 200
    clock.advance(1)
    for connection, body in open_ones:
        connection.sendall(body)
        assert connection.recv(4096).startswith(b"HTTP/1.1 401")
        connection.close()


def fail(server, email, times, address=None):
    headers = {"X-Forwarded-For": address} if address else None
    return [post_log_in(server, email, "wrong password!", headers).status for _ in range(times)]


def test_ten_failures_from_an_address_close_it_for_fifteen_minutes(own_server, clock):
    email = add_user(own_server, "--role", "platform_admin")
    for n in range(10):
        assert fail(own_server, f"n{n}@example.com", 1) == [401]
    closed = post_log_in(own_server, email)
    assert closed.status == 429
    assert 14 * 60 < int(closed.headers["Retry-After"]) <= 15 * 60
    clock.advance(14 * 60)
    assert post_log_in(own_server, email).status == 429
    clock.step(DAY)  # setting the clock gains nothing
    assert post_log_in(own_server, email).status == 429
    clock.advance(61)
    assert post_log_in(own_server, email).status == 200


def test_ten_failures_of_an_account_close_it_for_strangers(own_server, clock):
    own_server.stop()
    own_server.arguments = ["--trusted-proxies", "127.0.0.1"]
    own_server.start()
    email = add_user(own_server, "--role", "platform_admin")
    other = add_user(own_server, "--role", "platform_admin")
    for n in range(9):
        assert fail(own_server, email, 1, f"10.0.0.{n}") == [401]
    owner = {"X-Forwarded-For": "1.2.3.4, 10.0.1.1"}
    signed_in = post_log_in(own_server, email, headers=owner)  # forgets the nine
    assert signed_in.status == 200
    for n in range(10):
        assert fail(own_server, email, 1, f"10.0.2.{n}") == [401]
    stranger = {"X-Forwarded-For": "10.0.3.1"}
    assert post_log_in(own_server, email, headers=stranger).status == 429
    assert post_log_in(own_server, other, headers=stranger).status == 200  # others are not touched
    # the owner is known by the address, or by a session in the browser
    assert post_log_in(own_server, email, headers=owner).status == 200
    assert post_log_in(own_server, email, headers=stranger).status == 429
    name, value, _ = cookie_of(post_log_in(own_server, email, headers=owner))
    moved = {"X-Forwarded-For": "10.0.4.1", "Cookie": f"{name}={value}"}
    assert post_log_in(own_server, email, headers=moved).status == 200
    # an address is a network of IPv6
    for n in range(10):
        assert fail(own_server, f"v6-{n}@example.com", 1, f"2001:db8::{n}") == [401]
    assert fail(own_server, other, 1, "2001:db8::ffff") == [429]
    assert fail(own_server, other, 1, "2001:db8:1::1") == [401]
    clock.advance(15 * 60)
    assert post_log_in(own_server, email, headers=stranger).status == 200


@pytest.mark.real_hash
def test_one_user_who_changes_passwords_keeps_nobody_waiting(own_server):
    person, other = platform_admin(own_server), add_user(own_server, "--role", "platform_admin")
    change = {"current_password": PASSWORD, "new_password": PASSWORD}
    headers = {"Cookie": person.session, "X-CSRF-Token": person.answer["csrf_token"]}
    refused = []

    def change_password(_):
        client = own_server.client()
        answer = client.post(PASSWORDS, change, headers=headers)
        client.close()
        return answer

    for _ in range(20):  # on a busy machine each may come when the one before it is done
        with ThreadPoolExecutor(12) as pool:
            answers = pool.map(change_password, range(12))
            assert post_log_in(own_server, other).status == 200
            answers = list(answers)
        assert 200 in {answer.status for answer in answers} <= {200, 429}
        refused = [answer for answer in answers if answer.status == 429]
        if refused:
            break
    refused = refused[0]  # one at a time, and the rest is refused, not queued
    assert refused.headers["Retry-After"] == "1"
    assert "is being stored" in refused.json()["detail"]
    assert person.is_in()


def guess_together(server, addresses):
    """Wrong passwords from all addresses, of which only the last byte lacks until all are there."""
    guesses = []
    for address in addresses:
        body = json.dumps({"email": new_email(), "password": "wrong password!"})
        head = f"POST /api/v1/auth/login HTTP/1.1\r\nHost: x\r\nContent-Length: {len(body)}\r\n"
        guess = socket.create_connection(server.address, ANSWER_S, (address, 0))
        guess.sendall(f"{head}Content-Type: application/json\r\n\r\n{body[:-1]}".encode())
        guesses.append(guess)
    for guess in guesses:
        guess.sendall(b"}")
    return guesses


def statuses_by_now(connections):
    """Of the answers that have come; all connections are closed."""
    answered = select.select(connections, [], [], 0)[0]
    statuses = {int(connection.recv(12).split()[1]) for connection in answered}
    for connection in connections:
        connection.close()
    return statuses


@pytest.mark.real_hash
def test_strangers_who_fill_the_queue_keep_no_one_out_who_was_in_before(own_server):
    """From 24 addresses: more than wait to be hashed, and none of them fails too often."""
    email, rounds, theirs = add_user(own_server, "--role", "platform_admin"), 0, set()
    log_in(own_server, email)
    while 503 not in theirs:  # some may be hashed before all have come, on a busy machine
        rounds += 1
        assert rounds <= 20, "there was always room"
        guesses = guess_together(own_server, [f"127.0.{rounds}.{n}" for n in range(1, 25)])
        statuses = [post_log_in(own_server, email).status for _ in range(3)]
        theirs = statuses_by_now(guesses)  # some wait to be hashed
        assert statuses == [200] * 3
        assert theirs <= {401, 503}


@pytest.mark.real_hash
def test_many_guesses_at_once_are_no_way_around_it(own_server):
    email = add_user(own_server, "--role", "platform_admin")
    with ThreadPoolExecutor(24) as pool:
        guesses = pool.map(lambda _: post_log_in(own_server, email, "wrong password!"), range(24))
        statuses = [answer.status for answer in guesses]
    assert statuses.count(401) <= 10
    assert set(statuses) <= {401, 429}
    assert post_log_in(own_server, email).status == 429


def test_a_session_may_ask_six_hundred_times_a_minute(own_server, clock):
    person = platform_admin(own_server)
    for _ in range(600):
        assert person.get(ME).status == 200
    answer = person.get(ME)
    assert answer.status == 429
    assert "600 requests in 60 seconds per session" in answer.json()["detail"]
    assert answer.headers["RateLimit-Remaining"] == "0"
    assert int(answer.headers["Retry-After"]) <= 60
    assert platform_admin(own_server).is_in()  # others are not touched
    clock.advance(60)
    assert person.is_in()


def test_over_tls_the_cookie_says_so(own_server):
    own_server.stop()
    own_server.arguments = ["--public-url", "https://muster.example.com"]
    own_server.start()
    email = add_user(own_server, "--role", "platform_admin")
    answer = post_log_in(own_server, email, headers={"Origin": "https://muster.example.com"})
    name, value, attributes = cookie_of(answer)
    assert (name, attributes) == (
        "__Host-muster_session", "; Path=/; HttpOnly; SameSite=Strict; Secure",
    )  # fmt: skip
    assert answer.headers["Strict-Transport-Security"] == "max-age=31536000"
    client = own_server.client()
    assert client.get(ME, headers={"Cookie": f"a=b; {name}={value}; c=d"}).status == 200
    assert client.get(ME, headers={"Cookie": f"muster_session={value}"}).status == 401
    client.close()


@pytest.mark.real_hash
def test_agents_are_not_kept_waiting_by_log_ins(own_server):
    tenant = own_server.add_tenant()
    email = add_user(own_server, "--role", "platform_admin")
    with ThreadPoolExecutor(8) as pool:
        log_ins = [pool.submit(post_log_in, own_server, email) for _ in range(8)]
        sent = 0
        while not all(one.done() for one in log_ins):
            assert tenant.client.post("/api/v1/telemetry", tenant.event()).status == 202
            sent += 1
    assert sent > 4  # eight hashes, one after the other, and reports between them
    assert {one.result().status for one in log_ins} == {200}
    tenant.client.close()
