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
        "links_truncated",
    ]  # fmt: skip
    assert (got["workflow_run_id"], got["status"], got["truncated"]) == ("w", "completed", False)
    assert (got["started_at"], got["ended_at"]) == (at(0), at(40))
    assert [r["agent_name"] for r in got["runs"]] == ["a", "b", "c"]
    runs = tenant.client.get(tenant.path("dashboard/runs?workflow_run_id=w")).json()["runs"]
    assert got["runs"] == runs[::-1]  # the same as in the list
    steps = [{"run_id": run_id(i), "agent_name": n} for i, n in ((1, "a"), (2, "b"), (3, "c"))]
    nothing = {"compatible": None, "missing": [], "mismatched": [], "provides": []}
    assert got["links"] == [
        {"from": steps[0], "to": steps[1], **nothing},
        {"from": steps[0], "to": steps[2], **nothing},  # it began while the second was running
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
    assert link["to"]["agent_name"] == "three"
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


def edges(got):
    number = lambda step: int(step["run_id"][-12:])  # noqa: E731
    return {(number(link["from"]), number(link["to"])): link for link in got["links"]}


def test_parallel_runs_are_branches_and_a_later_one_joins_them(tenant):
    run(tenant, 1, "root", 0, 10)
    run(tenant, 2, "left", 11, 30)
    run(tenant, 3, "right", 12, 25)
    run(tenant, 4, "join", 31, 40)
    assert set(edges(workflow(tenant))) == {(1, 2), (1, 3), (2, 4), (3, 4)}


def test_two_chains_under_one_id_stay_apart(tenant):
    """Each run follows the one whose agent outputs what it needs, not the one just before it."""
    register(tenant, "reader", outputs=[field("invoice", "text")])
    register(tenant, "matcher", inputs=[field("invoice", "text")], outputs=[field("order", "text")])
    register(tenant, "scorer", outputs=[field("score", "number")])
    register(tenant, "caller", inputs=[field("score", "number")])
    run(tenant, 1, "reader", 0, 10)
    run(tenant, 2, "scorer", 1, 12)
    run(tenant, 3, "matcher", 13, 20)
    run(tenant, 4, "caller", 21, 30)
    got = edges(workflow(tenant))
    assert set(got) == {(1, 3), (2, 4)}
    assert [one["provides"] for one in got.values()] == [["invoice"], ["score"]]
    assert all(one["compatible"] for one in got.values())


def test_inputs_from_two_runs_are_two_links_and_each_output_goes_to_one_run(tenant):
    register(tenant, "a", outputs=[field("x", "text")])
    register(tenant, "b", outputs=[field("y", "text")])
    register(tenant, "both", inputs=[field("x", "text"), field("y", "text"), field("z")])
    run(tenant, 1, "a", 0, 5)
    run(tenant, 2, "b", 1, 6)
    run(tenant, 3, "both", 7, 9)
    got = edges(workflow(tenant))
    assert [(key, one["provides"], one["missing"]) for key, one in got.items()] == [
        ((1, 3), ["x"], ["z"]), ((2, 3), ["y"], ["z"]),
    ]  # fmt: skip
    register(tenant, "taker", inputs=[field("x", "text")])
    for number, agent, start in ((11, "a", 0), (12, "a", 1), (13, "taker", 10), (14, "taker", 11)):
        run(tenant, number, agent, start, start + 5, workflow="pairs")
    assert set(edges(workflow(tenant, "pairs"))) == {(12, 13), (11, 14)}


def test_workflows_are_listed_the_latest_first(tenant):
    run(tenant, 1, "a", 0, 5, workflow="old")
    run(tenant, 2, "b", 6, 9, workflow="old")
    run(tenant, 3, "b", 100, 110, event="failed", workflow="new")
    run(tenant, 4, "a", 120, workflow="new")
    run(tenant, 5, "a", 130, 140, workflow=None)

    def listed(query=""):
        answer = tenant.client.get(tenant.path(f"workflows{query}"))
        assert answer.status == 200, answer.body
        return answer.json()

    got = listed()
    assert got == {
        "workflows": [
            {"workflow_run_id": "new", "status": "failed", "started_at": at(100), "ended_at": None,
             "runs": 2, "failed": 1, "truncated": False, "agents": ["b", "a"]},
            {"workflow_run_id": "old", "status": "completed", "started_at": at(0),
             "ended_at": at(9), "runs": 2, "failed": 0, "truncated": False, "agents": ["a", "b"]},
        ],
        "more": False,
        "examined_since": None,
    }  # fmt: skip
    got = listed("?limit=1")
    assert ([one["workflow_run_id"] for one in got["workflows"]], got["more"]) == (["new"], True)
    (late,) = listed(f"?since={quote(at(120))}")["workflows"]
    assert late["runs"] == 2  # all of its runs, also those before
    assert listed(f"?until={quote(at(50))}")["workflows"][0]["workflow_run_id"] == "old"


def test_a_workflow_of_very_many_runs_is_cut(tenant):
    events = [
        {"run_id": run_id(i), "timestamp": at(i), "workflow_run_id": "w"} for i in range(1001)
    ]
    send(tenant, *events[:1000])
    got = workflow(tenant)
    assert (len(got["runs"]), len(got["links"]), got["truncated"]) == (1000, 999, False)
    send(tenant, events[1000])
    got = workflow(tenant)
    assert (len(got["runs"]), got["truncated"], got["links_truncated"]) == (1000, True, False)
    assert got["runs"][-1]["run_id"] == run_id(999)


def test_very_many_links_are_cut_and_the_runs_are_not(tenant):
    def layer(first, start):
        """75 runs at a time: each follows all of the layer before."""
        runs = [{"run_id": run_id(first + i), "workflow_run_id": "w"} for i in range(75)]
        send(tenant, *[{**one, "timestamp": at(start)} for one in runs])
        send(tenant, *[{**one, "timestamp": at(start + 1), "event": "completed"} for one in runs])

    layer(0, 0)
    assert workflow(tenant)["links_truncated"] is False
    layer(100, 10)
    got = workflow(tenant)
    assert (got["truncated"], got["links_truncated"]) == (False, True)
    assert (len(got["runs"]), len(got["links"])) == (150, 4950)  # 66 runs with 75 each
    reached = {link["to"]["run_id"] for link in got["links"]}
    order = [one["run_id"] for one in got["runs"]]
    assert reached == set(order[75 : 75 + len(reached)])  # those of the latest runs are left out
    assert len(reached) == 66


def test_the_status_of_very_many_runs_is_that_of_the_newest_too(tenant):
    def summary():
        (one,) = tenant.client.get(tenant.path("workflows")).json()["workflows"]
        got = workflow(tenant)
        assert (got["status"], got["started_at"], got["ended_at"]) == (
            one["status"], one["started_at"], one["ended_at"],
        )  # fmt: skip
        return one

    def ended(first, n):
        common = {"event": "completed", "workflow_run_id": "w"}
        send(tenant, *[
            {"run_id": run_id(i), "timestamp": at(i), **common} for i in range(first, first + n)
        ])  # fmt: skip

    ended(0, 999)
    one = summary()
    assert (one["runs"], one["truncated"], one["started_at"]) == (999, False, at(0))
    ended(999, 1)
    ended(1000, 1)
    one = summary()
    assert (one["status"], one["runs"], one["failed"]) == ("completed", 1000, 0)
    assert (one["truncated"], one["started_at"], one["ended_at"]) == (True, at(0), at(1000))
    run(tenant, 2000, "late", 2000)
    assert (summary()["status"], summary()["ended_at"]) == ("in_progress", None)
    run(tenant, 2000, "late", 2000, 2001, event="failed")
    one = summary()
    assert (one["status"], one["failed"], one["ended_at"]) == ("failed", 1, at(2001))
    assert "late" in one["agents"]


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
