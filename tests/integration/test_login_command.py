"""`muster login`: commands of this machine reach a service with a token that is never shown."""

import json
import os
import pty
import re
import select
import socket
import stat
import subprocess
import time

import pytest
from certificates import Certificate
from conftest import running
from muster import BINARY, COMMAND_S
from people import PASSWORD, add_user
from waiting import until

pytestmark = pytest.mark.commands


class Machine:
    """A machine of a user: a home directory, and commands that know nothing else."""

    def __init__(self, folder, url, ca=None):
        self.folder, self.url, self.ca = folder, url, ca
        folder.mkdir()
        self.file = folder / ".config/muster/login"
        self.environment = {"HOME": str(folder)}

    def run(self, *arguments, stdin="", **environment):
        return subprocess.run([BINARY, *arguments], capture_output=True, text=True, input=stdin,
                              timeout=COMMAND_S, check=False, cwd=self.folder,
                              env={**self.environment, **environment})  # fmt: skip

    def log_in(self, email, *more, password=PASSWORD, url=None):
        ca = ["--server-ca", str(self.ca)] if self.ca else []
        return self.run("login", "--server", url or self.url, *ca, "--user", email,
                        "--password-stdin", *more, stdin=password + "\n")  # fmt: skip

    def token(self):
        return re.search(r"^token = (mst_pat_\w+)$", self.file.read_text(), re.M).group(1)


@pytest.fixture(scope="module")
def service(store, tmp_path_factory):
    folder = tmp_path_factory.mktemp("service")
    certificate = Certificate(folder)
    with running(store, folder, arguments=certificate.arguments) as server:
        server.cli("tenant", "add", "acme")
        server.email = add_user(server, "--role", "platform_admin")
        server.member = add_user(server, "--role", "member", "--tenant", "acme")
        server.url = f"https://localhost:{server.address[1]}"
        server.ca = certificate.cert
        yield server


@pytest.fixture
def machine(service, tmp_path):
    return Machine(tmp_path / "home", service.url, service.ca)


def signed_in(machine, email, *more):
    """Another process may have made the user: the service knows a moment later."""
    until(lambda: machine.log_in(email, *more).returncode == 0)


def test_a_login_lets_commands_reach_the_service(service, machine):
    signed_in(machine, service.email, "--name", "my laptop")
    done = machine.log_in(service.email, "--name", "my laptop", "--json")
    assert done.returncode == 0, done.stderr
    made = json.loads(done.stdout)
    assert (made["server"], made["user"], made["role"]) == (
        service.url, service.email, "platform_admin",
    )  # fmt: skip
    listed = machine.run("tenant", "list")
    assert listed.returncode == 0 and "acme" in listed.stdout, listed.stderr
    tokens = json.loads(machine.run("token", "list", "--user", service.email, "--json").stdout)
    ours = [token for token in tokens["tokens"] if token["name"] == "my laptop"]
    assert [token["token_id"] for token in ours] == [made["token_id"]], "the one before is deleted"


def test_the_token_is_kept_private_and_printed_nowhere(service, machine):
    signed_in(machine, service.email)
    done = machine.log_in(service.email)
    assert done.stdout.startswith(f"signed in to {service.url} as {service.email}")
    assert machine.token() not in done.stdout + done.stderr and "mst_pat" not in done.stdout
    assert stat.S_IMODE(machine.file.stat().st_mode) == 0o600
    assert stat.S_IMODE(machine.file.parent.stat().st_mode) == 0o700
    assert [path.name for path in machine.file.parent.iterdir()] == ["login"]
    machine.file.chmod(0o644)
    refused = machine.run("tenant", "list")
    assert refused.returncode == 2 and "not yours alone" in refused.stderr
    assert "mst_pat" not in refused.stderr


def test_the_folder_of_the_login_follows_the_environment(service, machine, tmp_path):
    machine.environment["XDG_CONFIG_HOME"] = str(tmp_path / "settings")
    signed_in(machine, service.email)
    assert (tmp_path / "settings/muster/login").exists() and not machine.file.exists()
    machine.environment = {}
    done = machine.log_in(service.email)
    assert done.returncode == 2 and "HOME is not set" in done.stderr


def test_a_logout_deletes_the_token_here_and_there(service, machine):
    signed_in(machine, service.email)
    token = machine.token()
    done = machine.run("logout")
    assert (done.returncode, done.stderr) == (0, "")
    assert not machine.file.exists()
    kept = machine.folder / "kept"
    kept.touch(mode=0o600)
    kept.write_text(token)
    where = ["--server", service.url, "--server-ca", str(service.ca), "--token-file", str(kept)]
    assert machine.run("tenant", "list", *where).returncode == 1
    again = machine.run("logout")
    assert again.returncode == 1 and "not signed in" in again.stderr


def test_a_login_that_was_ended_elsewhere_says_so(service, machine):
    signed_in(machine, service.email)
    made = re.search(r"^token_id = (\S+)$", machine.file.read_text(), re.M).group(1)
    assert machine.run("token", "delete", made, "--user", service.email).returncode == 0
    refused = machine.run("tenant", "list")
    assert refused.returncode == 1 and "run `muster login` again" in refused.stderr
    assert machine.run("logout").returncode == 0, "what is gone needs no deletion"


def test_without_a_service_there_is_no_logout(service, machine):
    signed_in(machine, service.email)
    with socket.create_server(("127.0.0.1", 0)) as free:
        port = free.getsockname()[1]
    text = machine.file.read_text()
    machine.file.write_text(text.replace(service.url, f"https://localhost:{port}"))
    done = machine.run("logout")
    assert done.returncode == 1 and "you stay signed in" in done.stderr
    assert machine.file.exists()


def test_a_command_that_names_a_service_does_not_use_the_login(service, machine, tmp_path):
    signed_in(machine, service.email)
    here = tmp_path / "here"
    here.mkdir()
    for arguments, environment in (
        (("--data", str(here)), {}),
        ((), {"MUSTER_DATA": str(here)}),
    ):
        done = machine.run("tenant", "list", *arguments, **environment)
        assert done.returncode == 1 and f"no database in '{here}'" in done.stderr, done.stderr
    same = machine.run("tenant", "list", "--server", service.url)
    assert same.returncode == 0, "the login's own server needs no token file"
    other = machine.run("tenant", "list", "--server", "https://other.example.com")
    assert other.returncode == 2 and "--token-file" in other.stderr


def test_a_login_allows_what_the_user_may_and_not_more(service, machine):
    until(lambda: machine.log_in(service.member).returncode == 0)
    assert machine.run("agent", "list", "--tenant", "acme").returncode == 0
    refused = machine.run("tenant", "list")
    assert refused.returncode == 1 and "platform admins" in refused.stderr
    refused = machine.log_in(service.member, "--role", "platform_admin")
    assert refused.returncode == 1 and "no platform admin" in refused.stderr
    assert machine.run("agent", "list", "--tenant", "acme").returncode == 0, "the old one is kept"
    signed_in(machine, service.email, "--role", "member")
    assert machine.run("tenant", "list").returncode == 1


@pytest.mark.parametrize(
    ("more", "url", "words"),
    [
        (("--expires-in-days", "367"), None, ["expires_in_days", "366"]),
        (("--expires-in-days", "0"), None, ["--expires-in-days"]),
        (("--role", "owner"), None, ["--role"]),
        ((), "http://muster.example.com", ["without TLS"]),
        ((), "muster.example.com", ["is not a URL"]),
    ],
)
def test_a_login_that_cannot_be_is_refused(service, machine, more, url, words):
    done = machine.log_in(service.email, *more, url=url)
    assert done.returncode in (1, 2) and done.stdout == ""
    assert all(word in done.stderr for word in words), done.stderr
    assert not machine.file.exists()


def test_a_wrong_password_opens_nothing(service, machine):
    done = machine.log_in(service.email, password="not the password at all")
    assert done.returncode == 1 and "Wrong e-mail or password" in done.stderr
    assert not machine.file.exists() and not machine.file.parent.exists()


def test_a_login_leaves_no_session_behind(service, machine):
    signed_in(machine, service.email)
    listed = machine.run("session", "list", "--user", service.email, "--json")
    assert json.loads(listed.stdout)["sessions"] == [], listed.stderr


def typed(machine, answers):
    """Runs `muster login` on a terminal of its own; what it shows there, and its exit status."""
    pid, terminal = pty.fork()
    if pid == 0:
        os.chdir(machine.folder)
        os.execve(BINARY, [str(BINARY), "login", "--server-ca", str(machine.ca)],
                  machine.environment)  # fmt: skip
    seen, deadline, waiting = b"", time.monotonic() + COMMAND_S, list(answers)
    while time.monotonic() < deadline:
        ready, _, _ = select.select([terminal], [], [], 1)
        try:
            chunk = os.read(terminal, 4096) if ready else None
        except OSError:  # it has ended
            break
        if chunk == b"":
            break
        seen += chunk or b""
        if waiting and waiting[0][0] in seen:
            os.write(terminal, waiting.pop(0)[1].encode() + b"\n")
    _, status = os.waitpid(pid, 0)
    os.close(terminal)
    return seen.decode(), os.waitstatus_to_exitcode(status)


def test_a_person_is_asked_and_the_password_is_not_shown(service, machine):
    seen, status = typed(machine, [(b"Server", service.url), (b"E-mail", service.email),
                                   (b"Password", PASSWORD)])  # fmt: skip
    assert status == 0, seen
    assert service.email in seen and PASSWORD not in seen and "mst_pat" not in seen
    assert machine.run("tenant", "list").returncode == 0


def test_without_a_terminal_a_login_says_what_to_give(service, machine):
    done = subprocess.run(["setsid", BINARY, "login", "--server", service.url], cwd=machine.folder,
                          capture_output=True, text=True, timeout=COMMAND_S, check=False,
                          stdin=subprocess.DEVNULL, env=machine.environment)  # fmt: skip
    assert done.returncode == 2 and "'E-mail': use --user" in done.stderr
