"""Clients that others' generators make of docs/openapi.json compile and pass one round trip with
the real binary, and so do others' clients of the Model Context Protocol and the JavaScript SDK of
OpenTelemetry. Run by scripts/client_test (make sdk-test): it needs more than Debian has."""

import json
import os
import re
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

HERE = Path(__file__).resolve().parent
ROOT = HERE.parents[1]
DOCUMENT = ROOT / "docs/openapi.json"
TOOLS = HERE / "node_modules/.bin"
BUILD = ROOT / "build/clients"
OAPI_CODEGEN = "github.com/oapi-codegen/oapi-codegen/v2/cmd/oapi-codegen@v2.8.1"
sys.path.insert(0, str(ROOT / "tests/integration"))

from muster import Server  # noqa: E402


def finish(*command, cwd=BUILD, **more):
    environment = {**os.environ, "no_proxy": "*", **more}
    done = subprocess.run(command, cwd=cwd, env=environment, capture_output=True, text=True)
    assert done.returncode == 0, f"{command}:\n{done.stdout[-4000:]}\n{done.stderr[-4000:]}"
    return done


def run(*command, **more):
    return finish(*command, **more).stdout


@pytest.fixture(scope="module", autouse=True)
def folder():
    shutil.rmtree(BUILD, ignore_errors=True)
    BUILD.mkdir(parents=True)


@pytest.fixture(scope="module")
def server(tmp_path_factory):
    server = Server(tmp_path_factory.mktemp("clients") / "data")
    server.start()
    yield server
    server.stop()


@pytest.fixture(scope="module")
def service(server):
    tenant = server.add_tenant()
    return f"http://127.0.0.1:{server.address[1]}", tenant.token, tenant.slug


@pytest.fixture
def asked(server):
    """A workspace with one agent, and a key that only reads it."""
    tenant = server.add_tenant()
    assert tenant.client.post("/api/v1/telemetry", tenant.event(agent_name="reader")).status == 202
    url = f"http://127.0.0.1:{server.address[1]}"
    return url, tenant.add_key(None, "--read-only"), "reader"


def test_redocly_has_nothing_to_say():
    said = run(TOOLS / "redocly", "lint", "--config", HERE / "redocly.yaml", "--format", "json",
               DOCUMENT, REDOCLY_TELEMETRY="off")  # fmt: skip
    found = json.loads(said[said.index("{") :])
    assert found["problems"] == []  # warnings too, which do not change the exit status


def test_spectral_has_nothing_to_say():
    run(TOOLS / "spectral", "lint", "--ruleset", HERE / "spectral.yaml", "--fail-severity", "hint",
        DOCUMENT)  # fmt: skip


def test_openapi_python_client(service):
    config = BUILD / "python.yaml"
    config.write_text("package_name_override: muster_client\npost_hooks: []\n")
    done = finish("openapi-python-client", "generate", "--path", DOCUMENT, "--config", config,
               "--output-path", BUILD / "python")  # fmt: skip
    said = done.stdout + done.stderr
    assert "Unable" not in said
    # it knows no protobuf: of the three operations that also take it, it makes the form in JSON
    warned = sorted(re.findall(r"WARNING parsing (\S+ \S+) ", said))
    assert warned == ["POST /v1/logs", "POST /v1/metrics", "POST /v1/traces"]
    run(sys.executable, "-m", "mypy", "--no-incremental", "muster_client", cwd=BUILD / "python")
    path = {"PYTHONPATH": str(BUILD / "python")}
    assert run(sys.executable, HERE / "round_trip.py", *service, **path) == "ok\n"


def test_openapi_typescript(service):
    shutil.copytree(HERE / "typescript", BUILD / "typescript")
    (BUILD / "typescript/node_modules").symlink_to(HERE / "node_modules")
    (BUILD / "typescript/package.json").write_text('{"type": "module"}')
    here = BUILD / "typescript"
    run(TOOLS / "openapi-typescript", DOCUMENT, "--default-non-nullable", "false", "-o",
        here / "muster.d.ts")  # fmt: skip
    run(TOOLS / "tsc", cwd=here)
    assert run("node", "round_trip.js", *service, cwd=here) == "ok\n"


@pytest.mark.skipif(shutil.which("go") is None, reason="needs Go 1.24 or later")
def test_oapi_codegen(service):
    shutil.copytree(HERE / "go", BUILD / "go")
    (BUILD / "go/muster").mkdir()
    run("go", "run", OAPI_CODEGEN, "-generate", "types,client", "-package", "muster", "-o",
        BUILD / "go/muster/muster.go", DOCUMENT)  # fmt: skip
    run("go", "vet", "./muster", cwd=BUILD / "go")
    assert run("go", "run", ".", *service, cwd=BUILD / "go") == "ok\n"


def test_the_python_client_of_the_model_context_protocol(asked):
    assert run(sys.executable, HERE / "mcp_client.py", *asked) == "ok\n"


def test_the_typescript_client_of_the_model_context_protocol(asked):
    assert run("node", HERE / "mcp_client.mjs", *asked) == "ok\n"


def test_the_javascript_sdk_of_opentelemetry(server):
    tenant = server.add_tenant()
    url = f"http://127.0.0.1:{server.address[1]}"
    assert run("node", HERE / "opentelemetry.mjs", url, tenant.token, tenant.slug) == "ok\n"
