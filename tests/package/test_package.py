"""The packages in fresh Debian 12 and 13 roots: installed, used, upgraded, removed (`make test-package`).

A root is made once by mmdebstrap from the machine's own Debian source and copied for each test.
One test boots the root with systemd, which starts the unit. The others run no systemd: they check the
unit by systemd-analyze, and start the service by the unit's own command line as the unit's user.
"""

import contextlib
import gzip
import http.client
import json
import os
import re
import shlex
import shutil
import signal
import sqlite3
import subprocess
import time
import urllib.error
import urllib.request
import uuid
from pathlib import Path

import proxies
import pytest
from booted import booted
from links import dead_links
from roots import ENVIRONMENT, SUITES, Root, free_port, make_root, until

ROOT = Path(__file__).resolve().parents[2]
PACKAGES = ROOT / "build/packages"
BEFORE, NOW = os.environ["MUSTER_TEST_PACKAGES"].split()  # versions, of which both were built
PATIENCE_S = 120
EXPOSURE = "20"  # of 100: systemd-analyze's 2.0


@pytest.fixture(scope="session", params=SUITES)
def fresh_root(request, tmp_path_factory):
    path = tmp_path_factory.mktemp(f"debian{request.param}") / "root"
    make_root(request.param, path)
    return path


class PackageRoot(Root):
    def install(self, version):
        package = next(PACKAGES.glob(f"muster_{version}_*.deb"))
        shutil.copy(package, self.path / "tmp")
        return self.run("apt-get", "install", "-y", "-q", "--no-install-recommends", f"/tmp/{package.name}")


@pytest.fixture
def root(fresh_root, tmp_path):
    path = tmp_path / "root"
    subprocess.run(["cp", "-a", "--reflink=auto", str(fresh_root), str(path)], check=True)
    made = PackageRoot(path)
    made.run("apt-get", "update", "-q")
    yield made
    shutil.rmtree(path)


def listen_on(root, port):
    settings = root.path / "etc/muster/muster.conf"
    settings.write_text(re.sub(r"(?m)^listen = .*", f"listen = 127.0.0.1:{port}", settings.read_text()))


def command_of_unit(root):
    unit = (root.path / "usr/lib/systemd/system/muster.service").read_text()
    return shlex.split(re.search(r"^ExecStart=(.*)", unit, re.M)[1]), re.search(r"^User=(.*)", unit, re.M)[1]


def is_ready(port):
    try:
        return urllib.request.urlopen(f"http://127.0.0.1:{port}/api/v1/health", timeout=5).status == 200
    except (urllib.error.URLError, ConnectionError, TimeoutError):
        return False


@contextlib.contextmanager
def serving(command, port):
    """The service until the end, which SIGTERM makes orderly."""
    process = subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.STDOUT,
                               env=ENVIRONMENT, text=True, start_new_session=True)  # fmt: skip
    try:
        deadline = time.monotonic() + PATIENCE_S
        while not is_ready(port):
            assert process.poll() is None, f"it ended: {process.stdout.read()}"
            assert time.monotonic() < deadline, "it does not answer"
            time.sleep(0.05)
        yield
    finally:
        if process.poll() is None:
            os.killpg(process.pid, signal.SIGTERM)
        process.communicate(timeout=PATIENCE_S)


def report(port, token, run):
    event = {"event_id": run, "agent_name": "a", "client_id": "acme", "run_id": run, "event": "started",
             "timestamp": "2025-01-02T03:04:05Z"}  # fmt: skip
    request = urllib.request.Request(
        f"http://127.0.0.1:{port}/api/v1/telemetry", json.dumps(event).encode(),
        {"Authorization": f"Bearer {token}", "Content-Type": "application/json"})  # fmt: skip
    with urllib.request.urlopen(request, timeout=PATIENCE_S) as answer:
        return answer.status


def runs_of(root):
    """As root, without a word of where the service keeps its data."""
    listed = root.run("muster", "run", "list", "--tenant", "acme", "--json").stdout
    return {run["run_id"] for run in json.loads(listed)["runs"]}


def migration_of(root):
    """The last that the store has had."""
    store = sqlite3.connect(f"file:{root.path}/var/lib/muster/muster.db?mode=ro", uri=True)
    with contextlib.closing(store):
        return store.execute("SELECT MAX(number) FROM schema_version").fetchone()[0]


RUNS = ["11111111-1111-4111-8111-111111111111", "22222222-2222-4222-8222-222222222222"]


def test_installed_used_upgraded_removed(root):
    port = free_port()
    root.install(BEFORE)
    assert root.run("muster", "--version").stdout.startswith("muster ")
    assert root.run("stat", "-c", "%U:%G %a", "/var/lib/muster").stdout == "muster:muster 700\n"
    assert root.run("stat", "-c", "%U:%G %a", "/etc/muster/muster.conf").stdout == "root:muster 640\n"
    listen_on(root, port)
    words, user = command_of_unit(root)
    name, _, number, _, _, home, shell = root.run("getent", "passwd", user).stdout.strip().split(":")
    assert (name, home, shell) == ("muster", "/var/lib/muster", "/usr/sbin/nologin") and int(number) < 1000
    with serving(root.command(*words, user=user), port):
        root.run("muster", "tenant", "add", "acme")
        token = json.loads(root.run("muster", "key", "add", "--tenant", "acme", "--json").stdout)["token"]
        assert report(port, token, RUNS[0]) == 202
    old = migration_of(root)
    root.install(NOW)
    assert f"listen = 127.0.0.1:{port}" in (root.path / "etc/muster/muster.conf").read_text()
    with serving(root.command(*words, user=user), port):
        assert report(port, token, RUNS[1]) == 202
        assert runs_of(root) == set(RUNS)
        with urllib.request.urlopen(f"http://127.0.0.1:{port}/", timeout=PATIENCE_S) as page:
            assert "<script" in page.read().decode()  # the portal is in it
    assert root.run("sh", "-c", "command -v node; command -v npm", check=False).stdout == ""
    assert migration_of(root) >= old
    root.run("apt-get", "remove", "-y", "-q", "muster")
    assert not (root.path / "usr/bin/muster").exists()
    assert (root.path / "etc/muster/muster.conf").exists()
    said = root.run("apt-get", "purge", "-y", "-q", "muster").stdout
    assert "/var/lib/muster" in said and not (root.path / "etc/muster/muster.conf").exists()
    assert (root.path / "var/lib/muster/muster.db").exists()


def test_a_user_who_may_not_read_the_settings_reaches_a_service_by_its_url(root):
    port, nobody = free_port(), "65534"

    def run(*words):
        return subprocess.run(root.command("muster", *words, user=nobody), capture_output=True,
                              text=True, env={**ENVIRONMENT, "HOME": "/tmp"})  # fmt: skip

    root.install(NOW)
    listen_on(root, port)
    token = root.path / "tmp/token"
    token.write_text("mst_pat_unknown\n")
    token.chmod(0o600)
    os.chown(token, int(nobody), int(nobody))
    assert run("settings").returncode == 0
    for words in (("tenant", "list"), ("check",), ("serve",)):
        refused = run(*words)
        assert refused.returncode == 2 and "use sudo, or sign in with `muster login`" in refused.stderr, refused
    words, user = command_of_unit(root)
    with serving(root.command(*words, user=user), port):
        asked = run("tenant", "list", "--server", f"http://127.0.0.1:{port}", "--token-file", "/tmp/token")
    assert asked.returncode == 1 and "Invalid or expired token" in asked.stderr, asked


def test_the_unit_is_valid_and_exposes_little(root):
    root.install(NOW)
    unit = root.path / "usr/lib/systemd/system/muster.service"
    done = subprocess.run(["systemd-analyze", "security", "--offline=true", f"--threshold={EXPOSURE}", str(unit)],
                          capture_output=True, text=True)  # fmt: skip
    assert done.returncode == 0, done.stdout[-200:] + done.stderr
    done = subprocess.run(["systemd-analyze", "verify", f"--root={root.path}", "--man=no", "--recursive-errors=no",
                           "muster.service"], capture_output=True, text=True)  # fmt: skip
    assert done.returncode == 0, done.stderr
    for file in ("usr/share/man/man1/muster.1.gz", "usr/share/bash-completion/completions/muster"):
        assert (root.path / file).stat().st_size > 1000


ZSH = """source <(muster completion zsh)
compadd() { while [[ $1 != - ]]; do shift; done; shift; print -rl -- "$@" }
words=(muster "$@") CURRENT=$(($# + 1)) PREFIX=${@[-1]}
eval "$_comps[muster]"
"""


def test_zsh_completes_commands_values_and_files(root):
    """zsh itself keeps those that begin with what was typed."""
    root.run("apt-get", "install", "-y", "-q", "--no-install-recommends", "zsh")
    root.install(NOW)
    (root.path / "one file.json").write_text("{}")

    def offered(*words):
        return set(root.run("zsh", "-f", "-c", ZSH, "zsh", *words).stdout.split("\n")) - {""}

    assert offered("key", "") == {"add", "list", "rotate", "delete", "--help"}
    assert offered("document", "set", "x", "--format", "") == {"text", "markdown", "json", "yaml"}
    assert offered("policy", "set", "one") == {"one file.json"}


def test_the_package_has_what_an_operator_reads(root):
    root.install(NOW)
    folder = root.path / "usr/share/doc/muster"
    assert gzip.decompress((folder / "changelog.gz").read_bytes()) == (ROOT / "CHANGELOG.md").read_bytes()
    pages = list(folder.rglob("*.md"))
    assert len(pages) > 20 and dead_links(pages) == []


def test_systemd_starts_reloads_restarts_and_upgrades_the_service(root):
    port = free_port()
    root.run("apt-get", "install", "-y", "-q", "--no-install-recommends", "systemd", "systemd-sysv", "dbus")
    root.install(BEFORE)
    listen_on(root, port)
    root.run("systemctl", "enable", "muster.service")
    with booted(root.path) as machine:

        def main_process():
            return machine.run("systemctl", "show", "-P", "MainPID", "muster")

        machine.wait(lambda: is_ready(port), "the service did not start with the machine")
        first = main_process()
        assert machine.run("stat", "-c", "%U", f"/proc/{first}") == "muster"
        machine.run("systemctl", "reload", "muster")
        assert (main_process(), is_ready(port)) == (first, True)
        machine.run("muster", "tenant", "add", "acme")
        token = json.loads(machine.run("muster", "key", "add", "--tenant", "acme", "--json"))["token"]
        assert report(port, token, RUNS[0]) == 202
        machine.run("sh", "-c", f"kill -KILL {first}")
        machine.wait(lambda: main_process() not in ("0", first) and is_ready(port), "no restart")
        package = next(PACKAGES.glob(f"muster_{NOW}_*.deb"))
        shutil.copy(package, root.path / "var/tmp")
        second = main_process()
        machine.run("apt-get", "install", "-y", "-q", f"/var/tmp/{package.name}")
        machine.wait(lambda: main_process() not in ("0", second) and is_ready(port), "no upgrade")
        assert report(port, token, RUNS[1]) == 202
        listed = json.loads(machine.run("muster", "run", "list", "--tenant", "acme", "--json"))
        assert {run["run_id"] for run in listed["runs"]} == set(RUNS)
        machine.run("systemctl", "stop", "muster")
        assert machine.run("systemctl", "show", "-P", "Result", "muster") == "success"
        machine.run("apt-get", "remove", "-y", "-q", "muster")
        assert not is_ready(port)


def await_message(stream, words):
    """A line of an event stream; a comment every 15 seconds keeps it open for ever."""
    deadline = time.monotonic() + PATIENCE_S
    while words not in (line := stream.readline().decode()):
        assert line and time.monotonic() < deadline, f"no '{words}'"


def check_through(name, proxy, token, port):
    """What the page asks of a proxy: live updates at once, large bodies, the client's address."""
    bearer = {"Authorization": f"Bearer {token}", "Content-Type": "application/json"}

    def ask(method, path, body=None):
        connection = proxies.connect(name, proxy, PATIENCE_S)
        connection.request(method, path, body, bearer)
        return contextlib.closing(connection), connection.getresponse()

    connection, answer = ask("GET", "/api/v1/tenants/acme/stream")
    with connection:
        assert answer.status == 200
        await_message(answer, "event: ready")
        assert report(port, token, str(uuid.uuid4())) == 202
        await_message(answer, "event: run")
    connection, answer = ask("POST", "/api/v1/telemetry/business", b"x" * (10 * 1024 * 1024))
    with connection:
        assert answer.status == 422 and "detail" in json.loads(answer.read()), answer.status
    connection, answer = ask("POST", "/api/v1/auth/login", b'{"email":"a@example.com","password":"wrong"}')
    with connection:
        assert answer.status == 401, answer.read()


@contextlib.contextmanager
def behind(root, name, port):
    """The port of a proxy that answers."""
    proxy = free_port()
    process = proxies.begin(root, name, proxy, port, ENVIRONMENT)

    def answers():
        connection = proxies.connect(name, proxy, PATIENCE_S)
        with contextlib.closing(connection), contextlib.suppress(OSError, http.client.HTTPException):
            connection.request("GET", "/livez")
            return connection.getresponse().status == 200

    try:
        until(answers, PATIENCE_S, lambda: process.poll() is None, lambda: f"{name} does not answer")
        yield proxy
    finally:
        if process.poll() is None:
            os.killpg(process.pid, signal.SIGKILL)  # nothing in it has to end in order
        print(process.communicate(timeout=PATIENCE_S)[0])  # shown if the test fails


def test_it_serves_behind_each_proxy_of_the_page_as_the_page_sets_it_up(root):
    port = free_port()
    proxies.install(root)
    root.install(NOW)
    (root.path / "etc/muster/muster.conf").write_text("data = /var/lib/muster\n" + proxies.settings(port) + "\n")
    words, user = command_of_unit(root)
    with serving(root.command(*words, user=user), port):
        root.run("muster", "tenant", "add", "acme")
        token = json.loads(root.run("muster", "key", "add", "--tenant", "acme", "--json").stdout)["token"]
        for name in proxies.PROXIES:
            with behind(root, name, port) as proxy:
                check_through(name, proxy, token, port)
            (entry,) = json.loads(root.run("muster", "audit", "list", "--limit", "1", "--json").stdout)["entries"]
            assert (entry["action"], entry["origin"]) == ("session.refuse", proxies.CLIENT), (name, entry)


def test_the_tarball_needs_nothing_but_glibc(root):
    tarball = next(PACKAGES.glob(f"muster-{NOW}-linux-*.tar.gz"))
    subprocess.run(["tar", "-C", str(root.path / "opt"), "-xzf", str(tarball)], check=True)
    folder = f"/opt/{tarball.name.removesuffix('.tar.gz')}"
    port = free_port()
    command = root.command(f"{folder}/bin/muster", "serve", "--data", "/opt/data", "--allow-root", "1",
                           "--listen", f"127.0.0.1:{port}")  # fmt: skip
    with serving(command, port):
        root.run(f"{folder}/bin/muster", "tenant", "add", "acme", "--data", "/opt/data")
