"""The command line from anywhere: over TLS, as the user of a personal access token."""

import contextlib
import json
import socket
import ssl
import subprocess
import threading

import pytest
from certificates import Certificate
from conftest import running
from muster import BINARY, COMMAND_S
from people import add_user
from waiting import until

pytestmark = pytest.mark.commands


@pytest.fixture(scope="module")
def away(store, tmp_path_factory):
    """Runs commands against a server with TLS, knowing only its URL, its certificate and a token."""
    folder = tmp_path_factory.mktemp("away")
    certificate = Certificate(folder)
    with running(store, folder, arguments=certificate.arguments) as server:
        server.cli("tenant", "add", "acme")
        email = add_user(server, "--role", "platform_admin")
        token = folder / "token"
        token.touch(mode=0o600)
        token.write_text(server.cli("token", "add", "x", "--user", email, "--role", "platform_admin"))

        def run(*arguments, url=f"https://localhost:{server.address[1]}", token_file=token, ca=certificate.cert):
            where = ["--server", url, *(["--token-file", str(token_file)] if token_file else []),
                     *(["--server-ca", str(ca)] if ca else [])]  # fmt: skip
            return subprocess.run([BINARY, *arguments, *where], capture_output=True, text=True,
                                  timeout=COMMAND_S, check=False, cwd=folder, env={})  # fmt: skip

        run.server, run.email, run.folder, run.token = server, email, folder, token
        run.certificate = certificate
        until(lambda: run("tenant", "list").returncode == 0)  # another process made the token
        yield run


def test_a_command_reaches_the_service_from_anywhere(away):
    done = away("key", "add", "--tenant", "acme", "--label", "made from afar")
    assert (done.returncode, done.stderr) == (0, "") and done.stdout.startswith("mst_ws_")
    keys = json.loads(away("key", "list", "--tenant", "acme", "--json").stdout)["keys"]
    assert "made from afar" in [key["label"] for key in keys]
    entries = json.loads(away("audit", "list", "--tenant", "acme", "--json").stdout)["entries"]
    (entry,) = [entry for entry in entries if entry["action"] == "key.add"]
    assert away.email in entry["actor"]
    assert not (away.folder / "data2").exists()


def test_a_deleted_token_opens_nothing(away):
    fresh = away.folder / "fresh"
    fresh.touch(mode=0o600)
    made = away.server.cli("token", "add", "fresh", "--user", away.email, "--json")
    fresh.write_text(json.loads(made)["token"])
    until(lambda: away("agent", "list", "--tenant", "acme", token_file=fresh).returncode == 0)
    refused = away("tenant", "list", token_file=fresh)  # its role is to read workspaces
    assert refused.returncode == 1 and "platform admins" in refused.stderr
    gone = away("token", "delete", json.loads(made)["token_id"], "--user", away.email)
    assert gone.returncode == 0, gone.stderr
    assert away("agent", "list", "--tenant", "acme", token_file=fresh).returncode == 1


def test_a_token_without_tls_is_given_to_no_proxy(server, tmp_path):
    """Without TLS only this machine is allowed, and a proxy of the environment is another one."""
    token = tmp_path / "token"
    token.touch(mode=0o600)
    token.write_text("mst_pat_" + "x" * 40)
    with socket.create_server(("127.0.0.1", 0)) as proxy:
        url = f"http://127.0.0.1:{proxy.getsockname()[1]}"
        done = subprocess.run(
            [BINARY, "tenant", "list", "--server", f"http://localhost:{server.address[1]}",
             "--token-file", str(token)], capture_output=True, text=True, timeout=COMMAND_S, check=False,
            cwd=tmp_path, env={"http_proxy": url, "all_proxy": url})  # fmt: skip
        proxy.setblocking(False)
        with pytest.raises(BlockingIOError):
            proxy.accept()
    assert done.returncode == 1 and "token" in done.stderr.lower(), done.stderr


def test_a_certificate_that_is_not_trusted_is_refused(away):
    done = away("tenant", "list", ca=None)
    assert done.returncode == 1 and "give the one of its authority with --server-ca FILE" in done.stderr
    done = away("tenant", "list", ca=away.token)
    assert done.returncode == 1 and f"server_ca: '{away.token}' is not a file of certificates" in done.stderr


def test_a_certificate_for_another_name_is_refused(away):
    """One that is trusted, shown by an address that is not in it."""
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.load_cert_chain(away.certificate.cert, away.certificate.key)

    def greet():
        connection, _ = other.accept()
        with connection, contextlib.suppress(OSError):
            context.wrap_socket(connection, server_side=True).close()

    with socket.create_server(("127.0.0.2", 0)) as other:
        greeting = threading.Thread(target=greet)
        greeting.start()
        done = away("tenant", "list", url=f"https://127.0.0.2:{other.getsockname()[1]}")
        greeting.join()
    assert (done.returncode, done.stdout) == (1, "") and "--server-ca" not in done.stderr
    assert "is not for that name" in done.stderr, done.stderr


def test_tls_where_there_is_none_and_none_where_there_is_are_told_apart(away, server):
    done = away("tenant", "list", url=f"http://localhost:{away.server.address[1]}")
    assert (done.returncode, done.stdout) == (1, "") and "use https" in done.stderr, done.stderr
    done = away("tenant", "list", url=f"https://localhost:{server.address[1]}")
    assert (done.returncode, done.stdout) == (1, "") and "reached with http://" in done.stderr, done.stderr
    with socket.create_server(("127.0.0.1", 0)) as silent:  # not even a sentence
        closing = threading.Thread(target=lambda: silent.accept()[0].close())
        closing.start()
        done = away("tenant", "list", url=f"http://127.0.0.1:{silent.getsockname()[1]}")
        closing.join()
    assert done.returncode == 1 and "if it speaks TLS, use https://" in done.stderr, done.stderr


@pytest.mark.parametrize(
    ("given", "words"),
    [
        ({"url": "muster.example.com"}, ["server: 'muster.example.com'", "https://"]),
        ({"url": "https://x/api"}, ["server: 'https://x/api'", "a host and a port"]),
        ({"url": "https://me:pw@x"}, ["server:", "a host and a port"]),
        ({"url": "https://x:http"}, ["server: 'https://x:http'", "a host and a port"]),
        ({"url": "http://muster.example.com"}, ["server:", "without TLS", "https://"]),
        ({"url": "http://localhost.example.com"}, ["server:", "without TLS"]),
        ({"token_file": None}, ["--server needs", "`muster login`", "--token-file"]),
        ({"token_file": "/nonexistent"}, ["token_file: cannot read '/nonexistent'"]),
    ],
)
def test_a_bad_server_or_token_is_refused_before_anything_is_sent(away, given, words):
    done = away("tenant", "list", **given)
    assert (done.returncode, done.stdout) == (2, "")
    assert all(word in done.stderr for word in words), done.stderr


def test_a_token_that_others_can_read_is_refused(away):
    lax = away.folder / "lax"
    lax.write_text(away.token.read_text())
    lax.chmod(0o644)
    done = away("tenant", "list", token_file=lax)
    assert done.returncode == 2 and "chmod 600" in done.stderr
    lax.write_text("two words")
    lax.chmod(0o600)
    done = away("tenant", "list", token_file=lax)
    assert done.returncode == 2 and "does not hold a token" in done.stderr


@pytest.mark.parametrize("words", [("backup", "copy.db"), ("check",), ("cluster", "status"), ("cluster", "enable")])
def test_what_reads_the_files_of_a_store_is_refused_from_afar(away, words):
    done = away(*words)
    assert done.returncode == 2 and "the service's own files or database" in done.stderr, done.stderr
    assert "without --server" in done.stderr
