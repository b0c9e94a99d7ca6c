"""HAProxy before several nodes, as docs/SCALING.md sets it up: a node that is not healthy gets nothing."""

import http.client
import shutil
import subprocess
from pathlib import Path

from muster import ANSWER_S, Client
from waiting import until

# A node is asked twice a second; an answer that does not come, or a connection that is refused, takes
# it out at once. A request that reached no node goes to another one.
CONFIG = """\
global
    maxconn 1000
defaults
    mode http
    timeout connect 2s
    timeout client 60s
    timeout server 60s
    option forwardfor
    option redispatch 1
    retries 2
frontend people_and_agents
    bind 127.0.0.1:{port}
    default_backend nodes
backend nodes
    balance roundrobin
    option httpchk GET /api/v1/health
    default-server check inter 500ms fall 1 rise 1 observe layer4 error-limit 1 on-error mark-down
{servers}
"""


class Balancer:
    """Behaves as a node to those who send: it has clients."""

    def __init__(self, folder, port, addresses):
        self.address = ("127.0.0.1", port)
        servers = [f"    server node-{i} {host}:{at}" for i, (host, at) in enumerate(addresses, 1)]
        self.config = Path(folder) / "haproxy.cfg"
        self.config.write_text(CONFIG.format(port=port, servers="\n".join(servers)))
        self.process = None

    def start(self):
        program = shutil.which("haproxy", path="/usr/sbin:/usr/local/sbin:/usr/bin")
        assert program, "HAProxy is not installed: scripts/bootstrap cluster installs it"
        self.process = subprocess.Popen(
            [program, "-db", "-q", "-f", self.config], stdin=subprocess.DEVNULL,
            start_new_session=True,
        )  # fmt: skip
        until(self.answers)
        return self

    def answers(self):
        assert self.process.poll() is None, "HAProxy ended by itself"
        try:
            return self.client().get("/api/v1/health").status == 200
        except (OSError, http.client.HTTPException):
            return False

    def client(self, token=None):
        return Client(http.client.HTTPConnection(*self.address, timeout=ANSWER_S), token)

    def stop(self):
        if self.process is not None:
            self.process.kill()
            self.process.wait()
