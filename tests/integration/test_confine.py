"""The server's process can do nothing but serve: its files, its system calls, its user."""

import os
import re
import signal
import tempfile
from pathlib import Path

import pytest
from conftest import running
from mail_server import mail_server
from muster import BINARY, Server, Trouble
from waiting import until

PROBE = {"LD_PRELOAD": str(BINARY.with_name("muster_test_confine.so"))}
PROBED = re.compile(r"^probe (\w+): (\w+)$", re.M)
CONFINED = {
    "read_elsewhere": "EACCES",
    "write_elsewhere": "EACCES",
    "write_system": "EACCES",
    "read_system": "done",
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


@pytest.fixture
def elsewhere():
    """A folder that is certainly not in /dev, as those of tests may be, which is open to read."""
    with tempfile.TemporaryDirectory(dir="/var/tmp") as folder:
        yield Path(folder)


def places(folder):
    """Files outside the data directory: one to read, one to write, one of the system."""
    (folder / "secret").write_text("x")
    return {
        "MUSTER_TEST_READ": str(folder / "secret"),
        "MUSTER_TEST_WRITE": str(folder / "planted"),
        "MUSTER_TEST_SYSTEM": "/run/muster-test-planted",
    }


def test_a_confined_server_can_only_serve(store, tmp_path, elsewhere):
    if sanitized():
        return  # a sanitizer reports by a process of its own
    with running(store, tmp_path, environment={**PROBE, **places(elsewhere)}) as server:
        assert probed(server) == CONFINED
        assert not (elsewhere / "planted").exists()
        status = Path(f"/proc/{server.process.pid}/status").read_text()
        assert "NoNewPrivs:\t1" in status
        assert "Seccomp:\t2" in status
        for thread in Path(f"/proc/{server.process.pid}/task").iterdir():
            assert "Seccomp:\t2" in (thread / "status").read_text(), thread
        tenant = server.add_tenant()  # and serves on
        assert tenant.client.post("/api/v1/telemetry", tenant.event()).status == 202
        tenant.client.close()


def test_without_confinement_the_same_attempts_succeed(tmp_path, elsewhere):
    """The negative control: what the probe tries can be done."""
    environment = {**PROBE, **places(elsewhere), "MUSTER_CONFINE": "0"}
    server = Server(tmp_path / "data", environment=environment).start()
    found = probed(server)
    server.process.wait(120)  # it has become /bin/true
    server.process.stdout.close()
    server.process = None
    possible = {"read_elsewhere", "write_elsewhere", "read_system", "fork", "network_socket", "become"}
    if not sanitized():
        possible |= {"written_and_executed", "written_then_executed"}
    assert possible <= {name for name, result in found.items() if result == "done"}, found
    assert "execute" not in found
    assert (elsewhere / "planted").exists()
    if os.geteuid() == 0:
        assert found["write_system"] == "done"
        Path("/run/muster-test-planted").unlink()


def test_files_that_the_settings_name_outside_the_data_directory_work(tmp_path):
    """The key elsewhere, and a database that is a link to another disk."""
    (tmp_path / "keys").mkdir()
    (tmp_path / "disk").mkdir()
    (tmp_path / "data").mkdir(mode=0o700)
    (tmp_path / "data/muster.db").symlink_to(tmp_path / "disk/muster.db")
    (tmp_path / "disk/muster.db").touch()
    environment = {"MUSTER_MASTER_KEY_FILE": str(tmp_path / "keys/master.key")}
    with running("sqlite", tmp_path, environment=environment) as server:
        if not sanitized():
            assert "Seccomp:\t2" in Path(f"/proc/{server.process.pid}/status").read_text()
        assert "new master key" in server.cli("vault", "rotate")
        assert (tmp_path / "keys/master.key").exists()
        server.restart()


def test_a_password_file_that_is_replaced_is_read_and_its_neighbours_are_not(tmp_path, elsewhere):
    if sanitized():
        return
    secrets, email = elsewhere / "secrets", "bob@example.com"
    secrets.mkdir()
    (secrets / "smtp").write_text("first")
    with mail_server() as mails:
        environment = {**PROBE, **places(elsewhere), "MUSTER_SMTP_URL": mails.url,
                       "MUSTER_SMTP_FROM": "muster@example.com", "MUSTER_SMTP_USER": "muster",
                       "MUSTER_SMTP_PASSWORD_FILE": str(secrets / "smtp"),
                       "MUSTER_PUBLIC_URL": "http://muster.example.com"}  # fmt: skip

        def problem():
            said = server.cli("user", "invite", email, "--role", "platform_admin")
            assert said.startswith("not sent by e-mail: "), said  # the password is sent by TLS alone
            return said

        with running("sqlite", tmp_path, environment=environment) as server:
            assert "smtp_password_file" not in problem()
            (secrets / "new").write_text("second")
            (secrets / "new").rename(secrets / "smtp")
            assert "smtp_password_file" not in problem()
            (secrets / "smtp").unlink()
            assert "smtp_password_file cannot be opened" in problem()
            assert probed(server)["read_elsewhere"] == "EACCES"


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
