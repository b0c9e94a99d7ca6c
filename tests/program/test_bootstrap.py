"""scripts/bootstrap says what it is about to do to a machine, and does nothing that it has not said."""

import os
import subprocess
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
SOURCES = "Types: deb\nURIs: http://debian.example/debian\nSuites: bookworm\nComponents: main\n"
# What the script calls. `sudo` says what it is asked, and does only what touches the test's own files.
USER = "USER"  # its number
TOOLS = {
    "dpkg-query": "exit 1",  # nothing is installed
    "apt-get": "exit 0",
    "id": f"echo {USER}",
    "sudo": 'echo "sudo $*" >&2; [ "$1" != tee ] || exec "$@"',
}


@pytest.fixture
def machine(tmp_path):
    """A machine of this version of Debian, in a folder: runs the script as a user with this number."""

    def run(version, user="1000", without=(), verb="build", **tools_of_its_own):
        etc, tools = tmp_path / "etc", tmp_path / "tools"
        for folder in (etc / "apt/sources.list.d", etc / "apt/preferences.d", tools):
            folder.mkdir(parents=True, exist_ok=True)
        (etc / "os-release").write_text(f"VERSION_ID={version}\n")
        (etc / "apt/sources.list.d/debian.sources").write_text(SOURCES)
        for name, script in {**TOOLS, **tools_of_its_own}.items():
            tool = tools / name.replace("_", "-")
            tool.write_text(f"#!/bin/sh\n{script.replace(USER, user)}\n")
            tool.chmod(0o755)
        for name in without:
            (tools / name).unlink()
        for name in ("sh", "sed", "grep", "head", "tail", "cat", "tee", "env", "sort", "mkdir",
                     "touch", "timeout"):  # fmt: skip
            if not (tools / name).exists():
                (tools / name).symlink_to(Path("/usr/bin") / name)
        script = tmp_path / "scripts/bootstrap"
        script.parent.mkdir(exist_ok=True)
        script.write_text((ROOT / "scripts/bootstrap").read_text().replace("/etc/", f"{etc}/"))
        done = subprocess.run(["/bin/sh", script, verb], capture_output=True, text=True,
                              env={**os.environ, "PATH": str(tools)}, timeout=120)  # fmt: skip
        return done, etc / "apt/sources.list.d/muster-trixie.sources"

    return run


def test_on_debian_12_it_says_what_sudo_is_for_before_it_adds_a_package_source(machine):
    done, source = machine(12)
    assert done.returncode == 0, done.stderr
    lines = done.stderr.splitlines()
    (needed,) = [n for n, line in enumerate(lines) if "sudo is needed to install packages" in line]
    (adding,) = [n for n, line in enumerate(lines) if "adding Debian 13" in line]
    asked = [n for n, line in enumerate(lines) if line.startswith("sudo ")]
    assert needed < adding < asked[0], done.stderr
    assert "libllhttp-dev" in lines[needed] and "add a package source" in lines[needed]
    assert str(source) in lines[adding] and "http://debian.example/debian" in lines[adding]
    assert "upgrades nothing" in lines[adding]
    assert "Suites: trixie" in source.read_text()
    again, _ = machine(12)
    assert again.returncode == 0 and "adding Debian 13" not in again.stderr


def test_on_debian_13_no_package_source_is_added(machine):
    done, source = machine(13)
    assert done.returncode == 0 and "sudo is needed to install packages" in done.stderr
    assert "package source" not in done.stderr and not source.exists()


@pytest.mark.parametrize("portal", ["1", "0"])
def test_python_is_installed_for_a_build_with_the_portal_alone(machine, monkeypatch, portal):
    monkeypatch.setenv("PORTAL", portal)
    done, _ = machine(13)
    (installed,) = [line for line in done.stderr.splitlines() if line.startswith("bootstrap: installing:")]
    assert done.returncode == 0 and ("python3" in installed.split()) == (portal == "1")


def test_root_needs_no_sudo_and_a_user_without_it_is_told(machine):
    done, source = machine(12, user="0", without=["sudo"])
    assert done.returncode == 0 and "sudo is needed" not in done.stderr and source.exists()
    source.unlink()
    done, source = machine(12, without=["sudo"])
    assert done.returncode == 1 and "become root or install sudo" in done.stderr
    assert not source.exists()


# All but one package is installed.
BUT_THE_SHELL = 'case "$*" in *-shell) exit 1 ;; *) echo install ok installed ;; esac'


@pytest.mark.parametrize("user", ["0", "1000"])
def test_a_browser_that_cannot_be_installed_is_done_without_and_asked_for_once(machine, user):
    more = {"user": user, "verb": "test", "dpkg_query": BUT_THE_SHELL}
    more.update(apt_get="exit 100", sudo="exit 1")
    done, _ = machine(12, **more)
    assert done.returncode == 0 and "the browser tests use chromium" in done.stderr
    assert "sudo is needed" not in done.stderr, "it is not needed for this"
    again, _ = machine(12, **more)
    assert (again.returncode, again.stderr) == (0, "")


def test_the_smaller_browser_is_installed_for_tests_alone(machine):
    told = {"user": "0", "dpkg_query": BUT_THE_SHELL, "apt_get": 'echo "$*" >>"${0%/*}/asked"'}
    done, source = machine(12, **told)
    asked = source.parents[3] / "tools/asked"
    assert (done.returncode, done.stderr, asked.exists()) == (0, "", False)
    done, _ = machine(12, verb="test", **told)
    assert done.returncode == 0 and asked.read_text().strip().endswith("chromium-headless-shell")
