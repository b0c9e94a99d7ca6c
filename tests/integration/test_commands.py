"""Every command on a real service: its help, its output for programs, and one wrong use."""

import json
import os
import re
import subprocess
import uuid

import pytest
from muster import BINARY, COMMAND_S, Server, running
from people import log_in
from receiver import receiving
from waiting import until

pytestmark = pytest.mark.commands

RUN = "3f2b8c1e-7a54-4d0e-9b1f-0c5d8e6a7b21"
FIRST_PASSWORD, PASSWORD = "correct horse battery", "another horse battery"
# A provider that is never asked, and webhooks to a receiver on this machine.
SETTINGS = {"MUSTER_OIDC_ISSUER": "http://127.0.0.1:9", "MUSTER_OIDC_CLIENT_ID": "muster",
            "MUSTER_PUBLIC_URL": "http://muster.example",
            "MUSTER_WEBHOOK_ALLOW_HTTP": "1", "MUSTER_WEBHOOK_ALLOW_PRIVATE": "1"}  # fmt: skip


def run_alone(world, *arguments, stdin=""):
    """A command on a machine of its own, which knows nothing of the service."""
    return subprocess.run([BINARY, *arguments], input=stdin, capture_output=True, text=True,
                          timeout=COMMAND_S, check=False, cwd=world["home"],
                          env={"HOME": world["home"]})  # fmt: skip


def is_served(world):
    """`muster serve --json` is what runs; it told its address as always."""
    server = world["server"]
    assert "--json" in server.arguments and server.process.poll() is None
    return subprocess.CompletedProcess([], 0, "", "")


def for_a_program_already(*words):
    """What is printed for another program is the same with --json: that program reads no JSON."""

    def run(world):
        plain, done = run_alone(world, *words), run_alone(world, *words, "--json")
        assert done.stdout == plain.stdout and len(done.stdout.splitlines()) > 20
        return subprocess.CompletedProcess([], done.returncode, "", done.stderr)

    return run


def log_in_from_elsewhere(world):
    url = "http://{}:{}".format(*world["server"].address)
    given = ("login", "--server", url, "--user", world["email"], "--password-stdin", "--json")

    def tried():
        done = run_alone(world, *given, stdin=PASSWORD + "\n")
        return done if done.returncode == 0 else None  # with Citus it knows the user a moment later

    return until(tried)


def embedded_only(*words, elsewhere=False):
    """PostgreSQL has tools of its own, which the command names."""

    def run(world):
        server = world["server"]
        where = Server(world["empty"]) if elsewhere and not server.database else server
        done = where.run(*words, world["backup"], "--json")
        if not server.database:
            return done
        assert (done.returncode, done.stdout) == (1, "") and "pg_" in done.stderr
        return subprocess.CompletedProcess([], 0, "", "")

    return run


def citus_only(verb):
    """Elsewhere the answer is a sentence; cluster/test_citus.py sees each of its numbers."""

    def run(world):
        done = world["server"].run("cluster", verb, "--json")
        if os.environ.get("MUSTER_TEST_CITUS") and world["server"].database:
            return done
        assert done.returncode in (1, 2) and done.stdout == ""
        assert ("Citus" if world["server"].database else "PostgreSQL") in done.stderr
        return subprocess.CompletedProcess([], 0, "", "")

    return run


# What follows a command's words so that it works in the order of this table, after "|" what it
# reads from standard input; or a function that does the command with --json.
def refused_while_it_runs(*words):
    """Only test_lost_key.py may do it: it drops what all tests here share."""

    def run(world):
        done = world["server"].run(*words, "--json")
        assert (done.returncode, done.stdout) == (1, "") and "another muster is using" in done.stderr
        return subprocess.CompletedProcess([], 0, "", "")

    return run


ARGUMENTS = {
    "serve": is_served,
    "completion": for_a_program_already("completion", "bash"),
    "man": for_a_program_already("man"),
    "openapi": "",
    "settings": "",
    "version": "",
    "backup": embedded_only("backup"),
    "restore": embedded_only("restore", elsewhere=True),
    "check": "",
    "cluster enable": citus_only("enable"),
    "cluster status": citus_only("status"),
    "vault reset": refused_while_it_runs("vault", "reset", "--confirm"),
    "vault rotate": "",
    "vault rotate-data-keys": "",  # before there are secrets: then it need not wait
    "tenant add": "{new}",
    "tenant set": "{new} --rate-limit 600",
    "tenant show": "{new}",
    "tenant list": "",
    "tenant recount": "{new}",
    "tenant delete": "{new} --confirm {new}",
    "key add": "--tenant {slug} --label x",
    "key list": "--tenant {slug}",
    "key rotate": "{key} --tenant {slug}",
    "key delete": "{key} --tenant {slug}",
    "agent list": "--tenant {slug}",
    "agent show": "bot --tenant {slug}",
    "agent disable": "bot --tenant {slug}",
    "agent enable": "bot --tenant {slug}",
    "agent schedule": "bot --tenant {slug} --every 3600 --grace 60",
    "agent unschedule": "bot --tenant {slug}",
    "maintenance add": "--tenant {slug} --weekdays sat,sun --start 02:00 --minutes 60",
    "maintenance list": "--tenant {slug}",
    "maintenance delete": "{window} --tenant {slug}",
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
    "export events": "--tenant {slug} --range all",
    "export business": "--tenant {slug}",
    "export llm": "--tenant {slug}",
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
    "user add": "{email} --role member --tenant {slug} --password-stdin|{first_password}",
    "user set": "{email} --role admin --tenant {slug}",
    "user list": "--tenant {slug}",
    "user passwd": "{email} --password-stdin|{password}",
    "login": log_in_from_elsewhere,
    "logout": lambda world: run_alone(world, "logout", "--json"),
    "user confirm": "{email}",
    "user invite": "new-{email} --role member --tenant {slug}",
    "invitation list": "--tenant {slug}",
    "invitation delete": "{link} --tenant {slug}",
    "user reset-link": "{email}",
    "second-factor show": "{email}",
    "second-factor delete": "{email}",
    "group add": "operators --tenant {slug} --role member",
    "group list": "",
    "group delete": "{group}",
    "identity add": "{email} 248289761001",
    "identity list": "{email}",
    "identity delete": "{email}",
    "session list": "--user {email}",
    "session delete": "{session} --user {email}",
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
    "webhook add": "{receiver} --tenant {slug}",
    "webhook list": "--tenant {slug}",
    "webhook disable": "{webhook} --tenant {slug}",
    "webhook enable": "{webhook} --tenant {slug}",
    "webhook rotate": "{webhook} --tenant {slug}",
    "webhook test": "{webhook} --tenant {slug}",
    "webhook deliveries": "{webhook} --tenant {slug}",
    "webhook retry": "{webhook} {delivery} --tenant {slug}",
    "webhook delete": "{webhook} --tenant {slug}",
    "agent delete": "bot --tenant {slug}",
}

# Where an answer gives what later rows need.
KEPT = {"key add": ("key", "key_id"), "webhook add": ("webhook", "webhook_id"),
        "price set": ("price", "price_id"), "token add": ("token", "token_id"),
        "user invite": ("link", "link_id"), "maintenance add": ("window", "window_id"),
        "group add": ("group", "group_id")}  # fmt: skip


def open_session(world):
    """A browser's: its id."""
    person = log_in(world["server"], world["email"], PASSWORD)
    (session,) = person.get("/api/v1/auth/sessions").json()["sessions"]
    person.close()
    return session["session_id"]


def fail_a_run(world):
    """The rules that were set make it an alert, which the webhook is told: the delivery's id."""
    given = ("webhook", "deliveries", world["webhook"], "--tenant", world["slug"], "--json")

    def told():
        report(world["tenant"], str(uuid.uuid4()), "failed")  # a command's change is known soon
        return json.loads(world["server"].cli(*given))["deliveries"]

    delivery, *_ = until(told)
    return delivery["delivery_id"]


# What has to be there before a command, and its name in braces.
BEFORE = {"session list": ("session", open_session), "webhook deliveries": ("delivery", fail_a_run)}


def report(tenant, run, event, message=None):
    answer = tenant.client.post("/api/v1/telemetry", {
        "agent_name": "bot", "client_id": tenant.slug, "run_id": run, "event": event,
        "timestamp": "2026-01-01T00:00:00Z", "message": message or f"now {event}",
    })  # fmt: skip
    assert answer.status == 202, answer.body


def listed():
    """The words of every command of `muster help`, and what follows them in its usage."""
    page = subprocess.run([BINARY, "help"], capture_output=True, text=True, check=True).stdout
    found = {}
    for line in page.splitlines():
        if line.startswith("  muster "):
            words = re.match(r"  muster ([a-z]\S*(?: (?!bash)[a-z][a-z-]*)?)", line).group(1)
            found[words] = line[len("  muster " + words) :].strip()
    return found


@pytest.fixture(scope="module")
def service(store, tmp_path_factory):
    """One whose keys, provider and groups are for this file alone."""
    folder = tmp_path_factory.mktemp("service")
    with running(store, folder, administered=True, environment=SETTINGS,
                 arguments=["--json"]) as started:  # fmt: skip
        started.is_asked = False  # some commands are for its own machine
        yield started


@pytest.fixture
def world(service, tmp_path):
    """Names for the places in braces."""
    tenant = service.add_tenant()
    files = {"text": ("a.md", "# hello"), "policy": ("p.json", '{"mode":"deny_all"}'),
             "prices": ("prices.json", '{"other-model": {"input_cost_per_token": 1e-6}}'),
             "rules": ("rules.json", '{"run_failed":true}')}  # fmt: skip
    for file, text in files.values():
        (tmp_path / file).write_text(text)
    for event in ("started", "completed"):
        report(tenant, RUN, event)
    (tmp_path / "home").mkdir()
    with receiving() as receiver:
        yield {"server": service, "tenant": tenant, "slug": tenant.slug,
               "new": f"{tenant.slug}-new", "run": RUN,
               "email": f"{tenant.slug}@example.com", "receiver": receiver.url,
               "first_password": FIRST_PASSWORD, "password": PASSWORD,
               "home": str(tmp_path / "home"), "backup": str(tmp_path / "copy"),
               "empty": str(tmp_path / "empty"),
               **{name: str(tmp_path / file) for name, (file, _) in files.items()}}  # fmt: skip
    tenant.client.close()


def test_every_command_has_a_row():
    assert set(listed()) == set(ARGUMENTS)


def done_as_its_row_says(world, words, *more):
    arguments, _, stdin = ARGUMENTS[words].partition("|")
    filled = [word.format(**world) for word in arguments.split()]
    return world["server"].run(*words.split(), *filled, *more, stdin=stdin.format(**world))


def in_json(world, words):
    """What a command's row gives when it is done with --json."""
    row = ARGUMENTS[words]
    return row(world) if callable(row) else done_as_its_row_says(world, words, "--json")


def check_table(printed):
    """A line of headings, in capitals, and something below it."""
    heading, *rows = printed.splitlines()
    assert rows and re.fullmatch(r"[A-Z][A-Z /-]+", heading), printed


def objects_in(text):
    """One document, or one on each line."""
    try:
        return [json.loads(text)]
    except json.JSONDecodeError:
        return [json.loads(line) for line in text.splitlines()]


def test_every_command_answers_programs_in_json_and_every_list_people_in_a_table(world):
    done_now = set()
    for words in ARGUMENTS:
        if words in BEFORE:
            name, prepare = BEFORE[words]
            world[name] = prepare(world)
        done = in_json(world, words)
        assert (done.returncode, done.stderr) == (0, ""), (words, done)
        told = objects_in(done.stdout)
        if words.endswith(" list"):
            check_table(done_as_its_row_says(world, words).stdout)
        if words in KEPT:
            name, member = KEPT[words]
            world[name] = str(told[0][member])
        done_now.add(words)
    assert done_now == set(listed()), "a command that no row has done with --json"


def refused(words, *more):
    """What a wrong use is told: nothing is printed but why, and how it is used."""
    done = subprocess.run([BINARY, *words.split(), *more], capture_output=True, text=True,
                          stdin=subprocess.DEVNULL, check=False)  # fmt: skip
    assert (done.returncode, done.stdout) == (2, ""), (words, more, done)
    assert f"usage: muster {words}" in done.stderr, (words, more)
    return done.stderr


def test_every_command_refuses_what_it_does_not_know():
    for words in listed():
        assert "unknown option '--no-such-option'" in refused(words, "--no-such-option", "x")
        refused(words, "one", "two", "too-many")  # none takes more than two


def test_every_command_says_what_is_missing():
    """The first that its usage shows outside brackets: `SLUG`, `--tenant SLUG`."""
    needs = {words: re.match(r"--\S+ \S+|[^[\s]+", usage) for words, usage in listed().items()}
    needs = {words: first.group() for words, first in needs.items() if first}
    assert len(needs) > 50
    for words, first in needs.items():
        assert f"muster: {first} is missing\n" in refused(words), words


def test_an_option_that_is_given_twice_is_refused():
    for given in (["--tenant", "acme", "--tenant=beta"], ["--tenant", "acme", "--only", "--only"]):
        done = subprocess.run([BINARY, "key", "delete", "key_1", *given],
                              capture_output=True, text=True, check=False)  # fmt: skip
        assert (done.returncode, done.stdout) == (2, "")
        assert f"{given[-1].split('=')[0]} is given twice" in done.stderr


def test_a_run_is_listed_shown_and_followed(tenant):
    for event in ("started", "completed"):
        report(tenant, RUN, event)
    cli, where = tenant.server.cli, ("--tenant", tenant.slug)
    header, line = cli("run", "list", *where).splitlines()
    assert header.split()[:3] == ["RUN", "ID", "STATUS"]
    assert line.split()[:2] == [RUN, "completed"]
    shown = cli("run", "show", RUN, *where)
    assert f"run      {RUN}\n" in shown and "status   completed\n" in shown
    header, *told = cli("run", "tail", RUN, *where).splitlines()
    assert header.split() == ["TIME", "EVENT", "LEVEL", "MESSAGE"]
    at = header.index("MESSAGE")
    assert [line[at:] for line in told] == ["now started", "now completed"]
    assert [header, *told] == shown.splitlines()[-3:]
    assert [json.loads(line)["message"] for line in
            cli("run", "tail", RUN, *where, "--json").splitlines()] == [
                "now started", "now completed"]  # fmt: skip
    assert tenant.server.run("run", "show", RUN.replace("3", "4"), *where).returncode == 1


def test_a_run_is_followed_until_it_ends(tenant):
    report(tenant, RUN, "started", "one")
    process = subprocess.Popen(
        [tenant.server.binary, "run", "tail", RUN, "--tenant", tenant.slug,
         *tenant.server.store_arguments],
        stdout=subprocess.PIPE, text=True, env=tenant.server.program_environment(),
    )  # fmt: skip
    assert process.stdout.readline().startswith("TIME ")
    assert process.stdout.readline().endswith("one\n")
    report(tenant, RUN, "in_progress", "two")
    assert process.stdout.readline().endswith("two\n")
    report(tenant, RUN, "failed", "three")
    assert process.stdout.readline().endswith("three\n")
    assert process.stdout.read() == ""
    assert process.wait(timeout=120) == 0
