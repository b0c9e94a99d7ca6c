"""A whole cluster: database servers, three nodes and HAProxy; what is killed comes back by itself.

A killed primary is fenced, its standby promoted, and a new standby made; if the standby is gone too,
the primary starts again. Nodes, workers and standbys start again after a while on what they had.
Anything may be killed while something else comes back: what fails for it is tried again.
"""

import os
import subprocess
import tempfile
import time
from contextlib import contextmanager
from pathlib import Path
from types import SimpleNamespace

from balancer import Balancer
from muster import Postgres, Server, Trouble
from servers import Citus, Pair, environment, kept_environment, plain, start_again
from standbys import catch_up
from waiting import until

NODES = 3
METRICS_TOKEN = "who-may-know-the-tenants"
DOWN_S = 5  # so that one can see what the others do meanwhile

KILL = """\
#!/bin/sh
# Ends one process of the cluster as a power cut would: kill -9.
cd "{pids}" || exit 1
[ -f "${{1:-}}" ] || {{ echo "usage: $0 $(ls | tr '\\n' '|' | sed 's/|$//')" >&2; exit 2; }}
exec kill -9 "$(cat "$1")"
"""


class Cluster:
    """With Citus, `beside` says which server each node uses: 0 is the coordinator."""

    def __init__(self, citus=False, say=print, down_s=DOWN_S, beside=(0,) * NODES):
        self.say, self.down_s, self.beside = say, down_s, beside
        self.folder = Path(tempfile.mkdtemp(prefix="muster-cluster-"))
        self.databases = Citus() if citus else Pair()
        self.citus, self.nodes, self.balancer, self.reads = citus, [], None, None
        self.away = {}  # by name: when it is to come back

    def start(self):
        urls = self.databases.start()
        first, workers = (urls[0], urls[1:]) if self.citus else (urls, [])
        os.environ.update(environment(self.databases.programs, first, workers))
        url = Postgres().create()
        if not self.citus:
            catch_up(self.databases)  # from a standby that has no such database libpq does not go on
            url = self.databases.url(url.rsplit("/", 1)[1])
        self.reads = SimpleNamespace(database=f"{url}?target_session_attrs=read-write")
        ports = [plain.free_port() for _ in range(NODES + 1)]
        if self.citus:
            self._node(1, url, ports).cli("cluster", "enable")
        of_servers = [f"{server.rsplit('/', 1)[0]}/{url.rsplit('/', 1)[1]}" for server in (first, *workers)]
        used = [of_servers[server] for server in self.beside] if self.citus else [url] * NODES
        self.nodes = [self._node(n, used[n - 1], ports) for n in range(1, NODES + 1)]
        for node in self.nodes:
            node.start()
        addresses = [node.address for node in self.nodes]
        self.balancer = Balancer(self.folder, ports[0], addresses).start()
        self._write_pids()
        script = self.folder / "kill"
        script.write_text(KILL.format(pids=self.folder / "pids"))
        script.chmod(0o755)
        return self

    def _node(self, number, url, ports):
        """All have one master key, that of the first."""
        key = self.folder / "node-1" / "master.key"
        more = {"MUSTER_MASTER_KEY_FILE": str(key)} if number > 1 else {}
        return Server(
            self.folder / f"node-{number}", url,
            arguments=["--listen", f"127.0.0.1:{ports[number]}", "--trusted-proxies", "127.0.0.1"],
            environment={"LD_PRELOAD": "", "MUSTER_PUBLIC_URL": f"http://127.0.0.1:{ports[0]}",
                         "MUSTER_METRICS_TOKEN": METRICS_TOKEN, **more},
        )  # fmt: skip

    def named(self):
        """Every process that may be killed, by name."""
        found = {f"node-{i}": node.process for i, node in enumerate(self.nodes, 1)}
        names = ["coordinator", "worker-1", "worker-2"] if self.citus else ["primary", "standby"]
        for name, server in zip(names, self.databases.servers, strict=True):
            found[name] = server.process
        return found

    def kill(self, name):
        subprocess.run([self.folder / "kill", name], check=True)

    def _write_pids(self):
        pids = self.folder / "pids"
        pids.mkdir(exist_ok=True)
        for name, process in self.named().items():
            new = self.folder / "pid"
            new.write_text("" if process is None else str(process.pid))
            new.rename(pids / name)

    def look(self):
        """Brings back what has ended, some time after; the standby takes over at once."""
        for name, process in self.named().items():
            if process is not None and process.poll() is None:
                continue
            if name not in self.away:
                self.say(f"{name} was killed")
                self.away[name] = time.monotonic() + self.down_s
                if name == "primary" and self._fail_over():
                    return
            if time.monotonic() >= self.away[name] and self._bring_back(name):
                del self.away[name]
                self._write_pids()
                self.say(f"{name} is back")

    def _fail_over(self):
        """Whether the standby is the primary now. The new standby may be away."""
        began = time.monotonic()
        if not self.databases.promote():
            self.say("its standby is gone too: the primary will start again on what it has")
            return False
        took = time.monotonic() - began
        self.away = {name: at for name, at in self.away.items() if name.startswith("node-")}
        self.say(f"its standby is the primary since {took:.1f} s after")
        if self.databases.mend():
            self.say(f"a new standby, which commits wait for, since {time.monotonic() - began:.1f} s")
        else:
            self.away["standby"] = time.monotonic() + self.down_s
        self._write_pids()
        return True

    def _bring_back(self, name):
        if name.startswith("node-"):
            node = self.nodes[int(name[-1]) - 1]
            if node.process is not None:
                node.process.stdout.close()
                node.process = None
            try:
                node.start()
            except Trouble:  # its database is away
                return False
            return True
        if name == "standby":
            return self.databases.mend()
        number = 0 if name in ("coordinator", "primary") else int(name[-1])
        return start_again(self.databases.servers[number])

    def healed(self):
        """Everything runs and the balancer reaches a node that is well."""
        self.look()
        return not self.away and self.balancer.answers()

    def stop(self):
        for node in self.nodes:
            if node.process is not None:
                node.process.kill()
                node.process.wait()
        if self.balancer is not None:
            self.balancer.stop()
        self.databases.stop()
        subprocess.run(["rm", "-rf", "--", self.folder], check=False)

    def tenants(self, count):
        """New ones, whose keys every node knows."""
        made = [self.nodes[0].add_tenant("--max-agents", "1000") for _ in range(count)]
        for node in self.nodes:
            for tenant in made:
                until(lambda n=node, t=tenant: n.client(t.token).get("/api/v1/limits").status == 200)
        return made


@contextmanager
def running_cluster(**options):
    """One that says nothing; afterwards the environment is as before."""
    made = Cluster(say=lambda text: None, **options)
    with kept_environment():
        try:
            yield made.start()
        finally:
            made.stop()
