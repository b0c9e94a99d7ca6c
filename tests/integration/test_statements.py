"""How many statements a page costs with PostgreSQL: as many for few rows as for many. And in how many
turns an event is stored.

Each turn is a round trip to the database, and it may be in another building.
"""

import uuid
from datetime import datetime, timedelta, timezone

import pytest
from postgres import is_distributed
from relay import counted_server
from waiting import until

FEW, MANY = 5, 120
PARTS = 90  # a tenant may have 100 open invitations
EVENTS = 300
STRAY = 20  # that the service runs now and then; a page that grew would have MANY more
ROTATIONS = 9  # one less than the key may have in an hour
TURNS = 13  # of the writer, and of the reader and the watcher that load the change
T0 = datetime(2025, 1, 2, 3, 4, 5, tzinfo=timezone.utc)


def events(tenant):
    """A run with two steps for each of many agents, in a workflow of its own."""
    for number in range(MANY):
        run, workflow = str(uuid.uuid4()), str(uuid.uuid4())
        at = (T0 + timedelta(seconds=number)).isoformat()
        for seq, event in enumerate(("started", "in_progress", "in_progress", "completed")):
            yield tenant.event(agent_name=f"agent-{number:04}", run_id=run, event=event, seq=seq,
                               workflow_run_id=workflow, timestamp=at, message=f"step {seq}")  # fmt: skip


@pytest.fixture(name="served", scope="module")
def counted_and_relay(store, tmp_path_factory):
    if store != "postgres":
        pytest.skip("a statement of SQLite is no round trip")
    with counted_server(tmp_path_factory.mktemp("counted")) as served:
        served[1].learn_ticks()
        yield served


@pytest.fixture(name="counted", scope="module")
def counted_tenant(served):
    server, relay = served
    tenant = server.add_tenant("--max-agents", str(MANY))
    answer = tenant.client.post("/api/v1/telemetry/batch", {"events": list(events(tenant))})
    assert answer.status == 202, answer.body
    tenant.relay = relay
    yield tenant
    tenant.client.close()


def test_plans_of_reports_are_kept_but_on_citus_whose_servers_make_them(counted):
    """Citus could not tell where a statement goes to without its arguments."""

    def kept():
        return counted.relay.runs_of("force_generic_plan")

    def report():
        event = counted.event(agent_name="agent-0000")
        assert counted.client.post("/api/v1/telemetry", event).status == 202

    for _ in range(20):
        report()
    if is_distributed():
        assert counted.relay.runs_of("BEGIN") > 20, "the relay sees nothing"
        assert kept() == 0
    else:
        until(lambda: report() or kept())


PAGES = {
    "agents by name": ("agents", "include_runs=true"),
    "agents by rank": ("agents", "order=trouble&include_runs=true"),
    "runs with steps": ("dashboard/runs", "include_steps=true"),
    "runs by cost": ("dashboard/runs", "order=cost&include_cost=true"),
    "workflows": ("workflows", "since=2025-01-01T00:00:00Z"),
}


@pytest.mark.parametrize("page", PAGES)
def test_a_page_of_many_rows_takes_as_many_statements_as_one_of_few(counted, page):
    what, query = PAGES[page]

    def cost(limit):
        before = counted.relay.statements
        answer = counted.client.get(counted.path(f"{what}?limit={limit}&{query}"))
        assert answer.status == 200, answer.body
        assert len(answer.json()[what.rpartition("/")[2]]) == limit
        return counted.relay.statements - before

    cost(FEW)  # what is prepared once
    few, many = cost(FEW), cost(MANY)
    assert few > 0, "the relay counts nothing"
    assert many <= few + STRAY


def test_the_starts_of_workflows_with_very_many_runs_take_one_statement(served):
    """Of those only the newest runs are counted, so that when they started is asked for."""
    server, relay = served
    tenant = server.add_tenant()
    ids = [str(uuid.uuid4()) for _ in range(3)]
    for workflow in ids:
        for hour, n in enumerate((1, 500, 500)):
            at = (T0 + timedelta(hours=hour)).isoformat()
            runs = [tenant.event(workflow_run_id=workflow, timestamp=at) for _ in range(n)]
            answer = tenant.client.post("/api/v1/telemetry/batch", {"events": runs})
            assert answer.status == 202, answer.body
    before = relay.runs_of("ORDER BY r.start_at LIMIT 1")
    listed = tenant.client.get(tenant.path("workflows?since=2025-01-01T00:00:00Z")).json()["workflows"]
    assert {one["workflow_run_id"] for one in listed} == set(ids)
    assert all((one["truncated"], one["started_at"]) == (True, "2025-01-02T03:04:05Z") for one in listed)
    assert relay.runs_of("ORDER BY r.start_at LIMIT 1") - before == 1
    tenant.client.close()


class Parts:
    """A tenant with as many as it is told of what a single answer has: agents of a workflow and of a KPI,
    parameters of an agent, each with a secret, KPIs with a text, and invitations."""

    workflow = "00000000-0000-4000-8000-000000000001"

    def __init__(self, server, n):
        self.n, self.tenant = n, server.add_tenant("--max-agents", str(n + 1))
        self.client, self.admin = self.tenant.client, server.admin
        self.agent = self.tenant.agent_client("agent-0000")
        self.declare()
        self.report()
        for i in range(n):
            body = {"email": f"{self.tenant.slug}-{i}@example.com", "role": "member"}
            self.send(self.admin, "POST", self.tenant.path("invitations"), body, 201)

    @staticmethod
    def send(client, method, path, body, status):
        answer = client.request(method, path, body)
        assert answer.status == status, answer.body

    def declare(self):
        params = [{"key": f"p{i}", "value_type": "string", "default": "d"} for i in range(self.n)]
        kpis = [{"key": f"text-{i}", "label": "T", "unit": "", "agg": "last"} for i in range(self.n)]
        body = {"agent_name": "agent-0000", "config_schema": {"params": params}, "business_kpis": kpis}
        self.send(self.client, "POST", "/api/v1/agents/register", body, 200)
        for i in range(self.n):
            path, value = self.tenant.path(f"agents/agent-0000/values/p{i}"), {"value": f"vault:S{i}"}
            self.send(self.admin, "PUT", self.tenant.path(f"secrets/S{i}"), {"value": f"v{i}"}, 200)
            self.send(self.admin, "PUT", path, value, 200)

    def report(self):
        """A run of each agent, on a day of its own, with KPIs that all of them have, and one that it alone has."""
        now = datetime.now(timezone.utc)
        for i in range(self.n):
            agent, at = f"agent-{i:04}", (now - timedelta(days=i)).isoformat()
            event = self.tenant.event(agent_name=agent, workflow_run_id=self.workflow, timestamp=at)
            self.send(self.client, "POST", "/api/v1/telemetry", event, 202)
            business = {"agent_name": agent, "run_id": event["run_id"], "timestamp": at,
                        "metrics": {"shared": i, f"text-{i}": f"as of {i}", "state": f"{i} waiting"}}  # fmt: skip
            self.send(self.client, "POST", "/api/v1/telemetry/business", business, 202)

    def config(self):
        answer = self.agent.get("/api/v1/agents/config?agent_name=agent-0000")
        return answer, lambda body: [value for value in body.values() if value.startswith("v")]

    def read(self, path, rows, client=None):
        return (client or self.client).get(self.tenant.path(path)), rows

    def series_of_agents(self):
        return self.read("business/series?key=shared&bucket=day&time_range=all", lambda body: body["points"])

    def series_of_texts(self):
        return self.read("business/series?key=state&bucket=day&time_range=all", lambda body: body["points"])

    def summary_of_texts(self):
        def texts(body):
            return [row for row in body["kpis"] if row["key"].startswith("text-") and row["value"]]

        return self.read("business/summary?time_range=200d", texts)

    def values(self):
        return self.read("agents/agent-0000/values", lambda body: body["values"], self.admin)

    def agent_detail(self):
        return self.read("agents/agent-0000", lambda body: body["config_schema"]["params"])

    def workflow_runs(self):
        return self.read(f"workflows/{self.workflow}", lambda body: body["runs"])

    def invitations(self):
        return self.read("invitations", lambda body: body["invitations"], self.admin)

    def close(self):
        self.client.close()
        self.agent.close()


@pytest.fixture(name="sizes", scope="module")
def few_and_many_parts(served):
    made = [Parts(served[0], n) for n in (FEW, PARTS)]
    yield made
    for one in made:
        one.close()


@pytest.mark.parametrize("what", ["config", "series_of_agents", "series_of_texts", "summary_of_texts", "values",
                                  "agent_detail", "workflow_runs", "invitations"])  # fmt: skip
def test_an_answer_with_many_parts_takes_as_many_statements_as_one_with_few(served, sizes, what):
    def cost(parts):
        before = served[1].statements
        answer, rows = getattr(parts, what)()
        assert answer.status == 200, answer.body
        assert len(rows(answer.json())) == parts.n, answer.body
        return served[1].statements - before

    for parts in sizes:  # what is prepared once, and entered in the audit log once
        cost(parts)
    few, many = (cost(parts) for parts in sizes)
    assert few > 0, "the relay counts nothing"
    assert many <= few + STRAY, f"{few} statements for {FEW}, {many} for {PARTS}"


def test_an_event_of_a_run_that_is_known_is_stored_in_two_turns(counted):
    """On Citus in three: the commit has its own, so that one that does not return is known for it."""
    run = str(uuid.uuid4())

    def turns(event):
        before = counted.relay.turns
        answer = counted.client.post("/api/v1/telemetry", counted.event(agent_name="agent-0000", run_id=run, event=event))
        assert answer.status == 202, answer.body
        return counted.relay.turns - before

    turns("started")
    # The least of them: of the others plans are made again, or the service does something by itself.
    assert min(turns("in_progress") for _ in range(EVENTS)) == 2 + is_distributed()


def test_a_rotated_key_takes_few_turns_and_loads_no_models_and_policies(counted):
    """Those of all tenants would be loaded by every node, for every key that any tenant rotates."""
    client = counted.server.client(counted.token)

    def loaded():
        return counted.relay.runs_of("FROM agent_models", "FROM command_policies")

    def turns():
        assert client.get("/api/v1/limits").status == 200  # the key was used
        before = counted.relay.turns
        answer = client.post("/api/v1/agents/refresh-key")
        assert answer.status == 200, answer.body
        client.token = answer.json()["token"]
        return counted.relay.turns - before

    turns()
    before = loaded()
    assert before > 0, "the relay sees nothing"
    least = min(turns() for _ in range(ROTATIONS))  # both writers have prepared their statements
    client.close()
    assert loaded() == before
    assert least <= TURNS + is_distributed()
