"""A name may lead anywhere by the time we connect: what it leads to then is what counts.

The server runs in a mount namespace in which /etc/hosts and /etc/resolv.conf are the test's own.
It runs over the embedded store alone: the store has no part in this.
"""

import json
import os
import shutil
import subprocess
import sys
from contextlib import contextmanager

import pytest
from muster import BINARY, COMMAND_S, Server
from receiver import receiving

OUR_HOST, PORT = f"127.77.{os.getpid() >> 8 & 255}.{os.getpid() & 255}", 8443
HOSTS = {
    "loopback.example.com": [OUR_HOST],
    "v6.example.com": ["::1"],
    "mapped.example.com": [f"::ffff:{OUR_HOST}"],
    "private.example.com": ["10.0.0.1"],
    "metadata.example.com": ["169.254.169.254"],
    "carrier.example.com": ["100.64.0.1"],
    "unique-local.example.com": ["fd00::1"],
    "several.example.com": [OUR_HOST, "::1", "192.168.0.1"],
    "nowhere.example.com": ["0.0.0.0"],
}
WRAPPER = """#!/bin/sh
exec unshare --user --map-root-user --mount sh -c '
    mount --bind "$0/hosts" /etc/hosts && mount --bind "$0/resolv.conf" /etc/resolv.conf &&
    exec "$@"' {folder} {binary} "$@"
"""


# The same in a network of its own, where both addresses are ours and there is no other host.
PUBLIC, PRIVATE = "93.184.216.34", "10.0.0.1"
ALONE = """#!/bin/sh
exec unshare --user --map-root-user --mount --net sh -c '
    ip link set lo up && ip address add %s/32 dev lo && ip address add %s/32 dev lo &&
    mount --bind "$0/hosts" /etc/hosts && mount --bind "$0/resolv.conf" /etc/resolv.conf &&
    exec "$@"' {folder} {binary} "$@"
""" % (PUBLIC, PRIVATE)
MIXED = {
    "public.example.com": [PUBLIC],
    "public-first.example.com": [PUBLIC, PRIVATE],
    "private-first.example.com": [PRIVATE, PUBLIC],
    "also-loopback.example.com": [PUBLIC, "127.0.0.1"],
    "also-v6.example.com": [PUBLIC, "fd00::1"],
    "also-metadata.example.com": [PUBLIC, "169.254.169.254"],
}
LISTENER = """
import socket
with socket.create_server(("0.0.0.0", %d)) as server:
    print("ready", flush=True)
    while True:
        connection, _ = server.accept()
        print(connection.getsockname()[0], flush=True)
        connection.recv(65536)
        connection.sendall(b"HTTP/1.1 200 OK\\r\\nContent-Length: 0\\r\\n\\r\\n")
        connection.close()
""" % PORT
SILENT_NAME_SERVER = """
import socket
with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as silent:
    silent.bind(("%s", 53))
    print("ready", flush=True)
    silent.recv(4096)
    print("asked", flush=True)
    silent.recv(4096)
""" % PRIVATE


def may_unshare():
    command = ["unshare", "--user", "--map-root-user", "--mount", "true"]
    return shutil.which("unshare") and subprocess.run(command, capture_output=True).returncode == 0


pytestmark = pytest.mark.skipif(not may_unshare(), reason="no namespaces for us on this machine")


@contextmanager
def server_with_names(folder, hosts, resolver="127.0.0.1", arguments=(), how=WRAPPER):
    lines = [f"{address} {name}\n" for name, addresses in hosts.items() for address in addresses]
    (folder / "hosts").write_text("".join(lines))
    (folder / "resolv.conf").write_text(f"nameserver {resolver}\n")
    wrapper = folder / "muster"
    wrapper.write_text(how.format(folder=folder, binary=BINARY))
    wrapper.chmod(0o755)
    server = Server(folder / "data", binary=wrapper, arguments=arguments)
    try:
        yield server.start()
    finally:
        if server.process is not None:
            server.kill()


def add(server, tenant, url):
    done = server.run("webhook", "add", url, "--tenant", tenant.slug, "--json")
    assert done.returncode == 0, done.stderr
    return json.loads(done.stdout)["webhook_id"]


def send_test(server, tenant, hook):
    return json.loads(
        server.run("webhook", "test", hook, "--tenant", tenant.slug, "--json").stdout
    )


def test_a_name_that_leads_inside_is_not_connected_to(tmp_path):
    http = ["--webhook-allow-http", "1"]
    with (
        receiving(OUR_HOST, PORT) as receiver,
        server_with_names(tmp_path, HOSTS, arguments=http) as server,
    ):
        tenant, hooks = server.add_tenant(), {}
        for name in HOSTS:  # as a URL each of them is a good one
            hooks[name] = add(server, tenant, f"http://{name}:{PORT}/hook")
        for name, hook in hooks.items():
            said = send_test(server, tenant, hook)
            assert (said["delivered"], said["status"]) == (False, None), name
            assert said["error"] == "the host name resolves to an address that is not public", name
        assert receiver.connections == 0
        server.stop()
        server.arguments = [*http, "--webhook-allow-private", "1"]
        server.start()  # and by this the listener and the names are what they should be
        assert send_test(server, tenant, hooks["loopback.example.com"])["delivered"] is True
        assert receiver.connections == 1
        tenant.client.close()


@contextmanager
def listening_beside(server, listener=LISTENER):
    """A listener in the server's network; what it prints."""
    listener = subprocess.Popen(
        ["nsenter", "--target", str(server.process.pid), "--user", "--preserve-credentials",
         "--net", sys.executable, "-c", listener], stdout=subprocess.PIPE, text=True,
    )  # fmt: skip
    try:
        assert listener.stdout.readline() == "ready\n"
        yield listener
    finally:
        listener.kill()
        listener.wait()
        listener.stdout.close()


@pytest.mark.skipif(not shutil.which("ip"), reason="no ip on this machine")
def test_a_name_that_leads_inside_and_outside_is_refused_whole(tmp_path):
    arguments = ["--webhook-allow-http", "1"]
    with (
        server_with_names(tmp_path, MIXED, arguments=arguments, how=ALONE) as server,
        listening_beside(server) as listener,
    ):
        tenant = server.add_tenant()
        hooks = {name: add(server, tenant, f"http://{name}:{PORT}/hook") for name in MIXED}
        said = send_test(server, tenant, hooks["public.example.com"])
        assert (said["delivered"], said["status"]) == (True, 200), said
        for name in list(MIXED)[1:]:
            said = send_test(server, tenant, hooks[name])
            assert (said["delivered"], said["status"]) == (False, None), name
            assert said["error"] == "the host name resolves to an address that is not public", name
        assert send_test(server, tenant, hooks["public.example.com"])["delivered"] is True
        listener.kill()
        assert listener.stdout.read().split() == [PUBLIC] * 2  # and no other host was reached in between
        tenant.client.close()


@pytest.mark.skipif(not shutil.which("ip"), reason="no ip on this machine")
def test_a_name_server_that_hangs_does_not_keep_us_from_ending(tmp_path):
    with (
        server_with_names(tmp_path, {}, resolver=PRIVATE, how=ALONE) as server,
        listening_beside(server, SILENT_NAME_SERVER) as silent,
    ):
        tenant = server.add_tenant()
        hook = add(server, tenant, "https://slow.example.com/hook")
        waiting = subprocess.Popen(
            [BINARY, "webhook", "test", hook, "--tenant", tenant.slug, *server.store_arguments],
            stderr=subprocess.DEVNULL,
        )
        assert silent.stdout.readline() == "asked\n"
        server.stop()
        assert "done; connections closed early" in server.log()  # in order; the resolver goes on for ten seconds
        assert waiting.wait(COMMAND_S) != 0
        tenant.client.close()
