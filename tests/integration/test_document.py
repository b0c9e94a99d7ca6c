"""GET /api/v1/agents/document, and how the document is edited: versions, differences, restoring."""

import json
import re

import pytest
from guidance import ask, check_tags, told
from stored import of_tenant, stored

pytestmark = pytest.mark.administered

MIB = 1 << 20
TEXTS = [
    "",
    "plain\n",
    "no newline at the end",
    "\r\nwindows\r\n\ttabs \x01 \x1f and blanks  \n\n",
    'quotes " and \\ and ${vault:NAME} and vault:NAME\n',
    "ünï©ødé 𝄞 \u2028 \ufeff\n",
]


def where(tenant, agent):
    return ("--tenant", tenant.slug, "--agent", agent)


def put(tenant, folder, agent, text, *more, name="document.txt"):
    file = folder / name
    file.write_bytes(text.encode() if isinstance(text, str) else text)
    arguments = ("document", "set", str(file), *where(tenant, agent), *more, "--json")
    return json.loads(tenant.server.cli(*arguments))


@pytest.mark.parametrize("text", TEXTS)
def test_a_document_comes_back_byte_for_byte(tenant, tmp_path, text):
    put(tenant, tmp_path, "a/b", text, "--format", "yaml")
    said = told(tenant.client, "document", "a/b")
    assert said.pop("updated_at")
    assert said == {"agent_name": "a/b", "format": "yaml", "document": text, "version": 1}
    shown = tenant.server.run("document", "show", *where(tenant, "a/b"))
    if "\r" not in text:  # which the harness reads as newlines
        assert shown.stdout == text


def test_without_a_document_it_is_404(tenant, tmp_path):
    answer = ask(tenant.client, "document", "never-seen")
    assert (answer.status, answer.json()) == (
        404, {"detail": "agent 'never-seen' has no document"},
    )  # fmt: skip
    put(tenant, tmp_path, "other", "x")
    assert ask(tenant.client, "document", "never-seen").status == 404


def test_the_etag_holds_until_the_document_changes(tenant, tmp_path):
    put(tenant, tmp_path, "a", "one")
    before = check_tags(tenant.client, "document", "a")
    put(tenant, tmp_path, "a", "one")  # the same
    assert check_tags(tenant.client, "document", "a") == before
    put(tenant, tmp_path, "a", "one", "--format", "markdown")
    assert check_tags(tenant.client, "document", "a") != before


@pytest.mark.parametrize(
    ("name", "expected"),
    [
        ("x.md", "markdown"),
        ("x.json", "json"),
        ("x.yaml", "yaml"),
        ("x.yml", "yaml"),
        ("x.txt", "text"),
        ("x", "text"),
    ],
)
def test_the_format_is_told_by_the_files_name(tenant, tmp_path, name, expected):
    assert put(tenant, tmp_path, "a", "{}", name=name)["format"] == expected
    assert put(tenant, tmp_path, "a", "{}", "--format", "json", name=name)["format"] == "json"


def test_a_document_of_one_mebibyte_is_taken_and_no_more(tenant, tmp_path):
    text = "\x01" * MIB  # each byte takes six in JSON
    assert put(tenant, tmp_path, "big", text)["version"] == 1
    assert told(tenant.client, "document", "big")["document"] == text
    (tmp_path / "larger").write_text("x" * (MIB + 1))
    done = tenant.server.run(
        "document", "set", str(tmp_path / "larger"), *where(tenant, "big"))  # fmt: skip
    assert (done.returncode, done.stdout) == (1, "")
    assert "too large" in done.stderr


def test_names_may_be_of_any_length(tenant, tmp_path):
    name = "é" * 900  # longer than a key of the store; a path holds not much more
    put(tenant, tmp_path, name, "long")
    put(tenant, tmp_path, name + "x", "longer")
    assert told(tenant.client, "document", name)["document"] == "long"
    assert told(tenant.client, "document", name + "x")["document"] == "longer"


def history(tenant, agent):
    said = json.loads(tenant.server.cli("document", "history", *where(tenant, agent), "--json"))
    assert said["agent_name"] == agent
    return said["versions"]


def test_every_version_is_kept(tenant, tmp_path):
    for number in range(1, 4):
        assert put(tenant, tmp_path, "a", f"text {number}")["version"] == number
    assert put(tenant, tmp_path, "a", "text 3")["version"] == 3  # the same: no new version
    versions = history(tenant, "a")
    assert [v["version"] for v in versions] == [3, 2, 1]
    assert {v["bytes"] for v in versions} == {6}
    assert {v["author"].partition(" ")[0] for v in versions} == {tenant.server.actor}
    assert all(set(v) == {"version", "format", "bytes", "updated_at", "author"} for v in versions)
    old = json.loads(
        tenant.server.cli("document", "show", *where(tenant, "a"), "--version", "1", "--json")
    )
    assert (old["document"], old["version"]) == ("text 1", 1)
    lines = tenant.server.cli("document", "history", *where(tenant, "a")).splitlines()
    assert lines[0].split() == ["VERSION", "SET", "FORMAT", "BYTES", "AUTHOR"]
    assert len(lines) == 4
    assert re.fullmatch(rf"3 +20\S+Z  text +6 +{tenant.server.actor}( token:\S+)?", lines[1])


def test_restoring_makes_a_new_version_of_an_old_text(tenant, tmp_path):
    put(tenant, tmp_path, "a", "one", "--format", "markdown")
    put(tenant, tmp_path, "a", "two")
    cli = tenant.server.cli
    said = cli("document", "restore", "1", *where(tenant, "a"))
    assert said == "version 3 (markdown, 3 bytes)\n"
    assert cli("document", "restore", "1", *where(tenant, "a")) == said  # it is that already
    assert [v["version"] for v in history(tenant, "a")] == [3, 2, 1]
    assert told(tenant.client, "document", "a")["document"] == "one"
    diff = cli("document", "diff", "1", "2", *where(tenant, "a"))
    assert diff.startswith("--- version 1\n+++ version 2\n@@ -1 +1 @@\n-one\n")
    assert cli("document", "diff", "1", "3", *where(tenant, "a")) == ""
    rows = stored(
        tenant.server,
        f"SELECT action, target, detail FROM audit_log WHERE {of_tenant(tenant)}"
        " AND action LIKE 'document.%' ORDER BY seq",
    )
    assert [(r["action"], json.loads(r["detail"])["version"]) for r in rows] == [
        ("document.set", 1), ("document.set", 2), ("document.restore", 3),
        ("document.restore", 3),
    ]  # fmt: skip


@pytest.mark.parametrize(
    ("arguments", "status", "word"),
    [
        (("set", "{folder}/no-such", "--tenant", "{slug}", "--agent", "a"), 1, "no-such"),
        (("set", "{file}", "--tenant", "no-such", "--agent", "a"), 1, "no-such"),
        (("set", "{file}", "--tenant", "{slug}"), 2, "--agent"),
        (("set", "{file}", "--agent", "a"), 2, "--tenant"),
        (("set", "{file}", "--tenant", "{slug}", "--agent", "a", "--format", "x"), 2, "--format"),
        (("set", "{bad}", "--tenant", "{slug}", "--agent", "a"), 1, "UTF-8"),
        (("show", "--tenant", "{slug}", "--agent", "a"), 1, "no document"),
        (("restore", "1", "--tenant", "{slug}", "--agent", "a"), 1, "version 1"),
        (("restore", "0", "--tenant", "{slug}", "--agent", "a"), 2, "'0'"),
        (("restore", "x", "--tenant", "{slug}", "--agent", "a"), 2, "'x'"),
        (("diff", "1", "2", "--tenant", "{slug}", "--agent", "a"), 1, "version 1"),
    ],
)
def test_what_cannot_be_done_is_refused_with_a_sentence(tenant, tmp_path, arguments, status, word):
    (tmp_path / "file").write_text("text")
    (tmp_path / "bad").write_bytes(b"\xff\xfe")
    names = {
        "slug": tenant.slug,
        "folder": tmp_path,
        "file": tmp_path / "file",
        "bad": tmp_path / "bad",
    }
    done = tenant.server.run("document", *(a.format(**names) for a in arguments))
    assert (done.returncode, done.stdout) == (status, "")
    assert word in done.stderr
    assert ask(tenant.client, "document", "a").status == 404


def test_an_edit_names_its_base_and_versions_have_pages(tenant):
    admin, base = tenant.server.admin, tenant.path("agents/a%2Fb/document")

    def put_from(version, text):
        body = {"document": text, "format": "text", "base_version": version}
        return admin.request("PUT", base, body)

    assert admin.get(base + "/versions").json()["versions"] == []
    assert put_from(1, "x").status == 409
    for number in range(1, 6):
        answer = put_from(number - 1, f"text {number}")
        assert (answer.status, answer.json()["version"]) == (200, number)
        assert admin.get(base).json() == answer.json()
    late = put_from(4, "late")
    assert (late.status, "version 4" in late.json()["detail"]) == (409, True)
    for query, versions, following in (("limit=2", [5, 4], 4), ("limit=2&before=4", [3, 2], 2),
                                       ("limit=2&before=2", [1], None)):  # fmt: skip
        page = admin.get(f"{base}/versions?{query}").json()
        assert ([v["version"] for v in page["versions"]], page["next"]) == (versions, following)
    assert admin.get(base + "/versions/2").json()["document"] == "text 2"
    assert admin.get(base + "/versions/9").status == 404
    compared = admin.get(base + "/diff?from=1&to=2").json()["diff"]
    assert {"-text 1", "+text 2"} <= set(compared.splitlines()), compared
    for path in ("versions/0", "versions/x", "diff?from=0&to=1", "diff?from=1"):
        assert admin.get(f"{base}/{path}").status == 422, path
    too_large = admin.request("PUT", base, {"document": "x" * (MIB + 1)})
    assert too_large.json()["detail"][0]["loc"] == ["body", "document"]
    assert admin.request("PUT", base, {"document": "x\0"}).status == 422
    assert admin.request("PUT", base, {"document": "x" * 7 * MIB}).status == 413
