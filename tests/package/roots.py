"""Fresh Debian roots, made from the machine's own Debian source."""

import re
import socket
import subprocess
import time
from pathlib import Path

ENVIRONMENT = {"PATH": "/usr/sbin:/usr/bin:/sbin:/bin", "HOME": "/root", "DEBIAN_FRONTEND": "noninteractive"}
SUITES = {"12": "bookworm", "13": "trixie"}


def debian_source():
    texts = [path.read_text() for path in Path("/etc/apt").glob("sources.list.d/*.sources")]
    uris = re.findall(r"^URIs: *(\S+)", "\n".join(texts), re.M)
    texts = [path.read_text() for path in Path("/etc/apt").glob("sources.list*") if path.is_file()]
    uris += re.findall(r"^deb +(?:\[[^]]*\] *)?(\S+)", "\n".join(texts), re.M)
    return next(uri for uri in uris if "security" not in uri)


def make_root(version, target):
    """A folder, or a tar archive if its name says so."""
    suite = SUITES[version]
    # A root that is thrown away need not survive a power failure: dpkg would sync each file.
    subprocess.run(["mmdebstrap", "--variant=minbase", "--quiet", "--dpkgopt=force-unsafe-io", suite,
                    str(target), f"deb {debian_source()} {suite} main"], check=True)  # fmt: skip


class Root:
    """A Debian root in which commands run, with processes of its own and the machine's network."""

    def __init__(self, path):
        self.path = path

    def command(self, *words, user=None):
        as_user = ["setpriv", f"--reuid={user}", f"--regid={user}", "--clear-groups"] if user else []
        return ["unshare", "--mount", "--pid", "--fork", "--kill-child", f"--mount-proc={self.path}/proc",
                "chroot", str(self.path), *as_user, *words]  # fmt: skip

    def run(self, *words, check=True):
        done = subprocess.run(self.command(*words), capture_output=True, text=True, env=ENVIRONMENT)
        assert not check or done.returncode == 0, f"{words}: {done.stdout}{done.stderr}"
        return done


def free_port():
    with socket.socket() as one:
        one.bind(("127.0.0.1", 0))
        return one.getsockname()[1]


def until(is_so, patience_s, is_alive, said):
    """Waits; the one that is waited for must stay alive, and what it said explains a failure."""
    deadline = time.monotonic() + patience_s
    while not is_so():
        assert is_alive() and time.monotonic() < deadline, said()
        time.sleep(0.2)
