"""Several nodes on one PostgreSQL: single events, batches, and agents that report for the first time.

All nodes, the database and the senders share the machine's cores. So a rate says what all of them do
together, and the processor time of an event whose it is.
"""

from contextlib import ExitStack, contextmanager
from statistics import median

from common import BATCH, Row, check_all_accepted
from quota import Quota, root
from servers import Muster, Node, Postgres, programs

NODES = (1, 2, 3)
CONNECTIONS = 64  # of single events, over all nodes
SMALL_NODE = 0.1  # of a processor; the database then has the rest of two to spare for three of them
TENANTS = 6  # of which agents come that no one knows


@contextmanager
def cluster(n):
    """A database and `n` nodes on it."""
    with ExitStack() as stack:
        database = stack.enter_context(Postgres())
        first = stack.enter_context(Muster(database=database.url))
        others = [stack.enter_context(Node(first, database.url)) for _ in range(n - 1)]
        yield database, [first, *others]


def loaded(database, nodes, loads):
    """What the loads, which run at the same time, did together; `cpu_us` of an event by whose it is."""
    before = {"muster": [node.cpu_seconds() for node in nodes], "PostgreSQL": [database.cpu_seconds()]}
    results = programs("load", loads)
    for result in results:
        check_all_accepted(result)
    events = sum(result["events"] for result in results)
    after = {"muster": [node.cpu_seconds() for node in nodes], "PostgreSQL": [database.cpu_seconds()]}
    spent = {who: sum(after[who]) - sum(before[who]) for who in before}
    spent["senders"] = sum(result["cpu_s"] for result in results)
    return {"rate": sum(result["events_per_s"] for result in results),
            "cpu_us": {who: 1e6 * seconds / events for who, seconds in spent.items()}}  # fmt: skip


def of_kind(plan, kind, n, round_number):
    with cluster(n) as (database, nodes):
        if kind == "single events":
            options = {"connections": CONNECTIONS // n, "seconds": plan.seconds}
        else:
            options = {**BATCH, "connections": max(1, BATCH["connections"] // n),
                       "count": plan.postgres_events // n}  # fmt: skip
        loads = [node.load_flags({**options, "seed": 1 + i + 10 * round_number})
                 for i, node in enumerate(nodes)]  # fmt: skip
        return loaded(database, nodes, loads)


def cpu_of(measure, rounds):
    for who in rounds[0]["cpu_us"]:
        each = [done["cpu_us"][who] for done in rounds]
        yield Row(f"CPU of {who} for {measure}", median(each), "us", "", True, rounds={who: each})


def compared_nodes(plan, kind, bar):
    rounds = {n: [] for n in NODES}
    for i in range(plan.rounds):
        for n in NODES:
            rounds[n].append(of_kind(plan, kind, n, i))
    rates = {n: median(done["rate"] for done in rounds[n]) for n in NODES}
    for n in NODES[1:]:
        ratio = rates[n] / rates[1]
        yield Row(f"PostgreSQL: {kind}, {n} nodes against one", rates[n], "events/s", f">= {bar}",
                  ratio >= bar, rates[1], ratio, {str(k): v for k, v in rounds.items()})  # fmt: skip
    for n in NODES:
        what = "a single event" if kind == "single events" else "an event of a batch"
        yield from cpu_of(f"{what}, {n} node{'s' if n > 1 else ''}", rounds[n])


def nodes_single(plan):
    """The machine is full with one node; another must not make it slower."""
    yield from compared_nodes(plan, "single events", 0.9)


def nodes_batch(plan):
    yield from compared_nodes(plan, "batches of 500", 0.9)


def of_small_nodes(plan, kind, n, round_number):
    """Each has senders of its own, as another machine would."""
    if kind == "single events":
        options = {"connections": CONNECTIONS // max(NODES), "seconds": plan.seconds}
    else:
        options = {"connections": 4, "batch": 500, "count": plan.postgres_events // max(NODES)}
    with cluster(n) as (database, nodes), ExitStack() as stack:
        for node in nodes:
            stack.enter_context(Quota(SMALL_NODE)).add(node.process.pid)
        loads = [node.load_flags({**options, "seed": 1 + i + 10 * round_number})
                 for i, node in enumerate(nodes)]  # fmt: skip
        return loaded(database, nodes, loads)


def nodes_spare(plan):
    """Nodes on machines so small that the database has processors to spare: each adds what one does."""
    if root() is None:
        print("bench: nodes with a part of a processor are left out: no control group can be made here")
        return
    for kind in ("single events", "batches of 500"):
        rounds = {n: [] for n in NODES}
        for i in range(plan.rounds):
            for n in NODES:
                rounds[n].append(of_small_nodes(plan, kind, n, i))
        rates = {n: median(done["rate"] for done in rounds[n]) for n in NODES}
        for n, bar in ((2, 1.5), (3, 2)):
            ratio = rates[n] / rates[1]
            yield Row(f"PostgreSQL: {kind}, {n} nodes of a tenth of a processor against one", rates[n],
                      "events/s", f">= {bar}", ratio >= bar, rates[1], ratio,
                      {str(k): v for k, v in rounds.items()})  # fmt: skip


def first_contact(plan):
    """Agents that report for the first time, of six tenants, on three nodes."""
    rounds = []
    for i in range(plan.rounds):
        with cluster(3) as (database, nodes):
            tokens = {}
            for t in range(TENANTS):
                slug = f"new-{t}"
                nodes[0].admin("tenant", "add", slug, "--rate-limit", "1000000000",
                               "--max-agents", "100000000")  # fmt: skip
                tokens[slug] = nodes[0].admin("key", "add", "--tenant", slug)
            loads = [
                ["--port", node.port, "--token", token, "--tenant", slug, "--connections", 4,
                 "--seconds", plan.seconds, "--new-agents", 1, "--seed", 1 + 10 * i + n]
                for n, node in enumerate(nodes)
                for slug, token in tokens.items()
            ]  # fmt: skip
            rounds.append(loaded(database, nodes, loads))
    rate = median(done["rate"] for done in rounds)
    yield Row("PostgreSQL: first contacts of agents, 6 tenants, 3 nodes", rate, "agents/s", ">= 1,000",
              rate >= 1000, rounds={"rounds": rounds})  # fmt: skip
    yield from cpu_of("a first contact", rounds)
