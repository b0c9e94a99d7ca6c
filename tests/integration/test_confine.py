"""The server's process can do nothing but serve: its system calls, its user."""

import re
import signal
from pathlib import Path

import pytest
from conftest import running
from mail_server import mail_server
from muster import BINARY, Server, Trouble
from waiting import until

PROBE = {"LD_PRELOAD": str(BINARY.with_name("muster_test_confine.so"))}
PROBED = re.compile(r"^probe (\w+): (\w+)$", re.M)
CONFINED = {
    "fork": "EPERM",
    "trace": "EPERM",
    "packet_socket": "EAFNOSUPPORT",
    "network_socket": "done",
    "namespace": "EPERM",
    "become": "EPERM",
    "written_and_executed": "EPERM",
    "written_then_executed": "EPERM",
    "execute": "EPERM",
}


def sanitized():
    return re.search(rb"__[at]san_init", BINARY.read_bytes()) is not None


def probed(server):
    server.process.send_signal(signal.SIGUSR2)
    until(lambda: "probe end" in server.log() or server.process.poll() is not None)
    return dict(PROBED.findall(server.log()))


def test_a_confined_server_can_only_serve(store, tmp_path):
    if sanitized():
        return  # a sanitizer reports by a process of its own
    with running(store, tmp_path, environment=PROBE) as server:
        assert probed(server) == CONFINED
        status = Path(f"/proc/{server.process.pid}/status").read_text()
        assert "NoNewPrivs:\t1" in status
        assert "Seccomp:\t2" in status
        for thread in Path(f"/proc/{server.process.pid}/task").iterdir():
            assert "Seccomp:\t2" in (thread / "status").read_text(), thread
        tenant = server.add_tenant()  # and serves on
        assert tenant.client.post("/api/v1/telemetry", tenant.event()).status == 202
        tenant.client.close()


def test_without_confinement_the_same_attempts_succeed(tmp_path):
    """The negative control: what the probe tries can be done."""
    environment = {**PROBE, "MUSTER_CONFINE": "0"}
    server = Server(tmp_path / "data", environment=environment).start()
    found = probed(server)
    server.process.wait(120)  # it has become /bin/true
    server.process.stdout.close()
    server.process = None
    possible = {"fork", "network_socket", "become"}
    if not sanitized():
        possible |= {"written_and_executed", "written_then_executed"}
    assert possible <= {name for name, result in found.items() if result == "done"}, found
    assert "execute" not in found


def test_a_password_file_that_is_replaced_is_read(tmp_path):
    secret = tmp_path / "smtp"
    secret.write_text("first")
    with mail_server() as mails:
        environment = {"MUSTER_SMTP_URL": mails.url, "MUSTER_SMTP_FROM": "muster@example.com",
                       "MUSTER_SMTP_USER": "muster", "MUSTER_SMTP_PASSWORD_FILE": str(secret),
                       "MUSTER_PUBLIC_URL": "http://muster.example.com"}  # fmt: skip

        def problem():
            said = server.cli("user", "invite", "bob@example.com", "--role", "platform_admin")
            assert said.startswith("not sent by e-mail: "), said  # the password is sent by TLS alone
            return said

        with running("sqlite", tmp_path, environment=environment) as server:
            assert "smtp_password_file" not in problem()
            (tmp_path / "new").write_text("second")
            (tmp_path / "new").rename(secret)
            assert "smtp_password_file" not in problem()
            secret.unlink()
            assert "smtp_password_file cannot be opened" in problem()


@pytest.mark.parametrize(
    ("settings", "starts"),
    [
        ({}, False),
        ({"MUSTER_ALLOW_ROOT": "1"}, True),
        ({"container": "podman"}, True),
        ({"KUBERNETES_SERVICE_HOST": "10.0.0.1"}, True),
    ],
)
def test_root_outside_a_container_is_refused_unless_allowed(tmp_path, settings, starts):
    environment = {**PROBE, "MUSTER_TEST_MACHINE": "1", "MUSTER_ALLOW_ROOT": "0", **settings}
    server = Server(tmp_path / "data", environment=environment)
    if not starts:
        with pytest.raises(Trouble, match="no start"):
            server.start()
        assert "refusing to run as root" in server.log()
        assert "--allow-root 1" in server.log()
        assert not (tmp_path / "data").exists()
        return
    server.start()
    server.stop()
    assert ("running as root" in server.log()) == ("MUSTER_ALLOW_ROOT" not in settings)
