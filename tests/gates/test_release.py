"""The release binary is as hardened as the documents say, and nothing in it is for tests alone."""

import os
import subprocess
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
BINARY = Path(os.environ.get("MUSTER_TEST_RELEASE", ROOT / "build/release/muster"))
TEST_CLOCK = BINARY.with_name("muster_test_clock.so")
CHEAP_HASH = BINARY.with_name("muster_cheap_hash.so")


def readelf(option):
    return subprocess.run(
        ["readelf", "-W", option, BINARY], capture_output=True, text=True, check=True
    ).stdout


def missing_hardening():
    """What the binary lacks of PIE, full RELRO, a stack that does not execute, canaries, FORTIFY."""
    header, segments = readelf("-h"), readelf("-l")
    dynamic, symbols = readelf("-d"), readelf("--dyn-syms")
    stack = next(line for line in segments.splitlines() if "GNU_STACK" in line)
    found = {
        "position-independent": "DYN" in header and "PIE" in dynamic,
        "full RELRO": "GNU_RELRO" in segments and "BIND_NOW" in dynamic,
        "stack that does not execute": " RWE " not in stack,
        "stack protector": "__stack_chk_fail" in symbols,
        "FORTIFY": "_chk@" in symbols.replace("__stack_chk", ""),
    }
    return [name for name, there in found.items() if not there]


def test_the_release_binary_is_hardened():
    assert missing_hardening() == []


def test_a_binary_without_hardening_is_noticed(tmp_path, monkeypatch):
    source, plain = tmp_path / "plain.c", tmp_path / "plain"
    source.write_text("int main(void) { return 0; }\n")
    flags = ["-no-pie", "-fno-stack-protector", "-Wl,-z,norelro", "-z", "execstack"]
    subprocess.run(["gcc", *flags, source, "-o", plain], check=True, capture_output=True)
    monkeypatch.setattr(f"{__name__}.BINARY", plain)
    assert len(missing_hardening()) == 5


@pytest.mark.parametrize("library", ["libuv", "libsqlite3", "libpq", "libsodium", "libyyjson"])
def test_libraries_are_debians_own_and_not_copied_in(library):
    assert f"[{library}.so" in readelf("-d")


# Names and texts of tests/hooks, and what builds of the crash tests are compiled with.
HOOKS = (
    "MUSTER_TEST_CLOCK", "MUSTER_TEST_SKEW_S", "clock_advance_us", "clock_advance_raw_us",
    "clock_step_wall_us", "clock_hook", "db_fault", "injected fault", "MUSTER_ACK_EARLY", "cheap_hash",
)  # fmt: skip


def hooks_in(binary):
    content = binary.read_bytes()
    return [name for name in HOOKS if name.encode() in content]


def test_the_release_binary_has_no_test_hooks():
    assert hooks_in(BINARY) == []


def test_a_hook_in_a_binary_is_noticed():
    assert "MUSTER_TEST_CLOCK" in hooks_in(TEST_CLOCK)
    assert "cheap_hash" in hooks_in(CHEAP_HASH)


@pytest.mark.parametrize("content", [None, b"", bytes(15)])
def test_a_clock_is_followed_only_where_the_hook_is_loaded(tmp_path, content):
    path = tmp_path / "clock"
    if content is not None:
        path.write_bytes(content)
    plain = {**os.environ, "MUSTER_TEST_CLOCK": str(path)}
    hooked = {**plain, "LD_PRELOAD": str(TEST_CLOCK)}
    alone, hindered, other = (
        subprocess.run(command, env=env, capture_output=True, check=False)
        for command, env in (
            ([BINARY, "version"], plain), ([BINARY, "version"], hooked), (["true"], hooked),
        )
    )  # fmt: skip
    assert (alone.returncode, other.returncode) == (0, 0), (alone.stderr, other.stderr)
    assert hindered.returncode == 1
    assert b"is not a clock" in hindered.stderr
