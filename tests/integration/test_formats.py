"""Each receiver is told in its own form: held against the rules that the receivers document.

One server per store with a clock; a failed run with hostile texts, a silence and its end.
"""

import email
import email.policy
import json
import re
import uuid
from contextlib import contextmanager
from datetime import datetime

import pytest
from conftest import running
from hooks import LOCAL, Hook, alerts, cli, fall_silent, report
from mail_server import mail_server
from muster import Clock
from people import tenant_person
from receiver import receiving

PORTAL = "https://muster.example.com"
KEY = "0123456789abcdef0123456789ABCDEF"
AGENT = 'evil <!channel> **bold** [x](http://x) @everyone "q" \\ ünï\n- list'
ERROR = "<@U1> & _boom_ `code` " + "é" * 900
FORMATS = ["standard", "slack", "teams", "discord", "pagerduty", "alertmanager"]


@pytest.fixture(scope="module")
def mails():
    with mail_server() as server:
        yield server


@pytest.fixture(scope="module")
def sender(store, mails, tmp_path_factory):
    folder = tmp_path_factory.mktemp("formats")
    clock = Clock(folder)
    mailing = ["--smtp-url", mails.url, "--smtp-from", "muster@example.com"]
    arguments = [*LOCAL, "--public-url", PORTAL, *mailing]
    with running(store, folder, arguments=arguments, environment=clock.environment) as server:
        server.clock = clock
        yield server


@contextmanager
def told(tenant, form):
    """A receiver that is sent this form."""
    with receiving() as receiver:
        url = receiver.url + (f"?routing_key={KEY}" if form == "pagerduty" else "")
        hook = Hook(tenant, url, "--format", form)
        yield receiver, hook


@pytest.fixture(scope="module")
def failed(sender):
    """The message about one failed run in each form, its run and its workspace."""
    tenant = sender.add_tenant()
    admin = tenant_person(tenant, "admin")
    assert admin.request("PUT", tenant.path("rules"), {"run_failed": True}).status == 200
    run, messages = str(uuid.uuid4()), {}
    with receiving() as receiver:
        hooks = {}
        for form in FORMATS:
            url = f"{receiver.url}/{form}" + (f"?routing_key={KEY}" if form == "pagerduty" else "")
            hooks[form] = Hook(tenant, url, "--format", form, "--types", "run.failed")
        report(tenant, AGENT, run_id=run, event="failed", error_type="Timeout", error_message=ERROR)
        for _ in FORMATS:
            message = receiver.next()
            form = message.path.rsplit("/", 1)[1]
            assert message.is_signed_with(hooks[form].secret)
            assert message.headers["Content-Type"] == "application/json"
            messages[form] = message
    for row in hooks.values():
        cli(tenant, "delete", row.id)
    assert set(messages) == set(FORMATS)  # and PagerDuty's key is not in its URL
    return messages, run, tenant


def body(failed, form):
    messages, run, tenant = failed
    return messages[form].json(), f"{PORTAL}/#/t/{tenant.slug}/runs/{run}"


def texts(value):
    """Every text in it."""
    if isinstance(value, dict):
        return [text for each in value.values() for text in texts(each)]
    if isinstance(value, list):
        return [text for each in value for text in texts(each)]
    return [value] if isinstance(value, str) else []


@pytest.mark.parametrize("form", FORMATS)
def test_every_form_has_workspace_agent_link_error_and_next_step(failed, form):
    said, link = body(failed, form)
    # Slack and Discord escape what agents wrote, so only plain parts of it are looked for
    shown = "\n".join(texts(said))
    for part in (failed[2].slug, link, "Timeout", "boom", "evil", "Open the run"):
        assert part in shown, (part, shown)


def test_a_mail_has_workspace_agent_link_error_and_next_step(sender, mails):
    tenant, run = sender.add_tenant(), str(uuid.uuid4())
    admin = tenant_person(tenant, "admin")
    assert admin.request("PUT", tenant.path("rules"), {"run_failed": True}).status == 200
    hook = Hook(tenant, "mailto:ops@example.com", "--types", "run.failed")
    report(tenant, "invoices", run_id=run, event="failed", error_type="Timeout", error_message="no answer")
    mail = email.message_from_bytes(mails.mails.get(timeout=120).data, policy=email.policy.default)
    cli(tenant, "delete", hook.id)
    lines = mail.get_content().splitlines()
    assert mail["Subject"] == lines[0] and "invoices" in lines[0]
    assert {f"Workspace: {tenant.slug}", "Agent: invoices", f"Run: {run}", "Error: Timeout: no answer"} <= set(lines)
    assert any(line.startswith("Next step: Open the run") for line in lines), lines
    assert f"{PORTAL}/#/t/{tenant.slug}/runs/{run}" in lines


def test_the_standard_form_has_workspace_link_error_and_next_step(failed):
    said, link = body(failed, "standard")
    data = said["data"]
    assert (data["workspace"], data["link"]) == (failed[2].slug, link)
    assert data["detail"]["error_type"] == "Timeout" and data["detail"]["error_message"] in ERROR
    assert data["next_step"].startswith("Open the run") and data["agent_name"] == AGENT


def test_slack_is_sent_blocks_in_which_nothing_is_markup(failed):
    said, link = body(failed, "slack")
    assert set(said) == {"text", "blocks"} and len(said["blocks"]) <= 50
    assert not re.search(r"[<>]|&(?!(amp|lt|gt);)", said["text"])
    marked = []
    for block in said["blocks"]:
        assert block["type"] == "section"
        assert len(block.get("fields", [])) <= 10
        for text in [block["text"]] if "text" in block else block["fields"]:
            assert 1 <= len(text["text"]) <= (3000 if "text" in block else 2000)
            assert text["type"] in ("plain_text", "mrkdwn")
            marked += [text["text"]] if text["type"] == "mrkdwn" else []
    assert marked == [f"<{link}|Open in muster>"]
    shown = [field["text"] for field in said["blocks"][1]["fields"]]
    assert [text.split("\n")[0] for text in shown] == ["Workspace", "Agent", "Run", "Error"]
    assert shown[1] == f"Agent\n{AGENT}" and "Timeout: <@U1>" in shown[3]


def test_teams_is_sent_an_adaptive_card_of_plain_text(failed):
    said, link = body(failed, "teams")
    assert len(failed[0]["teams"].body) < 28_000
    (attachment,) = said["attachments"]
    assert said["type"] == "message"
    assert attachment["contentType"] == "application/vnd.microsoft.card.adaptive"
    card = attachment["content"]
    assert (card["type"], card["version"]) == ("AdaptiveCard", "1.4")
    for element in card["body"]:  # a TextBlock or a Fact would read Markdown
        assert element["type"] == "RichTextBlock"
        assert all(inline["type"] == "TextRun" for inline in element["inlines"])
    assert card["actions"] == [{"type": "Action.OpenUrl", "title": "Open in muster", "url": link}]
    assert AGENT in texts(card) and any(ERROR[:20] in text for text in texts(card))


def test_discord_is_sent_an_embed_without_mentions_or_markup(failed):
    said, link = body(failed, "discord")
    assert said["allowed_mentions"] == {"parse": []}
    (embed,) = said["embeds"]
    assert embed["url"] == link and 0 <= embed["color"] <= 0xFFFFFF
    datetime.fromisoformat(embed["timestamp"].replace("Z", "+00:00"))
    assert len(embed["title"]) <= 256 and len(embed["description"]) <= 4096
    assert len(embed["fields"]) <= 25
    for field in embed["fields"]:
        assert 1 <= len(field["name"]) <= 256 and 1 <= len(field["value"]) <= 1024
    counted = [embed["title"], embed["description"]]
    counted += [f[part] for f in embed["fields"] for part in ("name", "value")]
    assert sum(map(len, counted)) <= 6000
    for text in counted:
        assert not re.search(r"(?<!\\)(?:\\\\)*[*_~`|<>\[\]()#@]", text), text
    values = {field["name"]: field["value"] for field in embed["fields"]}
    assert re.sub(r"\\(.)", r"\1", values["Agent"]) == AGENT
    assert set(values) == {"Workspace", "Agent", "Run", "Error", "Next step"}


def check_pagerduty(said):
    assert said["routing_key"] == KEY and said["event_action"] in ("trigger", "resolve")
    assert 1 <= len(said["dedup_key"]) <= 255
    if said["event_action"] == "resolve":
        return
    payload = said["payload"]
    assert 1 <= len(payload["summary"]) <= 1024 and payload["source"]
    assert payload["severity"] in ("critical", "error", "warning", "info")
    datetime.fromisoformat(payload["timestamp"].replace("Z", "+00:00"))


def test_pagerduty_is_sent_an_event_of_its_second_version(failed):
    said, link = body(failed, "pagerduty")
    check_pagerduty(said)
    payload = said["payload"]
    assert (said["event_action"], payload["class"]) == ("trigger", "run.failed")
    assert said["links"] == [{"href": link, "text": "Open in muster"}] and said["client_url"] == link
    assert payload["custom_details"]["error"].startswith("Timeout: ")
    assert payload["custom_details"]["next_step"] and payload["component"] == AGENT
    (alert,) = alerts(failed[2], type="run.failed")
    assert said["dedup_key"] == alert["alert_id"]


def check_alertmanager(said):
    (alert,) = said
    assert all(re.fullmatch(r"[a-zA-Z_]\w*", name) for name in alert["labels"])
    assert all(alert["labels"].values()) and alert["labels"]["alertname"]
    moments = [alert.get(name) for name in ("startsAt", "endsAt")]
    began, ended = (m and datetime.fromisoformat(m.replace("Z", "+00:00")) for m in moments)
    assert ended is None or ended > began
    return alert


def test_alertmanager_is_sent_one_alert(failed):
    said, link = body(failed, "alertmanager")
    alert = check_alertmanager(said)
    assert alert["generatorURL"] == link and "endsAt" not in alert  # a failure does not last
    labels = alert["labels"]
    assert (labels["alertname"], labels["workspace"]) == ("MusterRunFailed", failed[2].slug)
    assert (labels["agent"], labels["run_id"]) == (AGENT, failed[1])
    assert alert["annotations"]["error"].startswith("Timeout: ")


def test_a_silence_is_triggered_and_its_end_resolves_it(sender):
    tenant = sender.add_tenant()
    with told(tenant, "pagerduty") as (pager, hook), told(tenant, "alertmanager") as (manager, other):
        fall_silent(tenant, sender.clock)
        trigger, firing = pager.next().json(), check_alertmanager(manager.next().json())
        report(tenant)
        resolve, over = pager.next().json(), check_alertmanager(manager.next().json())
        for said in (trigger, resolve):
            check_pagerduty(said)
        cli(tenant, "delete", hook.id)
        cli(tenant, "delete", other.id)
    (alert,) = alerts(tenant)
    assert (trigger["event_action"], resolve["event_action"]) == ("trigger", "resolve")
    assert trigger["dedup_key"] == resolve["dedup_key"] == alert["alert_id"]
    assert firing["labels"] == over["labels"] and firing["labels"]["alertname"] == "MusterAgentSilent"
    assert firing["startsAt"] == over["startsAt"] == alert["opened_at"]
    assert over["endsAt"] == alert["closed_at"] < firing["endsAt"]


@pytest.mark.parametrize("form", ["teams", "discord", "pagerduty", "alertmanager"])
def test_a_test_message_has_the_form_too(sender, form):
    tenant = sender.add_tenant()
    with told(tenant, form) as (receiver, hook):
        assert cli(tenant, "test", hook.id).returncode == 0
        said = receiver.next().json()
    assert any("test" in text for text in texts(said))


@pytest.mark.parametrize("query", ["", "?routing_key=", f"?routing_key={KEY}x", f"?key={KEY}"])
def test_pagerduty_needs_the_key_of_an_integration(sender, query):
    tenant = sender.add_tenant()
    url = f"https://events.pagerduty.com/v2/enqueue{query}"
    done = cli(tenant, "add", url, "--format", "pagerduty")
    assert (done.returncode, "routing_key" in done.stderr) == (1, True)
    assert json.loads(cli(tenant, "list").stdout)["webhooks"] == []
