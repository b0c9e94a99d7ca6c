"""The README's commands do all set-up on a bare Debian 12 and 13 (`make test-package`).

A root that mmdebstrap made gets what the README asks for, a clone of this tree's last commit, and
nothing else. Packages come from the machine's Debian source and npm's registry.
"""

import os
import re
import shutil
import signal
import subprocess
import urllib.error
import urllib.request
from contextlib import contextmanager
from pathlib import Path

import pytest
from roots import ENVIRONMENT, SUITES, Root, free_port, make_root, until

ROOT = Path(__file__).resolve().parents[2]
TREE = "/srv/muster"
BUILD_S = 3600  # a build from nothing on a busy machine
FAILED = re.compile(r"FAILED|\bERROR\b|\berror:|: Failure!|^not ok |^E  ")
END = 4000  # characters of the end that is shown


def what_failed(text):
    """The lines before the end that say what failed: leaks and tests that passed may come after them."""
    lines = text[:-END].splitlines()
    said = [line[:500] for line in lines if FAILED.search(line)]
    return "\n".join([*said[:60], text[-END:]])


class BareRoot(Root):
    """The README's machine. The npm registry may be known to this machine by a certificate of its own."""

    def command(self, *words, user=None):
        # Some tests want shared memory and the kernel's files. Both mounts end with the command.
        mounted = f'mount --rbind /dev "{self.path}/dev"; mount --rbind /sys "{self.path}/sys"; exec "$@"'
        inside = super().command(*words, user=user)
        return ["unshare", "--mount", "sh", "-ec", mounted, "sh", *inside]

    def in_tree(self, script):
        return self.command("bash", "-c", f"cd {TREE} && NODE_EXTRA_CA_CERTS=/etc/machine.crt {script}")

    def finish(self, script):
        done = subprocess.run(self.in_tree(script), capture_output=True, text=True, env=ENVIRONMENT, timeout=BUILD_S)
        assert done.returncode == 0, f"{script}:\n{what_failed(done.stdout)}\n{what_failed(done.stderr)}"
        return done.stdout


@pytest.fixture(scope="module", params=SUITES)
def bare(request, tmp_path_factory):
    path = tmp_path_factory.mktemp(f"bare{request.param}") / "root"
    make_root(request.param, path)
    root = BareRoot(path)
    root.run("apt-get", "update", "-q")
    root.run("apt-get", "install", "-y", "-q", "--no-install-recommends", "git", "make", "curl")
    subprocess.run(["git", "clone", "-q", "--no-hardlinks", "--depth=1", f"file://{ROOT}", f"{path}{TREE}"], check=True)
    shutil.copy("/etc/ssl/certs/ca-certificates.crt", path / "etc/machine.crt")
    yield root
    shutil.rmtree(path)


@contextmanager
def running(root, script, log):
    with log.open("w") as said:
        process = subprocess.Popen(root.in_tree(script), stdout=said, stderr=subprocess.STDOUT,
                                   env=ENVIRONMENT, start_new_session=True)  # fmt: skip
    try:
        yield process
    finally:
        if process.poll() is None:
            os.killpg(process.pid, signal.SIGTERM)
        process.wait(timeout=BUILD_S)


def body_of(url):
    """What a GET answers; None: nothing listens there yet."""
    try:
        with urllib.request.urlopen(url, timeout=5) as answer:
            return answer.read().decode()
    except (urllib.error.URLError, ConnectionError, TimeoutError):
        return None


def has_node(root):
    return any(root.run("sh", "-c", f"command -v {name}", check=False).returncode == 0 for name in ("node", "npm"))


def test_a_build_without_the_portal_needs_no_node(bare):
    """The first of the tests: those after it install Node.js, and their build takes the portal in."""
    assert not has_node(bare), "the root is not bare"
    said = bare.finish("PORTAL=0 make build")
    assert "portal: not in this build" in said, said
    assert not has_node(bare), "PORTAL=0 make build has installed Node.js"
    assert bare.finish("build/release/muster version").startswith("muster ")


def test_make_run_serves_the_first_event_of_the_readme(bare, tmp_path):
    address, log = f"127.0.0.1:{free_port()}", tmp_path / "run.log"
    text = (ROOT / "README.md").read_text().split("## A first event")[1]
    blocks = re.findall(r"^```sh\n(.*?)^```", text, re.M | re.S)
    with running(bare, f"MUSTER_LISTEN={address} make run", log) as process:
        until(lambda: body_of(f"http://{address}/livez"), BUILD_S,
              lambda: process.poll() is None, lambda: what_failed(log.read_text()))  # fmt: skip
        assert "<script" in body_of(f"http://{address}/")  # the portal is in it
        said = bare.finish(blocks[1].replace("127.0.0.1:8080", address))
    assert '"status":"accepted"' in said and "Reading the inbox" in said, said


def test_make_check_sets_up_the_tests(bare):
    bare.finish("make check")


TESTS = "/usr/bin/python3 -B -m pytest -q -p no:cacheprovider"
ON_ASAN = "MUSTER_TEST_STORES=sqlite MUSTER_TEST_BINARY=build/asan/muster"
KNOWN_RACES = "TSAN_OPTIONS=suppressions=$PWD/tests/tsan.supp"
ON_TSAN = f"MUSTER_TEST_STORES=sqlite MUSTER_TEST_BINARY=build/tsan/muster {KNOWN_RACES}"
ON_POSTGRES = "tests/drivers/with_postgres env MUSTER_TEST_STORES=postgres MUSTER_TEST_BINARY=build/release/muster"

# What `make test` does (scripts/run_tests.py), with one short test of each kind.
KINDS = [
    "scripts/bootstrap test",
    "scripts/lint quick",
    "cmake --build --preset release --target muster test_hooks",
    "cmake --preset asan && cmake --build --preset asan --target muster test_hooks unit_base drivers_postgres",
    "ctest --test-dir build/asan --no-tests=error -R '^(unit/base|drivers/postgres)' --output-on-failure",
    f"{ON_ASAN} {TESTS} tests/integration/test_first_event.py",
    "cmake --preset tsan && cmake --build --preset tsan --target muster test_hooks unit_http",
    "ctest --test-dir build/tsan --no-tests=error -R '^unit/http' --output-on-failure",
    f"{ON_TSAN} {TESTS} tests/integration/test_first_event.py",
    f"{ON_POSTGRES} {TESTS} tests/integration/test_first_event.py",
    f"tests/drivers/with_postgres {TESTS} tests/crash/test_batch_torn.py",
    f"{TESTS} sdk/python/tests/test_spool.py",
    f"scripts/build_sdk.py && {TESTS} sdk/tests",
    "node --test sdk/typescript/tests/reporting.test.mjs",
    f"{TESTS} tests/program/test_readme.py tests/gates/test_layers.py tests/contract/test_document.py",
    "scripts/npm_ci tests/browser && node --test tests/browser/sign_in.suite.mjs",
    "clang-tidy-19 -p build/asan --quiet '--checks=-clang-analyzer-*' src/base/str.c",
]


def test_make_test_sets_up_every_kind_of_test(bare):
    for command in KINDS:
        bare.finish(command)


def test_what_citus_is_built_with_can_be_installed(bare):
    bare.finish("CITUS_SOURCE=anywhere scripts/bootstrap cluster")
    bare.finish("pg_config --includedir-server | xargs ls | grep -q postgres.h")
