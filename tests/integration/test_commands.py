"""Every command on a real service: its help, its output for programs, and one wrong use."""

import json
import subprocess

import pytest
from muster import BINARY

RUN = "3f2b8c1e-7a54-4d0e-9b1f-0c5d8e6a7b21"

# What follows a command's words so that it works in the order of this table, after "|" what it
# reads from standard input. None: it is no request, or other tests run it (the file says which).
ARGUMENTS = {
    "serve": None,  # every test
    "completion": None,  # program/test_help.py
    "man": None,
    "openapi": None,
    "settings": "",
    "version": "",
    "login": None,  # test_login_command.py
    "logout": None,
    "backup": None,  # test_backup.py
    "restore": None,
    "check": None,  # test_checks.py
    "cluster enable": None,  # cluster/test_citus.py
    "cluster status": None,
    "tenant add": "{new}",
    "tenant set": "{new} --rate-limit 600",
    "tenant show": "{new}",
    "tenant list": "",
    "tenant delete": "{new} --confirm {new}",
    "key add": "--tenant {slug} --label x",
    "key list": "--tenant {slug}",
    "key rotate": "{key} --tenant {slug}",
    "key revoke": "{key} --tenant {slug}",
    "agent list": "--tenant {slug}",
    "agent show": "bot --tenant {slug}",
    "agent disable": "bot --tenant {slug}",
    "agent enable": "bot --tenant {slug}",
    "agent schedule": "bot --tenant {slug} --every 3600 --grace 60",
    "agent unschedule": "bot --tenant {slug}",
    "maintenance add": "--tenant {slug} --weekdays sat,sun --start 02:00 --minutes 60",
    "maintenance list": "--tenant {slug}",
    "maintenance remove": "{window} --tenant {slug}",
    "run list": "--tenant {slug} --status completed --limit 5",
    "run show": "{run} --tenant {slug}",
    "run tail": "{run} --tenant {slug}",
    "run rebuild": "--tenant {slug}",
    "audit list": "--tenant {slug} --limit 3",
    "audit head": "--tenant {slug}",
    "audit verify": "--tenant {slug}",
    "document set": "{text} --tenant {slug} --agent bot",
    "document show": "--tenant {slug} --agent bot",
    "document history": "--tenant {slug} --agent bot",
    "document diff": "1 1 --tenant {slug} --agent bot",
    "document restore": "1 --tenant {slug} --agent bot",
    "export events": None,  # test_export.py; their output is for programs already
    "export business": None,
    "export llm": None,
    "model set": "m-1 --tenant {slug}",
    "model show": "--tenant {slug}",
    "model delete": "--tenant {slug}",
    "policy set": "{policy} --tenant {slug}",
    "policy show": "--tenant {slug}",
    "policy delete": "--tenant {slug}",
    "price set": "some-model --input 1 --output 2",
    "price list": "--model some-model",
    "price import": "{prices}",
    "price delete": "{price}",
    "retention show": "--tenant {slug}",
    "retention set": "--tenant {slug} --events 30",
    "rule show": "--tenant {slug}",
    "rule set": "{rules} --tenant {slug}",
    "secret set": "PASS --tenant {slug}|hidden",
    "secret list": "--tenant {slug}",
    "secret delete": "PASS --tenant {slug}",
    "user add": "{email} --role member --tenant {slug} --password-stdin|correct horse battery",
    "user list": "--tenant {slug}",
    "user passwd": "{email} --password-stdin|another horse battery",
    "user invite": "new-{email} --role member --tenant {slug}",
    "invitation list": "--tenant {slug}",
    "invitation delete": "{link} --tenant {slug}",
    "user reset-link": "{email}",
    "second-factor show": "{email}",
    "second-factor delete": "{email}",
    "group add": "operators --tenant {slug} --role member",
    "group list": "",
    "group delete": None,  # test_oidc.py: it needs the id of a group
    "identity add": None,  # test_oidc.py: it needs a provider
    "identity list": "{email}",
    "identity delete": None,
    "session list": "--user {email}",
    "session delete": None,  # test_sessions.py: it needs a browser's session
    "user sign-out": "{email}",
    "token add": "laptop --user {email} --role admin --expires-in-days 7",
    "token list": "--user {email}",
    "token delete": "{token} --user {email}",
    "user delete": "{email} --tenant {slug}",
    "value set": "k v --tenant {slug}",
    "value list": "--tenant {slug}",
    "value delete": "k --tenant {slug}",
    "catalog set": "k --tenant {slug} --edit admin",
    "catalog list": "--tenant {slug}",
    "vault rotate": None,  # test_vault.py: the key is the whole service's
    "vault rotate-data-keys": None,
    "webhook add": "https://hooks.example.com/x --tenant {slug}",
    "webhook list": "--tenant {slug}",
    "webhook disable": "{webhook} --tenant {slug}",
    "webhook enable": "{webhook} --tenant {slug}",
    "webhook rotate": "{webhook} --tenant {slug}",
    "webhook test": None,  # test_delivery.py: it needs a receiver
    "webhook deliveries": "{webhook} --tenant {slug}",
    "webhook retry": None,
    "webhook delete": "{webhook} --tenant {slug}",
    "agent delete": "bot --tenant {slug}",
}

# Where an answer gives what later rows need.
KEPT = {"key add": ("key", "key_id"), "webhook add": ("webhook", "webhook_id"),
        "price set": ("price", "price_id"), "token add": ("token", "token_id"),
        "user invite": ("link", "link_id"), "maintenance add": ("window", "window_id")}  # fmt: skip


def listed():
    """The words of every command, as `muster help` lists them."""
    page = subprocess.run([BINARY, "help"], capture_output=True, text=True, check=True).stdout
    lines = [line.split()[1:3] for line in page.splitlines() if line.startswith("  muster ")]
    return {" ".join(w for w in words if w[0].islower() and w != "bash") for words in lines}


@pytest.fixture
def world(tenant, tmp_path):
    """Names for the places in braces."""
    files = {"text": ("a.md", "# hello"), "policy": ("p.json", '{"mode":"deny_all"}'),
             "prices": ("prices.json", '{"other-model": {"input_cost_per_token": 1e-6}}'),
             "rules": ("rules.json", '{"run_failed":true}')}  # fmt: skip
    for file, text in files.values():
        (tmp_path / file).write_text(text)
    for event in ("started", "completed"):
        tenant.client.post("/api/v1/telemetry", {
            "agent_name": "bot", "client_id": tenant.slug, "run_id": RUN, "event": event,
            "timestamp": "2026-01-01T00:00:00Z", "message": f"now {event}",
        })  # fmt: skip
    return {"slug": tenant.slug, "new": f"{tenant.slug}-new", "run": RUN,
            "email": f"{tenant.slug}@example.com",
            **{name: str(tmp_path / file) for name, (file, _) in files.items()}}  # fmt: skip


def test_every_command_has_a_row():
    assert listed() == set(ARGUMENTS)


def test_every_command_answers_programs_in_json(tenant, world):
    for words, given in ARGUMENTS.items():
        if given is None:
            continue
        arguments, _, stdin = given.partition("|")
        filled = [word.format(**world) for word in arguments.split()]
        done = tenant.server.run(*words.split(), *filled, "--json", stdin=stdin)
        assert (done.returncode, done.stderr) == (0, ""), (words, done)
        told = [json.loads(line) for line in done.stdout.splitlines()]
        assert told or not done.stdout, words
        if words in KEPT:
            name, member = KEPT[words]
            world[name] = str(told[0][member])


def test_every_command_refuses_what_it_does_not_know():
    for words in ARGUMENTS:
        done = subprocess.run([BINARY, *words.split(), "--no-such-option", "x"],
                              capture_output=True, text=True, check=False)  # fmt: skip
        assert (done.returncode, done.stdout) == (2, ""), words
        assert "unknown option '--no-such-option'" in done.stderr, words
        assert f"usage: muster {words}" in done.stderr, words


def test_an_option_that_is_given_twice_is_refused():
    for given in (["--tenant", "acme", "--tenant=beta"], ["--tenant", "acme", "--only", "--only"]):
        done = subprocess.run([BINARY, "key", "revoke", "key_1", *given],
                              capture_output=True, text=True, check=False)  # fmt: skip
        assert (done.returncode, done.stdout) == (2, "")
        assert f"{given[-1].split('=')[0]} is given twice" in done.stderr


def test_verbs_of_earlier_versions_still_work(tenant):
    tenant.server.cli("value", "set", "k", "v", "--tenant", tenant.slug)
    tenant.server.cli("value", "rm", "k", "--tenant", tenant.slug)
    tenant.server.cli("model", "unset", "--tenant", tenant.slug)


def test_a_run_is_listed_shown_and_followed(tenant, world):
    cli, where = tenant.server.cli, ("--tenant", tenant.slug)
    header, line = cli("run", "list", *where).splitlines()
    assert header.split()[:3] == ["RUN", "ID", "STATUS"]
    assert line.split()[:2] == [RUN, "completed"]
    shown = cli("run", "show", RUN, *where)
    assert f"run      {RUN}\n" in shown and "status   completed\n" in shown
    told = cli("run", "tail", RUN, *where).splitlines()
    assert [line.split("  ")[-1] for line in told] == ["now started", "now completed"]
    assert told == shown.splitlines()[-2:]
    assert [json.loads(line)["message"] for line in
            cli("run", "tail", RUN, *where, "--json").splitlines()] == [
                "now started", "now completed"]  # fmt: skip
    assert tenant.server.run("run", "show", RUN.replace("3", "4"), *where).returncode == 1


def test_a_run_is_followed_until_it_ends(tenant):
    def report(event, message):
        answer = tenant.client.post("/api/v1/telemetry", {
            "agent_name": "bot", "client_id": tenant.slug, "run_id": RUN, "event": event,
            "timestamp": "2026-01-01T00:00:00Z", "message": message,
        })  # fmt: skip
        assert answer.status == 202

    report("started", "one")
    process = subprocess.Popen(
        [tenant.server.binary, "run", "tail", RUN, "--tenant", tenant.slug,
         *tenant.server.store_arguments],
        stdout=subprocess.PIPE, text=True, env=tenant.server.program_environment(),
    )  # fmt: skip
    assert process.stdout.readline().endswith("one\n")
    report("in_progress", "two")
    assert process.stdout.readline().endswith("two\n")
    report("failed", "three")
    assert process.stdout.readline().endswith("three\n")
    assert process.stdout.read() == ""
    assert process.wait(timeout=60) == 0
