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
import textwrap
import zipfile

from fixtures import ROOT

import muster
import pytest

LINES_MAX = 12
GUIDE = ROOT / "docs/AGENTS.md"


def built(pattern):
    found = sorted((ROOT / "build/sdk").glob(pattern))
    assert len(found) == 1, "run scripts/build_sdk.py"
    return found[0]


def blocks(language, section=""):
    """The code in that language, of the whole guide or of one section."""
    text = GUIDE.read_text()
    if section:
        text = re.search(rf"^## {section}\n(.*?)(?=^## )", text, re.M | re.S).group(1)
    return re.findall(rf"^```{language}\n(.*?)^```", text, re.M | re.S)


def block(language):
    return blocks(language)[0]


def python_command(folder):
    return [sys.executable, "-c", block("python")], {"PYTHONPATH": str(built("*.whl"))}


def install_tarball(folder):
    with tarfile.open(built("*.tgz")) as archive:
        archive.extractall(folder / "node_modules")
    (folder / "node_modules/package").rename(folder / "node_modules/muster")


def node_command(folder):
    install_tarball(folder)
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


def test_kpis_and_what_an_agent_must_use_work_as_the_guide_prints_them(workspace, tmp_path):
    (kpis,) = blocks("python", "KPIs")
    (pulls,) = blocks("python", "What the agent must use")
    parameter = re.search(r"`(config=\[.*?\])`", GUIDE.read_text()).group(1)
    script = f"""import muster
agent = muster.Agent("invoice-bot", kpis=["invoices"], {parameter})
agent.register()
with agent.run() as run:
{textwrap.indent(kpis, "    ")}
{pulls}
print(model, policy["mode"], document, config)
"""
    own_key = workspace.tenant.add_key("invoice-bot")
    environment = {**workspace.environment, "PYTHONPATH": str(built("*.whl")), "MUSTER_TOKEN": own_key}
    done = subprocess.run([sys.executable, "-c", script], env=environment, capture_output=True,
                          text=True, timeout=60, check=False)  # fmt: skip
    assert done.stderr == "" and done.returncode == 0, done.stderr
    assert done.stdout == "gpt-4o-mini deny_all None {'batch_size': 50}\n"
    assert workspace.kpis() == {"invoices": 13}


def test_the_names_in_node_work_as_the_guide_prints_them(workspace, tmp_path):
    (_, code) = blocks("js", "Ten lines")
    install_tarball(tmp_path)
    (tmp_path / "agent.mjs").write_text(code)
    environment = {**workspace.environment, "MUSTER_TOKEN": workspace.tenant.add_key("invoice-bot")}
    done = subprocess.run(["node", "agent.mjs"], cwd=tmp_path, env=environment, timeout=60,
                          capture_output=True, text=True, check=False)  # fmt: skip
    assert done.returncode == 0 and done.stderr == "", done.stderr
    agent = workspace.read("agents/invoice-bot")
    (parameter,) = agent["config_schema"]["params"]
    assert (parameter["value_type"], parameter["restart_required"]) == ("integer", True)
    assert agent["business_kpis"][0]["unit"] == "money:EUR"
    (run,) = workspace.runs()
    assert (run["status"], run["records_processed"]) == ("completed", 12)
    assert workspace.kpis()["invoices"] == 50
    slices = workspace.read("business/breakdown?agent_name=invoice-bot&metric=invoices&by=country")["rows"]
    assert {row["dimensions"]["country"]: row["value"] for row in slices} == {"DE": 9, "FR": 3}
    usage = workspace.usage()["gpt-4o-mini"]
    assert (usage["input_tokens"], usage["output_tokens"], usage["cache_read_tokens"]) == (90, 5, 10)


def test_both_libraries_have_every_call_that_the_guide_names():
    types = {
        name: (ROOT / f"build/sdk/dist/esm/{name}.d.ts").read_text() for name in ("agent", "run")
    }
    named = set(re.findall(r"\b(agent|run)\.([a-z_]+)(?=\()", GUIDE.read_text()))
    assert len(named) > 15, named
    only_here = {("agent", "start")}  # Python's agent.run() is that already
    for owner, name in sorted(named):
        there = re.sub(r"_(.)", lambda found: found.group(1).upper(), name)
        assert re.search(rf"^    {there}[<(]", types[owner], re.M), (owner, there)
        kind = muster.Agent if owner == "agent" else muster.run.Run
        assert hasattr(kind, name) or (owner, name) in only_here, (owner, name)


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


@pytest.mark.parametrize("kind", ["module", "commonjs"])
def test_the_types_need_no_other_package_and_find_a_mistake(tmp_path, kind):
    install_tarball(tmp_path)
    (tmp_path / "package.json").write_text(f'{{"type": "{kind}"}}')
    (tmp_path / "agent.ts").write_text(block("js").replace("await agent.run", "void agent.run"))
    (tmp_path / "wrong.ts").write_text(
        'import { Agent } from "muster";\nvoid new Agent("a").run((run) => run.nope());\n'
    )
    compiler = [ROOT / "web/node_modules/.bin/tsc", "--noEmit", "--strict", "--target",
                "es2022", "--module", "nodenext", "--types", ""]  # fmt: skip
    right = subprocess.run([*compiler, "agent.ts"], cwd=tmp_path, capture_output=True, text=True)
    assert (right.returncode, right.stdout) == (0, "")
    wrong = subprocess.run([*compiler, "wrong.ts"], cwd=tmp_path, capture_output=True, text=True)
    assert "'nope' does not exist on type 'Run'" in wrong.stdout


def test_both_packages_have_the_same_version():
    versions = [re.search(r"muster-([\d.]+?)(?:-py3|\.tgz)", built(kind).name).group(1)
                for kind in ("*.whl", "*.tgz")]  # fmt: skip
    assert versions[0] == versions[1]
    sources = (ROOT / "sdk/python/muster/transport.py", ROOT / "sdk/typescript/src/transport.ts")
    assert all(f'VERSION = "{versions[0]}"' in path.read_text() for path in sources)
