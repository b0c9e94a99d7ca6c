"""Of two builds the one of the later commit has the later version, so that its package replaces the other."""

import os
import re
import subprocess
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
RELEASE = re.search(r"project\(muster VERSION ([\d.]+)", (ROOT / "CMakeLists.txt").read_text())[1]
NEXT = re.sub(r"\d+$", lambda last: str(int(last[0]) + 1), RELEASE)
NOBODY = {"GIT_CONFIG_GLOBAL": "/dev/null", "GIT_CONFIG_SYSTEM": "/dev/null",
          **{f"GIT_{who}_{what}": "nobody@example.com" for who in ("AUTHOR", "COMMITTER") for what in ("NAME", "EMAIL")}}  # fmt: skip


class History:
    def __init__(self, folder):
        self.folder = folder
        self.git("init", "-q", "-b", "main")

    def git(self, *words, **more):
        return subprocess.run(["git", "-C", self.folder, *words], env={**os.environ, **NOBODY, **more}, check=True,
                              capture_output=True, text=True).stdout.strip()  # fmt: skip

    def commit(self, at):
        (self.folder / "file").write_text(at)
        self.git("add", "file")
        self.git("commit", "-qm", at, GIT_COMMITTER_DATE=at, GIT_AUTHOR_DATE="2020-01-01T00:00:00Z")
        return version(self.folder)


def write_version(folder, output):
    subprocess.run(["cmake", f"-DSOURCE={folder}", f"-DOUTPUT={output}", f"-DRELEASE={RELEASE}",
                    "-P", ROOT / "cmake/version.cmake"], check=True)  # fmt: skip
    return re.search(r'\[\] = "(.+)";', output.read_text())[1]


def version(folder):
    return write_version(folder, folder.parent / "version.c")


@pytest.fixture
def history(tmp_path):
    (tmp_path / "project").mkdir()
    return History(tmp_path / "project")


def is_older(one, other):
    return subprocess.run(["dpkg", "--compare-versions", one, "lt", other], check=False).returncode == 0


def test_a_later_commit_is_a_later_version_between_two_releases(history):
    """The second is of the same day, which in the zone of its author is the day before."""
    times = ("2026-11-18T08:59:59Z", "2026-11-18T00:00:00-09:30", "2026-11-18T10:00:00Z", "2027-01-02T00:00:00Z")
    made = [RELEASE, *(history.commit(at) for at in times), NEXT]
    assert re.fullmatch(rf"{re.escape(RELEASE)}\+git20261118\.093000\.[0-9a-f]{{8}}", made[2])
    for one, other in zip(made, made[1:]):
        assert is_older(one, other) and not is_older(other, one), (one, other)


def test_a_commit_is_the_same_version_whenever_it_is_built(history, tmp_path):
    first = history.commit("2026-11-18T09:00:00Z")
    written = (tmp_path / "version.c").stat().st_mtime_ns
    assert version(history.folder) == first
    assert (tmp_path / "version.c").stat().st_mtime_ns == written, "it would be compiled again"


def test_what_was_changed_is_not_the_version_of_its_commit(history):
    clean = history.commit("2026-11-18T09:00:00Z")
    (history.folder / "file").write_text("other")
    assert is_older(clean, version(history.folder))
    assert is_older(version(history.folder), history.commit("2026-11-18T09:00:01Z"))


def test_a_release_is_a_commit_with_its_tag(history):
    assert history.commit("2026-11-18T09:00:00Z") != RELEASE
    history.git("tag", "v9.9.9")
    assert version(history.folder) != RELEASE
    history.git("tag", f"v{RELEASE}")
    assert version(history.folder) == RELEASE


def test_sources_without_their_history_have_the_version_of_the_project(history):
    history.commit("2026-11-18T09:00:00Z")
    unpacked = history.folder / "unpacked"
    unpacked.mkdir()
    assert version(unpacked) == RELEASE


def test_the_libraries_and_the_description_of_the_api_keep_versions_of_their_own():
    """Those that their tools can read; they do not change with each commit."""
    assert f'"version": "{RELEASE}"' in (ROOT / "docs/openapi.json").read_text()
    for file in ("sdk/python/pyproject.toml", "sdk/typescript/package.json"):
        assert re.search(r'^ *"?version"?\s*[=:]\s*"\d+\.\d+\.\d+"', (ROOT / file).read_text(), re.M), file


def test_the_package_upgrades_a_service_that_runs():
    postinst = (ROOT / "packaging/deb/postinst").read_text()
    assert re.search(r'if \[ -z "\$2" \].*else\s+systemctl try-restart muster.service', postinst, re.S)
    assert 'output(str(binary), "version")' in (ROOT / "scripts/package.py").read_text()
