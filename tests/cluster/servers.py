"""The database servers of a cluster, each in a temporary folder on a free port of 127.0.0.1.

Pair is a PostgreSQL with a synchronous standby, Citus a coordinator with workers. Both are gone
after stop(), whichever way what ran beside them ended.
"""

import contextlib
import importlib.machinery
import importlib.util
import os
import shutil
import signal
import subprocess
import time
from pathlib import Path

from citus_build import citus_bin

WORKERS = 2
CITUS_SETTINGS = {
    "shared_preload_libraries": "citus",
    "max_connections": 100,  # the default of PostgreSQL
    "max_worker_processes": 200,  # each database has one that tends it
    "citus.node_conninfo": "sslmode=disable",
    "wal_level": "logical",  # shards move by it
    "shared_buffers": "32MB",
    "max_wal_size": "256MB",
}
# For tests that make hundreds of databases, one after the other. Without them, shards and locks are those that an
# operator's cluster has if nothing is set.
MANY_DATABASES = {
    "max_connections": 300,
    "max_prepared_transactions": 300,
    "max_locks_per_transaction": 512,
    "citus.shard_count": 4,
    "citus.max_cached_conns_per_worker": 1,
}
PAIR_SETTINGS = {"max_connections": 100, "wal_level": "replica", "max_wal_senders": 8,
                 "hot_standby_feedback": "on"}  # fmt: skip
PROMOTE_SECONDS = 60


def _with_postgres():
    path = Path(__file__).resolve().parents[1] / "drivers/with_postgres"
    loader = importlib.machinery.SourceFileLoader("with_postgres", str(path))
    module = importlib.util.module_from_spec(importlib.util.spec_from_loader("with_postgres", loader))
    loader.exec_module(module)
    return module


plain = _with_postgres()


def port_of(url):
    return int(url.rsplit("/", 1)[0].rsplit(":", 1)[1])


def environment(programs, url, workers=()):
    """What tests/integration/muster.py and psql need to find the servers."""
    return {
        "PGSSLMODE": "disable", "PGGSSENCMODE": "disable",
        "PATH": f"{programs}:{os.environ.get('PATH', os.defpath)}",
        "MUSTER_TEST_POSTGRES": url, "MUSTER_TEST_CITUS": " ".join(workers),
    }  # fmt: skip


@contextlib.contextmanager
def kept_environment():
    kept = dict(os.environ)
    try:
        yield
    finally:
        os.environ.clear()
        os.environ.update(kept)


def start_again(server):
    """On the port and with the data that it had when it was killed; False if it ended once more."""
    fence(server)
    return server.listen(server.port)


def fence(server):
    """Ends what a killed PostgreSQL leaves behind: a session that goes on could still commit."""
    server.process.kill()
    server.process.wait()
    deadline = time.monotonic() + PROMOTE_SECONDS
    while left := [pid for pid in _pids() if _folder_of(pid) == os.path.realpath(server.data)]:
        assert time.monotonic() < deadline, f"processes of {server.data} do not end: {left}"
        for pid in left:
            with contextlib.suppress(ProcessLookupError):
                os.kill(pid, signal.SIGKILL)
        time.sleep(0.01)


def hang(server):
    """Its connections stay, and nothing answers, until resume()."""
    os.kill(server.process.pid, signal.SIGSTOP)  # first, so that it starts no others
    _signal_all(server, signal.SIGSTOP)


def resume(server):
    _signal_all(server, signal.SIGCONT)


def _signal_all(server, number):
    for pid in _pids():
        if _folder_of(pid) == os.path.realpath(server.data):
            with contextlib.suppress(ProcessLookupError):
                os.kill(pid, number)


def _pids():
    return [int(name) for name in os.listdir("/proc") if name.isdigit()]


def _folder_of(pid):
    with contextlib.suppress(OSError):
        return os.readlink(f"/proc/{pid}/cwd")
    return None


class Pair:
    """A primary and a standby; a commit is acknowledged when both have it."""

    def __init__(self):
        self.servers = [plain.Server(synced=False, settings=PAIR_SETTINGS) for _ in range(2)]
        self.programs = self.servers[0].bin

    @property
    def primary(self):
        return self.servers[0]

    @property
    def standby(self):
        return self.servers[1]

    def start(self):
        """The URL of the primary's database "postgres"."""
        url = self.primary.start()
        self.primary.port, self.standby.port = port_of(url), plain.free_port()
        # the standby takes the setting over; the primary reads it when there is somebody to wait for
        self._sql("ALTER SYSTEM SET synchronous_standby_names = '*'")
        if not self._copy():
            raise RuntimeError(f"no standby: {Path(self.standby.log).read_text()[-2000:]}")
        self._sql("SELECT pg_reload_conf()")
        return url

    def url(self, name):
        """Leads to whichever is the primary."""
        hosts = ",".join(f"127.0.0.1:{port}" for port in sorted(s.port for s in self.servers))
        return f"postgresql://muster@{hosts}/{name}"

    def _sql(self, statement):
        subprocess.run(
            [f"{self.programs}/psql", "-X", "-q", "-v", "ON_ERROR_STOP=1", "-c", statement,
             f"postgresql://muster@127.0.0.1:{self.primary.port}/postgres"],
            check=True, capture_output=True, timeout=60,
        )  # fmt: skip

    def _copy(self):
        """Makes the standby anew from the primary; False if one of them ended meanwhile."""
        standby = self.standby
        shutil.rmtree(standby.data, ignore_errors=True)
        source = (f"postgresql://muster@127.0.0.1:{self.primary.port}/postgres"
                  "?application_name=standby&sslmode=disable")  # fmt: skip
        copied = subprocess.run(
            [f"{self.programs}/pg_basebackup", "-D", standby.data, "-d", source, "-R",
             "-X", "stream", "-c", "fast", "--no-sync"],
            check=False, capture_output=True, cwd="/", **standby.identity,
        )  # fmt: skip
        return copied.returncode == 0 and standby.listen(standby.port)

    def promote(self):
        """After the primary was killed: the standby takes its place. False if it is gone too; then
        the primary has everything, because nothing is acknowledged without it."""
        fence(self.primary)
        if self.standby.process.poll() is not None:
            return False
        promoted = subprocess.run(
            [f"{self.programs}/pg_ctl", "promote", "-w", "-t", str(PROMOTE_SECONDS), "-D",
             self.standby.data],
            check=False, capture_output=True, cwd="/", **self.standby.identity,
        )  # fmt: skip
        if promoted.returncode != 0:
            fence(self.standby)  # there must not be two primaries
            return False
        self.servers.reverse()
        return True

    def mend(self):
        """The other of the two becomes a new standby, without which nothing is acknowledged. False
        if it did not: the primary may be gone."""
        fence(self.standby)
        return self._copy()

    def stop(self):
        for server in self.servers:
            server.stop()


class Citus:
    """A coordinator and its workers. Raises NoCitusError if there is none to start."""

    def __init__(self, settings=None):
        self.programs = citus_bin(plain.newest_bin())
        self.settings = {**CITUS_SETTINGS, **(settings or {})}
        self.servers, self.added = [], []

    def start(self):
        """The URLs of their databases "postgres", the coordinator's first."""
        self.servers = [self._server() for _ in range(1 + WORKERS)]
        urls = [server.start() for server in self.servers]
        for server, url in zip(self.servers, urls, strict=True):
            server.port = port_of(url)
        return urls

    def _server(self):
        return plain.Server(synced=False, programs=self.programs, settings=self.settings)

    def start_another(self):
        """One that is to become a worker: the URL of its database "postgres"."""
        self.added.append(self._server())
        return self.added[-1].start()

    def stop(self):
        for server in self.servers + self.added:
            server.stop()
