"""Who guesses tokens is told to wait; who has a good one is not."""

import random
import zlib
from datetime import datetime, timezone

from stored import stored
from waiting import until

DIGITS = "0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz"
TOKEN_GUESSES_MAX = 1000
rng = random.Random(11)


def guess(kind="ws"):
    """A token in the right form that was never issued."""
    text = f"mst_{kind}_" + "".join(rng.choices(DIGITS, k=30))
    rest, check = zlib.crc32(text.encode()), ""
    for _ in range(6):
        rest, digit = divmod(rest, 62)
        check = DIGITS[digit] + check
    return text + check


def test_unknown_tokens_of_an_address_are_limited_and_good_ones_are_not(own_server, clock):
    tenant = own_server.add_tenant()
    fresh = tenant.add_key("collector")
    client = own_server.client()
    refused = client.get("/api/v1/limits", token=guess())
    assert refused.status == 401
    statuses = [client.get("/api/v1/limits", token=guess()).status for _ in range(TOKEN_GUESSES_MAX - 1)]
    if own_server.database:  # beyond a hundred looks a second it asks for patience
        assert set(statuses) <= {401, 503}
        ask = lambda: client.get("/api/v1/limits", token=guess()).status  # noqa: E731
        until(lambda: any(ask() == 429 for _ in range(50)))
    else:
        assert set(statuses) == {401}
    answer = client.get("/api/v1/limits", token=guess())
    assert answer.status == 429
    assert "unknown tokens" in answer.json()["detail"]
    assert 1 <= int(answer.headers["Retry-After"]) <= 60
    for token in (tenant.token, fresh):
        assert client.get("/api/v1/limits", token=token).status == 200
    assert client.get("/api/v1/limits", token="mst_ws_typo").status == 401  # costs nothing
    clock.advance(int(answer.headers["Retry-After"]))
    again = client.get("/api/v1/limits", token=guess())
    assert (again.status, again.body) == (401, refused.body)
    client.close()
    tenant.client.close()


def test_unknown_revoked_expired_and_mistyped_tokens_are_answered_alike(own_server, clock):
    tenant = own_server.add_tenant()
    soon = datetime.fromtimestamp(int(clock.now()) + 100, timezone.utc).isoformat()
    revoked, expired = tenant.add_key(), tenant.add_key("a", "--expires", soon)
    (key_id,) = [row["key_id"] for row in stored(
        own_server, "SELECT key_id FROM keys ORDER BY created_at LIMIT 1 OFFSET 1")]  # fmt: skip
    own_server.cli("key", "delete", key_id, "--tenant", tenant.slug)
    clock.advance(101)
    client = own_server.client()
    until(lambda: client.get("/api/v1/limits", token=revoked).status != 200)
    answers = [client.get("/api/v1/limits", token=token)
               for token in (revoked, expired, guess(), guess("ag"), "mst_ws_typo", "x")]  # fmt: skip
    assert {(a.status, a.body, a.headers["WWW-Authenticate"]) for a in answers} == {
        (401, b'{"detail":"Invalid or expired token"}', 'Bearer error="invalid_token"')
    }
    client.close()
    tenant.client.close()


def test_who_guesses_behind_a_proxy_makes_nobody_else_wait(own_server):
    if own_server.database:
        return  # a hundred looks a second take longer, and count the same
    own_server.stop()
    own_server.arguments = ["--trusted-proxies", "127.0.0.1"]
    own_server.start()
    client = own_server.client()
    bad, other = {"X-Forwarded-For": "10.0.0.1"}, {"X-Forwarded-For": "10.0.0.2"}
    for _ in range(TOKEN_GUESSES_MAX):
        assert client.get("/api/v1/limits", token=guess(), headers=bad).status == 401
    assert client.get("/api/v1/limits", token=guess(), headers=bad).status == 429
    assert client.get("/api/v1/limits", token=guess(), headers=other).status == 401
    client.close()
