"""The prices that a new database starts with: dated, once, and behind whatever a person states."""

import json
import subprocess
import uuid

import pytest
from muster import ROOT, Postgres, Server
from usage_reference import TOKENS

FILE = json.loads((ROOT / "share" / "prices.json").read_text())
AS_OF = f"{FILE['as_of']}T00:00:00Z"
MODEL = "gpt-5-mini"


@pytest.fixture
def new_store(store, tmp_path):
    """A store that no program has opened yet, and a server that is not started."""
    data = tmp_path / "data"
    data.mkdir(mode=0o700)
    if store == "sqlite":
        (data / "muster.db").touch(mode=0o600)  # empty: commands create none
        yield Server(data)
        return
    postgres = Postgres()
    url = postgres.create()
    yield Server(data, url)
    postgres.drop(url)


def listed(server, *more):
    return json.loads(server.cli("price", "list", *more, "--json"))["prices"]


def load(server, tmp_path, *entries):
    path = tmp_path / "list.json"
    path.write_text(json.dumps({"prices": entries}))
    return json.loads(server.cli("price", "import", str(path), "--json"))


def test_the_first_report_of_a_new_database_has_a_cost(new_store):
    server = new_store.start()
    try:
        tenant = server.add_tenant()
        body = {"agent_name": "a", "client_id": tenant.slug, "run_id": str(uuid.uuid4()),
                "timestamp": "2025-03-01T12:00:00Z", "model": MODEL, **dict.fromkeys(TOKENS, 0),
                "input_tokens": 1_000_000, "output_tokens": 1_000_000}  # fmt: skip
        assert tenant.client.post("/api/v1/telemetry/llm", body).status == 202
        span = "2025-03-01T00:00:00Z/2025-03-02T00:00:00Z"
        usage = tenant.client.get(tenant.path(f"llm/usage?time_range={span}")).json()
        assert usage["total"]["cost"] == "2.25"
        answer = tenant.client.get(tenant.path("prices")).json()["prices"]
        assert {row["model"] for row in answer} == {entry["model"] for entry in FILE["prices"]}
        assert {row["built_in_as_of"] for row in answer} == {AS_OF}
        assert {row["valid_from"] for row in answer} == {None}
        tenant.client.close()
    finally:
        server.stop()
    said = server.cli("price", "list", "--model", MODEL)
    assert f"built in, as of {AS_OF}" in said


def test_processes_that_start_at_once_add_the_list_once(new_store):
    command = [new_store.binary, "price", "list", "--json", *new_store.store_arguments]
    started = [
        subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE,
                         env=new_store.program_environment())
        for _ in range(4)
    ]  # fmt: skip
    for process in started:
        out, err = process.communicate(timeout=120)
        assert process.returncode == 0, err
        assert len(json.loads(out)["prices"]) == len(FILE["prices"])


def test_a_deleted_built_in_price_stays_deleted(own_server):
    (row,) = listed(own_server, "--model", MODEL)
    own_server.cli("price", "delete", str(row["price_id"]))
    own_server.restart()
    assert listed(own_server, "--model", MODEL) == []
    assert len(listed(own_server)) == len(FILE["prices"]) - 1


def test_a_price_that_a_person_states_replaces_the_built_in_one(own_server, tmp_path):
    entry = {"model": MODEL, "provider": "openai", "input": "9", "output": "8"}
    assert load(own_server, tmp_path, entry) == {
        "added": 0, "updated": 1, "unchanged": 0, "skipped": 0,
    }  # fmt: skip
    (row,) = listed(own_server, "--model", MODEL)  # not from now on, but always
    assert (row["input"], row["valid_from"], row["built_in_as_of"]) == ("9.00", None, None)
    own_server.cli("price", "set", "gpt-5", "--input", "1.25", "--output", "10")
    (row,) = listed(own_server, "--model", "gpt-5")
    assert (row["valid_from"], row["built_in_as_of"]) == (None, None)


def test_an_import_of_the_same_prices_makes_them_a_persons(own_server, tmp_path):
    n = len(FILE["prices"])
    made = load(own_server, tmp_path, *FILE["prices"])
    assert made == {"added": 0, "updated": n, "unchanged": 0, "skipped": 0}
    assert {row["built_in_as_of"] for row in listed(own_server)} == {None}
    made = load(own_server, tmp_path, *FILE["prices"])
    assert made == {"added": 0, "updated": 0, "unchanged": n, "skipped": 0}


def test_a_built_in_price_gives_its_alias_to_a_persons(own_server, tmp_path):
    alias = next(e["aliases"][0] for e in FILE["prices"] if e.get("aliases"))
    entry = {"model": "own-model", "input": "1", "output": "1", "aliases": [alias]}
    assert load(own_server, tmp_path, entry)["added"] == 1
    assert [row["model"] for row in listed(own_server, "--model", alias)] == ["own-model"]
    other = {"model": "another", "input": "1", "output": "1", "aliases": [alias]}
    path = tmp_path / "other.json"
    path.write_text(json.dumps({"prices": [other]}))
    done = own_server.run("price", "import", str(path))
    assert done.returncode == 1 and "belongs to model 'own-model' already" in done.stderr
