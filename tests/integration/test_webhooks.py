"""Webhooks: made, changed, tested, and never a way into our own network."""

import json

import pytest
from conftest import running
from hooks import LOCAL, cli, told
from receiver import receiving


@pytest.fixture(scope="module")
def local(store, tmp_path_factory):
    """A server that may send to loopback."""
    with running(store, tmp_path_factory.mktemp("hooks"), arguments=LOCAL) as started:
        yield started


@pytest.fixture
def hooked(local):
    """A tenant of it, and a way to its administrative routes on both stores."""
    tenant = local.add_tenant()
    yield tenant
    tenant.client.close()


def add(tenant, url, *more):
    return told(cli(tenant, "add", url, *more))


def listed(tenant):
    return told(cli(tenant, "list"))["webhooks"]


def test_a_test_message_is_signed_so_that_anybody_can_check_it(hooked):
    with receiving() as receiver:
        made = add(hooked, receiver.url, "--label", "pager")
        assert made["secret"].startswith("whsec_")
        done = cli(hooked, "test", made["webhook_id"])
        assert done.returncode == 0, done.stderr
        said = json.loads(done.stdout)
        assert (said["delivered"], said["status"], said["error"]) == (True, 200, None)
        message = receiver.next()
    assert message.is_signed_with(made["secret"])
    assert not message.is_signed_with("whsec_" + "A" * 32)
    assert message.headers["Content-Type"] == "application/json"
    assert message.json()["type"] == "test"
    assert set(message.json()) == {"type", "timestamp", "data"}


def test_a_target_that_refuses_is_told_with_its_status(hooked):
    with receiving() as receiver:
        receiver.answer = 500
        made = add(hooked, receiver.url)
        done = cli(hooked, "test", made["webhook_id"])
    said = json.loads(done.stdout)
    assert done.returncode == 1
    assert (said["delivered"], said["status"]) == (False, 500)
    assert "500" in said["error"]


def test_a_redirect_is_not_followed(hooked):
    with receiving() as receiver, receiving() as elsewhere:
        receiver.answer, receiver.headers = 302, {"Location": elsewhere.url}
        made = add(hooked, receiver.url)
        assert json.loads(cli(hooked, "test", made["webhook_id"]).stdout)["status"] == 302
        assert not elsewhere.has_more()


@pytest.mark.same_threads
def test_nobody_reads_a_secret_back(hooked):
    made = add(hooked, "https://hooks.example.com/a")
    (one,) = listed(hooked)
    assert one == {**made, "secret": None}


def test_webhooks_are_switched_off_and_on_and_removed(hooked):
    made = add(hooked, "https://hooks.example.com/a", "--types", "run.failed,agent.silent")
    assert made["types"] == ["run.failed", "agent.silent"]
    cli(hooked, "disable", made["webhook_id"])
    assert [w["enabled"] for w in listed(hooked)] == [False]
    cli(hooked, "enable", made["webhook_id"])
    assert [w["enabled"] for w in listed(hooked)] == [True]
    cli(hooked, "delete", made["webhook_id"])
    assert listed(hooked) == []
    for verb in ("delete", "enable", "test", "deliveries", "rotate"):
        gone = cli(hooked, verb, made["webhook_id"])
        assert (gone.returncode, "there is no webhook" in gone.stderr) == (1, True), verb


def test_a_mail_target_without_a_mail_server_is_created_with_a_warning(hooked):
    said = hooked.server.cli("webhook", "add", "mailto:ops@example.com", "--tenant", hooked.slug)
    assert said.endswith("\nwarning: No e-mail can be sent: set smtp_url and smtp_from\n")
    assert "warning" not in add(hooked, "https://hooks.example.com/a")
    assert all("warning" not in webhook for webhook in listed(hooked))


def test_a_webhook_for_failed_runs_says_that_its_rule_is_off(hooked, tmp_path):
    both = ("--types", "run.failed,agent.silent")
    assert "warning" not in add(hooked, "https://hooks.example.com/a", *both)
    rules = tmp_path / "rules.json"
    rules.write_text('{"run_failed": false}')
    hooked.server.cli("rule", "set", str(rules), "--tenant", hooked.slug)
    made = add(hooked, "https://hooks.example.com/b", *both)
    assert made["warning"] == "Failed runs are not told: set the alert rule run_failed"
    assert "warning" not in add(hooked, "https://hooks.example.com/c", "--types", "agent.silent")


@pytest.mark.parametrize(
    "arguments",
    [
        ["https://hooks.example.com/", "--types", "no.such"],
        ["mailto:a@b.example,c@d.example"],
        ["mailto:a@b.example", "--format", "slack"],
        ["https://hooks.example.com/", "--format", "email"],
        ["ftp://hooks.example.com/"],
        ["https://user:secret@hooks.example.com/"],
    ],
)
@pytest.mark.same_threads
def test_what_cannot_be_sent_to_is_refused(hooked, arguments):
    done = cli(hooked, "add", *arguments)
    assert done.returncode == 1
    assert "url" in done.stderr or "types" in done.stderr
    assert listed(hooked) == []


@pytest.mark.parametrize(
    "url", ["http://hooks.example.com/", "https://169.254.169.254/latest/meta-data/"]
)
@pytest.mark.same_threads
def test_a_webhook_leads_to_the_public_internet_only(tenant, url):
    done = tenant.server.run("webhook", "add", url, "--tenant", tenant.slug)
    assert (done.returncode, done.stderr.startswith("muster: url: ")) == (1, True), done.stderr


@pytest.mark.parametrize("allowed", [[], ["--webhook-allow-http", "1"]])
def test_what_an_operator_no_longer_allows_is_not_connected_to(store, tmp_path, allowed):
    with running(store, tmp_path, arguments=LOCAL) as server, receiving() as receiver:
        tenant = server.add_tenant()
        made = add(tenant, receiver.url)
        server.arguments = allowed
        server.restart()
        done = server.run("webhook", "test", made["webhook_id"], "--tenant", tenant.slug, *allowed)
        assert (done.returncode, "not delivered" in done.stderr) == (1, True), done.stderr
        assert not receiver.has_more()


def test_administrators_reach_it_over_the_api(local, hooked):
    if local.database:
        pytest.skip("the socket is the embedded store's")
    operator, path = local.operator(), hooked.path("webhooks")
    with receiving() as receiver:
        made = operator.post(path, {"url": receiver.url})
        assert made.status == 201
        one = f"{path}/{made.json()['webhook_id']}"
        assert operator.get(path).json()["webhooks"][0]["url"] == receiver.url
        changed = operator.request("PATCH", one, {"label": "x", "types": ["run.failed"]})
        assert (changed.json()["label"], changed.json()["types"]) == ("x", ["run.failed"])
        assert operator.post(f"{one}/test").json()["delivered"] is True
        page = operator.get(f"{one}/deliveries?limit=5")
        assert (page.status, page.json()) == (200, {"deliveries": [], "next": None})
        assert operator.post(f"{one}/deliveries/dlv_none/retry").status == 404
        assert operator.request("DELETE", one).json() == {"webhooks": []}
    operator.close()
