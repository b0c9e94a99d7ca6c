"""What models cost: set, listed, imported and taken away, by operators alone."""

import json
import re
from urllib.parse import quote

import pytest
from stored import stored

pytestmark = pytest.mark.administered

PRICES = "/api/v1/platform/prices"
ENTRY = {
    "model": "m", "provider": "p", "input": "2.50", "output": "10.00", "cache_read": "1.25",
    "cache_write": None, "input_includes_cache": True, "valid_from": None, "aliases": ["alias"],
}  # fmt: skip
LITELLM = {
    "sample_spec": {"input_cost_per_token": 0.0, "max_tokens": "LEGACY", "mode": "one of …"},
    "gpt-0o": {
        "max_tokens": 16384, "input_cost_per_token": 2.5e-06, "output_cost_per_token": 1e-05,
        "cache_read_input_token_cost": 1.25e-06, "input_cost_per_token_batches": 1.25e-06,
        "litellm_provider": "openai", "mode": "chat", "supports_vision": True,
    },
    "claude-3-5-haiku-20241022": {
        "input_cost_per_token": 8e-07, "output_cost_per_token": 4e-06,
        "cache_creation_input_token_cost": 1e-06, "cache_read_input_token_cost": 8e-08,
        "litellm_provider": "anthropic", "mode": "chat",
    },
    "anthropic.claude-3-haiku-20240307-v1:0": {
        "input_cost_per_token": 2.5e-07, "output_cost_per_token": 1.25e-06,
        "litellm_provider": "bedrock", "mode": "chat",
    },
    "text-embedding-0-small": {
        "input_cost_per_token": 2e-08, "output_cost_per_token": 0.0,
        "litellm_provider": "openai", "mode": "embedding",
    },
    "an-embedding-without-output": {
        "input_cost_per_token": 3.0000000000000004e-08, "output_cost_per_token": None,
        "litellm_provider": "deepinfra", "mode": "embedding",
    },
    "dall-e-3": {"input_cost_per_pixel": 1e-07, "mode": "image_generation"},
    "a-chat-without-output": {"input_cost_per_token": 1e-06, "mode": "chat"},
}  # fmt: skip


@pytest.fixture
def admin(own_server):
    return Admin(own_server)


class Admin:
    """Administrative calls: over the socket, or where there is none by an administrator."""

    def __init__(self, server):
        self.server = server

    def call(self, method, path, body=None):
        return self.server.admin.request(method, path, body)

    def set(self, status=201, **fields):
        answer = self.call("POST", PRICES, {"model": "m", "input": 1, "output": 2, **fields})
        assert answer.status == status, answer.body
        return answer.json()

    def load(self, file, format="litellm", status=200, **more):
        answer = self.call("POST", f"{PRICES}/import", {"format": format, "prices": file, **more})
        assert answer.status == status, answer.body
        return answer.json()

    def list(self, query=""):
        """Those that are not built in."""
        return [row for row in self._list(query) if row["built_in_as_of"] is None]

    def _list(self, query):
        answer = self.call("GET", PRICES + query)
        assert answer.status == 200, answer.body
        return answer.json()["prices"]

    def costs(self, query=""):
        """The list by model: input, output, cache read, cache write."""
        fields = ("input", "output", "cache_read", "cache_write")
        return {row["model"]: tuple(row[f] for f in fields) for row in self.list(query)}


def counts(added=0, updated=0, unchanged=0, skipped=0):
    return {"added": added, "updated": updated, "unchanged": unchanged, "skipped": skipped}


def told(row):
    ours = ("price_id", "updated_at", "built_in_as_of")
    return {name: value for name, value in row.items() if name not in ours}


def test_a_price_is_listed_as_it_was_set_and_replaced_by_the_next(admin):
    first = admin.set(**ENTRY)
    assert list(first) == ["price_id", *ENTRY, "updated_at", "built_in_as_of"]
    assert told(first) == ENTRY
    assert admin.list() == [first]
    second = admin.set(**{**ENTRY, "input": 3})
    assert second["price_id"] == first["price_id"]
    assert admin.costs() == {"m": ("3.00", "10.00", "1.25", None)}
    later = admin.set(**{**ENTRY, "valid_from": "2025-06-01T02:00:00+02:00"})
    assert later["valid_from"] == "2025-06-01T00:00:00Z"
    earlier = admin.set(**{**ENTRY, "valid_from": "2024-01-01T00:00:00Z"})
    assert admin.list() == [second, earlier, later]
    answer = admin.call("DELETE", f"{PRICES}/{earlier['price_id']}")
    assert (answer.status, answer.json()) == (200, earlier)
    assert admin.call("DELETE", f"{PRICES}/{earlier['price_id']}").status == 404
    assert admin.call("DELETE", f"{PRICES}/x").status == 422
    assert admin.list() == [second, later]


AMOUNTS = [
    (0, "0.00"),
    (2, "2.00"),
    (0.15, "0.15"),
    ("0.000000000001", "0.000000000001"),
    (1e-12, "0.000000000001"),
    (1e6, "1000000.00"),
    ("123456.123456789012", "123456.123456789012"),
    ("1e-3", "0.001"),
    ("0.0000000000001", None),
    (1e-13, None),
    (1234567.5, None),
    (12345.6789012345678, None),  # as a number, no longer what was written
    (-1, None),
    ("-1", None),
    ("", None),
    ("1 USD", None),
    (True, None),
    ([1], None),
    (10**30, None),
]


def test_a_price_is_exact_or_refused(admin):
    for sent, kept in AMOUNTS:
        if kept is None:
            before = admin.list()
            (problem,) = admin.set(422, input=sent)["detail"]
            assert (problem["loc"], problem["type"]) == (["body", "input"], "value_error"), sent
            assert admin.list() == before
        else:
            assert admin.set(input=sent)["input"] == kept


NAMES = [
    ("gpt-0o", "gpt-0o"),
    ("gpt-0o-2024-05-13", "gpt-0o-2024-05-13"),
    ("gpt-0o-2024-08-06", "gpt-0o"),
    ("gpt-0o-20240806", "gpt-0o"),
    ("gpt-0o@20240806", "gpt-0o"),
    ("openai/gpt-0o", "gpt-0o"),
    ("openrouter/openai/gpt-0o-2024-08-06", "gpt-0o"),
    ("openai/gpt-0o-2024-05-13", "gpt-0o-2024-05-13"),
    ("azure/gpt-0o", "azure/gpt-0o"),
    ("x/azure/gpt-0o-2024-08-06", "azure/gpt-0o"),
    ("omni", "gpt-0o"),
    ("openai/omni-20240806", "gpt-0o"),
    ("gpt-0", None),
    ("gpt-0o-mini", None),
    ("gpt-0o-latest", None),
    ("GPT-0o", None),
    ("gpt-0o/", None),
    ("gpt-0o-2024-13-06", None),
    ("gpt-0o-2024-08-32", None),
    ("gpt-0o-0806", None),
    ("-20240806", None),
    ("", None),
]


def test_a_model_is_found_by_name_alias_prefix_or_date_and_nothing_looser(tenant):
    run = tenant.server.cli
    for model in ("gpt-0o", "gpt-0o-2024-05-13", "azure/gpt-0o"):
        run("price", "set", model, "--input", "1", "--output", "2")
    file = {"model": "gpt-0o", "input": 1, "output": 2, "aliases": ["omni"]}
    path = tenant.server.data.parent / "omni.json"
    path.write_text(json.dumps({"prices": [file]}))
    run("price", "import", str(path))
    for asked, found in NAMES:
        answer = tenant.client.get(tenant.path(f"prices?model={quote(asked, safe='')}"))
        assert answer.status == 200
        models = {row["model"] for row in answer.json()["prices"]}
        assert models == ({found} if found else set()), asked


def test_a_litellm_file_is_read_and_read_again_without_a_change(admin):
    assert admin.load(LITELLM) == counts(added=5, skipped=3)
    assert admin.costs() == {
        "gpt-0o": ("2.50", "10.00", "1.25", None),
        "claude-3-5-haiku-20241022": ("0.80", "4.00", "0.08", "1.00"),
        "anthropic.claude-3-haiku-20240307-v1:0": ("0.25", "1.25", None, None),
        "text-embedding-0-small": ("0.02", "0.00", None, None),
        "an-embedding-without-output": ("0.03", "0.00", None, None),
    }
    rows = admin.list()
    assert {row["model"] for row in rows if not row["input_includes_cache"]} == {
        "claude-3-5-haiku-20241022", "anthropic.claude-3-haiku-20240307-v1:0",
    }  # fmt: skip
    assert {row["valid_from"] for row in rows} == {None}
    assert admin.load(LITELLM) == counts(unchanged=5, skipped=3)
    assert admin.list() == rows


def test_a_price_that_changed_holds_from_the_import_on(admin, clock):
    admin.load(LITELLM)
    before = admin.list()
    changed = {**LITELLM, "gpt-0o": {**LITELLM["gpt-0o"], "output_cost_per_token": 8e-06}}
    clock.advance(3600)
    assert admin.load(changed) == counts(added=1, unchanged=4, skipped=3)
    rows = admin.list("?model=gpt-0o")
    assert [(row["output"], row["valid_from"] is None) for row in rows] == [
        ("10.00", True), ("8.00", False),
    ]  # fmt: skip
    assert rows[1]["valid_from"] == rows[1]["updated_at"]
    assert admin.load(changed) == counts(unchanged=5, skipped=3)
    moment = "2025-03-01T00:00:00Z"
    assert admin.load(LITELLM, valid_from=moment) == counts(unchanged=5, skipped=3)
    assert admin.load(changed, valid_from=moment) == counts(added=1, unchanged=4, skipped=3)
    assert [row["valid_from"] for row in admin.list("?model=gpt-0o")][:2] == [None, moment]
    assert [row for row in admin.list() if row["model"] != "gpt-0o"] == [
        row for row in before if row["model"] != "gpt-0o"
    ]


def test_our_own_form_carries_history_and_names(admin):
    history = [
        {"model": "m", "input": 3, "output": 9, "aliases": ["n"]},
        {"model": "m", "input": 2, "output": 9, "valid_from": "2025-01-01T00:00:00Z"},
        {"model": "m", "input": 3, "output": 9, "valid_from": "2025-02-01T00:00:00Z"},
        {"model": "other", "input": "0.5", "output": "1"},
    ]
    for file in ({"prices": history}, {"about": "…", "prices": history[::-1]}):
        admin.load(file, "muster")
    rows = admin.list()
    assert [row["input"] for row in rows] == ["3.00", "2.00", "3.00", "0.50"]
    assert admin.load({"prices": rows}, "muster") == counts(unchanged=4)  # what was told is a file
    named = [{**history[3], "provider": "p", "aliases": ["o"]}]
    assert admin.load({"prices": named}, "muster") == counts(updated=1)
    assert told(admin.list("?model=o")[0]) == {
        **ENTRY, "model": "other", "input": "0.50", "output": "1.00", "cache_read": None,
        "input_includes_cache": False, "aliases": ["o"],
    }  # fmt: skip


BAD_FILES = [
    ("litellm", [], ["prices"]),
    ("litellm", "x", ["prices"]),
    ("litellm", {"bad": 1}, ["prices", "bad"]),
    ("litellm", {"bad": {"input_cost_per_token": "1", "output_cost_per_token": 1}},
     ["prices", "bad", "input_cost_per_token"]),
    ("litellm", {"bad": {"input_cost_per_token": 1e-6, "output_cost_per_token": -1}},
     ["prices", "bad", "output_cost_per_token"]),
    ("litellm", {"bad": {"input_cost_per_token": 2, "output_cost_per_token": 1}},
     ["prices", "bad", "input_cost_per_token"]),
    ("litellm", {"x" * 257: {"input_cost_per_token": 0, "output_cost_per_token": 0}},
     ["prices", "x" * 257]),
    ("muster", {}, ["prices"]),
    ("muster", {"prices": {}}, ["prices", "prices"]),
    ("muster", {"prices": [{"model": "bad", "input": 1}]}, ["prices", "prices", 0, "output"]),
    ("muster", {"prices": [{"model": "bad", "input": 1, "output": "x"}]},
     ["prices", "prices", 0, "output"]),
    ("muster", {"prices": [{"model": "bad", "input": 1, "output": 1}] * 2},
     ["prices", "prices", 1]),
    ("other", {}, ["format"]),
]  # fmt: skip


def among_good_ones(format, file):
    if format == "litellm" and isinstance(file, dict):
        return {**LITELLM, **file}
    if format == "muster" and isinstance(file.get("prices"), list):
        return {"prices": [*file["prices"], {"model": "good", "input": 1, "output": 1}]}
    return file


def test_a_bad_file_changes_nothing(admin):
    admin.set(model="there")
    before = admin.list()
    for format, file, where in BAD_FILES:
        (problem,) = admin.load(among_good_ones(format, file), format, 422)["detail"]
        assert problem["loc"] == ["body", *where]
        assert admin.list() == before


def test_an_alias_leads_to_one_model(admin):
    admin.set(model="one", aliases=["a"])
    before = admin.list()
    said = admin.set(409, model="two", aliases=["b", "a"])
    assert said == {"detail": "The alias 'a' belongs to model 'one' already"}
    entries = [{"model": m, "input": 1, "output": 1, "aliases": ["c"]} for m in ("x", "y")]
    said = admin.load({"prices": entries}, "muster", 409)
    assert said == {"detail": "The alias 'c' belongs to model 'x' already"}
    assert admin.list() == before
    admin.set(model="one", aliases=["a", "b"])


def test_the_list_takes_twenty_thousand_prices(admin):
    entry = {"input_cost_per_token": 1e-6, "output_cost_per_token": 1e-6}
    if admin.server.database:  # the bound is the same, and so many rows take it twenty seconds
        assert admin.load({f"m{i}": entry for i in range(1000)}) == counts(added=1000)
        return
    (built_in,) = stored(admin.server, "SELECT COUNT(*) AS n FROM prices")
    file = {f"m{i}": entry for i in range(20_000 - built_in["n"])}
    assert admin.load(file) == counts(added=len(file))
    said = admin.set(409, model="one more")
    assert said == {"detail": "The price list is full: it holds at most 20000 prices"}
    admin.set(model="m7", input=3)
    more = {f"n{i}": entry for i in range(20_001)}
    admin.load(more, status=422)
    assert len(admin.list()) == len(file)


def test_keys_read_prices_and_change_none(tenant):
    assert tenant.client.get(tenant.path("prices")).status == 200
    agent = tenant.agent_client("a")
    assert agent.get(tenant.path("prices")).status == 403
    agent.close()
    for method, path, body in (
        ("GET", PRICES, None),
        ("POST", PRICES, {"model": "m", "input": 1, "output": 1}),
        ("POST", f"{PRICES}/import", {"prices": {}}),
        ("DELETE", f"{PRICES}/1", None),
    ):
        assert tenant.client.request(method, path, body).status == 403
        stranger = tenant.server.client()
        assert stranger.request(method, path, body).status == 401
        stranger.close()


@pytest.mark.commands
def test_the_commands_set_import_list_and_remove(own_server, tmp_path):
    run = own_server.cli
    built_in = len(run("price", "list").splitlines())  # with its header
    made = json.loads(run(
        "price", "set", "ü/m", "--input", "1.5", "--output=2", "--input-includes-cache",
        "--cache-read", "0.1", "--cache-write", "2", "--provider", "p",
        "--valid-from", "2025-01-01T00:00:00Z", "--json",
    ))  # fmt: skip
    assert told(made) == {
        "model": "ü/m", "provider": "p", "input": "1.50", "output": "2.00", "cache_read": "0.10",
        "cache_write": "2.00", "input_includes_cache": True,
        "valid_from": "2025-01-01T00:00:00Z", "aliases": [],
    }  # fmt: skip
    header, line = run("price", "list", "--model", "ü/m").splitlines()
    assert re.split(" {2,}", header) == [
        "ID", "MODEL", "INPUT", "OUTPUT", "CACHE READ", "CACHE WRITE", "INPUT INCLUDES CACHE",
        "FROM", "SOURCE",
    ]  # fmt: skip
    assert line.split() == [
        str(made["price_id"]), "ü/m", "1.50", "2.00", "0.10", "2.00", "yes", "2025-01-01T00:00:00Z",
        "set", "or", "imported",
    ]  # fmt: skip
    assert header.index("INPUT") == line.index("1.50"), "columns stand below their titles"
    assert run("price", "delete", str(made["price_id"])).split() == (
        f"{made['price_id']} ü/m input 1.50 output 2.00 cache read 0.10 cache write 2.00"
        " input includes cache from 2025-01-01T00:00:00Z"
    ).split()
    assert own_server.run("price", "delete", str(made["price_id"])).returncode == 1
    path = tmp_path / "prices.json"
    path.write_text(json.dumps(LITELLM))
    said = "5 added, 0 updated, 0 unchanged, 3 without token prices\n"
    assert run("price", "import", str(path)) == said
    assert len(run("price", "list").splitlines()) == built_in + 5
    for arguments, status in (
        (("set", "m", "--input", "1"), 2),
        (("set", "m", "--input", "1", "--output", "2", "--valid-from", "today"), 2),
        (("set", "m", "--input", "1", "--output", "two"), 1),
        (("import", str(tmp_path / "none.json")), 1),
        (("import", str(path), "--format", "other"), 1),
        (("import", str(path), "--format", "muster"), 1),
    ):
        done = own_server.run("price", *arguments)
        assert (done.returncode, done.stdout) == (status, ""), arguments
        assert done.stderr.startswith("muster: ")


def test_changes_of_prices_are_in_the_audit_log(admin):
    made = admin.set(model="audited")
    admin.call("DELETE", f"{PRICES}/{made['price_id']}")
    admin.load(LITELLM)
    answer = admin.call("GET", "/api/v1/platform/audit")
    entries = [e for e in answer.json()["entries"] if e["action"].startswith("price.")]
    assert [(e["action"], e["target"]) for e in entries] == [
        ("price.import", "prices"), ("price.rm", "audited"), ("price.set", "audited"),
    ]  # fmt: skip
