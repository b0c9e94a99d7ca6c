"""Scripts of other web pages: those of named origins may call with a key or token, never with cookies."""

import pytest
from conftest import running
from people import PASSWORD, add_user, log_in, platform_admin
from waiting import until

APP, OTHER = "https://app.example.com", "http://localhost:3000"
FOREIGN = ["https://app.example.com.evil.example", "https://app.example.com:8443", "null",
           "http://app.example.com", "https://APP.example.com", "https://evil.example"]  # fmt: skip
ALLOW, VARY = "Access-Control-Allow-Origin", "Vary"


@pytest.fixture(scope="module")
def open_server(store, tmp_path_factory):
    folder = tmp_path_factory.mktemp("cors")
    with running(store, folder, arguments=["--cors-origins", f"{APP}, {OTHER}"]) as started:
        started.admin = started.admin or platform_admin(started)
        yield started


@pytest.fixture
def shop(open_server):
    made = open_server.add_tenant()
    yield made
    made.client.close()


def ask(client, path, origin, method="POST", **headers):
    """What a browser asks before a script's request."""
    return client.request("OPTIONS", path, headers={
        "Origin": origin, "Access-Control-Request-Method": method, **headers,
    })  # fmt: skip


def no_credentials(answer):
    assert answer.headers["Access-Control-Allow-Credentials"] is None
    assert answer.headers[ALLOW] != "*"


def varies(answer):
    return "Origin" in ",".join(answer.headers.get_all(VARY) or [])


@pytest.mark.parametrize("origin", [APP, OTHER])
def test_a_named_origin_may_ask_and_call_with_a_key(open_server, shop, origin):
    stranger = open_server.client()
    told = ask(stranger, "/api/v1/telemetry", origin)
    assert (told.status, told.body) == (204, b"")
    assert told.headers[ALLOW] == origin and varies(told)
    assert "POST" in told.headers["Access-Control-Allow-Methods"]
    assert "Authorization" in told.headers["Access-Control-Allow-Headers"]
    assert int(told.headers["Access-Control-Max-Age"]) > 0
    no_credentials(told)
    stranger.close()
    sent = shop.client.post("/api/v1/telemetry", shop.event(), headers={"Origin": origin})
    assert sent.status == 202 and sent.headers[ALLOW] == origin and varies(sent)
    read = shop.client.get(shop.path("dashboard/runs"), headers={"Origin": origin})
    assert read.status == 200 and read.headers[ALLOW] == origin and varies(read)
    assert "RateLimit-Remaining" in read.headers["Access-Control-Expose-Headers"]
    no_credentials(read)


def test_a_script_can_read_why_it_was_refused(open_server, shop):
    stranger = open_server.client()
    for answer, status in (
        (stranger.get(shop.path("dashboard/runs"), headers={"Origin": APP}), 401),
        (shop.client.get("/api/v1/nowhere", headers={"Origin": APP}), 404),
        (shop.client.post("/api/v1/telemetry", {}, headers={"Origin": APP}), 422),
    ):
        assert (answer.status, answer.headers[ALLOW]) == (status, APP)
    stranger.close()


@pytest.mark.parametrize("origin", FOREIGN)
def test_another_origin_is_told_nothing(open_server, shop, origin):
    told = ask(shop.client, "/api/v1/telemetry", origin)
    assert told.status == 405 and told.headers[ALLOW] is None and varies(told)
    read = shop.client.get(shop.path("dashboard/runs"), headers={"Origin": origin})
    assert read.status == 200, "a key is a key; the browser keeps the answer from the script"
    assert read.headers[ALLOW] is None and varies(read)


def test_a_preflight_opens_no_path_and_no_method(open_server):
    stranger = open_server.client()
    assert ask(stranger, "/api/v1/nowhere", APP).status == 404
    told = ask(stranger, "/api/v1/health", APP, "DELETE")
    assert "DELETE" not in told.headers["Access-Control-Allow-Methods"]
    plain = stranger.request("OPTIONS", "/api/v1/health", headers={"Origin": APP})
    assert plain.status == 405, "without the browser's question it is a method like any other"
    stranger.close()


def test_a_session_is_of_no_use_to_another_origin(open_server, shop):
    email = add_user(open_server, "--role", "admin", "--tenant", shop.slug)
    until(lambda: open_server.client().post("/api/v1/auth/login", {
        "email": email, "password": PASSWORD}).status == 200)  # fmt: skip
    person = log_in(open_server, email)
    read = person.get(shop.path("keys"), headers={"Origin": APP})
    no_credentials(read)  # so that a browser which sent the cookie hides the answer
    for site in ({}, {"Sec-Fetch-Site": "cross-site"}, {"Sec-Fetch-Site": "same-site"}):
        made = person.post(shop.path("keys"), {"label": "x"}, headers={"Origin": APP, **site})
        assert made.status == 403 and "another site" in made.json()["detail"]
        again = open_server.client().post("/api/v1/auth/login", {
            "email": email, "password": PASSWORD}, headers={"Origin": APP, **site})  # fmt: skip
        assert again.status == 403 and again.headers["Set-Cookie"] is None


def test_a_key_reaches_no_other_workspace_from_a_named_origin(open_server, shop):
    other = open_server.add_tenant()
    assert shop.client.get(other.path("dashboard/runs"), headers={"Origin": APP}).status == 403
    other.client.close()


def test_without_the_setting_there_is_nothing_of_it(server, tenant):
    assert ask(tenant.client, "/api/v1/telemetry", APP).status == 405
    read = tenant.client.get(tenant.path("dashboard/runs"), headers={"Origin": APP})
    assert read.headers[ALLOW] is None and not varies(read)
