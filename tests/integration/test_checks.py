"""Every check in its place: which of two wrong things is answered, and exactly how.

The order is path and method, token, rate, size, media type, shape, authority over names.
"""

import gzip
import itertools
import json
import re
import zlib

import pytest

LIMIT = 1048576
TELEMETRY = "/api/v1/telemetry"
BAD_TOKEN = "mst_ws_" + "0" * 36
SECURITY = {
    "Cache-Control": "no-store",
    "X-Content-Type-Options": "nosniff",
    "Referrer-Policy": "no-referrer",
    "Cross-Origin-Opener-Policy": "same-origin",
    "Content-Security-Policy": "default-src 'none'; frame-ancestors 'none'; base-uri 'none'",
    "Content-Type": "application/json",
}
TOO_LARGE = {
    "detail": f"The request is too large: the limit is {LIMIT} bytes",
    "limit": LIMIT,
    "unit": "bytes",
}
NO_TOKEN = {"detail": "Not authenticated"}
WRONG_TOKEN = {"detail": "Invalid or expired token"}
CORRUPT_GZIP = {"detail": "The body is not valid gzip"}


def well_formed_token():
    """As a key's would look; no such key was ever issued."""
    digits = "0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz"
    text = "mst_ws_" + "Stranger" + "0" * 22
    check, number = "", zlib.crc32(text.encode())
    for _ in range(6):
        number, digit = divmod(number, 62)
        check = digits[digit] + check
    return text + check


STRANGER = well_formed_token()


class World:
    """One tenant that may do everything and one whose only request is spent."""

    def __init__(self, server):
        self.server = server
        self.tenant = server.add_tenant()
        self.spent = server.add_tenant(rate_limit=1)

    def send(self, method, path, body=None, headers=None, token=None):
        """A new connection each time, since some of these end it; no token but the one given."""
        if token == self.spent.token:
            self.spent.client.get("/api/v1/limits")  # once more: a minute may have passed
        client = self.server.client()
        try:
            answer = client.request(method, path, body, headers, token)
        finally:
            client.close()
        check_common(answer)
        return answer


@pytest.fixture(scope="module")
def world(server):
    return World(server)


def check_common(answer):
    for name, value in SECURITY.items():
        assert answer.headers.get_all(name) == [value], name
    assert re.fullmatch(r"[0-9A-Za-z-]{8,64}", answer.headers["X-Request-Id"])
    assert answer.headers["Server"] is None, "a banner tells attackers what to try"
    if answer.status >= 400 and answer.body:
        assert set(answer.json()) <= {"detail", "limit", "unit", "status"}


# Each violation changes one thing of a good request; its status is what it is answered with alone.
VIOLATIONS = {
    "path": (404, {"path": "/api/v1/telemetries"}),
    "method": (405, {"method": "PUT"}),
    "token": (401, {"token": BAD_TOKEN}),
    "stranger": (401, {"token": STRANGER}),
    "rate": (429, {"token": "spent"}),
    "size": (413, {"pad": LIMIT}),
    "media": (415, {"type": "text/plain"}),
    "shape": (422, {"agent_name": None}),
    "names": (403, {"client_id": "somebody-else"}),
}
ORDER = list(VIOLATIONS)
TOKENS = ("token", "stranger", "rate")
EXCLUSIVE = {("path", "method"), *itertools.combinations(TOKENS, 2)}  # one cannot have both
PAIRS = [(name,) for name in ORDER] + [
    pair for pair in itertools.combinations(ORDER, 2) if pair not in EXCLUSIVE
]


@pytest.mark.parametrize("names", PAIRS, ids="+".join)
def test_the_earlier_check_answers(world, names):
    made = {"path": TELEMETRY, "method": "POST", "type": "application/json", "token": None}
    event = world.tenant.event()
    for name in names:
        for key, value in VIOLATIONS[name][1].items():
            (event if key in event else made)[key] = value
    tokens = {None: world.tenant.token, "spent": world.spent.token}
    body = json.dumps({k: v for k, v in event.items() if v is not None})
    answer = world.send(
        made["method"], made["path"], body + " " * made.get("pad", 0),
        {"Content-Type": made["type"]}, tokens.get(made["token"], made["token"]),
    )  # fmt: skip
    assert answer.status == VIOLATIONS[names[0]][0], answer.body


@pytest.mark.parametrize(
    ("method", "path"),
    [
        ("GET", "/index.html"),
        ("GET", "/api/v1/health/"),
        ("POST", "/api/v1/telemetry/"),
        ("GET", "/api/v1//health"),
        ("GET", "/API/V1/health"),
        ("OPTIONS", "/api/v1/nothing"),
        ("GET", "/api/v1/tenants//runs/x/events"),
        ("GET", "/api/v1/health%2F"),
    ],
)
def test_an_unknown_path_is_404(world, method, path):
    answer = world.send(method, path)
    assert (answer.status, answer.json()) == (404, {"detail": "Not Found"})


@pytest.mark.parametrize(
    ("method", "path", "allow"),
    [
        ("POST", "/api/v1/health", "GET, HEAD"),
        ("OPTIONS", "/api/v1/health", "GET, HEAD"),
        ("TRACE", "/api/v1/health", "GET, HEAD"),
        ("BREW", "/api/v1/health", "GET, HEAD"),
        ("GET", TELEMETRY, "POST"),
        ("HEAD", TELEMETRY, "POST"),
        ("OPTIONS", TELEMETRY, "POST"),
        ("DELETE", "/api/v1/tenants", "GET, HEAD, POST"),
        ("GET", "/api/v1/tenants/a/keys/b", "DELETE"),
        ("DELETE", "/api/v1/platform/prices/import", "POST"),
        ("PATCH", "/api/v1/platform/prices/import", "POST"),
        ("POST", "/api/v1/platform/prices/7", "DELETE"),
    ],
)
def test_a_wrong_method_is_405_and_names_the_right_ones(world, method, path, allow):
    answer = world.send(method, path)
    assert (answer.status, answer.headers["Allow"]) == (405, allow)
    assert method == "HEAD" or answer.json() == {"detail": "Method Not Allowed"}


@pytest.mark.parametrize(
    "authorization",
    [None, "", "Bearer", "Bearer ", "Basic dXNlcjpwYXNz", "Token x", "Bearerx", "Bearer%20", BAD_TOKEN],
)
def test_no_token_is_not_authenticated(world, authorization):
    headers = {} if authorization is None else {"Authorization": authorization}
    answer = world.send("POST", TELEMETRY, {}, headers)
    assert (answer.status, answer.json()) == (401, NO_TOKEN)
    assert answer.headers["WWW-Authenticate"] == "Bearer"
    assert answer.headers["RateLimit-Limit"] is None


def test_a_token_that_is_not_ours_is_invalid(world):
    good = world.tenant.token
    typo = good[:20] + ("x" if good[20] != "x" else "y") + good[21:]
    for token in ("x", BAD_TOKEN, STRANGER, typo, good[:-1], good + "0", good.upper(), f"{good} {good}"):
        answer = world.send("GET", "/api/v1/limits", token=token)
        assert (answer.status, answer.json()) == (401, WRONG_TOKEN)
        assert answer.headers["WWW-Authenticate"] == 'Bearer error="invalid_token"'


def test_the_scheme_is_told_in_any_case(world):
    for scheme in ("Bearer", "bearer", "BEARER", "Bearer "):
        headers = {"Authorization": f"{scheme} {world.tenant.token}"}
        assert world.send("GET", "/api/v1/limits", headers=headers).status == 200


# What exporters make of OTEL_EXPORTER_OTLP_HEADERS when they do not decode it.
@pytest.mark.parametrize("scheme", ["Bearer%20", "bearer%20"])
def test_a_space_that_is_still_encoded_is_a_space(world, scheme):
    headers = {"Authorization": f"{scheme}{world.tenant.token}"}
    assert world.send("GET", "/api/v1/limits", headers=headers).status == 200
    assert world.send("POST", TELEMETRY, world.tenant.event(), headers).status == 202
    assert world.send("POST", "/v1/traces", {"resourceSpans": []}, headers).status == 200
    for wrong in (f"{scheme}{scheme}", f"{scheme} ", "Basic%20", "Bearer%2520", "%20Bearer%20"):
        headers = {"Authorization": f"{wrong}{world.tenant.token}"}
        assert world.send("GET", "/api/v1/limits", headers=headers).status == 401


def test_a_token_elsewhere_does_not_count(world):
    path = f"/api/v1/limits?token={world.tenant.token}&access_token={world.tenant.token}"
    answer = world.send("GET", path, headers={"Cookie": f"token={world.tenant.token}"})
    assert answer.status == 401


def test_the_rate_is_counted_down_and_then_refused(server):
    tenant = server.add_tenant(rate_limit=5)
    for left in (4, 3, 2, 1, 0):
        answer = tenant.client.get("/api/v1/limits")
        told = [answer.headers[f"RateLimit-{n}"] for n in ("Limit", "Remaining", "Reset")]
        assert answer.status == 200
        assert told[:2] == ["5", str(left)]
        assert 1 <= int(told[2]) <= 60
    for path in ("/api/v1/limits", TELEMETRY):
        method = "GET" if path.endswith("limits") else "POST"
        answer = tenant.client.request(method, path)
        check_common(answer)
        assert (answer.status, answer.json()) == (
            429,
            {
                "detail": "Rate limit exceeded: 5 requests in 60 seconds per token; send more in "
                "each request, or have the limit raised with `muster tenant set "
                f"{tenant.slug} --rate-limit N`"
            },
        )
        assert answer.headers["RateLimit-Remaining"] == "0"
        assert 1 <= int(answer.headers["Retry-After"]) <= 60
        assert answer.headers["Retry-After"] == answer.headers["RateLimit-Reset"]
    other = server.client(tenant.add_key())  # each key has a window of its own
    assert other.get("/api/v1/limits").status == 200
    other.close()
    assert tenant.client.get("/api/v1/health").status == 200  # not counted


def test_every_authenticated_reply_tells_the_rate(world):
    token, headers = world.tenant.token, {"Content-Type": "text/plain"}
    answers = {
        415: world.send("POST", TELEMETRY, "x", headers, token),
        422: world.send("POST", TELEMETRY, {}, None, token),
        413: world.send("POST", TELEMETRY, " " * (LIMIT + 1), None, token),
        403: world.send("GET", "/api/v1/tenants", None, None, token),
        202: world.send("POST", TELEMETRY, world.tenant.event(), None, token),
    }
    for status, answer in answers.items():
        assert answer.status == status
        assert answer.headers["RateLimit-Limit"] == "1000000000"
        assert int(answer.headers["RateLimit-Remaining"]) < 1000000000
        assert 1 <= int(answer.headers["RateLimit-Reset"]) <= 61


def padded(world, size):
    text = json.dumps(world.tenant.event())
    return text + " " * (size - len(text))


def chunked(body, size=65536):
    for at in range(0, len(body), size):
        part = body[at : at + size]
        yield b"%x\r\n%s\r\n" % (len(part), part)
    yield b"0\r\n\r\n"


def post_bytes(world, body, *headers):
    """As raw bytes; returns the status and the body."""
    head = "\r\n".join(
        [f"POST {TELEMETRY} HTTP/1.1", "Host: x", f"Authorization: Bearer {world.tenant.token}",
         "Connection: close", *headers]
    )  # fmt: skip
    answer = world.server.raw(head.encode() + b"\r\n\r\n" + body)
    head, _, body = answer.partition(b"\r\n\r\n")
    return int(head.split()[1]), json.loads(body)


def test_a_body_may_fill_its_limit_and_not_a_byte_more(world):
    token = world.tenant.token
    assert world.send("POST", TELEMETRY, padded(world, LIMIT), token=token).status == 202
    answer = world.send("POST", TELEMETRY, padded(world, LIMIT + 1), token=token)
    assert (answer.status, answer.json()) == (413, TOO_LARGE)


def test_a_declared_size_is_refused_before_it_is_sent(world):
    assert post_bytes(world, b"", f"Content-Length: {LIMIT + 1}") == (413, TOO_LARGE)
    assert post_bytes(world, b"", "Content-Length: 1000000000000") == (413, TOO_LARGE)


def test_a_chunked_body_is_measured_as_it_comes(world):
    for size, status in ((LIMIT, 202), (LIMIT + 1, 413)):
        body = b"".join(chunked(padded(world, size).encode()))
        got = post_bytes(world, body, "Transfer-Encoding: chunked")
        assert got[0] == status, got
        assert status == 202 or got[1] == TOO_LARGE


def test_a_gzip_body_is_measured_inflated(world):
    headers = {"Content-Encoding": "gzip"}
    for size, status in ((LIMIT, 202), (LIMIT + 1, 413), (100 * LIMIT, 413)):
        body = gzip.compress(padded(world, size).encode(), 1)
        assert len(body) < LIMIT
        answer = world.send("POST", TELEMETRY, body, headers, world.tenant.token)
        assert answer.status == status
        assert status == 202 or answer.json() == TOO_LARGE


def test_routes_without_a_body_ignore_a_small_one_and_refuse_a_large_one(world):
    token, headers = world.tenant.token, {"Content-Type": "text/plain"}
    assert world.send("GET", "/api/v1/limits", "not json", headers, token).status == 200
    answer = world.send("GET", "/api/v1/limits", " " * (LIMIT + 1), headers, token)
    assert (answer.status, answer.json()) == (413, TOO_LARGE)


@pytest.mark.parametrize(
    ("media_type", "status"),
    [
        (None, 202),
        ("", 202),
        ("application/json", 202),
        ("Application/JSON", 202),
        ("application/json; charset=utf-8", 202),
        ("application/vnd.muster+json", 202),
        ("application/problem+JSON;x=y", 202),
        ("text/plain", 415),
        ("text/json", 415),
        ("application/jsonp", 415),
        ("+json", 415),
        ("application/x-www-form-urlencoded", 415),
    ],
)
def test_only_json_is_taken(world, media_type, status):
    headers = {} if media_type is None else {"Content-Type": media_type}
    body = json.dumps(world.tenant.event())
    answer = world.send("POST", TELEMETRY, body, headers, world.tenant.token)
    assert answer.status == status
    if status == 415:
        detail = "The body must be JSON: Content-Type application/json"
        assert answer.json() == {"detail": detail}


@pytest.mark.parametrize("coding", ["br", "deflate", "zstd", "gzip, gzip", "gzip,br"])
def test_other_codings_are_415(world, coding):
    body = gzip.compress(json.dumps(world.tenant.event()).encode())
    answer = world.send("POST", TELEMETRY, body, {"Content-Encoding": coding}, world.tenant.token)
    assert answer.status == 415
    assert answer.json() == {"detail": "The only Content-Encoding accepted is gzip"}


def test_corrupt_gzip_is_400(world):
    good = gzip.compress(json.dumps(world.tenant.event()).encode())
    wrong_sum = good[:-8] + b"\0\0\0\0" + good[-4:]
    for body in (b"not gzip", good[:-1], good[:20], wrong_sum, good + b"tail"):
        answer = world.send(
            "POST", TELEMETRY, body, {"Content-Encoding": "gzip"}, world.tenant.token
        )
        assert (answer.status, answer.json()) == (400, CORRUPT_GZIP)


def test_a_bad_token_is_told_before_corrupt_gzip(world):
    for token in (BAD_TOKEN, STRANGER):
        answer = world.send("POST", TELEMETRY, b"junk", {"Content-Encoding": "gzip"}, token)
        assert (answer.status, answer.json()) == (401, WRONG_TOKEN)


def test_another_tenants_name_is_403_and_nothing_is_stored(world):
    event = world.tenant.event(client_id="nobody's")
    answer = world.send("POST", TELEMETRY, event, token=world.tenant.token)
    assert (answer.status, answer.json()) == (
        403,
        {"detail": "This key does not belong to tenant 'nobody's'"},
    )
    path = world.tenant.path(f"runs/{event['run_id']}/events")
    assert world.send("GET", path, token=world.tenant.token).status == 404


def test_a_bound_key_speaks_for_its_agent_only(world):
    token = world.tenant.add_key("collector")
    for agent, status in (("collector", 202), ("Collector", 403), ("other", 403), (" ", 403)):
        event = world.tenant.event(agent_name=agent)
        answer = world.send("POST", TELEMETRY, event, token=token)
        assert answer.status == status
        if status == 403:
            assert answer.json() == {"detail": "This key is bound to agent 'collector'"}
    run = f"runs/{event['run_id']}/events"
    answer = world.send("GET", world.tenant.path(run), token=token)
    assert answer.status == 403  # reads are for workspace keys
    assert world.send("GET", "/api/v1/limits", token=token).status == 200


def test_the_cap_is_403_and_names_the_plan(server):
    tenant = server.add_tenant("--max-agents", "1")
    assert tenant.client.post(TELEMETRY, tenant.event(agent_name="one")).status == 202
    answer = tenant.client.post(TELEMETRY, tenant.event(agent_name="two"))
    assert (answer.status, answer.json()) == (
        403,
        {"detail": f"Agent cap reached: the plan of tenant '{tenant.slug}' allows 1 agents"},
    )
    assert tenant.client.post(TELEMETRY, tenant.event(agent_name="one")).status == 202


def test_limits_are_told(world):
    answer = world.send("GET", "/api/v1/limits", token=world.spent.token)
    assert answer.status == 429  # even this is counted
    told = world.send("GET", "/api/v1/limits", token=world.tenant.token).json()
    shares = {row["kind"]: row for row in told.pop("budgets")}
    assert told.pop("stored_bytes") >= 0
    assert shares["body_bytes"] == {
        "kind": "body_bytes",
        "tenant_used": 0,
        "tenant_max": 8 << 20,
        "key_used": 0,
        "key_max": 6 << 20,
    }
    assert told == {
        "batch_max_events": 1000,
        "batch_max_bytes": 5242880,
        "body_max_bytes": LIMIT,
        "business_max_bytes": 10485760,
        "rate_limit": 1000000000,
        "rate_window_seconds": 60,
        "max_agents": 100,
        "max_bytes": 0,
    }


def test_head_answers_like_get_without_a_body(world):
    for path in ("/api/v1/health", "/openapi.json", "/api/v1/limits"):
        got = world.send("GET", path, token=world.tenant.token)
        head = world.send("HEAD", path, token=world.tenant.token)
        assert (head.status, head.body) == (200, b"")
        assert head.headers["Content-Length"] == got.headers["Content-Length"] == str(len(got.body))


@pytest.mark.parametrize(
    ("request_bytes", "status"),
    [
        (b"nonsense\r\n\r\n", 400),
        (b"GET /api/v1/health HTTP/1.1\r\n\r\n", 400),  # no Host
        (b"GET /api/v1/health HTTP/2.0\r\nHost: x\r\n\r\n", 400),
        (b"GET /" + b"x" * 9000 + b" HTTP/1.1\r\nHost: x\r\n\r\n", 414),
        (b"GET / HTTP/1.1\r\nHost: x\r\nX: " + b"x" * 20000 + b"\r\n\r\n", 431),
        (b"GET / HTTP/1.1\r\nHost: x\r\n" + b"X: y\r\n" * 200 + b"\r\n", 431),
        (b"POST / HTTP/1.1\r\nHost: x\r\nContent-Length: 1\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n", 400),
    ],
    ids=["line", "no-host", "version", "target", "header", "headers", "smuggling"],
)  # fmt: skip
def test_malformed_http_is_answered_once_and_closed(server, request_bytes, status):
    answer = server.raw(request_bytes + b"GET /api/v1/health HTTP/1.1\r\nHost: x\r\n\r\n")
    head, _, body = answer.partition(b"\r\n\r\n")
    assert head.startswith(b"HTTP/1.1 %d " % status), answer[:200]
    assert answer.count(b"Content-Length: ") == 1
    headers = dict(line.split(": ", 1) for line in head.decode().split("\r\n")[1:])
    assert headers["Connection"] == "close"
    assert set(json.loads(body)) == {"detail"}
    assert headers["X-Request-Id"]
    for name, value in SECURITY.items():
        assert headers[name] == value
