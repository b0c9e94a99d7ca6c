"""Model, policy, document and configuration: fresh, unchanged, or the last known good."""

import contextlib
import json
import socket
import threading
import time

import muster
import pytest

GOOD = {
    "model": {"model": "gpt"},
    "command-policy": {"mode": "allowlist", "allow": ["ls"], "deny": [], "version": 1},
    "config": {"a": 1},
    "document": {"document": "text", "format": "text", "version": 1},
}
CALLS = {
    "model": lambda agent: agent.model(default="D"),
    "command-policy": lambda agent: agent.policy(default="D"),
    "config": lambda agent: agent.config(default="D"),
    "document": lambda agent: agent.document(default="D"),
}
NOT_THE_SERVICE = [
    (200, {}, "<html>portal</html>"),
    (200, {}, ["text"]),
    (302, {"Location": "/login"}, "<html>"),
    (403, {}, "<html>"),
    (404, {}, "<html>"),
    (404, {}, {"error": "no such route"}),
    (503, {}, "<html>"),
]


def test_the_answers_are_those_of_the_service(workspace, make_agent):
    slug, cli = workspace.tenant.slug, workspace.server.cli
    agent = make_agent(
        {**workspace.settings, "token": workspace.tenant.add_key("collector")},
        config=[muster.Param("size", value_type="integer", default="5")],
    )
    agent.register()
    assert agent.model() is None and agent.document() is None
    assert agent.model(default="m") == "m" and agent.document(default={"a": 1}) == {"a": 1}
    assert agent.policy()["mode"] == "deny_all" and agent.config() == {"size": 5}
    cli("model", "set", "small", "--tenant", slug)
    assert agent.model(default="m") == "small"


def test_an_unchanged_answer_is_not_transferred_again(scripted, make_agent):
    path = "/api/v1/agents/model"
    scripted.script[path] = [(200, {"ETag": '"1"'}, {"model": "a"}), (304, {}, {})]
    agent = make_agent(scripted.settings)
    assert agent.model() == "a" and agent.model() == "a"
    assert make_agent(scripted.settings).model() == "a", "the ETag is kept on disk"
    sent = [request[4]["If-None-Match"] for request in scripted.seen(path)]
    assert sent == [None, '"1"', '"1"']


@pytest.mark.parametrize("status", [503, 429, 500])
def test_the_last_known_good_is_used_while_the_service_is_away(scripted, make_agent, status):
    scripted.script["/api/v1/agents/config"] = [(200, {}, {"secret": "s"}), (status, {}, {})]
    scripted.script["/api/v1/agents/model"] = [(status, {}, {})]
    make_agent(scripted.settings).config()
    agent = make_agent(scripted.settings)
    assert agent.config() == {"secret": "s"}
    assert (agent.state / "config.json").stat().st_mode & 0o777 == 0o600
    assert agent.model(default="m") == "m"
    with pytest.raises(muster.Unavailable):
        agent.model()


def test_a_service_that_was_killed_leaves_what_it_last_said(own_workspace, make_agent):
    server = own_workspace.server
    server.arguments = ["--listen", f"127.0.0.1:{server.address[1]}"]
    settings = {**own_workspace.settings, "token": own_workspace.tenant.add_key("collector")}
    declared = [muster.Param("size", value_type="integer", default="5")]
    first = make_agent(settings, config=declared)
    first.register()
    assert (first.config(), first.policy()["mode"]) == ({"size": 5}, "deny_all")
    server.kill()
    agent = make_agent(settings, config=declared)  # another process, started during the outage
    assert (agent.config(), agent.policy()["mode"]) == ({"size": 5}, "deny_all")
    with pytest.raises(muster.Unavailable):
        agent.model()
    server.start()
    server.cli("model", "set", "small", "--tenant", own_workspace.tenant.slug)
    assert agent.model() == "small"


def test_a_revoked_key_gets_nothing_from_disk(scripted, make_agent):
    scripted.script["/api/v1/agents/config"] = [(200, {}, {"secret": "s"}), (401, {}, {})]
    agent = make_agent(scripted.settings)
    agent.config()
    with pytest.raises(muster.Refused):
        agent.config(default={})


def test_a_hard_budget_that_is_exceeded_is_raised_whatever_is_known(scripted, make_agent):
    stop = {"detail": "The hard budget of 1.00 USD per day for LLM cost is exceeded"}
    scripted.script["/api/v1/agents/model"] = [(200, {"ETag": '"1"'}, {"model": "a"}), (402, {}, stop),
                                               (304, {}, {})]  # fmt: skip
    agent = make_agent(scripted.settings)
    assert agent.model() == "a"
    with pytest.raises(muster.BudgetExceeded, match="hard budget of 1.00 USD"):
        agent.model(default="m")
    assert agent.model() == "a", "the budget was raised"


def test_a_configuration_can_be_kept_off_the_disk(scripted, make_agent):
    scripted.script["/api/v1/agents/config"] = [(200, {"ETag": '"1"'}, {"secret": "s"})]
    agent = make_agent(scripted.settings)
    assert agent.config(keep=False) == {"secret": "s"}
    assert not (agent.state / "config.json").exists()


def test_a_broken_file_is_ignored(scripted, make_agent):
    scripted.script["/api/v1/agents/model"] = [(200, {}, {"model": "a"})]
    agent = make_agent(scripted.settings)
    (agent.state / "model.json").write_text(json.dumps({"body": 1})[:-3])
    assert agent.model() == "a"


@pytest.mark.parametrize("kind", GOOD)
def test_an_answer_that_is_not_the_services_leaves_the_last_known_good(scripted, make_agent, kind):
    path = f"/api/v1/agents/{kind}"
    wanted = "gpt" if kind == "model" else GOOD[kind]
    scripted.script[path] = [(200, {"ETag": '"1"'}, GOOD[kind])]
    agent = make_agent(scripted.settings)
    assert CALLS[kind](agent) == wanted
    for answer in NOT_THE_SERVICE:
        scripted.script[path] = [answer]
        assert CALLS[kind](agent) == wanted, answer
        assert CALLS[kind](make_agent(scripted.settings)) == wanted, answer
        stranger = make_agent(scripted.settings, "stranger")  # which never had an answer
        assert CALLS[kind](stranger) == "D", answer


def test_a_document_is_pulled_with_its_content_and_gone_when_it_is(workspace, make_agent, tmp_path):
    agent = make_agent(workspace.settings)
    agent.register()
    slug, file = workspace.tenant.slug, tmp_path / "rules.md"
    for number, text in enumerate(["# Rules\n\nBe kind – always.\n", "# Others\n"], 1):
        file.write_text(text)
        workspace.server.cli(
            "document", "set", str(file), "--tenant", slug, "--agent", "collector",
            "--format", "markdown",
        )  # fmt: skip
        for _ in range(2):  # the second time it is unchanged
            found = agent.document()
            assert (found["document"], found["format"], found["version"]) == (text, "markdown", number)


def drip(listener, stop):
    """Answers with one byte now and then, for ever."""
    asked = listener.accept()[0]
    asked.sendall(b"HTTP/1.1 200 OK\r\nContent-Length: 100000\r\n\r\n")
    with contextlib.suppress(OSError):
        while not stop.wait(0.05):
            asked.sendall(b" ")
    asked.close()


def test_an_answer_that_drips_is_not_awaited_beyond_the_timeout(make_agent, monkeypatch):
    stop = threading.Event()
    monkeypatch.setattr("muster.sender.Sender.wake", lambda _: None)
    with socket.create_server(("127.0.0.1", 0)) as listener:
        thread = threading.Thread(target=drip, args=(listener, stop))
        thread.start()
        url = f"http://127.0.0.1:{listener.getsockname()[1]}"
        agent = make_agent({"url": url, "token": "k", "tenant": "t"}, timeout=0.3)
        began = time.monotonic()
        assert agent.model(default="D") == "D"
        assert time.monotonic() - began >= 0.3
        stop.set()
        thread.join()
