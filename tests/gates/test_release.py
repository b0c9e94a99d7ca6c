"""The release binary is built as hardened as the documents say."""

import os
import subprocess
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
BINARY = Path(os.environ.get("MUSTER_TEST_RELEASE", ROOT / "build/release/muster"))


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
