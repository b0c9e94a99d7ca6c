"""How the black-box tests of the service are started: on which build and store."""

from jobs import BUILD, ROOT

WAIT_MS = "60000"  # a store may be silent for seconds while others use the processors

# What the store has no part in: connections, headers, and words for people and other programs.
ANY_STORE = (
    "cors", "csrf", "formats", "login_command", "mcp", "portal", "remote_commands", "tls",
)  # fmt: skip

# Holds the release binary to its milliseconds: nothing else runs meanwhile.
EXCLUSIVE = "tests/integration/test_overload.py"


def files_in(folder, names=("*",)):
    found = {path for name in names for path in (ROOT / folder).glob(f"test_{name}.py")}
    return [str(path.relative_to(ROOT)) for path in sorted(found)]


def on(preset, store, **more):
    """The environment of black-box tests on a build's binary."""
    binary = str(BUILD / preset / "muster")
    return {"MUSTER_TEST_BINARY": binary, "MUSTER_TEST_STORES": store,
            "MUSTER_TEST_WAIT_MS": WAIT_MS, **more}


def on_store(store):
    """The black-box tests in which the store has a part, and their environment."""
    left_out = {EXCLUSIVE, *files_in("tests/integration", ANY_STORE)}
    files = [file for file in files_in("tests/integration") if file not in left_out]
    return files, on("release", store, MUSTER_TEST_STORED="1")
