"""The proxies of docs/OPERATIONS.md, each set up as that page says, on ports of a test."""

import http.client
import re
import ssl
import subprocess
from pathlib import Path

PAGE = (Path(__file__).resolve().parents[2] / "docs/OPERATIONS.md").read_text().split("## Behind a proxy\n")[1]
CLIENT = "127.0.0.2"  # of this machine as well, and not the address that the proxies have
PACKAGES = ("nginx-light", "caddy", "haproxy", "openssl")


def block_after(words):
    return re.search(rf"{re.escape(words)}.*?\n```\n(.*?)\n```", PAGE, re.S)[1]


def replaced(text, *pairs):
    for old, new in pairs:
        assert text.count(old) == 1, f"the page no longer has '{old}'"
        text = text.replace(old, new)
    return text


def settings(port):
    return replaced(block_after("sign-ins and connections count per client:"), ("127.0.0.1:8080", f"127.0.0.1:{port}"))


def nginx(port, service):
    text = replaced(block_after("\nnginx:"), ("127.0.0.1:8080", f"127.0.0.1:{service}"))
    around = "daemon off; pid /tmp/nginx.pid; error_log stderr; events {} http { access_log off; server {"
    return ["nginx", "-c"], f"{around} listen 127.0.0.1:{port};\n{text}\n}} }}\n"


def caddy(port, service):
    """Its own authority signs for localhost; it asks nobody for a certificate."""
    text = replaced(block_after("\nCaddy"), ("127.0.0.1:8080", f"127.0.0.1:{service}"),
                    ("muster.example.com", f"https://localhost:{port}"))  # fmt: skip
    here_alone = "{\nadmin off\nauto_https disable_redirects\nskip_install_trust\ndefault_bind 127.0.0.1\n}\n"
    return ["caddy", "run", "--adapter", "caddyfile", "--config"], here_alone + text + "\n"


def haproxy(port, service):
    text = replaced(block_after("\nHAProxy:"), ("127.0.0.1:8080", f"127.0.0.1:{service}"),
                    (":443", f"127.0.0.1:{port}"))  # fmt: skip
    return ["haproxy", "-db", "-f"], text + "\n"


PROXIES = {"nginx": nginx, "caddy": caddy, "haproxy": haproxy}


def install(root):
    """None of them is started by its package."""
    policy = root.path / "usr/sbin/policy-rc.d"
    policy.write_text("#!/bin/sh\nexit 101\n")
    policy.chmod(0o755)
    root.run("apt-get", "install", "-y", "-q", "--no-install-recommends", *PACKAGES)
    root.run("sh", "-ec", "openssl req -x509 -newkey ec -pkeyopt ec_paramgen_curve:P-256 -nodes -days 2"
             " -subj /CN=localhost -keyout /tmp/key -out /tmp/cert && mkdir -p /etc/haproxy &&"
             " cat /tmp/cert /tmp/key >/etc/haproxy/muster.pem")  # fmt: skip


def begin(root, name, port, service, environment):
    command, text = PROXIES[name](port, service)
    (root.path / "tmp" / name).write_text(text)
    return subprocess.Popen(root.command(*command, f"/tmp/{name}"), env=environment, start_new_session=True,
                            stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True)  # fmt: skip


def connect(name, port, patience_s):
    if name == "nginx":
        return http.client.HTTPConnection("127.0.0.1", port, patience_s, source_address=(CLIENT, 0))
    trusting = ssl.create_default_context()
    trusting.check_hostname, trusting.verify_mode = False, ssl.CERT_NONE
    return http.client.HTTPSConnection("localhost", port, timeout=patience_s, source_address=(CLIENT, 0),
                                       context=trusting)  # fmt: skip
