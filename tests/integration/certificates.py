"""Certificates and keys for tests, made by openssl, and clients that trust them."""

import contextlib
import functools
import http.client
import shutil
import ssl
import subprocess
import tempfile
from pathlib import Path

from muster import ANSWER_S, Client

KINDS = {"ec": ["ec", "-pkeyopt", "ec_paramgen_curve:P-256"], "rsa": ["rsa:2048"]}


def openssl(*arguments, stdin=""):
    """What a command of openssl says, whatever its exit status."""
    done = subprocess.run(
        ["openssl", *arguments], input=stdin, capture_output=True, text=True, timeout=120, check=False
    )
    return done.stdout + done.stderr


@functools.cache
def made(name, kind):
    """Made once: an RSA key takes a while."""
    with tempfile.TemporaryDirectory() as folder:
        cert, key = Path(folder) / "cert.pem", Path(folder) / "key.pem"
        said = openssl(
            "req", "-x509", "-newkey", *KINDS[kind], "-nodes", "-keyout", str(key), "-out", str(cert),
            "-days", "30", "-subj", f"/CN={name}", "-addext", "subjectAltName=IP:127.0.0.1,DNS:localhost",
        )  # fmt: skip
        assert cert.exists(), said
        return cert.read_bytes(), key.read_bytes()


class Certificate:
    """A pair of files, which can be replaced."""

    def __init__(self, folder, name="first", kind="ec"):
        self.cert, self.key = Path(folder) / "cert.pem", Path(folder) / "key.pem"
        self.replace(name, kind)

    def replace(self, name, kind="ec"):
        for path, content in zip((self.cert, self.key), made(name, kind)):
            fresh = path.with_suffix(".new")
            fresh.write_bytes(content)
            fresh.chmod(0o600)
            shutil.move(fresh, path)

    @property
    def arguments(self):
        return ["--tls-cert", str(self.cert), "--tls-key", str(self.key)]


def trusting(*names, kind="ec"):
    """A context that accepts these certificates and no other."""
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT)
    for name in names or ("first",):
        context.load_verify_locations(cadata=made(name, kind)[0].decode())
    return context


@contextlib.contextmanager
def tls_client(server, context=None, token=None, recorder=None):
    host, port = server.address
    connection = http.client.HTTPSConnection(host, port, timeout=ANSWER_S, context=context or trusting())
    with contextlib.closing(connection):
        yield Client(connection, token, recorder or server.recorder)
