"""The service hands out the libraries, and the wheel installs with pip, without an index, and reports."""

import subprocess
import sys
import urllib.request

import pytest

from fixtures import ROOT, url_of

AGENT = """
import muster
agent = muster.Agent("installed", kpis=["k"])
with agent.run() as run:
    run.kpi("k", 1)
assert agent.flush(100)
print(muster.__file__)
"""


def offered(workspace, end):
    """The address of a library. The name is that of the one which scripts/build_sdk.py makes."""
    (made,) = (ROOT / "build/sdk").glob(f"*{end}")
    return f"{url_of(workspace.server)}/sdk/{made.name}", made.read_bytes()


@pytest.mark.parametrize("end", [".whl", ".tgz"])
def test_the_service_hands_out_the_bytes_that_make_sdk_builds(workspace, end):
    url, built = offered(workspace, end)
    with urllib.request.urlopen(url, timeout=100) as answer:
        assert answer.read() == built


def test_the_wheel_installs_into_a_virtual_environment_and_its_agent_reports(workspace, tmp_path):
    wheel, _ = offered(workspace, ".whl")
    subprocess.run([sys.executable, "-m", "venv", tmp_path / "venv"], check=True)
    python = tmp_path / "venv/bin/python"
    subprocess.run([python, "-m", "pip", "install", "-q", "--no-index", wheel], check=True)
    environment = {**workspace.environment, "PYTHONPATH": ""}
    done = subprocess.run([python, "-c", AGENT], env=environment, cwd=tmp_path, text=True,
                          stdout=subprocess.PIPE, timeout=200, check=True)  # fmt: skip
    assert done.stdout.startswith(str(tmp_path / "venv"))
    assert [run["agent_name"] for run in workspace.runs()] == ["installed"]
    assert workspace.kpis() == {"k": 1}
