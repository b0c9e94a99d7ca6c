"""The sender: what it retries, what it gives up, and what it keeps."""

import json
import logging
import os
import socket
import subprocess
import sys
import time
import urllib.parse

import muster
import pytest
from muster.transport import retry_after

BATCH = "/api/v1/telemetry/batch"
BUSINESS = "/api/v1/telemetry/business"
LLM = "/api/v1/telemetry/llm"
REGISTER = "/api/v1/agents/register"
ROTATE = "/api/v1/agents/refresh-key"


def end(agent):
    """Closes it, and waits for its thread, which has the spool until then."""
    thread = agent._sender._thread
    agent.close(0.0)
    thread.join(120)
    assert not thread.is_alive()


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


def test_an_event_that_the_service_finds_too_large_is_given_up_and_the_others_arrive(
    workspace, make_agent
):
    problems = []
    agent = make_agent(workspace.settings, on_error=problems.append)
    with agent.run() as run:
        run.step("before")
        large = {"event": "in_progress", "message": "large", "output": {"a": "y" * (6 << 20)}}
        agent._sender.lanes[0].queue.append(json.dumps(large).encode())
    assert agent.flush(120)
    assert [event["message"] for event in workspace.events(run.id)] == ["", "before", ""]
    assert [problem.kind for problem in problems] == ["invalid"] and "413" in problems[0].detail


def test_a_closing_event_that_is_refused_closes_its_run_without_the_rest(workspace, make_agent):
    problems = []
    agent = make_agent(workspace.settings, on_error=problems.append)
    run = agent.run()
    body = {"event_id": "e", **run._identity(), "event": "failed", "timestamp": run._now(), "seq": 1,
            "message": "m", "error_type": "E", "records_processed": "many"}  # fmt: skip
    agent._emit_event(body)
    assert agent.flush(120)
    last = workspace.events(run.id)[-1]
    assert (last["event"], last["error_type"], last["message"]) == ("failed", "E", "")
    assert "records_processed" in last["metadata"]["muster.cut"]
    assert [problem.reports[0]["message"] for problem in problems] == ["m"]


def test_a_bad_breakdown_costs_no_kpi(workspace, make_agent):
    problems = []
    agent = make_agent(workspace.settings, kpis=["good"], on_error=problems.append)
    with agent.run() as run:
        run.kpi("good", 1)
        run.breakdown("good", by=["a", "b"], points=[{"a": "x", "value": 1}])
        run.breakdown("good", by="c", slices={"DE": float("nan"), "FR": 2})
        run.kpi("also", 2)
    assert agent.flush(120)
    assert workspace.kpis() == {"good": 1, "also": 2}
    path = "business/breakdown?metric=good&agent_name=collector&by=c"
    rows = workspace.read(path)["rows"]
    assert [(row["dimensions"], row["value"]) for row in rows] == [({"c": "FR"}, 2)]
    (problem,) = problems
    assert problem.kind == "invalid" and problem.reports[0]["breakdowns"][0]["by"] == ["a", "b"]


def test_more_kpis_than_a_report_takes_arrive_in_several(workspace, make_agent):
    problems = []
    agent = make_agent(workspace.settings, on_error=problems.append)
    with agent.run() as run:
        for number in range(150):
            run.kpi(f"k{number}", number)
            run.breakdown(f"k{number}", by="c", slices={"x": 1})
    assert agent.flush(120) and problems == []
    assert workspace.kpis() == {f"k{number}": number for number in range(150)}


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


def test_a_pause_that_the_service_asks_for_holds_everything_back(scripted, make_agent):
    scripted.script[BATCH] = [(429, {"Retry-After": "3000"}, {"detail": "slow down"})]
    agent = make_agent(scripted.settings)
    with agent.run() as run:
        run.kpi("k", 1)
        run.llm("m", input_tokens=1)
    assert not agent.flush(60)
    assert len(scripted.seen(BATCH)) == 1 and scripted.seen(BUSINESS) == scripted.seen(LLM) == []


def test_a_rotation_that_is_put_off_holds_no_report_back(scripted, make_agent):
    scripted.script[ROTATE] = [(429, {"Retry-After": "3000"}, {"detail": "too many rotations"})]
    agent = make_agent(scripted.settings, rotate_every=0.01)
    assert scripted.wait_for(ROTATE, 1)
    with agent.run():
        pass
    assert agent.flush(120) and len(scripted.seen(ROTATE)) == 1


@pytest.mark.parametrize(
    ("asked", "seconds"),
    [("inf", 3600), ("1e99", 3600), ("nan", 0), ("-3", 0), ("soon", 0), ("7", 7), (None, 0)],
)
def test_a_pause_is_bounded(asked, seconds):
    assert retry_after({"Retry-After": asked}) == seconds


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
    end(agent)
    assert len(scripted.seen(BATCH)) == 1
    assert [problem.kind for problem in problems] == ["refused"]
    assert len([record for record in caplog.records if "refuses" in record.message]) == 1
    scripted.script.clear()
    after = make_agent(scripted.settings)
    assert after.flush(120)
    assert messages(scripted.seen(BATCH)[-1]) == ["", "kept", ""] + ["kept too"] * 3


def test_a_refusal_is_tried_again_after_a_while(scripted, make_agent, monkeypatch):
    monkeypatch.setattr("muster.sender.REFUSED_AGAIN_S", 0.02)
    monkeypatch.setattr("muster.sender.REFUSED_LOOK_EVERY_S", 0.02)
    problems = []
    refuse = (403, {}, {"detail": "the workspace has all the agents that its plan allows"})
    scripted.script[BATCH] = [refuse, refuse, refuse, (202, {}, {"results": []})]
    agent = make_agent(scripted.settings, on_error=problems.append)
    agent.run()
    assert scripted.wait_for(BATCH, 4, timeout=120)
    assert [problem.kind for problem in problems] == ["refused"]


@pytest.mark.parametrize("garbage", [{}, "<html>portal</html>", [1]])
def test_an_answer_that_is_not_the_services_does_not_stop_the_reports(
    scripted, make_agent, monkeypatch, garbage
):
    monkeypatch.setattr("muster.sender.BACKOFF_MAX_S", 0.05)
    scripted.script[REGISTER] = [(200, {}, garbage)]
    agent = make_agent(scripted.settings)
    with agent.run():
        pass
    assert scripted.wait_for(BATCH, 1, timeout=120) and scripted.wait_for(REGISTER, 3, timeout=120)
    scripted.script.clear()
    assert agent.flush(120)


def test_a_batch_that_a_proxy_answered_is_sent_again(scripted, make_agent, monkeypatch):
    monkeypatch.setattr("muster.sender.BACKOFF_MAX_S", 0.05)
    scripted.script[BATCH] = [(200, {}, "<html>portal</html>"), (202, {}, {"results": []})]
    agent = make_agent(scripted.settings)
    agent.run()
    assert agent.flush(120) and len(scripted.seen(BATCH)) == 2


def test_blanks_around_a_key_do_no_harm_and_no_error_shows_a_key(scripted, make_agent):
    agent = make_agent({**scripted.settings, "token": " k\n", "tenant": "acme\n"})
    agent.run()
    assert agent.flush(120)
    assert {request[2] for request in scripted.requests} == {"k"}
    with pytest.raises(ValueError) as caught:
        muster.Agent("a", **{**scripted.settings, "token": "sec\nret"})
    assert "sec" not in str(caught.value)


@pytest.mark.parametrize("name", ["heartbeat", "rotate_every", "timeout", "exit_timeout"])
def test_a_setting_that_is_no_number_is_named_at_once(scripted, name):
    with pytest.raises(ValueError, match=f"{name}: expected a number"):
        muster.Agent("a", **scripted.settings, **{name: "60"})


def test_what_a_full_spool_lost_is_told_and_stands_in_the_closing_event(scripted, make_agent):
    problems = []
    scripted.script[BATCH] = [(503, {"Retry-After": "3000"}, {"detail": "away"})]
    agent = make_agent(scripted.settings, spool_max_bytes=20000, on_error=problems.append)
    with agent.run() as run:
        for number in range(200):
            run.step(str(number))
    lost = agent.stats["dropped"]
    assert not agent.flush(1) and 0 < lost < 200
    assert sum(problem.count for problem in problems if problem.kind == "dropped") == lost
    end(agent)
    scripted.script.clear()
    assert make_agent(scripted.settings).flush(120)
    last = json.loads(scripted.seen(BATCH)[-1][3])["events"][-1]
    assert last["event"] == "completed" and 0 < int(last["metadata"]["muster.dropped"]) <= lost


LEAVING = """
import sys, muster
agent = muster.Agent("collector", exit_timeout=0.3, timeout=3000)
with agent.run() as run:
    run.step("on its way")
"""


def test_a_service_that_never_answers_does_not_hold_up_the_end_of_the_process(workspace):
    with socket.create_server(("127.0.0.1", 0)) as silent:
        url = f"http://127.0.0.1:{silent.getsockname()[1]}"
        environment = {**workspace.environment, "MUSTER_URL": url}
        subprocess.run([sys.executable, "-c", LEAVING], env=environment, timeout=300, check=True)


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
