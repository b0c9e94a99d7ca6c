"""What an agent reports arrives, whatever it passes in."""

import asyncio
import json
import threading
import time

import muster
import pytest


def finish(agent):
    assert agent.flush(120), agent.stats


def test_a_run_opens_steps_and_closes(workspace, make_agent):
    agent = make_agent(workspace.settings, version="1.4", interval=60)
    with agent.run("Begin", workflow_run_id="w-1", metadata={"host": "h"}) as run:
        run.step("Read", category="inbox", metrics={"mails": 3}, links=["https://example.com/1"])
        run.complete("Done", records_processed=3, output={"nested": [1]})
    finish(agent)
    first, step, last = workspace.events(run.id)
    assert [first["event"], step["event"], last["event"]] == ["started", "in_progress", "completed"]
    assert [event["seq"] for event in (first, step, last)] == [0, 1, 2]
    assert first["metadata"] == {"host": "h"} and first["workflow_run_id"] == "w-1"
    assert step["metrics"] == {"mails": 3} and step["category"] == "inbox"
    assert step["source"].startswith("test_reporting.py:")
    assert last["records_processed"] == 3 and last["output"] == {"nested": [1]}
    assert last["duration_ms"] >= 0 and last["agent_version"] == "1.4"


def test_an_exception_fails_the_run_and_is_raised_again(workspace, make_agent):
    agent = make_agent(workspace.settings)
    with pytest.raises(ZeroDivisionError), agent.run() as run:
        print(1 / 0)
    finish(agent)
    last = workspace.events(run.id)[-1]
    assert (last["event"], last["error_type"]) == ("failed", "ZeroDivisionError")
    assert last["error_message"] == "division by zero"
    assert "print(1 / 0)" in last["output"]["traceback"]
    assert "test_reporting.py:" in last["source"]


@pytest.mark.parametrize(("code", "event"), [(0, "completed"), (3, "failed")])
def test_a_run_that_exits_closes_by_its_status(workspace, make_agent, code, event):
    agent = make_agent(workspace.settings)
    with pytest.raises(SystemExit), agent.run() as run:
        raise SystemExit(code)
    finish(agent)
    assert workspace.events(run.id)[-1]["event"] == event


def test_kpis_breakdowns_and_tokens_arrive_in_one_request_each(workspace, make_agent):
    agent = make_agent(workspace.settings, kpis=["invoices", muster.KPI("total", unit="money:EUR")])
    with agent.run() as run:
        for _ in range(5):
            run.kpi("invoices", 1, add=True)
            run.llm("gpt", {"prompt_tokens": 10, "completion_tokens": 1})
        run.kpi("total", 12.5)
        run.breakdown("invoices", by="country", slices={"DE": 4, "FR": 1})
        run.breakdown("invoices", by=["a", "b"], points=[{"a": "x", "b": "y", "value": 5}])
    finish(agent)
    assert workspace.kpis() == {"invoices": 5, "total": 12.5}
    usage = workspace.usage()["gpt"]
    assert (usage["input_tokens"], usage["output_tokens"], usage["calls"]) == (50, 5, 5)
    rows = workspace.read("business/breakdown?metric=invoices&agent_name=collector&by=country")[
        "rows"
    ]
    assert [row["value"] for row in rows] == [4, 1]
    assert agent.stats["sent"] == 2 + 1 + 1  # two events, one business report, one LLM report


def test_cached_tokens_cost_what_the_provider_takes_for_them(workspace, make_agent):
    agent = make_agent(workspace.settings)
    with agent.run() as run:
        run.llm("gpt-5", {"prompt_tokens": 1200, "prompt_tokens_details": {"cached_tokens": 400}})
        run.llm("claude-sonnet-4-5", {"input_tokens": 800, "cache_read_input_tokens": 400})
        run.llm("gpt-4.1", input_tokens=800, cache_read_tokens=400)
    finish(agent)
    found = {model: usage["cost"] for model, usage in workspace.usage().items()}
    assert found == {"gpt-5": "0.00105", "claude-sonnet-4-5": "0.00252", "gpt-4.1": "0.0018"}


def test_registration_declares_what_was_given(workspace, make_agent):
    agent = make_agent(
        workspace.settings, description="Reads", interval=3600,
        kpis=[{"key": "done", "label": "Done", "agg": "max"}], inputs=["mailbox"],
        outputs=[muster.Field("count", "integer")],
        config=[muster.Param("mode", choices=["fast", "slow"], default="fast")],
    )  # fmt: skip
    assert agent.register() == []
    found = workspace.read("agents/collector")
    assert found["interval_seconds"] == 3600 and found["description"] == "Reads"
    assert found["business_kpis"][0]["agg"] == "max"
    assert found["inputs"][0]["key"] == "mailbox" and found["outputs"][0]["type"] == "integer"
    assert found["config_schema"]["params"][0]["opciones"] == ["fast", "slow"]


class Awkward:
    def __str__(self):
        raise RuntimeError("no text")


def test_awkward_values_arrive_as_text_instead_of_breaking_the_agent(workspace, make_agent):
    problems = []
    agent = make_agent(workspace.settings, on_error=problems.append)
    loop = []
    loop.append(loop)
    with agent.run() as run:
        run.step(
            "x" * 20000 + "\0\ud800", level="l" * 99, category="c" * 999,
            metrics={"nan": float("nan"), "big": 2**70, "text": "t", "ok": 1},
            metadata={n: n for n in range(300)}, links=range(99),
            output={"object": Awkward(), "loop": loop, "nan": float("inf"), 1: b"bytes"},
        )  # fmt: skip
        run.step(Awkward())
        run.kpi("nothing", float("nan"))
        run.llm(Awkward())
        run.progress(3)
    finish(agent)
    assert [problem.detail for problem in problems] == [
        "run.kpi() could not report (ValueError: nothing: expected a number or a text, got nan)"
    ]
    step = workspace.events(run.id)[1]
    assert len(step["message"]) == 16384 and step["metrics"] == {"big": 2.0**70, "ok": 1}
    assert len(step["metadata"]) == 100 and step["output"]["object"] == "<Awkward>"


def test_progress_is_reported_once_a_second_and_at_the_end(workspace, make_agent):
    agent = make_agent(workspace.settings)
    with agent.run() as run:
        for done in range(101):
            run.progress(done, 100)
    finish(agent)
    steps = [event for event in workspace.events(run.id) if event["event"] == "in_progress"]
    assert 2 <= len(steps) < 20 and steps[-1]["metrics"] == {"done": 100, "total": 100}


def test_a_hundred_events_are_sent_at_once_and_fewer_after_a_while(scripted, make_agent):
    batch = "/api/v1/telemetry/batch"
    agent = make_agent(scripted.settings)
    lane = agent._sender.lanes[0]
    assert (lane.full, lane.linger) == (100, 2.0)
    lane.linger = 3600.0  # so that only their number can send them
    run = agent.run()
    for number in range(99):
        run.step(str(number))
    assert scripted.wait_for(batch, 1)
    lane.linger, began = 0.5, time.monotonic()
    run.step("alone")
    assert scripted.wait_for(batch, 2)
    assert time.monotonic() - began >= 0.5
    sizes = [len(json.loads(request[3])["events"]) for request in scripted.seen(batch)]
    assert sizes == [100, 1]


def test_runs_in_many_threads_do_not_mix(workspace, make_agent):
    agent = make_agent(workspace.settings)
    ids = {}

    def work(name):
        with agent.run() as run:
            assert muster.current_run() is run
            ids[name] = run.id
            for number in range(50):
                run.step(f"{name}-{number}")

    threads = [threading.Thread(target=work, args=(name,)) for name in "abcd"]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    finish(agent)
    for name, run_id in ids.items():
        events = workspace.events(run_id)
        wanted = [f"{name}-{number}" for number in range(50)]
        assert [event["message"] for event in events[1:-1]] == wanted


def test_a_task_is_a_run_plain_and_async(workspace, make_agent):
    agent = make_agent(workspace.settings)

    @agent.task
    def double(number):
        muster.current_run().step("doubling")
        return 2 * number

    @agent.task(message="Later")
    async def later():
        raise KeyError("gone")

    assert double(4) == 8
    with pytest.raises(KeyError):
        asyncio.run(later())
    finish(agent)
    runs = {workspace.events(run["run_id"])[0]["message"]: run for run in workspace.runs()}
    assert runs["double"]["status"] == "completed" and runs["Later"]["error_type"] == "KeyError"


def test_kpis_join_the_run_of_a_trace_by_its_id(workspace, make_agent):
    trace_id, nanos = "5b8efff798038103d269b633813fc60c", int(time.time() * 1e9)
    span = {"traceId": trace_id, "spanId": "eee19b7ec3c1b174", "name": "nightly invoices",
            "startTimeUnixNano": str(nanos - 10**9), "endTimeUnixNano": str(nanos)}  # fmt: skip
    service = {"key": "service.name", "value": {"stringValue": "collector"}}
    traced = {"resource": {"attributes": [service]}, "scopeSpans": [{"spans": [span]}]}
    client = workspace.server.client(workspace.tenant.token)
    assert client.post("/v1/traces", {"resourceSpans": [traced]}).status == 200
    client.close()
    agent = make_agent(workspace.settings)
    with agent.run(run_id=trace_id) as run:
        run.kpi("invoices", 12)
    finish(agent)
    (found,) = workspace.runs()
    assert (found["run_id"], found["status"]) == (run.id, "completed")
    assert found["run_id"].replace("-", "") == trace_id
    assert "nightly invoices" in [event["message"] for event in workspace.events(run.id)]
    kpis = workspace.read(f"runs/{run.id}/business")["kpis"]
    assert [(kpi["key"], kpi["value"]) for kpi in kpis] == [("invoices", 12)]


def test_a_missing_setting_is_named_and_a_disabled_agent_does_nothing(monkeypatch, tmp_path):
    with pytest.raises(ValueError, match="MUSTER_URL"):
        muster.Agent("a", token="t", tenant="x")
    with pytest.raises(ValueError, match="expected http"):
        muster.Agent("a", token="t", tenant="x", url="example.com", state_dir=tmp_path)
    monkeypatch.setenv("MUSTER_DISABLED", "1")
    monkeypatch.setenv("MUSTER_STATE_DIR", str(tmp_path / "untouched"))
    agent = muster.Agent("a")
    with agent.run() as run:
        run.step("nothing")
    assert agent.flush() and agent.model(default="m") == "m"
    assert not (tmp_path / "untouched").exists()


@pytest.mark.parametrize(
    ("name", "more", "said"),
    [
        ("", {}, "name: expected the agent's name, got ''"),
        (None, {}, "name: expected the agent's name, got None"),
        ("a", {"kpis": "invoices"}, "kpis: expected a list, got 'invoices'"),
        ("a", {"config": {"key": "x"}}, "config: expected a list, got {'key': 'x'}"),
        ("a", {"inputs": [3]}, "inputs: expected a name, a dict or muster.Field, got 3"),
    ],
)
def test_a_wrong_declaration_is_named_at_once(scripted, make_agent, name, more, said):
    with pytest.raises((TypeError, ValueError)) as caught:
        muster.Agent(name, **scripted.settings, **more)
    assert str(caught.value) == said


def test_a_refused_registration_says_what_is_wrong_and_reports_go_on(workspace, make_agent):
    problems = []
    agent = make_agent(workspace.settings, interval="soon", on_error=problems.append)
    with agent.run() as run:
        run.step("still reported")
    assert agent.flush(120)
    (problem,) = problems
    assert (problem.kind, problem.count) == ("invalid", 1)
    assert problem.detail == (
        "the service refused the registration of collector: 422: interval_seconds: Input should be"
        " a valid integer, unable to parse string as an integer, got 'soon'"
    )
    assert len(workspace.events(run.id)) == 3
