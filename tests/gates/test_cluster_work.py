"""`make test-cluster`: every test belongs to one part, parts that send take turns, and one that fails is named
at the end while the others run on."""

import os
import sys
import threading
from collections import Counter
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
sys.path.insert(0, str(ROOT / "scripts"))

import cluster_work  # noqa: E402
import jobs  # noqa: E402
import run_tests  # noqa: E402
import slots  # noqa: E402
from black_box import EXCLUSIVE, files_in  # noqa: E402

GOOD = "def test_that_is_good():\n    print('a figure')\n"
BAD = "def test_that_is_bad():\n    assert 1 == 2, 'they differ'\n"
PATIENCE_S = 120


@pytest.fixture(autouse=True)
def apart(tmp_path, monkeypatch):
    """What the verb around this test has built and measures is left alone."""
    build = tmp_path / "build"
    for module in (jobs, run_tests):
        monkeypatch.setattr(module, "BUILD", build)
    monkeypatch.setattr(jobs, "failed", run_tests.failed)
    monkeypatch.setattr(cluster_work, "senders", slots.Busy(most=1))
    monkeypatch.setattr(slots, "APART_S", 0)
    for name in list(os.environ):
        if name.startswith("MUSTER_TEST_"):
            monkeypatch.delenv(name)
    monkeypatch.setattr(os, "environ", dict(os.environ))
    (build / "logs").mkdir(parents=True)
    (build / "queue").mkdir()
    yield
    run_tests.failed.clear()


def part(folder, name, text, **more):
    """Of one test file."""
    file = folder / f"test_{name}.py"
    file.write_text(text)
    path = os.path.relpath(file, ROOT)
    return cluster_work.Part(name, name, [path], options=[f"--rootdir={ROOT}", cluster_work.SHOWN], **more)


def test_every_test_of_a_cluster_belongs_to_one_part():
    parts = cluster_work.on_postgres() + cluster_work.on_citus()
    counts = Counter(file for one in parts for file in one.files)
    own = files_in("tests/cluster")
    assert {file: counts[file] for file in own} == dict.fromkeys(own, 1)
    assert {"clock", "limits", "locks", "truth", "waiting"} <= {
        Path(file).stem.removeprefix("test_nodes_") for file in counts
    }
    assert EXCLUSIVE not in counts, "it runs with nothing else at work"


def test_what_needs_citus_is_apart_from_what_does_not():
    plain, citus = cluster_work.on_postgres(), cluster_work.on_citus()
    assert not any("citus" in file for one in plain for file in one.files)
    in_cluster = [f for one in citus for f in one.files if f.startswith("tests/cluster/")]
    assert in_cluster and all("citus" in file for file in in_cluster)


def test_parts_that_send_take_turns_and_each_has_its_own(tmp_path, monkeypatch):
    running, at_once, together = set(), [], threading.Barrier(2)

    def run(name, *_, **__):
        running.add(name)
        at_once.append(running & {"one (1)", "two (1)", "three (1)"})
        if name in ("waits (1)", "one (1)"):
            together.wait(PATIENCE_S)  # beside one that sends another one runs
        running.discard(name)

    monkeypatch.setattr(jobs, "run", run)
    monkeypatch.setenv("TMPDIR", str(tmp_path))
    work = [part(tmp_path, name, GOOD, sends=True) for name in ("one", "two", "three")]
    work.append(part(tmp_path, "waits", GOOD))
    slots.Slots(work).run()
    assert all(one.begun == 1 for one in work)
    assert max(map(len, at_once)) == 1


def run_verb(monkeypatch, parts):
    """`make test-cluster` with these parts, without Citus: its exit status."""
    monkeypatch.setattr(cluster_work, "prepare", lambda: (True, False))
    monkeypatch.setattr(cluster_work, "on_postgres", parts)
    monkeypatch.setattr(sys, "argv", ["run_tests.py", "cluster"])
    try:
        run_tests.main()
    except SystemExit as ended:
        return ended.code
    return 0


def test_a_part_that_fails_is_named_at_the_end_and_hides_no_other(tmp_path, monkeypatch, capsys):
    texts = {"good": GOOD, "bad": BAD, "late": BAD.replace("is_bad", "is_late")}
    assert run_verb(monkeypatch, lambda: [part(tmp_path, *row, sends=True) for row in texts.items()]) == 1
    said = capsys.readouterr().out
    assert "=== ok: good (1)" in said and "a figure" in said
    shown = said[said.rindex("of a processor") :]
    for name in ("bad", "late"):
        assert f"::test_that_is_{name} - AssertionError: they differ" in shown
        assert f"=== FAILED: {name} (1)" in shown.splitlines()[-3:]
    assert "all stages ok" not in said


def test_parts_that_all_succeed_end_well(tmp_path, monkeypatch, capsys):
    assert run_verb(monkeypatch, lambda: [part(tmp_path, "good", GOOD)]) == 0
    assert "=== all stages ok" in capsys.readouterr().out


def test_without_citus_its_tests_are_left_out_with_a_sentence(tmp_path, monkeypatch, capsys):
    absent = tmp_path / "with_citus"
    absent.write_text("#!/bin/sh\necho 'with_citus: Citus is not installed' >&2\nexit 77\n")
    absent.chmod(0o755)
    monkeypatch.setattr(cluster_work, "WITH_CITUS", absent)
    assert cluster_work.has_citus() is False and run_tests.failed == []
    said = capsys.readouterr().out
    assert "Citus is not installed" in said and "the tests on Citus are left out" in said


def test_a_citus_that_does_not_start_fails_the_verb(tmp_path, monkeypatch, capsys):
    broken = tmp_path / "with_citus"
    broken.write_text("#!/bin/sh\necho 'with_citus: make extension failed'\nexit 1\n")
    broken.chmod(0o755)
    monkeypatch.setattr(cluster_work, "WITH_CITUS", broken)
    assert cluster_work.has_citus() is False
    assert [one.name for one in run_tests.failed] == ["Citus is installed, or built once"]
    assert "make extension failed" in capsys.readouterr().out
