"""Starts, watches and stops what is measured, each in a directory of its own on a free port."""

import contextlib
import ctypes
import http.client
import os
import re
import resource
import shutil
import signal
import socket
import subprocess
import tempfile
import threading
import time
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
BUILD = Path(os.environ.get("BENCH_BUILD", ROOT / "build" / "release")).resolve()
MUSTER = BUILD / "muster"
READY_SECONDS = 60
STOP_SECONDS = 60
PR_SET_PDEATHSIG = 1
METRICS_TOKEN = "of-the-benchmark-on-loopback"


def end_with_parent():
    """No server outlives us, even when we are killed outright."""
    ctypes.CDLL(None).prctl(PR_SET_PDEATHSIG, signal.SIGKILL)


def free_port():
    with socket.socket() as s:
        s.bind(("127.0.0.1", 0))
        return s.getsockname()[1]


def scratch():
    """A directory on the disk of the build, where a sync is a real one."""
    parent = ROOT / "build" / "bench"
    parent.mkdir(parents=True, exist_ok=True)
    return Path(tempfile.mkdtemp(prefix="tmp-", dir=parent))


def environment():
    clean = {k: v for k, v in os.environ.items() if not k.startswith("MUSTER_")}
    return {**clean, "MUSTER_ALLOW_ROOT": "1", "MUSTER_METRICS_TOKEN": METRICS_TOKEN}


def program(name, *arguments, stdin=None):
    """Runs a bench program; its lines `name value` as a dictionary of numbers, and `cpu_s`."""
    before = resource.getrusage(resource.RUSAGE_CHILDREN)
    done = subprocess.run(
        [BUILD / "bench" / f"bench_{name}", *map(str, arguments)],
        check=True, stdout=subprocess.PIPE, text=True, preexec_fn=end_with_parent, input=stdin,
    )  # fmt: skip
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    lines = (line.split() for line in done.stdout.splitlines())
    cpu_s = after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime
    return {**{k: float(v) for k, v in lines}, "cpu_s": cpu_s}


def programs(name, arguments):
    """Runs bench programs at the same time, one for each list of arguments; what each printed, and
    its `cpu_s`."""
    running = [
        subprocess.Popen([BUILD / "bench" / f"bench_{name}", *map(str, one)], text=True,
                         stdout=subprocess.PIPE, preexec_fn=end_with_parent)
        for one in arguments
    ]  # fmt: skip
    results = []
    for process in running:
        lines = [line.split() for line in process.stdout]  # until it ends
        _, status, used = os.wait4(process.pid, 0)
        process.returncode = os.waitstatus_to_exitcode(status)
        process.stdout.close()
        if process.returncode != 0:
            raise RuntimeError(f"bench_{name} failed")
        results.append({**{k: float(v) for k, v in lines}, "cpu_s": used.ru_utime + used.ru_stime})
    return results


def wrk(port, token, seed, seconds, scheme="http"):
    """Requests/s of single events over 64 connections; any other answer than 2xx is an error."""
    done = subprocess.run(
        ["wrk", "-t1", "-c64", f"-d{seconds}s", "-s", ROOT / "bench" / "single.lua",
         f"{scheme}://127.0.0.1:{port}/api/v1/telemetry", "--", token, str(seed)],
        check=True, stdout=subprocess.PIPE, text=True, preexec_fn=end_with_parent,
    )  # fmt: skip
    if "Non-2xx" in done.stdout or "Socket errors" in done.stdout:
        raise RuntimeError(f"wrk met errors:\n{done.stdout}")
    return float(re.search(r"Requests/sec:\s*([\d.]+)", done.stdout).group(1))


class Process:
    """A server that listens on `port` once it is started."""

    tls = None  # a context: it is reached over TLS
    settings = {}  # added to the environment

    def __init__(self):
        self.port, self.process = free_port(), None

    def command(self):
        raise NotImplementedError

    def start(self):
        """Returns the seconds from its making to its first good answer."""
        began = time.monotonic()
        self.process = subprocess.Popen(
            self.command(), stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL,
            env={**environment(), **self.settings}, preexec_fn=end_with_parent,
        )  # fmt: skip
        while time.monotonic() - began < READY_SECONDS:
            if self.process.poll() is not None:
                break
            if self.is_healthy():
                return time.monotonic() - began
            time.sleep(0.001)
        raise RuntimeError(f"{self.process.args[0]} did not start")

    def is_healthy(self):
        try:
            if self.tls is None:
                connection = http.client.HTTPConnection("127.0.0.1", self.port, timeout=10)
            else:
                connection = http.client.HTTPSConnection("127.0.0.1", self.port, timeout=10,
                                                         context=self.tls)  # fmt: skip
            connection.request("GET", "/api/v1/health")
            status = connection.getresponse().status
            connection.close()
            return 200 <= status < 300
        except OSError:
            return False

    def stop(self, number=signal.SIGTERM):
        if self.process is None:
            return
        self.process.send_signal(number)
        try:
            self.process.wait(STOP_SECONDS)
        finally:
            if self.process.poll() is None:
                self.process.kill()
                self.process.wait()
            self.process = None

    def memory_mib(self, field="VmRSS"):
        text = Path(f"/proc/{self.process.pid}/status").read_text(encoding="ascii")
        return int(re.search(rf"{field}:\s*(\d+)", text).group(1)) / 1024

    def cpu_seconds(self):
        """Of the process and its children so far."""
        pid = self.process.pid
        children = Path(f"/proc/{pid}/task/{pid}/children").read_text(encoding="ascii").split()
        texts = [Path(f"/proc/{p}/stat").read_text(encoding="ascii") for p in [pid, *children]]
        ticks = sum(int(n) for text in texts for n in text.rsplit(")", 1)[1].split()[11:13])
        return ticks / os.sysconf("SC_CLK_TCK")

    def wait_for_rest(self):
        """Until it has used no CPU to speak of for a second: what it still had to do is done."""
        while True:
            before = self.cpu_seconds()
            time.sleep(1)
            if self.cpu_seconds() - before <= 0.02:
                return

    def __enter__(self):
        self.start()
        return self

    def __exit__(self, *_):
        self.stop()


class Nginx(Process):
    def __init__(self):
        super().__init__()
        self.directory = scratch()
        text = (ROOT / "bench" / "nginx.conf.in").read_text(encoding="ascii")
        (self.directory / "nginx.conf").write_text(text.replace("@PORT@", str(self.port)))

    def command(self):
        nginx = shutil.which("nginx") or "/usr/sbin/nginx"
        return [nginx, "-p", self.directory, "-c", "nginx.conf", "-e", "stderr"]

    def __exit__(self, *_):
        super().__exit__()
        shutil.rmtree(self.directory, ignore_errors=True)


class Muster(Process):
    """With a tenant `bench` that no rate limit holds back, and a key of it."""

    def __init__(self, data=None, database=None):
        super().__init__()
        self.keeps = data is not None
        self.data = Path(data) if data else scratch()
        self.store = ["--data", self.data] + (["--database", database] if database else [])
        self.token = None

    def command(self):
        return [MUSTER, "serve", *self.store, "--listen", f"127.0.0.1:{self.port}",
                "--log-level", "warning"]  # fmt: skip

    def admin(self, *arguments, stdin=None):
        done = subprocess.run([MUSTER, *arguments, *self.store], check=True, text=True, input=stdin,
                              stdout=subprocess.PIPE, env=environment())  # fmt: skip
        return done.stdout.strip()

    def metrics(self):
        """What /metrics says."""
        connection = http.client.HTTPConnection("127.0.0.1", self.port, timeout=10)
        connection.request("GET", "/metrics", headers={"Authorization": f"Bearer {METRICS_TOKEN}"})
        text = connection.getresponse().read().decode()
        connection.close()
        return text

    def __enter__(self):
        super().__enter__()
        if "bench" not in self.admin("tenant", "list"):
            self.admin("tenant", "add", "bench", "--rate-limit", "1000000000")
        self.token = self.admin("key", "add", "--tenant", "bench")
        return self

    def __exit__(self, *_):
        super().__exit__()
        if not self.keeps:
            shutil.rmtree(self.data, ignore_errors=True)

    def load_flags(self, options):
        flags = [x for k, v in options.items() for x in (f"--{k.replace('_', '-')}", v)]
        return ["--port", self.port, "--token", self.token, *flags]

    def load(self, **options):
        """bench_load on this server."""
        return program("load", *self.load_flags(options))

    def get(self, paths, **options):
        """bench_get on this server."""
        return program("get", *self.load_flags(options), stdin="\n".join(paths))

    def kill_under_load(self, after_s, **options):
        """Ends without a chance to tidy up, while requests are under way."""
        command = [BUILD / "bench" / "bench_load", *map(str, self.load_flags(options))]
        with subprocess.Popen(command, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL,
                              preexec_fn=end_with_parent) as load:  # fmt: skip
            time.sleep(after_s)
            self.stop(signal.SIGKILL)
            load.kill()

    def bytes_on_disk(self):
        return sum(f.stat().st_size for f in self.data.iterdir() if f.name.startswith("muster.db"))


class Node(Muster):
    """Another one on the database of the first, with its tenant and key."""

    def __init__(self, first, database):
        super().__init__(database=database)
        self.settings = {"MUSTER_MASTER_KEY_FILE": str(first.data / "master.key")}
        self.token = first.token

    def __enter__(self):
        return Process.__enter__(self)


def cluster_cpu_seconds(postmaster):
    """Of this process so far, its sessions, and those that ended."""
    ticks = 0
    for path in Path("/proc").glob("[0-9]*/stat"):
        with contextlib.suppress(OSError):  # it has ended
            numbers = path.read_text(encoding="ascii").rsplit(")", 1)[1].split()
            if path.parent.name == postmaster:
                ticks += sum(int(n) for n in numbers[11:15])
            elif numbers[1] == postmaster:
                ticks += sum(int(n) for n in numbers[11:13])
    return ticks / os.sysconf("SC_CLK_TCK")


class Postgres:
    """A database of its own in the cluster that tests/drivers/with_postgres has started."""

    numbers = iter(range(1, 1 << 30))

    def __init__(self):
        self.cluster = os.environ["MUSTER_TEST_POSTGRES"]
        self.name = f"bench_{os.getpid()}_{next(self.numbers)}"
        self.url = re.sub(r"/[^/]*$", f"/{self.name}", self.cluster)

    def run(self, sql):
        subprocess.run(["psql", "-q", self.cluster, "-c", sql], check=True)

    def run_in(self, sql):
        """In the database itself."""
        subprocess.run(["psql", "-q", "-X", "-v", "ON_ERROR_STOP=1", self.url, "-c", sql], check=True)

    def number(self, sql):
        """The one number that the database answers."""
        shown = subprocess.run(["psql", "-XAt", "-v", "ON_ERROR_STOP=1", self.url, "-c", sql], check=True,
                               stdout=subprocess.PIPE, text=True)  # fmt: skip
        return shown.stdout.strip()

    def cpu_seconds(self):
        """Of the whole cluster so far."""
        shown = subprocess.run(["psql", "-XAt", self.cluster, "-c", "SHOW data_directory"], check=True,
                               stdout=subprocess.PIPE, text=True)  # fmt: skip
        return cluster_cpu_seconds(Path(shown.stdout.strip(), "postmaster.pid").read_text().split()[0])

    def __enter__(self):
        self.run(f"CREATE DATABASE {self.name}")
        return self

    def __exit__(self, *_):
        self.run(f"DROP DATABASE {self.name} WITH (FORCE)")
        self.run("CHECKPOINT")  # so that the next one does not pay for it


class Watch:
    """Samples a server while it is loaded: its memory, and how long its health answer takes."""

    def __init__(self, server):
        self.server, self.ended, self.thread = server, threading.Event(), None
        self.memory_mib, self.health_ms, self.unhealthy = 0.0, [], 0

    def sample(self):
        while not self.ended.wait(0.05):
            self.memory_mib = max(self.memory_mib, self.server.memory_mib())
            began = time.monotonic()
            self.unhealthy += not self.server.is_healthy()
            self.health_ms.append(1000 * (time.monotonic() - began))

    def __enter__(self):
        self.ended.clear()
        self.thread = threading.Thread(target=self.sample)
        self.thread.start()
        return self

    def __exit__(self, *_):
        self.ended.set()
        self.thread.join()

    def health_p99_ms(self):
        return sorted(self.health_ms)[int(0.99 * (len(self.health_ms) - 1))]
