"""A workflow: its runs by start, and whether each step gets what its agent needs."""

from datetime import datetime, timedelta, timezone
from urllib.parse import quote

import pytest

T0 = datetime(2025, 1, 2, 3, 4, 5, tzinfo=timezone.utc)


def at(seconds):
    return (T0 + timedelta(seconds=seconds)).isoformat().replace("+00:00", "Z")


def run_id(number):
    return f"3f2b8c1e-9a4d-4e6f-8b7a-{number:012}"


def register(tenant, name, inputs=(), outputs=()):
    body = {"agent_name": name, "inputs": list(inputs), "outputs": list(outputs)}
    assert tenant.client.post("/api/v1/agents/register", body).status == 200


def send(tenant, *events):
    body = {"events": [tenant.event(**e) for e in events]}
    answer = tenant.client.post("/api/v1/telemetry/batch", body)
    assert (answer.status, answer.json()["accepted"]) == (202, len(events)), answer.body


def run(tenant, number, agent, start, end=None, event="completed", workflow="w"):
    common = {"agent_name": agent, "run_id": run_id(number), "workflow_run_id": workflow}
    send(tenant, {**common, "timestamp": at(start)})
    if end is not None:
        send(tenant, {**common, "timestamp": at(end), "event": event})


def workflow(tenant, name="w"):
    answer = tenant.client.get(tenant.path(f"workflows/{quote(name, safe='')}"))
    assert answer.status == 200, answer.body
    return answer.json()


def test_runs_stand_by_their_start(tenant):
    run(tenant, 3, "c", 20, 30)
    run(tenant, 1, "a", 0, 5)
    run(tenant, 2, "b", 10, 40)
    run(tenant, 9, "a", 1, 2, workflow="another")
    got = workflow(tenant)
    assert list(got) == [
        "workflow_run_id", "status", "started_at", "ended_at", "runs", "links", "truncated",
    ]  # fmt: skip
    assert (got["workflow_run_id"], got["status"], got["truncated"]) == ("w", "completed", False)
    assert (got["started_at"], got["ended_at"]) == (at(0), at(40))
    assert [r["agent_name"] for r in got["runs"]] == ["a", "b", "c"]
    runs = tenant.client.get(tenant.path("dashboard/runs?workflow_run_id=w")).json()["runs"]
    assert got["runs"] == runs[::-1]  # the same as in the list
    steps = [{"run_id": run_id(i), "agent_name": n} for i, n in ((1, "a"), (2, "b"), (3, "c"))]
    nothing = {"compatible": None, "missing": [], "mismatched": []}
    assert got["links"] == [
        {"from": steps[0], "to": steps[1], **nothing},
        {"from": steps[1], "to": steps[2], **nothing},
    ]


@pytest.mark.parametrize(
    ("ends", "status", "ended"),
    [
        (["completed", "completed"], "completed", True),
        (["completed", None], "in_progress", False),
        (["failed", "completed"], "failed", True),
        (["failed", None], "failed", False),
        ([None], "in_progress", False),
    ],
)
def test_the_whole_is_as_good_as_its_worst_run(tenant, ends, status, ended):
    for i, event in enumerate(ends):
        run(tenant, i, "a", i, i + 5 if event else None, event)
    got = workflow(tenant)
    assert got["status"] == status
    assert got["ended_at"] == (at(len(ends) + 4) if ended else None)


def field(key, kind=None, required=None):
    made = {"key": key}
    if kind is not None:
        made["type"] = kind
    if required is not None:
        made["required"] = required
    return made


@pytest.mark.parametrize(
    ("first", "second", "inputs", "compatible", "missing", "mismatched"),
    [
        # outputs of the first and second step, inputs of the third; what its link says
        ([], [], [field("k")], None, [], []),
        ([field("k")], [], [], None, [], []),
        ([field("k", "text")], [], [field("k", "text")], True, [], []),
        ([], [field("k", "text")], [field("k", "text")], True, [], []),
        ([field("k", "text")], [field("x")], [field("k", "text")], True, [], []),
        ([field("k", "text")], [], [field("k", "file")], False, [], [("k", "text", "file")]),
        ([field("k", "any")], [], [field("k", "file")], True, [], []),
        ([field("k", "text")], [], [field("k")], True, [], []),
        ([field("k", "text")], [field("k", "file")], [field("k", "file")], True, [], []),
        ([field("x")], [], [field("k"), field("l")], False, ["k", "l"], []),
        ([field("x")], [], [field("k", required=False)], True, [], []),
        ([field("k", "a")], [], [field("k", "b", False)], True, [], []),
        ([field("k", "a", False)], [], [field("k", "a")], True, [], []),
    ],
)
def test_inputs_are_held_against_the_outputs_of_all_earlier_steps(
    tenant, first, second, inputs, compatible, missing, mismatched
):
    register(tenant, "one", outputs=first)
    register(tenant, "two", outputs=second)
    register(tenant, "three", inputs=inputs, outputs=inputs)
    for i, agent in enumerate(["one", "two", "three"]):
        run(tenant, i, agent, i)
    link = workflow(tenant)["links"][1]
    assert link["compatible"] is compatible
    assert link["missing"] == missing
    keys = ("key", "output_type", "input_type")
    assert [tuple(m[k] for k in keys) for m in link["mismatched"]] == mismatched


def test_what_comes_later_does_not_count(tenant):
    register(tenant, "needs", inputs=[field("k")], outputs=[field("x")])
    register(tenant, "gives", inputs=[field("x")], outputs=[field("k")])
    run(tenant, 1, "gives", 0)
    run(tenant, 2, "needs", 1)
    run(tenant, 3, "gives", 2)
    assert [link["compatible"] for link in workflow(tenant)["links"]] == [True, True]
    run(tenant, 4, "needs", 3, workflow="v")
    run(tenant, 5, "gives", 4, workflow="v")
    run(tenant, 6, "gives", 5, workflow="u")
    run(tenant, 7, "gives", 6, workflow="u")
    assert [link["compatible"] for link in workflow(tenant, "v")["links"]] == [True]
    assert [link["missing"] for link in workflow(tenant, "u")["links"]] == [["x"]]


def test_a_workflow_of_very_many_runs_is_cut(tenant):
    events = [
        {"run_id": run_id(i), "timestamp": at(i), "workflow_run_id": "w"} for i in range(1001)
    ]
    send(tenant, *events[:1000])
    got = workflow(tenant)
    assert (len(got["runs"]), len(got["links"]), got["truncated"]) == (1000, 999, False)
    send(tenant, events[1000])
    got = workflow(tenant)
    assert (len(got["runs"]), got["truncated"]) == (1000, True)
    assert got["runs"][-1]["run_id"] == run_id(999)


def test_names_and_tenants_are_kept_apart(tenant):
    run(tenant, 1, "a", 0, workflow="with/slash ü")
    assert workflow(tenant, "with/slash ü")["runs"][0]["run_id"] == run_id(1)
    answer = tenant.client.get(tenant.path("workflows/w"))
    assert answer.status == 404
    assert answer.json() == {"detail": f"There is no workflow 'w' in tenant '{tenant.slug}'"}
    other = tenant.server.add_tenant()
    assert other.client.get(tenant.path("workflows/w")).status == 403
    assert other.client.get(other.path("workflows/with%2fslash%20%c3%bc")).status == 404
    other.client.close()
