"""The agents of docs/AGENTS.md and the packages of `make sdk` work as they stand.

The packages must have been built (scripts/build_sdk.py).
"""

import base64
import csv
import hashlib
import re
import subprocess
import sys
import tarfile
import zipfile

from fixtures import ROOT

import pytest

LINES_MAX = 12
GUIDE = ROOT / "docs/AGENTS.md"


def built(pattern):
    found = sorted((ROOT / "build/sdk").glob(pattern))
    assert len(found) == 1, "run scripts/build_sdk.py"
    return found[0]


def block(language):
    """The first block of code in that language."""
    return re.search(rf"^```{language}\n(.*?)^```", GUIDE.read_text(), re.M | re.S).group(1)


def python_command(folder):
    return [sys.executable, "-c", block("python")], {"PYTHONPATH": str(built("*.whl"))}


def node_command(folder):
    with tarfile.open(built("*.tgz")) as archive:
        archive.extractall(folder / "node_modules")
    (folder / "node_modules/package").rename(folder / "node_modules/muster")
    (folder / "agent.mjs").write_text(block("js"))
    return ["node", "agent.mjs"], {}


@pytest.mark.parametrize("command", [python_command, node_command])
def test_the_ten_lines_of_the_guide_report_a_run_a_kpi_and_tokens(workspace, tmp_path, command):
    arguments, more = command(tmp_path)
    done = subprocess.run(
        arguments, cwd=tmp_path, env={**workspace.environment, **more},
        capture_output=True, text=True, timeout=60, check=False,
    )  # fmt: skip
    assert done.returncode == 0 and done.stderr == "", done.stderr
    (run,) = workspace.runs()
    assert (run["agent_name"], run["status"], run["event_count"]) == ("invoice-bot", "completed", 3)
    assert workspace.kpis() == {"invoices": 12}
    usage = workspace.usage()["gpt-4o"]
    assert (usage["input_tokens"], usage["output_tokens"], usage["calls"]) == (1200, 80, 1)
    assert workspace.read("agents/invoice-bot")["interval_seconds"] == 3600


def test_the_agent_of_the_readme_reports_a_run(workspace, tmp_path):
    code = re.search(r"^```python\n(.*?)^```", (ROOT / "README.md").read_text(), re.M | re.S)
    environment = {**workspace.environment, "PYTHONPATH": str(built("*.whl"))}
    subprocess.run([sys.executable, "-c", code.group(1)], env=environment, check=True, timeout=60)
    assert [run["status"] for run in workspace.runs()] == ["completed"]
    assert workspace.kpis() == {"invoices": 12}


@pytest.mark.parametrize("language", ["python", "js"])
def test_the_first_agent_is_short(language):
    assert len([line for line in block(language).splitlines() if line.strip()]) <= LINES_MAX


def test_the_wheel_records_what_is_in_it():
    with zipfile.ZipFile(built("*.whl")) as archive:
        names = set(archive.namelist())
        record = next(name for name in names if name.endswith("/RECORD"))
        rows = list(csv.reader(archive.read(record).decode().splitlines()))
        for name, digest, size in rows:
            if name == record:
                continue
            data = archive.read(name)
            wanted = base64.urlsafe_b64encode(hashlib.sha256(data).digest()).rstrip(b"=").decode()
            assert digest == f"sha256={wanted}" and int(size) == len(data)
    assert names == {row[0] for row in rows}
    assert {"muster/py.typed", "muster/integrations/langchain.py"} <= names


def test_the_tarball_has_both_kinds_of_module_with_types():
    with tarfile.open(built("*.tgz")) as archive:
        names = set(archive.getnames())
    for kind in ("esm", "cjs"):
        assert {f"package/dist/{kind}/index.js", f"package/dist/{kind}/index.d.ts"} <= names


def test_both_packages_have_the_same_version():
    versions = [re.search(r"muster-([\d.]+?)(?:-py3|\.tgz)", built(kind).name).group(1)
                for kind in ("*.whl", "*.tgz")]  # fmt: skip
    assert versions[0] == versions[1]
    sources = (ROOT / "sdk/python/muster/transport.py", ROOT / "sdk/typescript/src/transport.ts")
    assert all(f'VERSION = "{versions[0]}"' in path.read_text() for path in sources)
