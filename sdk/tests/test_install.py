"""The wheel of `make sdk` installs with pip, without a network, and reports."""

import subprocess
import sys

from fixtures import ROOT

AGENT = """
import muster
agent = muster.Agent("installed", kpis=["k"])
with agent.run() as run:
    run.kpi("k", 1)
assert agent.flush(100)
print(muster.__file__)
"""


def test_the_wheel_installs_into_a_virtual_environment_and_its_agent_reports(workspace, tmp_path):
    (wheel,) = (ROOT / "build/sdk").glob("*.whl")  # of scripts/build_sdk.py
    subprocess.run([sys.executable, "-m", "venv", tmp_path / "venv"], check=True)
    python = tmp_path / "venv/bin/python"
    subprocess.run([python, "-m", "pip", "install", "-q", "--no-index", wheel], check=True)
    environment = {**workspace.environment, "PYTHONPATH": ""}
    done = subprocess.run([python, "-c", AGENT], env=environment, cwd=tmp_path, text=True,
                          stdout=subprocess.PIPE, timeout=200, check=True)  # fmt: skip
    assert done.stdout.startswith(str(tmp_path / "venv"))
    assert [run["agent_name"] for run in workspace.runs()] == ["installed"]
    assert workspace.kpis() == {"k": 1}
