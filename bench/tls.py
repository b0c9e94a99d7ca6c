"""What TLS in the binary costs: events over connections that stay open, and new connections."""

import re
import ssl
import subprocess

from common import compared, cpu_row
from servers import Muster, Nginx, end_with_parent, scratch, wrk

NAME = "/CN=localhost"


def certificate():
    """A pair of files with a key on P-256, as certificate authorities hand out today."""
    folder = scratch()
    cert, key = folder / "cert.pem", folder / "key.pem"
    subprocess.run(
        ["openssl", "req", "-x509", "-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:P-256", "-nodes",
         "-keyout", key, "-out", cert, "-days", "30", "-subj", NAME],
        check=True, capture_output=True,
    )  # fmt: skip
    return cert, key


def trust_all():
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT)
    context.check_hostname, context.verify_mode = False, ssl.CERT_NONE
    return context


class SecureMuster(Muster):
    def __init__(self, pair):
        super().__init__()
        self.pair, self.tls = pair, trust_all()

    def command(self):
        return [*super().command(), "--tls-cert", self.pair[0], "--tls-key", self.pair[1]]


class SecureNginx(Nginx):
    def __init__(self, pair):
        super().__init__()
        self.tls = trust_all()
        path = self.directory / "nginx.conf"
        text = path.read_text(encoding="ascii").replace(
            "reuseport;", f"reuseport ssl; ssl_certificate {pair[0]}; ssl_certificate_key {pair[1]};"
        )
        path.write_text(text, encoding="ascii")


def handshakes(server, seconds, spent_us):
    """New connections per second, one after the other, each with a whole handshake of TLS 1.3."""
    before = server.cpu_seconds()
    done = subprocess.run(
        ["openssl", "s_time", "-connect", f"127.0.0.1:{server.port}", "-new", "-time", str(seconds)],
        check=True, capture_output=True, text=True, preexec_fn=end_with_parent,
    )  # fmt: skip
    made, took = re.search(r"(\d+) connections in (\d+) real seconds", done.stdout).groups()
    spent_us.append(1e6 * (server.cpu_seconds() - before) / int(made))
    return int(made) / int(took)


def tls(plan):
    pair = certificate()
    cpu_us = {"ours": [], "theirs": []}

    def rate(server, side, seed, scheme):
        before = server.cpu_seconds()
        per_s = wrk(server.port, server.token, seed, plan.seconds, scheme)
        cpu_us[side].append(1e6 * (server.cpu_seconds() - before) / (per_s * plan.seconds))
        return per_s

    with Muster() as plain, SecureMuster(pair) as secure:
        yield compared(
            plan, "single events over TLS against without", "requests/s", 0.5,
            lambda i: rate(secure, "ours", 2 * i + 1, "https"),
            lambda i: rate(plain, "theirs", 2 * i + 2, "http"),
        )  # fmt: skip
    yield cpu_row("a single event, over TLS and without", cpu_us)
    spent = {"ours": [], "theirs": []}
    with SecureMuster(pair) as secure, SecureNginx(pair) as nginx:
        yield compared(
            plan, "handshakes (TLS 1.3, ECDSA) against nginx", "connections/s", 0.7,
            lambda _: handshakes(secure, plan.seconds, spent["ours"]),
            lambda _: handshakes(nginx, plan.seconds, spent["theirs"]),
        )  # fmt: skip
    yield cpu_row("a handshake, muster and nginx", spent)
