"""Events on Citus, one coordinator and two workers: what each part spends on one, by the servers that
nodes use. Left out where Citus is neither installed nor named by CITUS_SOURCE.

The cluster runs as long as a process of its own does (tests/cluster/with_citus), which measures and
prints what it found: that is this file as a command.
"""

import json
import os
import re
import subprocess
import sys
from contextlib import ExitStack
from statistics import median

from common import Row, check_all_accepted
from servers import MUSTER, ROOT, Muster, Node, cluster_cpu_seconds, programs

ABSENT = 77  # the exit status of with_citus then
TENANTS = 4  # so that both workers have some
AGENTS = 20_000  # that a tenant has before agents report for the first time
FIRST = "a first contact"
KINDS = {"a single event": {"connections": 16}, "an event of a batch of 500": {"connections": 2, "batch": 500},
         FIRST: {"connections": 4, "new-agents": 1}}  # fmt: skip
PLACES = {"one node at the coordinator": [0], "two nodes at the workers": [1, 2]}  # servers by number


def citus(plan):
    beside = ROOT / "tests/cluster/with_citus"
    status = subprocess.run([beside, "true"], check=False).returncode
    if status == ABSENT:
        print("citus: the rows of Citus are left out", file=sys.stderr)
        return
    if status != 0:
        raise SystemExit("citus: it is installed or its source is given, but it does not start")
    command = [beside, sys.executable, "-B", __file__, str(plan.rounds), str(int(plan.seconds))]
    given = {**os.environ, "MUSTER_TEST_BINARY": str(MUSTER)}
    done = subprocess.run(command, stdout=subprocess.PIPE, text=True, env=given, check=True)
    for what, rounds in json.loads(done.stdout.splitlines()[-1]).items():
        yield Row(f"Citus: {what}", median(done["rate"] for done in rounds), "events/s", "", True,
                  rounds={"rounds": rounds})  # fmt: skip
        for who in rounds[0]["cpu_us"]:
            each = [done["cpu_us"][who] for done in rounds]
            yield Row(f"CPU of {who} for {what}", median(each), "us", "", True, rounds={who: each})


def at_server(url, server):
    """The URL of the same database at another server: 0 is the coordinator, the others are workers."""
    if server == 0:
        return url
    host = re.match(r"\w+://[^/?]*", os.environ["MUSTER_TEST_CITUS"].split()[server - 1]).group()
    return re.sub(r"^\w+://[^/?]*", host, url)


def spent(nodes):
    pids = os.environ["MUSTER_TEST_CITUS_PIDS"].split()
    return {"muster": sum(node.cpu_seconds() for node in nodes),
            "the coordinator": cluster_cpu_seconds(pids[0]),
            "the workers": sum(cluster_cpu_seconds(pid) for pid in pids[1:])}  # fmt: skip


def add_agents(url):
    """As many to each tenant, past the service."""
    from postgres import run_sql

    run_sql(url, "INSERT INTO agents (tenant_id, agent_name, enabled, first_seen_at, agent_id)"
            " OVERRIDING SYSTEM VALUE SELECT t.tenant_id, 'old-' || i, 1, 1, i"
            f" FROM tenants t, generate_series(1, {AGENTS}) i", "VACUUM ANALYZE agents")  # fmt: skip


def measured(url, servers, options):
    with ExitStack() as stack:
        first = stack.enter_context(Muster(database=at_server(url, servers[0])))
        nodes = [first, *(stack.enter_context(Node(first, at_server(url, s))) for s in servers[1:])]
        loads = []
        for t in range(TENANTS):
            slug = f"citus-{t}"
            first.admin("tenant", "add", slug, "--rate-limit", "1000000000", "--max-agents", "100000000")
            token = first.admin("key", "add", "--tenant", slug)
            flags = [x for k, v in {**options, "seed": 1 + t}.items() for x in (f"--{k}", v)]
            loads.append(["--port", nodes[t % len(nodes)].port, "--token", token, "--tenant", slug, *flags])
        if "new-agents" in options:
            add_agents(url)
        before, results = spent(nodes), programs("load", loads)
        for result in results:
            check_all_accepted(result)
        after, events = spent(nodes), sum(result["events"] for result in results)
        return {"rate": sum(result["events_per_s"] for result in results),
                "cpu_us": {who: 1e6 * (after[who] - before[who]) / events for who in before}}  # fmt: skip


def main():
    rounds, seconds = int(sys.argv[1]), int(sys.argv[2])
    sys.path.append(str(ROOT / "tests/integration"))
    from muster import Postgres

    found = {}
    for _ in range(rounds):
        for kind, options in KINDS.items():
            for place, servers in PLACES.items():
                postgres = Postgres()
                url = postgres.create_migrated()
                done = measured(url, servers, {**options, "seconds": seconds})
                found.setdefault(f"{kind}, {place}", []).append(done)
                postgres.drop(url)
    print(json.dumps(found))


if __name__ == "__main__":
    main()
