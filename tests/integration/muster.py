"""The real binary, driven from outside: start it, speak to it, stop it, kill it.

Only the standard library is used. Nothing here sleeps: a start waits for the line that the server
prints when it listens, a stop for the process to end.
"""

import base64
import contextlib
import http.client
import itertools
import json
import os
import re
import selectors
import signal
import socket
import struct
import subprocess
import tempfile
import time
import uuid
from collections import Counter
from dataclasses import dataclass
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
# the release if it is built, and otherwise what `make check` builds
BUILT = [path for path in (ROOT / "build/release/muster", ROOT / "build/dev/muster") if path.exists()]
BINARY = Path(os.environ.get("MUSTER_TEST_BINARY", BUILT[0] if BUILT else ROOT / "build/release/muster")).resolve()
# Gives the commands that ask a running server, where they are not what is tested: a sanitizer makes
# each of them four times as dear.
COMMANDS = Path(os.environ.get("MUSTER_TEST_COMMANDS", BINARY)).resolve()
# loaded before the program: its clocks can be moved; a password costs little
TEST_CLOCK = BINARY.with_name("muster_test_clock.so")
CHEAP_HASH = BINARY.with_name("muster_cheap_hash.so")
REAL_HASH = {"LD_PRELOAD": str(TEST_CLOCK)}  # of a program that hashes as users' does
ANSWERS = os.environ.get("MUSTER_TEST_ANSWERS", ROOT / "build/answers")  # empty: they are not kept
# What a broken program is given before its test ends; one that works on a busy machine has more than
# it needs. The service itself ends nine seconds after SIGTERM, whatever is left to do; in tests it takes
# longer for that than they wait, so that a stop that hangs is seen.
START_S, STOP_S, ANSWER_S = 120, 120, 120
ALARM_TIMES = {"MUSTER_TEST_ALARM_TIMES": "20"}  # 180 s
COMMAND_S = 300  # 20,000 prices are imported in one, on a busy machine
NO_LIMIT = 1_000_000_000  # a rate that no test reaches
SESSION_MAKES = 200  # tenants and keys that one session of an administrator makes

LISTENING = re.compile(r"^muster: listening on (\S+):(\d+)\s*$")
LOOKS = re.compile(rb"^muster_watch_looks_total (\d+)$", re.M)
WATCHES = "who-watches-the-watch"  # the token that opens the metrics of a server with a clock
# Identifiers, moments and our tenants' names, which no schema tells apart.
MADE_UP = re.compile(
    rb"[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}|tenant-\d+"
    rb"|20\d\d-[01]\d-[0-3]\dT[0-2]\d(?::[0-5]\d){2}(?:\.\d{6})?Z"
)
LARGE, LARGE_KEPT = 65536, 2  # bytes of an answer; how many of an operation are recorded
ADMINISTRATOR = "admin@example.com"  # who is in a database from the start
REMOTE = (  # commands that need not be on the server's machine
    "agent", "catalog", "document", "key", "maintenance", "model", "policy", "price", "retention",
    "rule", "secret", "tenant", "user", "value", "webhook",
)  # fmt: skip
SANITIZER = re.compile(r"\w+Sanitizer|runtime error: |^==\d+==", re.M)


class Trouble(AssertionError):
    """The server did what a server must not do."""


@dataclass(frozen=True)
class Answer:
    status: int
    headers: http.client.HTTPMessage
    body: bytes

    def json(self):
        return json.loads(self.body)


class Recorder:
    """Every exchange as a line of JSON, for tests/contract to hold against docs/openapi.json. One of
    those that differ in names that are made up alone: who waits gets the same answer many times. Of
    large answers, whose many rows are alike, the first few."""

    seen = Counter()  # by all servers of the process

    def __init__(self, folder=ANSWERS):
        self.path = Path(folder) / f"{os.getpid()}.jsonl"

    def is_known(self, method, path, answer):
        """Has it been recorded, or enough of its kind?"""
        where = MADE_UP.sub(b"", path.split("?")[0].encode())
        large = len(answer.body) >= LARGE
        said = hash((method, where, answer.status, large or MADE_UP.sub(b"", answer.body)))
        self.seen[said] += 1
        return self.seen[said] > (LARGE_KEPT if large else 1)

    def add(self, method, path, answer):
        if self.is_known(method, path, answer):
            return
        try:
            body = {"text": answer.body.decode()}
        except UnicodeDecodeError:
            body = {"base64": base64.b64encode(answer.body).decode()}
        row = {
            "method": method,
            "path": path.split("?")[0],
            "status": answer.status,
            "headers": answer.headers.items(),
            "body": body,
        }
        self.path.parent.mkdir(parents=True, exist_ok=True)
        with self.path.open("a") as file:
            file.write(json.dumps(row) + "\n")


class UnixConnection(http.client.HTTPConnection):
    """HTTP over a unix socket."""

    def __init__(self, path):
        super().__init__("localhost", timeout=ANSWER_S)
        self.path = str(path)

    def connect(self):
        self.sock = socket.socket(socket.AF_UNIX)
        self.sock.settimeout(ANSWER_S)
        self.sock.connect(self.path)


class Client:
    """One keep-alive connection that opens itself again when the server has closed it."""

    def __init__(self, connection, token=None, recorder=None):
        self.connection, self.token, self.recorder = connection, token, recorder

    def request(self, method, path, body=None, headers=None, token=None):
        """`body`: bytes or str go as they are, None is no body, anything else goes as JSON."""
        sent = dict(headers or {})
        if body is not None and not isinstance(body, (bytes, str)):
            body = json.dumps(body)
            sent.setdefault("Content-Type", "application/json")
        if isinstance(body, str):
            body = body.encode()
        bearer = token or self.token
        if bearer:
            sent.setdefault("Authorization", f"Bearer {bearer}")
        answer = self._exchange(method, path, body, sent)
        if self.recorder:
            self.recorder.add(method, path, answer)
        return answer

    def _exchange(self, method, path, body, headers):
        fresh = self.connection.sock is None
        try:
            with contextlib.suppress(BrokenPipeError):  # it has answered and reads no further
                self.connection.request(method, path, body, headers)
            got = self.connection.getresponse()
            return Answer(got.status, got.headers, got.read())
        except (http.client.RemoteDisconnected, ConnectionError):
            self.connection.close()
            if fresh:
                raise
            return self._exchange(method, path, body, headers)  # an idle connection had gone

    def get(self, path, **more):
        return self.request("GET", path, **more)

    def post(self, path, body=None, **more):
        return self.request("POST", path, body, **more)

    def delete(self, path, **more):
        return self.request("DELETE", path, **more)

    def close(self):
        self.connection.close()


@dataclass
class Tenant:
    """A tenant of its own for one test, with a workspace key."""

    server: "Server"
    slug: str
    token: str
    client: Client

    def add_key(self, agent=None, *more):
        bound = ("--agent", agent) if agent else ()
        return self.server.add_key(self.slug, *bound, *more)

    def agent_client(self, agent):
        return self.server.client(self.add_key(agent))

    def event(self, **fields):
        """A good `started` event of a new run, with `fields` put in its place."""
        return {
            "event_id": str(uuid.uuid4()),
            "agent_name": "collector",
            "client_id": self.slug,
            "run_id": str(uuid.uuid4()),
            "event": "started",
            "timestamp": "2025-01-02T03:04:05Z",
            **fields,
        }

    def path(self, rest):
        return f"/api/v1/tenants/{self.slug}/{rest}"


class Clock:
    """Moves the clocks of the programs that follow it: `Server(environment=clock.environment)`."""

    def __init__(self, folder):
        assert TEST_CLOCK.exists(), f"{TEST_CLOCK} is missing: build the target test_hooks"
        self.path = Path(folder) / "clock"
        self.passed_us = self.stepped_us = 0
        self._write()

    def _write(self):
        mode = "r+b" if self.path.exists() else "wb"
        with self.path.open(mode) as file:  # in place: it is mapped
            file.write(struct.pack("=qq", self.passed_us, self.stepped_us))

    @property
    def environment(self):
        return {"MUSTER_TEST_CLOCK": str(self.path), "MUSTER_METRICS_TOKEN": WATCHES}

    def advance(self, seconds):
        """Time passes."""
        self.passed_us += int(seconds * 1_000_000)
        self._write()

    def step(self, seconds):
        """The wall clock is set."""
        self.stepped_us += int(seconds * 1_000_000)
        self._write()

    def now(self):
        """What the programs take for the time, in seconds since 1970."""
        return time.time() + (self.passed_us + self.stepped_us) / 1_000_000


class Server:
    """`muster serve` on a data directory and, with PostgreSQL, a database."""

    numbers = itertools.count(1)
    commands = COMMANDS

    def __init__(self, data, database=None, binary=None, arguments=(), environment=None):
        self.data, self.database = Path(data), database
        self.arguments, self.environment = list(arguments), dict(environment or {})
        self.binary = Path(binary or BINARY)
        self.stderr = self.data.parent / f"{self.data.name}.stderr"
        self.process = self.address = self.said = None
        self.recorder = Recorder() if ANSWERS else None
        self.admin = None if database else self.operator()  # who may do everything; or commands do
        self.sign_in = None  # gives an administrator a new session, where it is one that asks
        self.made = 0
        self.admin_token = None  # the file of one whose user is in the database from the start
        self.is_asked = False  # by commands too, with that token

    def be_administered(self, token):
        """By requests, and by commands that make requests: three sessions of PostgreSQL, which a
        command on the database has, cost ten times as much."""
        self.admin_token = self.data.parent / f"{self.data.name}.token"
        self.admin_token.touch(mode=0o600)
        self.admin_token.write_text(token)
        self.is_asked = True

    @property
    def actor(self):
        """Who it says gave a command."""
        return f"person:{ADMINISTRATOR}" if self.is_asked else "operator"

    def place(self, command):
        """Options that tell a command where to work."""
        if self.is_asked and self.process is not None and command in REMOTE:
            url = f"http://{self.address[0]}:{self.address[1]}"
            return ["--server", url, "--token-file", str(self.admin_token)]
        return self.store_arguments

    @property
    def store_arguments(self):
        return ["--data", str(self.data)] + (["--database", self.database] if self.database else [])

    def program_environment(self):
        clean = {k: v for k, v in os.environ.items() if not k.startswith("MUSTER_")}
        hooks = ":".join(str(hook) for hook in (CHEAP_HASH, TEST_CLOCK) if hook.exists())
        wait = os.environ.get("MUSTER_TEST_WAIT_MS")  # where many tests share the processors
        patient = {"MUSTER_QUEUE_MAX_WAIT_MS": wait} if wait else {}
        common = {**clean, **ALARM_TIMES, "LD_PRELOAD": hooks, "MUSTER_ALLOW_ROOT": "1"}
        return {**common, **patient, **self.environment}

    def start(self):
        assert self.process is None, "it runs already"
        with self.stderr.open("ab") as stderr:
            self.process = subprocess.Popen(
                [self.binary, "serve", *self.store_arguments,
                 "--listen", "127.0.0.1:0", *self.arguments],
                stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=stderr,
                env=self.program_environment(),
            )  # fmt: skip
        host, port = self._wait_for_address()
        self.address = (host, int(port))
        if self.admin_token:
            self.admin = self.client(self.admin_token.read_text())
        return self

    def _wait_for_address(self):
        """Reads lines until the one that says where it listens; there may be others before it."""
        output, seen, deadline = self.process.stdout, b"", time.monotonic() + START_S
        with selectors.DefaultSelector() as selector:
            selector.register(output, selectors.EVENT_READ)
            while time.monotonic() < deadline:
                if not selector.select(deadline - time.monotonic()):
                    break
                chunk = os.read(output.fileno(), 65536)
                if not chunk:
                    break
                seen += chunk
                self.said = seen
                for line in seen.decode(errors="replace").splitlines():
                    if LISTENING.match(line):
                        return LISTENING.match(line).groups()
        status = self.process.poll()
        self._end(signal.SIGKILL)
        raise Trouble(f"no start (exit status {status}): {seen!r}\n{self.log()}")

    def _end(self, how):
        process, self.process = self.process, None
        process.send_signal(how)
        try:
            status = process.wait(STOP_S)
        except subprocess.TimeoutExpired:
            process.kill()
            process.wait()
            raise Trouble(f"still running {STOP_S} s after {how.name}\n{self.log()}") from None
        finally:
            process.stdout.close()
        return status

    def stop(self):
        """SIGTERM; it must end well, in time, and without a sanitizer's report."""
        if self.process is None:
            return
        ended = self.process.poll()
        status = self._end(signal.SIGTERM)
        self.check_log()
        if ended is not None or status != 0:
            when = "by itself, before it was told to" if ended is not None else "after SIGTERM"
            raise Trouble(f"ended {when}, exit status {status}\n{self.log()}")

    def kill(self):
        """kill -9. It must have been alive till then."""
        ended = self.process.poll()
        self._end(signal.SIGKILL)
        self.check_log()
        if ended is not None:
            raise Trouble(f"was dead already, exit status {ended}\n{self.log()}")

    def restart(self):
        self.stop()
        return self.start()

    def log(self):
        return self.stderr.read_text(errors="replace")[-20000:] if self.stderr.exists() else ""

    def processor_s(self):
        """What its process has used so far."""
        stat = Path(f"/proc/{self.process.pid}/stat").read_text()
        fields = stat.rsplit(")", 1)[1].split()
        return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")

    def check_log(self):
        if SANITIZER.search(self.log()):
            raise Trouble(f"a sanitizer reported:\n{self.log()}")

    def client(self, token=None):
        connection = http.client.HTTPConnection(*self.address, timeout=ANSWER_S)
        return Client(connection, token, self.recorder)

    def metrics(self):
        """The text of its metrics; of a server with a test's clock."""
        connection = http.client.HTTPConnection(*self.address, timeout=ANSWER_S)
        with contextlib.closing(connection):
            connection.request("GET", "/metrics", headers={"Authorization": f"Bearer {WATCHES}"})
            answer = connection.getresponse()
            assert answer.status == 200, "no metrics: has it a test's clock?"
            return answer.read()

    def looks(self):
        """How often its watch has looked."""
        return int(LOOKS.search(self.metrics()).group(1))

    def operator(self):
        """The administrative routes, as the CLI reaches them; the embedded store's server only."""
        return Client(UnixConnection(self.data / "muster.sock"), None, self.recorder)

    def raw(self, request):
        """Sends bytes as they are, ends the sending side, and returns all that comes back."""
        with socket.create_connection(self.address, timeout=ANSWER_S) as connection:
            connection.sendall(request)
            connection.shutdown(socket.SHUT_WR)
            return b"".join(iter(lambda: connection.recv(65536), b""))

    def run(self, *arguments, stdin=""):
        """A command of the CLI on this store; the whole result, whatever its exit status."""
        asks = self.process is not None and self.binary == BINARY and arguments[0] in REMOTE
        done = subprocess.run(
            [self.commands if asks else self.binary, *arguments, *self.place(arguments[0])],
            input=stdin, capture_output=True, text=True, timeout=COMMAND_S, check=False,
            env=self.program_environment(),
        )  # fmt: skip
        if SANITIZER.search(done.stderr):
            raise Trouble(f"muster {' '.join(arguments)}: a sanitizer reported:\n{done.stderr}")
        return done

    def cli(self, *arguments, stdin=""):
        """What a command that must succeed prints on standard output."""
        done = self.run(*arguments, stdin=stdin)
        if done.returncode != 0:
            raise Trouble(f"muster {' '.join(arguments)}: {done.returncode}\n{done.stderr}")
        return done.stdout

    def make(self, path, body):
        """By a request, which costs a hundredth of a command. A tenant that the server has just made is
        there for the next request: the server reads it back before it answers. If it cannot, since a
        machine that is away for seconds lets that read pass its limit, it answers all the same, because the
        change is stored, and its watch reads it within a second. On a cluster on two processors that has
        happened: there, it is asked again. A session may ask 600 times in a minute, which quick tests
        reach together: some of that is left to what they ask by themselves."""
        self.made += 1
        if self.sign_in and self.made % SESSION_MAKES == 0:
            self.admin = self.sign_in()
        answer, deadline = self.admin.post(path, body), time.monotonic() + START_S
        is_cluster = self.database and os.environ.get("MUSTER_TEST_CITUS")
        while is_cluster and answer.status == 404 and time.monotonic() < deadline:
            time.sleep(0.2)
            answer = self.admin.post(path, body)
        if answer.status != 201:
            raise Trouble(f"{path}: {answer.status} {answer.body}")
        return answer.json()

    @property
    def asks(self):
        """Whether an administrator can ask by a request."""
        return self.admin is not None and self.process is not None

    def add_key(self, slug, *more):
        if self.asks and (not more or more[0] == "--agent" and len(more) == 2):
            body = {"agent_name": more[1]} if more else {}
            return self.make(f"/api/v1/tenants/{slug}/keys", body)["token"]
        return self.cli("key", "add", "--tenant", slug, *more).strip()

    def add_tenant(self, *more, slug=None, rate_limit=NO_LIMIT):
        slug = slug or f"tenant-{next(self.numbers)}"
        if self.asks:
            plan = {name[2:].replace("-", "_"): value for name, value in zip(more[::2], more[1::2])}
            if "max_agents" in plan:
                plan["max_agents"] = int(plan["max_agents"])
            self.make("/api/v1/tenants", {"slug": slug, "rate_limit": rate_limit, **plan})
        else:
            self.cli("tenant", "add", slug, "--rate-limit", str(rate_limit), *more)
        token = self.add_key(slug)
        return Tenant(self, slug, token, self.client(token))


class Embedded:
    """Makes data directories of the embedded store."""

    migrated = None  # the file of a database with all tables

    def create_migrated(self, data):
        """One that has all tables already, which is quicker than to make them each time."""
        cls = type(self)
        if cls.migrated is None:
            with tempfile.TemporaryDirectory() as folder:
                (Path(folder) / "muster.db").touch(mode=0o600)  # commands fill one, and create none
                Server(Path(folder)).cli("tenant", "list")
                cls.migrated = (Path(folder) / "muster.db").read_bytes()
        data.mkdir(mode=0o700)
        (data / "muster.db").write_bytes(cls.migrated)
        (data / "muster.db").chmod(0o600)


class Postgres:
    """Makes databases in the server that tests/drivers/with_postgres started, or in the cluster of
    tests/cluster/with_citus: there on each of its servers, with the tables distributed."""

    migrated = None  # the name of one with all tables
    administered = None  # that of one with an administrator, and their token

    def __init__(self):
        self.url = os.environ.get("MUSTER_TEST_POSTGRES")
        self.workers = os.environ.get("MUSTER_TEST_CITUS", "").split()
        if not self.url:
            raise Trouble("MUSTER_TEST_POSTGRES is not set: run under tests/drivers/with_postgres")

    def _sql(self, *statements, url=None):
        from postgres import run_kept, run_sql  # who loads this file alone has no PostgreSQL

        run = run_kept if url in (None, self.url, *self.workers) else run_sql
        run(url or self.url, *statements)

    def _url_of(self, name, url=None):
        return re.sub(r"^(\w+://[^/?]*)(?:/[^?]*)?", rf"\1/{name}", url or self.url)

    def create(self, template="template1"):
        """The URL of a new database: an empty one, or the copy of another."""
        name = f"muster_{uuid.uuid4().hex[:16]}"
        for url in (self.url, *self.workers):
            # copies files, not pages through the log: a third of the time; PostgreSQL 15 and later
            self._sql(f"CREATE DATABASE {name} TEMPLATE {template} STRATEGY FILE_COPY", url=url)
        if self.workers and template == "template1":
            self.make_cluster(name)
        return self._url_of(name)

    def make_cluster(self, name):
        """The servers know each other in this database. Their copies do so as well."""
        for url in (self.url, *self.workers):
            self._sql("CREATE EXTENSION citus", url=self._url_of(name, url))
        host, port = re.search(r"@([^:/]*):(\d+)", self.url).groups()
        known = [f"SELECT citus_set_coordinator_host('{host}', {port})"]
        for url in self.workers:
            host, port = re.search(r"@([^:/]*):(\d+)", url).groups()
            known.append(f"SELECT citus_add_node('{host}', {port})")
        self._sql(*known, url=self._url_of(name))

    def close(self, name):
        """No session may be left in it: it is copied."""
        for url in (self.url, *self.workers):
            self._sql(
                f"ALTER DATABASE {name} ALLOW_CONNECTIONS false",
                "SELECT pg_terminate_backend(pid, 10000) FROM pg_stat_activity"
                f" WHERE datname = '{name}'",
                url=url,
            )

    def create_migrated(self):
        """One that has all tables already, which is quicker than to make them each time."""
        cls = type(self)
        if cls.migrated is None:
            url = self.create()
            Server(Path("."), url).cli("tenant", "list")
            cls.migrated = url.rsplit("/", 1)[1]
            if self.workers:
                Server(Path("."), url).cli("cluster", "enable")
                self.close(cls.migrated)
        return self.create(cls.migrated)

    def create_administered(self):
        """One that also has an administrator: its URL, and a token that acts for them."""
        cls = type(self)
        if cls.administered is None:
            url = self.create_migrated()
            nowhere = Server(Path("."), url)
            nowhere.cli("user", "add", ADMINISTRATOR, "--role", "platform_admin", "--password-stdin",
                        stdin="tumbling lantern\n")  # fmt: skip
            token = nowhere.cli("token", "add", "tests", "--user", ADMINISTRATOR,
                                "--role", "platform_admin", "--expires-in-days", "366").strip()  # fmt: skip
            cls.administered = url.rsplit("/", 1)[1], token
            if self.workers:
                self.close(cls.administered[0])
        name, token = cls.administered
        return self.create(name), token

    def drop(self, url):
        name = re.search(r"/(muster_[0-9a-f]+)", url).group(1)
        for server in (self.url, *self.workers):
            self._drop(name, server)

    def _drop(self, name, server):
        """PostgreSQL waits for five seconds until sessions have ended; a busy machine takes longer, and Citus'
        own sessions come back meanwhile."""
        from postgres import SqlError

        deadline = time.monotonic() + STOP_S
        while True:
            try:
                return self._sql(f"DROP DATABASE IF EXISTS {name} WITH (FORCE)", url=server)
            except SqlError as error:
                if "is being accessed by other users" not in str(error) or time.monotonic() > deadline:
                    raise


@contextlib.contextmanager
def running(store, folder, administered=False, **more):
    """A started server on a new store; stopped, checked and cleared away at the end. One that is
    `administered` is prepared by requests, where otherwise commands would have to do it."""
    postgres = Postgres() if store == "postgres" else None
    database = token = None
    if postgres and administered:
        database, token = postgres.create_administered()
    elif postgres:
        database = postgres.create_migrated()
    server = Server(folder / "data", database, **more)
    if token:
        server.be_administered(token)
    assert server.binary.exists(), f"{server.binary} is not built: make check, or make build"
    if not postgres and not server.data.exists():
        Embedded().create_migrated(server.data)
    try:
        yield server.start()
        server.stop()
    finally:
        if server.process is not None:
            server.process.kill()
            server.process.wait()
        if postgres:
            postgres.drop(database)
