"""The Dockerfile: an image is built from source and serves (`make test-package`).

buildah builds it, on a base that mmdebstrap made, since no registry of images is asked.
"""

import json
import os
import signal
import subprocess
import time
from pathlib import Path

import pytest
from roots import make_root

ROOT = Path(__file__).resolve().parents[2]
BASE, IMAGE = "localhost/debian:fresh", "localhost/muster:tested"
PATIENCE_S = 120
PORT = "18080"


class Buildah:
    """buildah with a store of its own, without a daemon."""

    def __init__(self, folder):
        self.words = ["buildah", f"--root={folder}/store", f"--runroot={folder}/run"]
        self.environment = {**os.environ, "STORAGE_DRIVER": "vfs", "BUILDAH_ISOLATION": "chroot"}

    def __call__(self, *words, check=True):
        done = subprocess.run([*self.words, *words], capture_output=True, text=True, env=self.environment)
        assert not check or done.returncode == 0, f"{words}: {done.stdout[-4000:]}{done.stderr[-4000:]}"
        return done

    def begin(self, *words):
        return subprocess.Popen([*self.words, *words], env=self.environment, start_new_session=True,
                                stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)  # fmt: skip


@pytest.fixture
def buildah(tmp_path):
    made = Buildah(tmp_path)
    make_root("13", tmp_path / "base.tar")
    base = made("from", "scratch").stdout.strip()
    made("add", "--quiet", base, str(tmp_path / "base.tar"), "/")
    # The registry of npm may be known to this machine by a certificate of its own.
    made("copy", "--quiet", base, "/etc/ssl/certs/ca-certificates.crt", "/etc/machine-certificates.crt")
    made("config", "--env=NODE_EXTRA_CA_CERTS=/etc/machine-certificates.crt", base)
    made("commit", "--quiet", "--rm", base, BASE)
    yield made
    made("rm", "--all")
    made("rmi", "--all", "--force")


def until(is_so):
    deadline = time.monotonic() + PATIENCE_S
    while not is_so():
        assert time.monotonic() < deadline, "it does not come"
        time.sleep(0.1)


def test_the_image_serves_as_its_own_user_and_tells_its_health(buildah):
    buildah("build", "--format=docker", f"--build-arg=BASE={BASE}", "--file=packaging/Dockerfile",
            f"--tag={IMAGE}", str(ROOT))  # fmt: skip
    config = json.loads(buildah("inspect", "--type=image", IMAGE).stdout)["Docker"]["config"]
    assert (config["User"], config["Entrypoint"], config["Cmd"]) == ("muster", ["muster"], ["serve"])
    command, *health = config["Healthcheck"]["Test"]
    assert command == "CMD"
    health = [word.replace("8080", PORT) for word in health]
    container = buildah("from", IMAGE).stdout.strip()
    assert buildah("run", container, "--", "id", "-un").stdout == "muster\n"
    assert buildah("run", container, "--", "which", "node", "gcc", check=False).returncode != 0
    assert buildah("run", container, "--", *health, check=False).returncode != 0  # nothing serves yet
    server = buildah.begin("run", f"--env=MUSTER_LISTEN=127.0.0.1:{PORT}", container, "--",
                           *config["Entrypoint"], *config["Cmd"])  # fmt: skip
    try:
        until(lambda: buildah("run", container, "--", *health, check=False).returncode == 0)
        assert "acme" in buildah("run", container, "--", "muster", "tenant", "add", "acme").stdout
    finally:
        os.killpg(server.pid, signal.SIGTERM)
        server.wait(timeout=PATIENCE_S)
