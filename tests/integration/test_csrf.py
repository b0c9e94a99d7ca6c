"""Requests that other sites make a browser send: none of them changes anything."""

import pytest
from people import platform_admin, post_log_in

HERE = "127.0.0.1:{port}"
TENANTS = "/api/v1/tenants"

# Headers beside the cookie, and whether a change passes. {token}: the session's own, {host}: ours.
TOKEN = {"X-CSRF-Token": "{token}"}
ROWS = [
    ({}, False),
    (TOKEN, True),
    ({"X-CSRF-Token": ""}, False),
    ({"X-CSRF-Token": "{token}x"}, False),
    ({"X-CSRF-Token": "A" * 43}, False),
    ({"X-CSRF-Token": "{other}"}, False),
    ({**TOKEN, "Sec-Fetch-Site": "same-origin"}, True),
    ({**TOKEN, "Sec-Fetch-Site": "none"}, True),
    ({**TOKEN, "Sec-Fetch-Site": "same-site"}, False),
    ({**TOKEN, "Sec-Fetch-Site": "cross-site"}, False),
    ({**TOKEN, "Sec-Fetch-Site": ""}, False),
    ({**TOKEN, "Origin": "http://{host}"}, True),
    ({**TOKEN, "Origin": "http://evil.example"}, False),
    ({**TOKEN, "Origin": "http://{host}.evil.example"}, False),
    ({**TOKEN, "Origin": "null"}, False),
    ({**TOKEN, "Origin": ""}, False),
    ({**TOKEN, "Origin": "http://evil.example", "Sec-Fetch-Site": "same-origin"}, True),
    ({"Sec-Fetch-Site": "same-origin", "Origin": "http://{host}"}, False),
    ({**TOKEN, "Content-Type": "text/plain", "Sec-Fetch-Site": "cross-site"}, False),
]


def fill(headers, person, other, server):
    host = HERE.format(port=server.address[1])
    return {k: v.format(token=person.csrf, other=other.csrf, host=host) for k, v in headers.items()}


@pytest.fixture(scope="module")
def two(server):
    return platform_admin(server), platform_admin(server)


@pytest.mark.parametrize(("headers", "passes"), ROWS)
@pytest.mark.parametrize("method", ["POST", "PUT", "PATCH", "DELETE"])
def test_a_change_needs_the_token_and_this_site(method, headers, passes, server, two):
    person, other = two
    path, body, good = {
        "POST": ("/api/v1/platform/prices/import", {"prices": {}}, 200),
        "PUT": ("/api/v1/tenants/no-such/model", {"model": "m"}, 404),
        "PATCH": ("/api/v1/platform/users/none@example.com", {"role": "none"}, 404),
        "DELETE": ("/api/v1/platform/command-policy", None, 200),
    }[method]
    sent = {"Cookie": person.session, **fill(headers, person, other, server)}
    answer = server.client().request(method, path, body, headers=sent)
    assert answer.status == (good if passes else 403), answer.body


@pytest.mark.parametrize("headers", [row[0] for row in ROWS])
def test_reading_needs_neither(headers, server, two):
    person, other = two
    sent = {"Cookie": person.session, **fill(headers, person, other, server)}
    for method in ("GET", "HEAD"):
        assert server.client().request(method, TENANTS, headers=sent).status == 200


@pytest.mark.parametrize(
    ("headers", "passes"),
    [row for row in ROWS if TOKEN.items() <= row[0].items() and "Content-Type" not in row[0]],
)
def test_nobody_is_logged_in_by_another_site(headers, passes, server, two):
    sent = fill(headers, *two, server)
    del sent["X-CSRF-Token"]  # there is no session yet that it could be of
    assert post_log_in(server, two[0].email, headers=sent).status == (200 if passes else 403)


def test_a_key_needs_no_token(tenant):
    sent = {"Sec-Fetch-Site": "cross-site", "Origin": "http://evil.example"}
    assert tenant.client.post("/api/v1/telemetry", tenant.event(), headers=sent).status == 202
