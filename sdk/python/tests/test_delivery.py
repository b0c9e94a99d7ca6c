"""The sender: what it retries, what it gives up, and what it keeps."""

import json
import logging
import os
import socket
import time
import urllib.parse

import muster
import pytest

BATCH = "/api/v1/telemetry/batch"
LLM = "/api/v1/telemetry/llm"


def messages(request):
    return [event["message"] for event in json.loads(request[3])["events"]]


def test_an_invalid_event_is_isolated_and_the_others_arrive(workspace, make_agent):
    problems = []
    agent = make_agent(workspace.settings, on_error=problems.append)
    with agent.run() as run:
        for number in range(40):
            run.step(str(number))
            if number in (7, 23):
                agent._emit_event({"event": "no such event", "message": str(number)})
    assert agent.flush(120)
    assert len(workspace.events(run.id)) == 42
    assert {problem.kind for problem in problems} == {"invalid"}
    assert sorted(bad["message"] for problem in problems for bad in problem.reports) == ["23", "7"]
    assert agent.stats["invalid"] == 2 and agent.stats["waiting"] == 0


def test_a_batch_that_is_refused_without_naming_an_event_is_halved(scripted, make_agent):
    problems = []
    refuse = (413, {}, {"detail": "too large", "limit": 1, "unit": "events"})
    scripted.script[BATCH] = [refuse, refuse, refuse, (202, {}, {"results": []})]
    agent = make_agent(scripted.settings, on_error=problems.append)
    run = agent.run()
    for number in range(7):
        run.step(str(number))
    assert agent.flush(120)
    sizes = [len(messages(request)) for request in scripted.seen(BATCH)]
    assert sizes == [8, 4, 2, 1, 1, 1, 1, 1, 1, 1, 1] and problems == []


def test_a_rejected_event_is_reported_and_not_retried(workspace, make_agent):
    problems = []
    agent = make_agent(workspace.settings, on_error=problems.append)
    agent.register()
    slug = workspace.tenant.slug
    workspace.server.cli("agent", "disable", "collector", "--tenant", slug)
    with agent.run() as run:
        run.kpi("k", 1)
    assert agent.flush(120)
    assert {problem.kind for problem in problems} == {"rejected"}
    assert agent.stats["rejected"] == 3 and agent.stats["waiting"] == 0


def test_retry_after_is_honoured(scripted, make_agent):
    scripted.script[BATCH] = [(429, {"Retry-After": "2"}, {"detail": "slow down"}), (202, {}, {})]
    agent = make_agent(scripted.settings)
    agent.run()
    began = time.monotonic()
    assert not agent.flush(1.0), "a hurry does not override what the service asked for"
    assert len(scripted.seen(BATCH)) <= 1
    assert scripted.wait_for(BATCH, 2)
    assert time.monotonic() - began >= 1.9
    assert agent.flush(120) and agent.stats["retries"] == 1


def test_the_wait_between_attempts_is_random_and_grows_to_a_limit():
    from muster.sender import BACKOFF_MAX_S, Backoff

    backoff, waits = Backoff(), []
    for _ in range(400):
        backoff.failed(100.0, 3.0)
        waits.append(backoff.not_before - 103.0)
    assert 0.0 <= waits[0] <= 1.0 and all(0.0 <= wait <= BACKOFF_MAX_S for wait in waits)
    late = waits[20:]
    assert min(late) < 10 and max(late) > 50  # from nothing to the limit: full jitter
    backoff.succeeded()
    assert backoff.not_before == 0.0


@pytest.mark.parametrize("status", [401, 403, 404, 302])
def test_a_refusal_stops_the_sending_with_one_message_and_keeps_the_spool(
    scripted, make_agent, caplog, status
):
    caplog.set_level(logging.INFO, "muster")
    problems = []
    scripted.script[BATCH] = [(status, {"Location": "http://127.0.0.1:9/"}, {"detail": "no"})]
    agent = make_agent(scripted.settings, on_error=problems.append)
    with agent.run() as run:
        run.step("kept")
    assert not agent.flush(10)
    for _ in range(3):
        run.step("kept too")
        assert not agent.flush(0.2)
    agent.close(0.0)
    assert len(scripted.seen(BATCH)) == 1
    assert [problem.kind for problem in problems] == ["refused"]
    assert len([record for record in caplog.records if "refuses" in record.message]) == 1
    scripted.script.clear()
    after = make_agent(scripted.settings)
    assert after.flush(120)
    assert messages(scripted.seen(BATCH)[-1]) == ["", "kept", ""] + ["kept too"] * 3


def test_an_outage_is_said_once_and_everything_arrives_after_it(
    own_workspace, make_agent, caplog, monkeypatch
):
    monkeypatch.setattr("muster.sender.BACKOFF_MAX_S", 0.3)
    caplog.set_level(logging.INFO, "muster")
    settings = own_workspace.settings
    port = own_workspace.server.address[1]
    agent = make_agent(settings)
    agent.register()
    own_workspace.server.kill()
    with agent.run() as run:
        for number in range(250):
            run.step(str(number))
        run.kpi("k", 2)
    assert not agent.flush(1.0)
    assert agent.stats["waiting"] == 253 and agent.stats["retries"] >= 1
    own_workspace.server.arguments = ["--listen", f"127.0.0.1:{port}"]
    own_workspace.server.start()
    assert agent.flush(120)
    assert len(own_workspace.events(run.id)) == 252 and own_workspace.kpis() == {"k": 2}
    said = [record.message for record in caplog.records if record.levelno >= logging.WARNING]
    assert len([text for text in said if "sent later" in text]) == 1


def test_a_service_that_never_answers_does_not_hold_up_the_agent(make_agent):
    with socket.create_server(("127.0.0.1", 0)) as silent:
        silent.settimeout(60)
        url = f"http://127.0.0.1:{silent.getsockname()[1]}"
        agent = make_agent({"url": url, "token": "mst_ws_x", "tenant": "acme"}, timeout=300)
        began = time.monotonic()
        for number in range(3):
            with agent.run() as run:
                for _ in range(200):
                    run.step("on its way")
                run.kpi("k", number)
                run.llm("m", input_tokens=1)
        took = time.monotonic() - began
        asked = silent.accept()[0]
        assert asked.recv(4) == b"POST"  # it waits for an answer, and the agent does not
        assert took < agent.transport.timeout / 2
        assert agent.stats["sent"] == 0 and agent.stats["waiting"] >= 606
        asked.close()


def test_a_key_that_another_process_rotated_is_picked_up(scripted, make_agent, tmp_path):
    agent = make_agent(scripted.settings)
    assert agent.flush(120)
    scripted.script[BATCH] = [(401, {}, {"detail": "Invalid or expired token"}), (202, {}, {})]
    agent.keys._write("k2", "k", rotating=False)
    agent.run()
    assert agent.flush(120)
    assert [request[2] for request in scripted.seen(BATCH)] == ["k", "k2"]


def test_heartbeats_are_sent_in_the_background_and_name_the_process(
    workspace, scripted, make_agent
):
    make_agent(workspace.settings).heartbeat()  # raises when the service declines it
    agent = make_agent(scripted.settings, heartbeat=0.05)
    path = "/api/v1/heartbeat"
    assert scripted.wait_for(path, 2)
    (sent, *_) = [request[5] for request in scripted.requests if request[1] == path]
    (process,) = urllib.parse.parse_qs(sent)["client_id"]
    assert process == f"{agent.name}@{socket.gethostname()}:{os.getpid()}"


def test_an_agent_without_a_folder_reports_from_memory(workspace, tmp_path, caplog):
    (tmp_path / "file").write_text("")
    agent = muster.Agent("homeless", **workspace.settings, state_dir=tmp_path / "file" / "below")
    with agent.run() as run:
        run.step("still here")
        run.kpi("k", 1)
    assert agent.flush(120) and len(workspace.events(run.id)) == 3
    assert "a crash loses reports" in caplog.text
    agent.close()
