"""People who log in: users made by the command line, and clients with a session's cookie."""

import base64
import hashlib
import hmac
import itertools
import re
import struct

from muster import Client

PASSWORD = "tumbling lantern"
OTHER_PASSWORD = "gravel finch oven"
COOKIE = re.compile(r"^((?:__Host-)?muster_session)=([^;]*)(.*)$")
STEP = 30  # seconds, of the codes of a second factor
numbers = itertools.count(1)


def code_at(secret, at):
    """A code of a second factor: RFC 6238, written once more."""
    mac = hmac.digest(base64.b32decode(secret), struct.pack(">Q", int(at) // STEP), hashlib.sha1)
    (number,) = struct.unpack_from(">I", mac, mac[-1] & 15)
    return f"{(number & 0x7FFFFFFF) % 1_000_000:06}"


def cookie_of(answer):
    """(name, value, attributes) of the session's cookie in an answer."""
    return COOKIE.match(answer.headers["Set-Cookie"]).groups()


class Person(Client):
    """A client with a session: sends its cookie, and with every change its token."""

    def __init__(self, connection, recorder, answer):
        super().__init__(connection, None, recorder)
        self.answer, self.session = answer.json(), "=".join(cookie_of(answer)[:2])
        self.email, self.csrf = self.answer["email"], self.answer["csrf_token"]

    def request(self, method, path, body=None, headers=None, token=None):
        sent = {"Cookie": self.session, "X-CSRF-Token": self.csrf, **(headers or {})}
        return super().request(method, path, body, sent, token)

    def is_in(self):
        return self.get("/api/v1/auth/me").status == 200


def post_log_in(server, email, password=PASSWORD, headers=None):
    client = server.client()
    body = {"email": email, "password": password}
    answer = client.post("/api/v1/auth/login", body, headers=headers)
    client.close()
    return answer


def log_in(server, email, password=PASSWORD):
    answer = post_log_in(server, email, password)
    assert answer.status == 200, answer.body
    return Person(server.client().connection, server.recorder, answer)


def new_email():
    return f"person-{next(numbers)}@example.com"


def add_user(server, *role, email=None, password=PASSWORD):
    """`role`: what `user add` takes, such as "--role", "platform_admin"."""
    email = email or new_email()
    if server.asks:
        words = dict(zip(role[::2], role[1::2]))
        whose = f"tenants/{words['--tenant']}" if "--tenant" in words else "platform"
        body = {"email": email, "password": password, "role": words["--role"]}
        server.make(f"/api/v1/{whose}/users", body)
    else:
        server.cli("user", "add", email, *role, "--password-stdin", stdin=password + "\n")
    return email


def platform_admin(server):
    return log_in(server, add_user(server, "--role", "platform_admin"))


def tenant_person(tenant, role):
    tenant.client.get("/api/v1/limits")  # an unknown token: now the server knows the tenant
    email = add_user(tenant.server, "--tenant", tenant.slug, "--role", role)
    return log_in(tenant.server, email)


def set_up_code(server):
    """Of the link that it printed at its start; None when it printed none."""
    found = re.search(r"^muster: .* (\S+)/#/setup\?code=(\S+)$", server.said.decode(), re.M)
    return found and found.group(2)
