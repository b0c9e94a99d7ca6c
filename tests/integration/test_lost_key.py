"""A master key that is lost: what is sealed with it is said, and given up only when it is told to."""

import base64
import json
import os
import stat
import time

import pytest
from muster import Trouble
from people import PASSWORD, add_user, code_at, log_in, platform_admin, post_log_in
from receiver import receiving
from stored import change, stored

FACTOR = "/api/v1/auth/second-factor"
KEY_LINE = 45
LOST = "2 secrets, 1 webhook secret, 1 second factor and the audit log's signing"
MISSING = f": with it are lost {LOST}: restore it, "
WRONG = f"cannot be opened with this master key; without the right one are lost {LOST}: restore that"
WAY_ON = "or go on with `muster vault reset --confirm`"


def key_file(server):
    return server.data / "master.key"


def new_key(server):
    key_file(server).write_text(base64.b64encode(os.urandom(32)).decode() + "\n")
    key_file(server).chmod(0o600)


def refusal(server):
    said = len(server.log())
    with pytest.raises(Trouble, match="no start"):
        server.start()
    return server.log()[said:].splitlines()[-1]


def verify(server):
    return server.cli("audit", "verify").splitlines()


class Sealed:
    """A server with something of each kind sealed, stopped."""

    def __init__(self, server):
        self.server, self.tenant = server, server.add_tenant(slug="acme")
        for name in ("A", "B"):
            server.cli("secret", "set", name, "--tenant", "acme", stdin="text")
        server.cli("webhook", "add", "https://example.com/a", "--tenant", "acme")
        self.email = add_user(server, "--role", "platform_admin")
        person = log_in(server, self.email)
        begun = person.post(FACTOR, {"current_password": PASSWORD}).json()
        code = code_at(begun["secret"], time.time())
        assert person.post(f"{FACTOR}/confirm", {"code": code}).status == 200
        assert post_log_in(server, self.email).status == 422  # asks for a code
        self.heads = server.data / "heads"
        self.heads.write_text(server.cli("audit", "head"))
        server.stop()
        self.key = key_file(server).read_bytes()

    def lose_key(self):
        key_file(self.server).unlink()

    def find_key(self):
        key_file(self.server).write_bytes(self.key)
        key_file(self.server).chmod(0o600)

    def counts(self):
        tables = ("secrets", "user_factors", "recovery_codes", "data_keys", "audit_log")
        return [stored(self.server, f"SELECT COUNT(*) AS n FROM {t}")[0]["n"] for t in tables]


@pytest.fixture
def sealed(own_server):
    return Sealed(own_server)


def test_a_service_with_nothing_sealed_goes_on_with_a_new_master_key(own_server):
    tenant = own_server.add_tenant()
    assert tenant.client.post("/api/v1/telemetry", tenant.event()).status == 202
    before = key_file(own_server).read_bytes()
    for n in (1, 2):
        own_server.stop()
        key_file(own_server).unlink()
        own_server.start()
        assert stat.S_IMODE(key_file(own_server).stat().st_mode) == 0o600
        assert key_file(own_server).stat().st_size == KEY_LINE
        assert key_file(own_server).read_bytes() != before
        assert own_server.log().count("the master key file is gone") == n
        own_server.restart()  # with the new key, as if nothing had been
        assert own_server.log().count("the master key file is gone") == n
    assert own_server.client(tenant.token).get("/api/v1/limits").status == 200
    assert len(verify(own_server)) == 2
    assert all("all intact; the vault was reset at entry" in line for line in verify(own_server))
    own_server.cli("secret", "set", "A", "--tenant", tenant.slug, stdin="text")
    own_server.restart()
    rows = stored(own_server, "SELECT actor, detail FROM audit_log WHERE action = 'vault.reset'")
    assert len(rows) == 4  # twice, in two chains
    assert {(r["actor"], r["detail"]) for r in rows} == {
        ("operator", '{"secrets":0,"webhook_secrets":0,"second_factors":0}'),
    }


def test_a_start_without_the_key_says_what_is_lost_and_which_command_goes_on(sealed):
    server, before = sealed.server, sealed.counts()
    sealed.lose_key()
    said = refusal(server)
    assert f"no master key at '{key_file(server)}'{MISSING}" in said and WAY_ON in said
    assert not key_file(server).exists()
    new_key(server)
    wrong = key_file(server).read_bytes()
    said = refusal(server)
    assert WRONG in said and WAY_ON in said
    assert key_file(server).read_bytes() == wrong
    assert sealed.counts() == before
    sealed.find_key()
    server.start()
    assert not any("reset" in line for line in verify(server))


@pytest.mark.parametrize("found", ["none", "another"])
def test_a_reset_drops_what_is_sealed_and_the_service_goes_on(sealed, found):
    server, before = sealed.server, sealed.counts()
    sealed.lose_key()
    if found == "another":
        new_key(server)
    there = key_file(server).read_bytes() if found == "another" else None
    refused = server.run("vault", "reset")
    assert (refused.returncode, refused.stdout) == (1, "")
    at = f"no master key at '{key_file(server)}' opens the data"
    assert f"nothing was changed: {at}; --confirm drops {LOST}" in refused.stderr
    assert sealed.counts() == before
    if found == "another":
        told = server.cli("vault", "reset", "--confirm", "--json")
        assert json.loads(told) == {"secrets": 2, "webhook_secrets": 1, "second_factors": 1}
    else:
        assert f"dropped: {LOST}" in server.cli("vault", "reset", "--confirm")
    assert sealed.counts()[:4] == [0, 0, 0, 0]
    assert all("the vault was reset at entry" in line for line in verify(server))
    server.start()
    assert there in (None, key_file(server).read_bytes())
    assert len(verify(server)) == 2
    assert all("all intact; the vault was reset at entry" in line for line in verify(server))
    for line in server.cli("audit", "verify", "--head", str(sealed.heads)).splitlines():
        assert "all intact; the vault was reset at entry" in line
    chains = json.loads(server.cli("audit", "verify", "--json"))["chains"]
    assert all(0 < c["verdict"]["reset_seq"] <= c["verdict"]["signed_to"] for c in chains)
    rows = stored(server, "SELECT tenant_id, detail FROM audit_log WHERE action = 'vault.reset'")
    assert len(rows) == len(chains)
    assert json.loads(rows[0]["detail"]) == {"secrets": 2, "webhook_secrets": 1, "second_factors": 1}


def test_after_a_reset_everything_can_be_set_again(sealed):
    server, acme = sealed.server, ("--tenant", "acme")
    sealed.lose_key()
    server.cli("vault", "reset", "--confirm")
    server.start()
    assert post_log_in(server, sealed.email).status == 200  # by password alone
    assert json.loads(server.cli("secret", "list", *acme, "--json"))["secrets"] == []
    server.cli("secret", "set", "A", *acme, stdin="again")
    (hook,) = json.loads(server.cli("webhook", "list", *acme, "--json"))["webhooks"]
    assert not hook["enabled"]
    refused = server.run("webhook", "enable", hook["webhook_id"], *acme)
    assert refused.returncode == 1 and "rotate it first" in refused.stderr
    server.cli("vault", "rotate-data-keys")
    server.cli("webhook", "rotate", hook["webhook_id"], *acme)
    server.cli("webhook", "enable", hook["webhook_id"], *acme)
    server.cli("vault", "rotate")
    server.restart()
    assert len(verify(server)) == 2


def test_a_reset_is_refused_where_nothing_is_lost_or_a_service_runs(sealed):
    server, before = sealed.server, sealed.counts()
    refused = server.run("vault", "reset", "--confirm")
    assert refused.returncode == 1 and "nothing is lost" in refused.stderr
    server.start()
    refused = server.run("vault", "reset", "--confirm")
    assert refused.returncode == 1 and "another muster is using" in refused.stderr
    assert sealed.counts() == before


def test_a_reset_is_refused_where_the_key_is_there_but_cannot_be_used(sealed, tmp_path):
    server, before = sealed.server, sealed.counts()
    file = key_file(server)

    def refused(says, run=server.run):
        for more in ((), ("--confirm",)):
            done = run("vault", "reset", *more)
            assert done.returncode == 1 and says in done.stderr, done.stderr
        assert sealed.counts() == before

    file.chmod(0o644)
    refused("has mode 0644")
    file.chmod(0o600)
    if os.geteuid() == 0:
        os.chown(file, 12345, -1)
        refused("belongs to another user (12345)")
        os.chown(file, 0, -1)
    file.write_text("not a key")
    refused("is damaged")
    sealed.find_key()
    elsewhere = tmp_path / "elsewhere.key"
    file.rename(elsewhere)  # as master_key_file= names it, which the command does not know
    done = server.run("vault", "reset")
    assert f"no master key at '{file}'" in done.stderr and sealed.counts() == before
    refused("nothing is lost", lambda *words: server.run(*words, "--master-key-file", str(elsewhere)))
    elsewhere.rename(file)
    server.start()
    assert not any("reset" in line for line in verify(server))


def test_a_new_key_is_not_left_by_a_start_that_fails(own_server):
    own_server.add_tenant()
    own_server.stop()
    key_file(own_server).unlink()
    if own_server.database:
        change(own_server, "ALTER TABLE data_keys ADD CONSTRAINT no CHECK (version < 0) NOT VALID")
    else:
        change(own_server, """CREATE TRIGGER no BEFORE INSERT ON data_keys
                              BEGIN SELECT RAISE(ABORT, 'no'); END""")
    refusal(own_server)
    assert not key_file(own_server).exists()
    if own_server.database:
        change(own_server, "ALTER TABLE data_keys DROP CONSTRAINT no")
    else:
        change(own_server, "DROP TRIGGER no")
    own_server.start()
    own_server.restart()
    assert all("all intact; the vault was reset at entry" in line for line in verify(own_server))


def test_webhooks_whose_receivers_check_no_signature_go_on_after_a_reset(own_server):
    allow = {f"MUSTER_WEBHOOK_ALLOW_{what}": "1" for what in ("HTTP", "PRIVATE")}
    own_server.environment.update(allow)
    own_server.restart()
    own_server.add_tenant(slug="acme")
    acme = ("--tenant", "acme")
    with receiving() as receiver:
        own_server.cli("webhook", "add", f"{receiver.url}/s", *acme, "--format", "slack")
        own_server.cli("webhook", "add", "mailto:a@example.com", *acme)
        own_server.cli("webhook", "add", "https://example.com/a", *acme)
        own_server.stop()
        key_file(own_server).unlink()
        own_server.cli("vault", "reset", "--confirm")
        own_server.start()
        hooks = json.loads(own_server.cli("webhook", "list", *acme, "--json"))["webhooks"]
        assert {h["format"]: h["enabled"] for h in hooks} == {"slack": True, "email": True, "standard": False}
        (slack,) = (h["webhook_id"] for h in hooks if h["format"] == "slack")
        own_server.cli("webhook", "disable", slack, *acme)
        own_server.cli("webhook", "enable", slack, *acme)
        own_server.cli("webhook", "test", slack, *acme)
        message = receiver.messages.get(timeout=60)
        assert "webhook-id" in message.headers and "webhook-signature" not in message.headers
        own_server.cli("webhook", "rotate", slack, *acme)
        own_server.cli("webhook", "test", slack, *acme)
        assert "webhook-signature" in receiver.messages.get(timeout=60).headers


def test_a_reset_that_fails_changes_nothing(sealed):
    server, before = sealed.server, sealed.counts()
    sealed.lose_key()
    if server.database:
        change(server, "ALTER TABLE audit_log ADD CONSTRAINT no CHECK (action <> 'vault.reset')")
    else:
        change(server, """CREATE TRIGGER no BEFORE INSERT ON audit_log
                          WHEN NEW.action = 'vault.reset' BEGIN SELECT RAISE(ABORT, 'no'); END""")
    assert server.run("vault", "reset", "--confirm").returncode == 1
    assert sealed.counts() == before
    if server.database:
        change(server, "ALTER TABLE audit_log DROP CONSTRAINT no")
    else:
        change(server, "DROP TRIGGER no")
    sealed.find_key()
    server.start()
    assert platform_admin(server).get("/api/v1/platform/audit/verify").json()["ok"]
