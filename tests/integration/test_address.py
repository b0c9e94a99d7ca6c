"""Where a request comes from: behind proxies, in every spelling, whatever a client invents."""

import json

import pytest
from stored import stored

CLIENT = "203.0.113.9"
LOG_IN = "/api/v1/auth/login"


def log_in_through(server, lines, email="nobody@example.com"):
    """A wrong log-in with these X-Forwarded-For lines, as a proxy sends them; the status."""
    body = json.dumps({"email": email, "password": "wrong password!"})
    head = [f"POST {LOG_IN} HTTP/1.1", "Host: muster", f"Content-Length: {len(body)}",
            "Content-Type: application/json", "Connection: close",
            *(f"X-Forwarded-For: {line}" for line in lines)]  # fmt: skip
    answer = server.raw(("\r\n".join(head) + "\r\n\r\n" + body).encode())
    return int(answer.split(b" ", 2)[1])


def last_origin(server):
    (row,) = stored(server, "SELECT origin FROM audit_log ORDER BY at DESC, seq DESC LIMIT 1")
    return row["origin"]


ROWS = [
    ([CLIENT], CLIENT),
    (["1.2.3.4", CLIENT], CLIENT),  # as HAProxy adds a line to the client's own
    (["1.2.3.4, 5.6.7.8", f"9.9.9.9 , {CLIENT} "], CLIENT),
    ([f"::ffff:{CLIENT}"], CLIENT),
    ([f"1.2.3.4,{CLIENT}, 10.1.2.3", "::ffff:10.1.0.1"], CLIENT),  # two more trusted proxies
    ([f"{CLIENT}:4711", ""], CLIENT),
    (["[2001:DB8:0::1]:4711"], "2001:db8::1"),
    (["1.2.3.4", "unknown"], "127.0.0.1"),  # the proxy says nothing of use
    ([], "127.0.0.1"),
]


def test_the_client_is_who_the_last_trusted_proxy_saw(own_server):
    own_server.stop()
    own_server.arguments = ["--trusted-proxies", "127.0.0.1, 10.1.0.0/16"]
    own_server.start()
    for n, (lines, origin) in enumerate(ROWS):
        assert log_in_through(own_server, lines, f"n{n}@example.com") == 401
        assert last_origin(own_server) == origin, lines
    assert f"client={CLIENT}\n" in own_server.log()
    # however often it invents another one, it is the same address that fails
    tried = sum(origin == CLIENT for _, origin in ROWS)
    for n in range(10 - tried):
        assert log_in_through(own_server, [f"1.2.3.{n}", CLIENT], f"m{n}@example.com") == 401
    for lines in ([CLIENT], ["1.2.3.99", CLIENT], ["1.2.3.98", f"::ffff:{CLIENT}"]):
        assert log_in_through(own_server, lines) == 429
    assert log_in_through(own_server, ["1.2.3.4"]) == 401


def test_who_is_not_a_trusted_proxy_is_not_believed(own_server):
    own_server.stop()
    own_server.arguments = ["--trusted-proxies", "10.1.0.0/16,2001:db8::/32"]
    own_server.start()
    assert log_in_through(own_server, [CLIENT]) == 401
    assert last_origin(own_server) == "127.0.0.1"


@pytest.mark.parametrize(
    ("value", "why"),
    [
        ("proxy.example.com", "'proxy.example.com' is not an address"),
        ("127.0.0.1,10.0.0.0/33", "'10.0.0.0/33': the prefix length goes from 0 to 32"),
        ("10.0.0.1/8", "'10.0.0.1/8' has bits set after its prefix of 8"),
    ],
)
def test_a_bad_list_of_proxies_refuses_the_start(server, value, why):
    done = server.run("serve", "--listen", "127.0.0.1:0", "--trusted-proxies", value)
    assert done.returncode != 0
    assert f"--trusted-proxies: bad value for trusted_proxies: {why}" in done.stderr
