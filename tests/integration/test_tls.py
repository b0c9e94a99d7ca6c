"""TLS in the service: what it speaks, what it refuses, and certificates that are replaced."""

import http.client
import itertools
import json
import re
import signal
import socket
import ssl
import subprocess
import threading

import pytest
from certificates import Certificate, made, openssl, tls_client, trusting
from conftest import running
from muster import ANSWER_S, WATCHES, Server
from people import PASSWORD, add_user, cookie_of
from waiting import until

LIVE = "/livez"


@pytest.fixture(scope="module")
def secured(store, tmp_path_factory):
    """A server with TLS, and its certificate."""
    folder = tmp_path_factory.mktemp("tls")
    with running(store, folder, arguments=Certificate(folder).arguments) as server:
        yield server


@pytest.fixture
def alone(tmp_path):
    """Starts a server with TLS of the test's own, on SQLite: the store does not matter."""
    certificate = Certificate(tmp_path)

    def start(*arguments, environment=None):
        more = [*certificate.arguments, *arguments]
        return running("sqlite", tmp_path, arguments=more, environment=environment)

    start.certificate = certificate
    return start


def shaken(server, *names):
    """A connection after its handshake; of IPv4, whose certificate is one of these."""
    context = trusting(*names)
    raw = socket.create_connection(server.address, timeout=ANSWER_S)
    return context.wrap_socket(raw, server_hostname="localhost")


def shown(server):
    """The common name in the certificate that a new connection gets."""
    with shaken(server, "first", "second") as connection:
        return connection.getpeercert()["subject"][0][0][1]


def metric(server, name):
    with tls_client(server, trusting("first", "second"), WATCHES) as client:
        return int(re.search(rf"^{name} (\d+)$", client.get("/metrics").body.decode(), re.M).group(1))


def url(server, path=LIVE):
    return f"https://localhost:{server.address[1]}{path}"


# What is refused at the start


@pytest.mark.parametrize(
    "cert, key, sentence",
    [
        ("cert.pem", None, "tls_cert: '{cert}' needs its private key: set tls_key"),
        (None, "key.pem", "tls_key: '{key}' needs its certificate: set tls_cert"),
        ("no.pem", "key.pem", "tls_cert: cannot read '{cert}': No such file or directory"),
        ("cert.pem", "no.pem", "tls_key: cannot read '{key}': No such file or directory"),
        ("text.pem", "key.pem", "tls_cert: '{cert}' has no usable PEM certificate"),
        ("cert.pem", "text.pem", "tls_key: '{key}' has no usable PEM private key"),
        ("cert.pem", "other.pem", "the key in '{key}' does not belong to the certificate in '{cert}'"),
        ("cert.pem", "locked.pem", "the key in '{key}' has a passphrase; store it without one"),
        ("torn.pem", "key.pem", "tls_cert: the chain in '{cert}' is damaged"),
    ],
)
def test_a_bad_pair_refuses_the_start(tmp_path, cert, key, sentence):
    pair = Certificate(tmp_path)
    (tmp_path / "text.pem").write_text("not a certificate\n")
    (tmp_path / "other.pem").write_bytes(made("second", "ec")[1])
    (tmp_path / "torn.pem").write_bytes(pair.cert.read_bytes() * 2 + pair.cert.read_bytes()[:300])
    openssl("ec", "-in", str(pair.key), "-aes256", "-passout", "pass:word",
            "-out", str(tmp_path / "locked.pem"))  # fmt: skip
    paths = {"cert": str(tmp_path / (cert or "")), "key": str(tmp_path / (key or ""))}
    given = [("--tls-cert", paths["cert"])] * bool(cert) + [("--tls-key", paths["key"])] * bool(key)
    done = Server(tmp_path / "data").run("serve", *itertools.chain(*given))
    assert done.returncode != 0
    assert sentence.format(**paths) in done.stderr
    assert len(done.stderr.splitlines()) <= 2, done.stderr


# What it speaks


def test_curl_openssl_and_python_reach_it(secured, tmp_path):
    (tmp_path / "ca.pem").write_bytes(made("first", "ec")[0])
    curl = ["curl", "-sS", "--max-time", "30", "--cacert", str(tmp_path / "ca.pem"), "-i"]
    for version in ("--tlsv1.2", "--tlsv1.3"):
        said = subprocess.run(
            [*curl, version, "--tls-max", version[-3:], url(secured)],
            capture_output=True, text=True, check=True,
        ).stdout  # fmt: skip
        assert said.startswith("HTTP/1.1 200") and "strict-transport-security" in said.lower()
    said = openssl("s_client", "-connect", f"localhost:{secured.address[1]}", "-CAfile",
                   str(tmp_path / "ca.pem"), "-alpn", "h2,http/1.1", "-quiet",
                   stdin=f"GET {LIVE} HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n\r\n")  # fmt: skip
    assert "HTTP/1.1 200" in said and "verify return:1" in said
    with tls_client(secured) as client:
        assert client.get("/api/v1/health").json() == {"status": "ok"}


REFUSED = [
    ["-tls1_1", "-cipher", "DEFAULT@SECLEVEL=0"],
    ["-tls1", "-cipher", "DEFAULT@SECLEVEL=0"],
    ["-alpn", "h2"],
]


@pytest.mark.parametrize("how", REFUSED, ids=" ".join)
def test_old_protocols_are_refused(secured, how):
    where = f"localhost:{secured.address[1]}"
    said = openssl("s_client", "-connect", where, *how, stdin="Q\n")
    assert "Cipher is (NONE)" in said or "no application protocol" in said, said
    if how[0] != "-alpn":  # the control: the same question, well put
        assert "Cipher is ECDHE" in openssl("s_client", "-connect", where, "-tls1_2", stdin="Q\n")


def test_of_all_ciphers_of_tls_1_2_only_strong_ones_are_accepted(secured):
    """As a scanner does: each that OpenSSL knows alone."""
    context = trusting()
    context.maximum_version = ssl.TLSVersion.TLSv1_2
    context.set_ciphers("ALL:COMPLEMENTOFALL:@SECLEVEL=0")
    offered = [one["name"] for one in context.get_ciphers() if not one["name"].startswith("TLS_")]
    accepted = set()
    for name in offered:
        context.set_ciphers(f"{name}:@SECLEVEL=0")
        raw = socket.create_connection(secured.address, timeout=ANSWER_S)
        try:
            with context.wrap_socket(raw, server_hostname="localhost"):
                accepted.add(name)
        except (ssl.SSLError, ConnectionError):
            raw.close()
    assert len(offered) > 50 and "ECDHE-ECDSA-AES128-GCM-SHA256" in accepted
    assert [one for one in accepted if not re.fullmatch(r"ECDHE-ECDSA-(AES\d+-GCM-SHA\d+|CHACHA20-POLY1305)", one)] == []


def test_what_a_scanner_of_protocols_asks_for_is_answered_well(secured):
    where = ("s_client", "-connect", f"localhost:{secured.address[1]}")
    assert "inappropriate fallback" in openssl(*where, "-no_tls1_3", "-fallback_scsv", stdin="Q\n")
    older = openssl(*where, "-tls1_2", stdin="Q\n")
    assert "Secure Renegotiation IS supported" in older and "Extended master secret: yes" in older
    newer = openssl(*where, "-tls1_3", "-ign_eof", stdin=f"GET {LIVE} HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n")
    assert "Max Early Data: 0" in newer and "HTTP/1.1 200" in newer
    for weak in (["-sigalgs", "ECDSA+SHA1"], ["-groups", "secp224r1"]):
        assert "Cipher is (NONE)" in openssl(*where, "-tls1_2", "-cipher", "DEFAULT@SECLEVEL=0", *weak, stdin="Q\n"), weak


def test_a_client_cannot_renegotiate_and_nothing_is_compressed(secured):
    where = f"localhost:{secured.address[1]}"
    said = openssl("s_client", "-connect", where, "-tls1_2", "-comp", stdin="R\n")
    assert "Compression: NONE" in said
    assert "no renegotiation" in said, said


def test_http_without_tls_is_answered_with_a_sentence(secured):
    said = secured.raw(f"GET {LIVE} HTTP/1.1\r\nHost: x\r\n\r\n".encode())
    head, _, body = said.partition(b"\r\n\r\n")
    assert head.startswith(b"HTTP/1.1 400 ") and body == b"This port speaks TLS: use https, not http.\r\n"
    assert f"Content-Length: {len(body)}".encode() in head


def test_a_session_is_resumed_by_its_ticket(secured):
    context = trusting()
    context.maximum_version = ssl.TLSVersion.TLSv1_2
    with context.wrap_socket(socket.create_connection(secured.address), server_hostname="localhost") as first:
        ticket = first.session
    raw = socket.create_connection(secured.address)
    with context.wrap_socket(raw, server_hostname="localhost", session=ticket) as second:
        assert second.session_reused


def test_the_end_of_a_connection_is_said(secured):
    with shaken(secured) as connection:
        connection.sendall(f"GET {LIVE} HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n".encode())
        said = b"".join(iter(lambda: connection.recv(65536), b""))  # raises at an end that is not said
    assert said.startswith(b"HTTP/1.1 200 ")


def test_requests_that_arrive_byte_by_byte_or_together_are_answered(secured):
    request = f"GET {LIVE} HTTP/1.1\r\nHost: x\r\n\r\n".encode()
    with shaken(secured) as connection:
        for byte in request:
            connection.sendall(bytes([byte]))  # each a record of its own
        assert connection.recv(65536).startswith(b"HTTP/1.1 200 ")
        connection.sendall(request * 20)
        said = b""
        while said.count(b"HTTP/1.1 200 ") < 20 or not said.endswith(b"}"):
            said += connection.recv(65536)


# What is large or slow


def batch(tenant, n):
    return {"events": [tenant.event(detail="x" * 2000) for _ in range(n)]}


def test_large_bodies_and_replies_pass_and_small_ones_between(secured):
    tenant = secured.add_tenant()
    with tls_client(secured, token=tenant.token) as client:
        sent = [event["run_id"] for _ in range(3) for event in post_batch(client, tenant, 400)]
        assert client.get(LIVE).status == 200
        answer = client.get(tenant.path("dashboard/runs?limit=500"))
        assert answer.status == 200
        stored = client.get(tenant.path("export/events?time_range=all"))  # by chunks
        assert stored.status == 200, stored.body
    assert {json.loads(line)["run_id"] for line in stored.body.splitlines()} == set(sent)


def post_batch(client, tenant, n):
    body = batch(tenant, n)
    answer = client.post("/api/v1/telemetry/batch", body)
    assert answer.status == 202 and answer.json()["accepted"] == n, answer.body[:300]
    return body["events"]


def test_a_slow_reader_gets_all_of_a_large_reply(secured):
    """The socket takes part of it; the rest is encrypted as the client reads."""
    with tls_client(secured) as client:
        whole = client.get("/api/v1/openapi.json").body
    raw = socket.socket()
    raw.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 4096)
    raw.settimeout(ANSWER_S)
    raw.connect(secured.address)
    n = 12  # more than sockets hold
    with trusting().wrap_socket(raw, server_hostname="localhost") as connection:
        asked = b"GET /api/v1/openapi.json HTTP/1.1\r\nHost: x\r\n\r\n"
        connection.sendall(asked * n)
        file = connection.makefile("rb", buffering=2048)
        for _ in range(n):
            while not (line := file.readline()).lower().startswith(b"content-length:"):
                assert line
            while file.readline() != b"\r\n":
                pass
            assert file.read(int(line.split(b":")[1])) == whole


# Certificates that are replaced


class Load:
    """Requests on connections that stay and on new ones, until it is stopped; every failure."""

    def __init__(self, server):
        self.server, self.failures, self.done = server, [], threading.Event()
        self.context = trusting("first", "second")  # here: threads would each make their own
        self.counts = {"kept": 0, "new": 0}
        self.threads = [threading.Thread(target=self.run, args=(kind,)) for kind in self.counts]

    def run(self, kind):
        connection = http.client.HTTPSConnection(*self.server.address, timeout=ANSWER_S, context=self.context)
        try:
            while not self.done.is_set():
                connection.request("GET", LIVE)
                answer = connection.getresponse()
                answer.read()
                assert answer.status == 200, answer.status
                self.counts[kind] += 1
                if kind == "new":
                    connection.close()
                assert kind == "new" or connection.sock is not None, "the connection was dropped"
        except Exception as err:  # noqa: BLE001
            self.failures.append((kind, repr(err)))
        finally:
            connection.close()

    def __enter__(self):
        for thread in self.threads:
            thread.start()
        return self

    def more(self):
        """Each kind has made some more requests, or failed."""
        before = dict(self.counts)
        until(lambda: self.failures or all(self.counts[kind] > before[kind] + 5 for kind in before))

    def __exit__(self, *_):
        self.done.set()
        for thread in self.threads:
            thread.join()


def test_a_certificate_is_replaced_under_load_without_a_failure(store, tmp_path):
    certificate = Certificate(tmp_path)
    with running(store, tmp_path, arguments=certificate.arguments) as server, Load(server) as load:
        load.more()
        for name in ("second", "first", "second"):
            assert shown(server) != name
            certificate.replace(name)
            server.process.send_signal(signal.SIGHUP)
            until(lambda name=name: shown(server) == name)
            load.more()
        assert load.failures == []
    assert server.stderr.read_text().count("certificate reloaded") == 3


def test_a_bad_replacement_leaves_the_old_certificate_in_use(alone):
    with alone(environment={"MUSTER_METRICS_TOKEN": WATCHES}) as server:
        expires = metric(server, "muster_tls_certificate_expires_seconds")
        assert expires > 1_700_000_000
        alone.certificate.key.write_bytes(made("second", "ec")[1])
        server.process.send_signal(signal.SIGHUP)
        until(lambda: "the old one stays in use: tls_key" in server.log())
        assert shown(server) == "first"
        assert metric(server, "muster_tls_certificate_expires_seconds") == expires


def test_a_signal_to_reload_does_not_end_a_server_without_tls(tmp_path):
    with running("sqlite", tmp_path) as server:
        server.process.send_signal(signal.SIGHUP)
        assert server.client().get(LIVE).status == 200
        assert server.process.poll() is None


# What is bounded


def test_a_handshake_that_does_not_end_is_cut_off(alone, clock):
    with alone(environment=clock.environment) as server:
        with shaken(server) as done, socket.create_connection(server.address, ANSWER_S) as half:
            half.sendall(b"\x16\x03\x01\x02\x00\x01")  # the first bytes of a greeting
            until(lambda: metric(server, "muster_connections") == 3)  # and the one that asks
            clock.advance(15)  # more than a handshake may take, less than an idle connection may
            assert half.recv(100) == b""
            done.sendall(f"GET {LIVE} HTTP/1.1\r\nHost: x\r\n\r\n".encode())
            assert done.recv(65536).startswith(b"HTTP/1.1 200 ")


def test_handshakes_count_for_their_address(alone):
    limits = ["--max-connections-per-address", "3", "--loops", "1"]  # one loop: accepted in order
    with alone(*limits, environment={"MUSTER_METRICS_TOKEN": WATCHES}) as server:
        held = [socket.create_connection(server.address, ANSWER_S) for _ in range(3)]
        with pytest.raises((ssl.SSLError, ConnectionError)):
            shaken(server)
        for connection in held:
            connection.close()

        def is_served():
            try:
                return metric(server, "muster_connections") == 1
            except (ssl.SSLError, ConnectionError):
                return False

        until(is_served)


def test_garbage_ends_its_own_connection_only(secured):
    with shaken(secured) as connection:
        for garbage in (b"\x16\x03\x01\xff\xff" + b"x" * 70000, b"\x80" * 5000, b"\x15\x03\x03\x00\x02\x02\x28"):
            with socket.create_connection(secured.address, ANSWER_S) as other:
                try:
                    other.sendall(garbage)
                    while other.recv(65536):
                        pass
                except ConnectionError:
                    pass
        connection.sendall(f"GET {LIVE} HTTP/1.1\r\nHost: x\r\n\r\n".encode())
        assert connection.recv(65536).startswith(b"HTTP/1.1 200 ")


# What people get


def test_cookies_are_secure_and_links_say_https(secured):
    assert f"https://127.0.0.1:{secured.address[1]}/#/setup?code=" in secured.said.decode()
    email = add_user(secured, "--role", "platform_admin")
    with tls_client(secured) as client:
        answer = client.post("/api/v1/auth/login", {"email": email, "password": PASSWORD})
        assert answer.status == 200
        name, _, attributes = cookie_of(answer)
        assert name == "__Host-muster_session" and "; Secure" in attributes
