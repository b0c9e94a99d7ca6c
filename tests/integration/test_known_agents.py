"""What a server remembers of agents: a change makes it look again at the agent that changed, and at no other."""

import pytest
from exposition import read, value
from muster import WATCHES, running
from nodes import in_threads, more_servers
from people import platform_admin
from postgres import is_distributed, run_sql
from stored import of_tenant
from waiting import until

AGENTS = [f"agent-{number}" for number in range(40)]
CHANGES = 12
EVENTS, AT_ONCE = 200, 4  # enough work for both writers of a node
WRITERS = {"sqlite": 1, "postgres": 2}  # each looks an agent up by itself


@pytest.fixture(name="nodes", scope="module")
def servers(store, tmp_path_factory):
    """Two with PostgreSQL; their administrator changes things at the first."""
    folder = tmp_path_factory.mktemp("known")
    with running(store, folder, environment={"MUSTER_METRICS_TOKEN": WATCHES}) as first:
        first.admin = platform_admin(first)
        with more_servers(first, folder, 1 if first.database else 0) as others:
            for node in (first, *others):
                node.writers = WRITERS[store]
            yield [first, *others]


def lookups(node):
    return int(value(read(node.metrics().decode()), "muster_agent_lookups_total"))


def looks_of_a_start(nodes):
    """On Citus a node looks at all agents again ten seconds and two minutes after it has loaded everything."""
    return 2 * nodes[0].writers * len(AGENTS) if is_distributed() else 0


def report(node, tenant, names):
    """How many of these agents' events were accepted."""
    events = {"events": [tenant.event(agent_name=name) for name in names]}
    answer = node.client(tenant.token).post("/api/v1/telemetry/batch", events)
    assert answer.status == 202, answer.body
    return answer.json()["accepted"]


def meet(nodes, tenant, names):
    """Every writer of each node comes to know these agents."""
    for node in nodes:
        before, events = lookups(node), names * (EVENTS // len(names))

        def all_have_met(node=node, before=before, events=events):
            in_threads([lambda: report(node, tenant, events)] * AT_ONCE)
            return lookups(node) - before >= node.writers * len(names)

        until(all_have_met)


def change(node, method, tenant, rest, body=None, status=200):
    path = f"/api/v1/tenants/{tenant.slug}{rest}"
    answer = node.admin.request(method, path, body)
    assert answer.status == status, answer.body
    return answer


def add_key(node, tenant):
    return change(node, "POST", tenant, "/keys", {"label": "k"}, 201)


def set_policy(node, tenant):
    change(node, "PUT", tenant, "/command-policy", {"mode": "deny_all"})


def set_plan(node, tenant):
    change(node, "PATCH", tenant, "", {"max_agents": 1000})


def disable_agent(node, tenant):
    change(node, "PATCH", tenant, "/agents/own", {"enabled": False})


def delete_agent(node, tenant):
    change(node, "DELETE", tenant, "/agents/own")
    report(node, tenant, ["own"])


def disable_no_agent(node, tenant):
    """Its transaction is rolled back."""
    change(node, "PATCH", tenant, "/agents/none", {"enabled": False}, 404)


def has_heard(node, tenant, answer):
    return node.client(answer.json()["token"]).get("/api/v1/limits").status == 200


@pytest.mark.parametrize(
    "work", [set_policy, disable_agent, delete_agent, disable_no_agent]
)
def test_changes_of_a_tenant_cause_no_lookups_of_another_tenants_agents(nodes, work):
    tenant, other = (nodes[0].add_tenant("--max-agents", "1000") for _ in range(2))
    report(nodes[0], other, ["own"])
    meet(nodes, tenant, AGENTS)
    before = [lookups(node) for node in nodes]
    for _ in range(CHANGES):
        work(nodes[0], other)
        for node in nodes * 2:  # by the writer that changed it, and by another
            assert report(node, tenant, AGENTS) == len(AGENTS)
    for node in nodes[1:]:  # has it heard of them?
        answer = add_key(nodes[0], other)
        until(lambda n=node, a=answer: has_heard(n, other, a))
        assert report(node, tenant, AGENTS) == len(AGENTS)
    for node, n in zip(nodes, before, strict=True):
        own = (1 + nodes[0].writers) * CHANGES if work is delete_agent else 0  # of "own", which reports
        assert lookups(node) - n <= own + looks_of_a_start(nodes)


def test_changes_leave_the_runs_that_are_remembered(nodes):
    (node, *others) = nodes
    if others:
        pytest.skip("its runs are counted with the embedded store only")
    tenant, other = (node.add_tenant() for _ in range(2))
    runs = [tenant.event()["run_id"] for _ in AGENTS]

    def misses():
        events = {"events": [tenant.event(run_id=run, event="in_progress") for run in runs]}
        assert tenant.client.post("/api/v1/telemetry/batch", events).json()["accepted"] == len(runs)
        return value(read(node.metrics().decode()), "muster_run_cache_total", result="miss")

    before = misses()
    for work in (add_key, set_policy, set_plan):
        work(node, other)
        now = misses()
        assert now - before < len(runs) // 2  # what the server does by itself may miss one
        before = now


def test_an_agent_that_changed_is_looked_up_again_and_those_beside_it_are_not(nodes):
    tenant, reports = nodes[0].add_tenant("--max-agents", "1000"), 0

    def has_heard_of(node, enabled):
        nonlocal reports
        reports += 1
        return report(node, tenant, AGENTS) == len(AGENTS) - (not enabled)

    meet(nodes, tenant, AGENTS)
    before = [lookups(node) for node in nodes]
    for enabled in (False, True) * (CHANGES // 2):
        change(nodes[0], "PATCH", tenant, f"/agents/{AGENTS[0]}", {"enabled": enabled})
        assert has_heard_of(nodes[0], enabled)
        for node in nodes[1:]:
            until(lambda n=node, e=enabled: has_heard_of(n, e))
    most = 2 * nodes[0].writers * CHANGES
    if is_distributed():  # it is looked up again every second
        most += reports + looks_of_a_start(nodes)
    for node, n in zip(nodes, before, strict=True):
        assert 0 < lookups(node) - n <= most


def test_on_citus_a_change_that_comes_after_its_number_is_seen_too(nodes):
    """Servers complete a commit one after the other: the one with the agent may be the last."""
    if not is_distributed():
        pytest.skip("the agent and the number of its change are on one server")
    tenant = nodes[0].add_tenant("--max-agents", "1000")
    meet(nodes, tenant, AGENTS)
    change(nodes[0], "PATCH", tenant, f"/agents/{AGENTS[0]}", {"enabled": True})
    answer = add_key(nodes[0], tenant)
    for node in nodes:
        until(lambda n=node: has_heard(n, tenant, answer))
        meet([node], tenant, AGENTS[:1])  # as it was before the change
    run_sql(
        nodes[0].database,
        f"UPDATE agents SET enabled = 0 WHERE agent_name = '{AGENTS[0]}' AND {of_tenant(tenant)}",
    )
    for node in nodes:
        until(lambda n=node: report(n, tenant, AGENTS) == len(AGENTS) - 1)


def test_an_agent_that_another_node_deleted_comes_back_as_a_new_one(nodes):
    tenant = nodes[0].add_tenant("--max-agents", "1")
    meet(nodes, tenant, ["a"])
    change(nodes[0], "DELETE", tenant, "/agents/a")
    assert report(nodes[0], tenant, ["b"]) == 1  # it has the place
    for node in nodes:
        until(lambda n=node: report(n, tenant, ["a"]) == 0)
    change(nodes[0], "PATCH", tenant, "", {"max_agents": 2})
    for node in nodes:
        until(lambda n=node: report(n, tenant, ["a"]) == 1)


def test_after_a_change_that_names_no_agent_all_are_looked_up(nodes):
    """As when more changes were made than are kept."""
    if not nodes[0].database:
        pytest.skip("one process has the embedded store")
    tenant = nodes[0].add_tenant("--max-agents", "1000")
    meet(nodes, tenant, AGENTS)
    run_sql(
        nodes[0].database,
        f"UPDATE agents SET enabled = 0 WHERE agent_name = '{AGENTS[0]}' AND {of_tenant(tenant)}",
        "UPDATE change_numbers SET number = number + 1 WHERE topic = 'registry'",
    )
    for node in nodes:
        until(lambda n=node: report(n, tenant, AGENTS) == len(AGENTS) - 1)
