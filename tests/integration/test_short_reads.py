"""Short reads are answered by the loop that has the request, and do not keep it from others."""

import uuid

import pytest
from conftest import running
from exposition import read, value
from waiting import until

TOKEN = "a-token-for-scrapers"
RUN = "3f2b8c1e-9a4d-4e6f-8b7a-000000000001"
WORKFLOW = "3f2b8c1e-9a4d-4e6f-8b7a-000000000002"
TRIES = 5
MANY = 400  # of them fit into what a loop reads at once


@pytest.fixture(scope="module")
def tenant(store, tmp_path_factory):
    """Of a server with one run, whose metrics a token gives."""
    folder = tmp_path_factory.mktemp("short")
    with running(store, folder, environment={"MUSTER_METRICS_TOKEN": TOKEN}) as server:
        tenant = server.add_tenant()
        event = tenant.event(agent_name="a", run_id=RUN, workflow_run_id=WORKFLOW)
        assert tenant.client.post("/api/v1/telemetry", event).status == 202
        yield tenant


def begun(tenant):
    """How many reads a loop began, whether it came to their end or not."""
    seen = read(tenant.server.client(TOKEN).get("/metrics").body.decode())
    return value(seen, "muster_reads_here_total")


def is_begun(tenant, path, status=200):
    before = begun(tenant)
    assert tenant.client.get(path).status == status
    return begun(tenant) - before == 1


@pytest.mark.parametrize(
    ("path", "status"),
    [
        ("dashboard/runs", 200),
        ("dashboard/runs?limit=100", 200),
        ("dashboard/runs?agent_name=a", 200),
        (f"dashboard/runs?workflow_run_id={WORKFLOW}", 200),
        (f"runs/{RUN}/events", 200),
        (f"runs/{WORKFLOW}/events", 404),
    ],
)
def test_a_bounded_page_and_what_has_a_key_are_short(tenant, store, path, status):
    if store == "sqlite":  # a loop that was kept from it for long leaves it to a reader: again
        until(lambda: is_begun(tenant, tenant.path(path), status))
    else:
        assert not is_begun(tenant, tenant.path(path), status)


@pytest.mark.parametrize(
    "path",
    [
        "dashboard/runs?limit=101",
        "dashboard/runs?include_steps=true",
        "dashboard/runs?status=failed",
        f"dashboard/runs?agent_name=a&workflow_run_id={WORKFLOW}",
        "agents",
        "agents/a",
    ],
)
def test_what_may_take_long_is_not(tenant, path):
    assert not any(is_begun(tenant, tenant.path(path)) for _ in range(TRIES))


def test_documents_are_not_either(tenant):
    path = "/api/v1/agents/document?agent_name=a"
    assert not any(is_begun(tenant, path, 404) for _ in range(TRIES))


def results(tenant):
    seen = read(tenant.server.client(TOKEN).get("/metrics").body.decode())
    return [value(seen, "muster_reads_here_total", result=r) for r in ("done", "passed_on")]


@pytest.mark.parametrize(("events", "length"), [(4, 16000), (101, 10)])
def test_a_long_story_is_left_to_a_reader(tenant, store, events, length):
    if store != "sqlite":
        return  # all are
    run_id = str(uuid.uuid4())
    told = [
        tenant.event(agent_name="a", run_id=run_id, seq=i, message=f"{i}".ljust(length, "x"))
        for i in range(events)
    ]
    assert tenant.client.post("/api/v1/telemetry/batch", {"events": told}).status == 202
    messages = [event["message"] for event in told]

    def is_passed_on():
        done, passed_on = results(tenant)
        answer = tenant.client.get(tenant.path(f"runs/{run_id}/events"))
        assert [event["message"] for event in answer.json()["events"]] == messages
        now_done, now_passed_on = results(tenant)
        assert now_done == done
        return now_passed_on == passed_on + 1

    until(is_passed_on)


def test_many_requests_at_once_do_not_hold_a_loop(tenant):
    before = begun(tenant)
    request = (
        f"GET {tenant.path('dashboard/runs')} HTTP/1.1\r\nHost: x\r\n"
        f"Authorization: Bearer {tenant.token}\r\n\r\n"
    )
    assert len(request) * MANY < 65536
    came = tenant.server.raw(request.encode() * MANY)
    assert came.count(b"HTTP/1.1 200 OK\r\n") == came.count(RUN.encode()) == MANY
    assert begun(tenant) - before < MANY  # now and then one was left to a reader
