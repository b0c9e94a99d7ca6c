"""What the program says of its commands, and what bash can complete of them."""

import json
import os
import re
import shutil
import subprocess

import pytest
from muster import BINARY


EVERYWHERE = {"--json", "--help", "--data", "--database", "--config", "--server"}


def muster(*arguments):
    return subprocess.run([BINARY, *arguments], capture_output=True, text=True, timeout=120,
                          check=False, env={"PATH": "/usr/bin:/bin"})  # fmt: skip


def commands():
    """(noun, verb or None, usage) of each, as `muster help` lists them."""
    listed = [line[9:] for line in muster("help").stdout.splitlines()
              if line.startswith("  muster ")]  # fmt: skip
    words = [line.split(" ", 2) for line in listed]
    return [
        (w[0], w[1] if len(w) > 1 and re.fullmatch(r"[a-z][a-z-]*", w[1]) and w[0] != "completion"
         else None, line)
        for w, line in zip(words, listed)
    ]  # fmt: skip


def verbs(noun):
    return [verb for other, verb, _ in commands() if other == noun]


def test_every_command_has_help_with_an_example_that_names_it():
    rows = commands()
    assert len(rows) > 20
    for noun, verb, usage in rows:
        words = [noun, *([verb] if verb else [])]
        done = muster(*words, "--help")
        assert (done.returncode, done.stderr) == (0, ""), words
        assert done.stdout.startswith(f"muster {usage}\n")
        examples = done.stdout.split("Examples:\n")[1].split("\n\n")[0].splitlines()
        assert 1 <= len(examples) <= 2, f"{words} has no example in its row"
        for example in examples:
            assert "muster " + " ".join(words) in example
            known = set(re.findall(r"--[a-z-]+", done.stdout.split("Examples:")[0])) | set(
                re.findall(r"^  (--[a-z-]+)", done.stdout, re.M)) | EVERYWHERE  # fmt: skip
            assert set(re.findall(r"--[a-z-]+", example)) <= known, example
        assert muster("help", *words).stdout == done.stdout


def test_help_shows_a_command_s_own_options_first():
    """Right after its sentence come those that its usage names, in that order, each with what it is
    for; then examples, and what every command takes is the last."""
    for noun, verb, usage in commands():
        words = [noun, *([verb] if verb else [])]
        named = re.sub(r"[][]", "", usage.removeprefix(" ".join(words)))
        wanted = re.findall(r"--\S+(?: [^-\s]\S*)?|\S+", named)
        lines = muster("help", *words).stdout.splitlines()
        assert lines[0] == f"muster {usage}" and lines[1] and not lines[2], words
        own = [line for line in lines[3 : lines.index("Examples:")] if line]
        rows = [line for line in own if line[2] != " "]
        assert len(rows) == len(wanted), (words, rows)
        for row, name in zip(rows, wanted):
            explained = row.startswith(f"  {name:<30} ")
            assert explained or row == f"  {name}" and own[own.index(row) + 1].strip(), (words, row)
        everywhere = [line.startswith("Every command also takes --json") for line in lines]
        assert everywhere.index(True) == len(lines) - 2, words


def test_one_verb_means_the_same_for_every_noun():
    """add, set, list, show and delete; what is none of these has a verb of its own."""
    others = {"create", "new", "update", "change", "edit", "get", "ls", "rm", "remove", "revoke", "unset"}
    assert [row for row in commands() if row[1] in others] == []
    for words in (("key", "revoke"), ("maintenance", "remove"), ("model", "unset")):  # still known
        assert muster("help", *words).stdout.startswith(f"muster {words[0]} delete ")


def test_a_noun_alone_shows_its_commands_as_wrong_usage():
    for noun in {noun for noun, verb, _ in commands() if verb}:
        done = muster(noun)
        assert (done.returncode, done.stdout) == (2, "")
        assert done.stderr.startswith(f"muster: '{noun}' needs a verb: {', '.join(verbs(noun))}\n")
        asked = muster(noun, "--help")
        assert (asked.returncode, asked.stderr) == (0, "")
        assert asked.stdout == done.stderr.split("\n", 1)[1]
        for other, verb, usage in commands():
            assert (f"muster {usage}\n" in asked.stdout) == (other == noun), (noun, verb)


def test_the_settings_are_told_to_programs_too():
    told = json.loads(muster("settings", "--json").stdout)["settings"]
    page = muster("settings").stdout
    assert len(told) > 10
    for setting in told:
        assert f"| `{setting['name']}` | `{setting['flag']}` | `{setting['variable']}` |" in page


def test_the_manual_page_has_every_command_and_setting():
    page = muster("man").stdout
    for noun, verb, usage in commands():
        words = f"{noun} {verb}" if verb else noun
        begin = '.SS "muster ' + words.replace("-", "\\-")
        heading = next(line for line in page.splitlines() if line.startswith(begin))
        section = page.split(heading)[1].split("\n.S")[0].replace("\\-", "-")
        for option in re.findall(r"--[a-z-]+", usage):
            assert f"\\fB{option}\\fR" in section, (noun, verb)
    for setting in json.loads(muster("settings", "--json").stdout)["settings"]:
        assert setting["variable"] in page
    if shutil.which("groff"):
        checked = subprocess.run(["groff", "-man", "-Tutf8", "-ww", "-z"], input=page, text=True,
                                 capture_output=True, check=False)  # fmt: skip
        assert (checked.returncode, checked.stderr) == (0, "")


def complete(folder, *words):
    """What bash offers for the last word of a command line."""
    line = " ".join(f"'{word}'" for word in words)
    script = (
        f"source <('{BINARY}' completion bash) && COMP_WORDS=(muster {line})"
        f" COMP_CWORD={len(words)} && _muster && printf '%s\\n' \"${{COMPREPLY[@]}}\""
    )
    done = subprocess.run(["bash", "--norc", "-c", script], capture_output=True, text=True,
                          timeout=120, check=False, cwd=folder,
                          env={"PATH": os.environ["PATH"]})  # fmt: skip
    assert (done.returncode, done.stderr) == (0, ""), done
    return set(done.stdout.split("\n")) - {""}


@pytest.fixture
def folder(tmp_path):
    for name in ("prices one.json", "policy.json"):
        (tmp_path / name).write_text("{}")
    return tmp_path


def test_bash_completes_nouns_verbs_flags_values_and_files(folder):
    rows = commands()
    nouns, files = {noun for noun, _, _ in rows}, {"prices one.json", "policy.json"}
    assert complete(folder, "") == nouns | {"help"}
    assert complete(folder, "te") == {"tenant"}
    for noun in {noun for noun, verb, _ in rows if verb}:
        assert complete(folder, noun, "") == {*verbs(noun), "--help"}
    assert complete(folder, "key", "add", "--l") == {"--label", "--listen", "--log-file", "--log-format", "--log-level", "--loops"}
    assert {"--tenant", "--json", "--data"} <= complete(folder, "key", "list", "")
    assert "--label" not in complete(folder, "key", "list", "--")
    assert complete(folder, "key", "add", "--tenant", "") == set()  # anything
    assert complete(folder, "document", "set", "x", "--format", "") == {
        "text", "markdown", "json", "yaml",
    }  # fmt: skip
    assert "--input-includes-cache" in complete(folder, "price", "set", "m", "--input-")
    for words in (("policy", "set"), ("price", "import"), ("backup",), ("restore",)):
        assert complete(folder, *words, "") == files
        assert complete(folder, *words, "pol") == {"policy.json"}
    assert complete(folder, "export", "llm", "--output", "") == files
    assert complete(folder, "serve", "--config", "pri") == {"prices one.json"}
    assert complete(folder, "serve", "--log-level", "w") == {"warning"}
    assert complete(folder, "completion", "") == {"bash", "zsh"}
    refused = muster("completion", "fish")
    assert refused.returncode == 2 and "'fish' is not one of bash, zsh" in refused.stderr


def test_zsh_runs_the_functions_that_bash_does():
    """What they complete there is in package/test_package.py, where zsh is installed."""
    bash, zsh = (muster("completion", shell).stdout for shell in ("bash", "zsh"))
    functions = bash[bash.index("_muster_lines()") :]
    assert "bashcompinit\n" in zsh and zsh.endswith(functions) and "bashcompinit" not in bash
    assert not re.search(r"\b(mapfile|readarray|declare|shopt)\b", functions), "zsh has no such command"
