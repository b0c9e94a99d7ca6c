"""The command line: what it does, what it says, and with which exit status."""

import json
import socket
import sqlite3
import subprocess
from datetime import datetime, timezone

import pytest
from muster import BINARY, Server
from waiting import until

pytestmark = pytest.mark.commands

ANY_PORT = ("--listen", "127.0.0.1:0")  # what is refused is something else


def limits(server, token):
    client = server.client(token)
    answer = client.get("/api/v1/limits")
    client.close()
    return answer


def muster(*arguments, environment=None, cwd=None):
    """A command on no store of ours."""
    return subprocess.run(
        [BINARY, *arguments], capture_output=True, text=True, timeout=120, check=False,
        env={"PATH": "/usr/bin:/bin", "MUSTER_ALLOW_ROOT": "1", **(environment or {})}, cwd=cwd,
    )  # fmt: skip


def check_refused(done, status, *words):
    """One sentence on standard error that names what is wrong, nothing on standard output."""
    assert done.returncode == status, done
    assert done.stdout == ""
    assert done.stderr.startswith("muster: ")
    assert status == 2 or done.stderr.count("\n") == 1
    for word in words:
        assert word in done.stderr


@pytest.fixture
def embedded(tmp_path):
    """A server with the embedded database, whatever the stores of the session are."""
    server = Server(tmp_path / "data").start()
    yield server
    server.stop()


def test_a_tenant_is_made_and_listed(server):
    done = server.run("tenant", "add", "cli-one", "--name", "The first", "--max-agents", "7")
    assert (done.returncode, done.stdout, done.stderr) == (0, "tenant 'cli-one' created\n", "")
    made = json.loads(server.cli("tenant", "add", "cli-two", "--rate-limit", "009", "--json"))
    created_at = made.pop("created_at")
    assert made == {"slug": "cli-two", "name": "", "max_agents": 100, "rate_limit": 9,
                    "max_bytes": 0}  # fmt: skip
    listed = json.loads(server.cli("tenant", "list", "--json"))["tenants"]
    assert {**made, "created_at": created_at} in listed
    assert [t["slug"] for t in listed] == sorted(t["slug"] for t in listed)
    (line,) = [row for row in server.cli("tenant", "list").splitlines() if "cli-one" in row]
    assert "7" in line
    assert "The first" in line


def test_what_cannot_be_made_is_refused_with_a_sentence(server):
    server.cli("tenant", "add", "cli-taken")
    check_refused(server.run("tenant", "add", "cli-taken"), 1, "cli-taken", "exists")
    for slug in ("Upper", "under_score", "-x", "x-", "a--b", "", "a" * 64, "a b", "é"):
        check_refused(server.run("tenant", "add", slug), 1, "slug")
    check_refused(server.run("key", "add", "--tenant", "cli-none"), 1, "no tenant 'cli-none'")
    check_refused(server.run("key", "list", "--tenant", "cli-none"), 1, "no tenant 'cli-none'")
    check_refused(server.run("key", "list", "--tenant", "../x"), 2, "../x")
    check_refused(server.run("key", "add"), 2, "--tenant")
    revoke = server.run("key", "delete", "key_none", "--tenant", "cli-taken")
    check_refused(revoke, 1, "no key 'key_none'")
    expires = server.run("key", "add", "--tenant", "cli-taken", "--expires", "tomorrow")
    check_refused(expires, 2, "--expires", "tomorrow")
    for number in ("0", "-1", "many", "1.5", "99999999999999999999"):
        check_refused(server.run("tenant", "add", "cli-x", "--max-agents", number), 2, number)
    slugs = [t["slug"] for t in json.loads(server.cli("tenant", "list", "--json"))["tenants"]]
    assert "cli-x" not in slugs


@pytest.mark.smoke
def test_a_key_is_shown_once_and_good_at_once(server):
    server.cli("tenant", "add", "cli-keys")
    token = server.cli("key", "add", "--tenant", "cli-keys", "--label", "Büro")
    assert token.startswith("mst_ws_")
    assert len(token) == 44  # and a newline
    assert limits(server, token.strip()).status == 200
    made = json.loads(
        server.cli("key", "add", "--tenant", "cli-keys", "--agent", "collector", "--json")
    )
    assert made["token"].startswith("mst_ag_")
    assert (made["kind"], made["agent_name"]) == ("agent", "collector")
    assert limits(server, made["token"]).status == 200
    listing = server.cli("key", "list", "--tenant", "cli-keys")
    rows = json.loads(server.cli("key", "list", "--tenant", "cli-keys", "--json"))["keys"]
    assert [row["label"] for row in rows] == ["Büro", ""]
    assert [row["kind"] for row in rows] == ["workspace", "agent"]
    assert rows[1]["key_id"] == made["key_id"]
    for secret in (token.strip(), made["token"]):
        assert secret not in listing
        assert secret not in json.dumps(rows)


def test_a_revoked_key_is_refused_soon(server):
    tenant = server.add_tenant()
    token = tenant.add_key("collector")
    rows = json.loads(server.cli("key", "list", "--tenant", tenant.slug, "--json"))["keys"]
    (key_id,) = [row["key_id"] for row in rows if row["agent_name"] == "collector"]
    assert limits(server, token).status == 200
    server.cli("key", "delete", key_id, "--tenant", tenant.slug)
    assert server.database or limits(server, token).status == 401  # else within a second
    until(lambda: limits(server, token).status != 200)
    answer = limits(server, token)
    assert (answer.status, answer.json()) == (401, {"detail": "Invalid or expired token"})
    assert limits(server, tenant.token).status == 200  # the others are as good as before
    rows = json.loads(server.cli("key", "list", "--tenant", tenant.slug, "--json"))["keys"]
    assert [row["revoked_at"] is not None for row in rows if row["key_id"] == key_id] == [True]
    again = server.run("key", "delete", key_id, "--tenant", tenant.slug)
    assert again.returncode == 0  # changes nothing


def test_a_key_of_one_tenant_cannot_be_revoked_through_another(server):
    one, two = server.add_tenant(), server.add_tenant()
    (row,) = json.loads(server.cli("key", "list", "--tenant", one.slug, "--json"))["keys"]
    check_refused(server.run("key", "delete", row["key_id"], "--tenant", two.slug), 1, "no key")
    assert limits(server, one.token).status == 200


def test_an_expired_key_is_refused_and_one_that_expires_is_good_till_then(own_server, clock):
    server = own_server
    tenant = server.add_tenant()
    for expires, status, word in (
        ("2020-01-01T00:00:00Z", 1, "in the past"),
        ("2020-01-01", 2, "2020-01-01"),
    ):
        done = server.run("key", "add", "--tenant", tenant.slug, "--expires", expires)
        check_refused(done, status, word)
    token = tenant.add_key(None, "--expires", "2999-12-31T23:59:59Z")
    assert limits(server, token).status == 200
    soon = datetime.fromtimestamp(clock.now() + 100, timezone.utc).isoformat()
    token = tenant.add_key(None, "--expires", soon)
    assert limits(server, token).status == 200
    clock.advance(101)
    assert limits(server, token).status == 401


def test_commands_work_without_a_server_and_it_finds_what_they_made(own_server):
    own_server.stop()
    own_server.cli("tenant", "add", "alone")
    token = own_server.cli("key", "add", "--tenant", "alone").strip()
    spare = json.loads(own_server.cli("key", "add", "--tenant", "alone", "--json"))
    own_server.cli("key", "delete", spare["key_id"], "--tenant", "alone")
    assert "alone" in own_server.cli("tenant", "list")
    own_server.start()
    assert limits(own_server, token).status == 200
    assert limits(own_server, spare["token"]).status == 401


def test_many_commands_at_once_all_succeed(server):
    arguments = [BINARY, "tenant", "add", *server.store_arguments]
    running = [
        subprocess.Popen([*arguments, f"crowd-{i}"], stdout=subprocess.PIPE, stderr=subprocess.PIPE)
        for i in range(8)
    ]
    for process in running:
        _, stderr = process.communicate(timeout=120)
        assert process.returncode == 0, stderr
    slugs = {t["slug"] for t in json.loads(server.cli("tenant", "list", "--json"))["tenants"]}
    assert slugs >= {f"crowd-{i}" for i in range(8)}


@pytest.mark.parametrize(
    ("arguments", "word"),
    [
        ((), "no command given; `muster help` lists all commands"),
        (("brew",), "unknown command 'brew'; `muster help` lists all commands"),
        (("serv",), "unknown command 'serv'; did you mean 'serve'? `muster help` lists all commands"),
        (("--verison",), "unknown option '--verison'; did you mean '--version'? "),
        (("--brew",), "unknown option '--brew'; `muster help` lists all commands"),
        (("tenant",), "'tenant' needs a verb: add, set, delete, list"),
        (("tenant", "brew"), "'tenant' has no verb 'brew'; choose one of add, set, delete, list"),
        (("tenant", "lits"), "'tenant' has no verb 'lits'; did you mean 'list'? It has add, set, "),
        (("help", "tenant", "brew"), "'tenant' has no verb 'brew'"),
        (("help", "brew"), "unknown command 'brew'"),
        (("key", "list", "--tenent", "x"), "'--tenent' (did you mean --tenant?); "),
        (("tenant", "add"), "missing"),
        (("tenant", "add", "one", "two"), "two"),
        (("key", "list", "--nonsense", "x"), "'--nonsense'; this command takes --tenant, --json"),
        (("tenant", "list", "--name", "x"), "--name"),  # another command's flag
        (("tenant", "add", "x", "--name"), "--name"),
        (("serve", "extra"), "extra"),
        (("key", "add", "--tenant", "x", "--agent", ""), "--agent"),
        (("key", "add", "--tenant="), "--tenant"),
        (("tenant", "set", "x"), "nothing to change"),
        (("key", "add", "--tenant", "x", "--expires", "soon"), "'soon' is not a date-time such as 2030-"),
    ],
)
def test_wrong_usage_is_exit_status_2(arguments, word, tmp_path):
    done = muster(*arguments, cwd=tmp_path)
    check_refused(done, 2, word)
    assert list(tmp_path.iterdir()) == []


def test_help_and_version_need_no_store(tmp_path):
    for arguments in (("help",), ("--help",), ("serve", "--help"), ("key", "add", "--help")):
        done = muster(*arguments, cwd=tmp_path)
        assert (done.returncode, done.stderr) == (0, "")
        assert "--database" in done.stdout
    agents = {"MUSTER_URL": "http://x", "MUSTER_TOKEN": "t", "MUSTER_TENANT": "acme"}
    assert muster("version", environment=agents).returncode == 0  # an agent's shell
    assert muster("-h").stdout == muster("help").stdout
    assert muster("key", "add", "-h").stdout == muster("help", "key", "add").stdout
    assert muster("--version").stdout == muster("-V").stdout == muster("version").stdout
    version = muster("version", "--json", cwd=tmp_path)
    assert version.returncode == 0
    assert set(json.loads(version.stdout)) == {"version"}
    assert json.loads(muster("openapi", cwd=tmp_path).stdout)["openapi"] == "3.1.0"
    assert list(tmp_path.iterdir()) == []


def test_a_flag_beats_the_environment_beats_the_file_beats_the_default(tmp_path):
    file = tmp_path / "settings"
    file.write_text(
        "# a comment\n\n batch_max_events = 11 \nbody_max_bytes=2001\nbatch_max_bytes = 3001\n"
    )
    server = Server(
        tmp_path / "data",
        arguments=["--config", str(file), "--batch-max-bytes=3003"],
        environment={"MUSTER_BODY_MAX_BYTES": "2002", "MUSTER_BATCH_MAX_BYTES": "3002"},
    ).start()
    told = limits(server, server.add_tenant().token).json()
    server.stop()
    assert told["batch_max_events"] == 11
    assert told["body_max_bytes"] == 2002
    assert told["batch_max_bytes"] == 3003
    assert told["business_max_bytes"] == 2 * 3003


MAIL = ("--smtp-url", "smtps://mail", "--smtp-from", "muster@example.com")


@pytest.mark.parametrize(
    ("arguments", "environment", "file", "words"),
    [
        (["--loops", "many"], {}, None, ["--loops", "many", "0 to 256"]),
        (["--loops", "257"], {}, None, ["--loops", "257"]),
        ([], {"MUSTER_READERS": "0"}, None, ["MUSTER_READERS", "'0'"]),
        ([], {"MUSTER_RAEDERS": "4"}, None,
         ["MUSTER_RAEDERS: unknown setting; did you mean 'MUSTER_READERS'?"]),
        ([], {"MUSTER_LOGFILE": "x"}, None, ["MUSTER_LOGFILE: ", "mean 'MUSTER_LOG_FILE'?"]),
        ([], {"MUSTER_FOO": "x"}, None,
         ["MUSTER_FOO: unknown setting; `muster settings` lists all settings"]),
        ([], {}, "readers = x\n", ["settings:1", "readers", "'x'"]),
        ([], {}, "\nraeders = 4\n", ["settings:2: unknown setting 'raeders'; did you mean 'readers'?"]),
        ([], {}, "log-level = debug\n", ["settings:1", "'log-level'", "mean 'log_level'?"]),
        ([], {}, "xyzzyplugh = 4\n", ["'xyzzyplugh'; `muster settings` lists all settings"]),
        ([], {}, "readers = 4\n#\nreaders = 4\n", ["settings:3: readers is set in line 1 already"]),
        ([], {}, "just words\n", ["settings:1", "name = value"]),
        pytest.param([], {}, "#" * (1 << 20), ["settings' is too large: it may have less than "], id="large"),
        (["--config", "/nonexistent"], {}, None, ["'/nonexistent': No such file"]),
        (["--config", "/"], {}, None, ["settings file '/': Is a directory"]),
        (["--listen", "nowhere"], {}, None, ["listen", "nowhere"]),
        (["--listen", "127.0.0.1:99999"], {}, None, ["listen", "99999"]),
        (["--listen", "example.com:80"], {}, None, ["listen", "'example.com'", "localhost"]),
        (["--listen", ":http"], {}, None, ["listen", "':http'", "127.0.0.1:8080"]),
        (["--metrics-listen", "9090"], {}, None, ["metrics_listen", "'9090'", ":8080"]),
        (["--log-level", "loud"], {}, None, ["log_level", "loud", "debug, info"]),
        (["--log-format", "xml"], {}, None, ["log_format", "'xml'", "text, json"]),
        (["--log-file", "/nonexistent/log"], {}, None, ["log_file", "/nonexistent/log", "may write"]),
        (["--public-url", "muster"], {}, None, ["public_url", "'muster'", "https://"]),
        (["--public-url", "https://"], {}, None, ["public_url", "'https://'", "https://HOST[:PORT]"]),
        (["--public-url", "https://a.example/x"], {}, None, ["public_url", "a.example/x'"]),
        ([], {"MUSTER_PUBLIC_URL": "x"}, None, ["MUSTER_PUBLIC_URL", "'x'", "http://HOST[:PORT]"]),
        ([], {}, "public_url = x\n", ["settings:1", "'x'", "public_url"]),
        (["--cors-origins", "*"], {}, None, ["cors_origins", "'*'", "name each origin"]),
        (["--cors-origins", "https://a.example,"], {}, None, ["cors_origins", "''", "https://app"]),
        (["--cors-origins", "a.example"], {}, None, ["cors_origins", "'a.example'", "https://"]),
        (["--cors-origins", "null"], {}, None, ["cors_origins", "'null'", "https://"]),
        (["--cors-origins", "https://a.example/x"], {}, None, ["cors_origins", "without a path"]),
        (["--cors-origins", "https://A.example"], {}, None, ["cors_origins", "lower case"]),
        (["--cors-origins", "https://*.example"], {}, None, ["cors_origins", "'https://*.example'"]),
        (["--cors-origins", "https://u@a.example"], {}, None, ["cors_origins", "'https://u@a"]),
        (["--cors-origins", "https://a.example:443"], {}, None, ["cors_origins", "own port"]),
        (["--cors-origins", "https://a.example:0"], {}, None, ["cors_origins", "a.example:0"]),
        (["--cors-origins", ",".join(["https://a.example"] * 33)], {}, None, ["cors_origins", "32"]),
        (["--smtp-url", "mail:25"], {}, None, ["smtp_url", "'mail:25'", "smtps://"]),
        (["--smtp-url", "smtp://mail:25"], {}, None, ["smtp_from", "''", "muster@example.com"]),
        (["--smtp-url", "https://mail"], {}, None, ["smtp_url", "'https://mail'", "smtps://HOST"]),
        ([*MAIL, "--smtp-from", "muster"], {}, None, ["smtp_from", "'muster'"]),
        ([*MAIL, "--smtp-from", "Muster <m@example.com>"], {}, None, ["smtp_from", "'Muster <m@"]),
        ([*MAIL, "--smtp-user", "u"], {}, None, ["smtp_password_file", "''", "smtp_user"]),
        ([*MAIL, "--smtp-password-file", "/dev/null"], {}, None, ["smtp_user", "''"]),
        ([*MAIL, "--smtp-user", "u", "--smtp-password-file", "/nonexistent"], {}, None,
         ["smtp_password_file", "'/nonexistent' cannot be read"]),
        ([*MAIL, "--smtp-user", "u", "--smtp-password-file", "/dev/null"], {}, None,
         ["smtp_password_file", "'/dev/null' has no password"]),
        (["--database", "mysql://x"], {}, None, ["database", "postgresql://"]),
    ],
)
def test_a_bad_setting_stops_the_start_and_is_named(arguments, environment, file, words, tmp_path):
    if file is not None:
        (tmp_path / "settings").write_text(file)
        arguments = ["--config", str(tmp_path / "settings")]
    environment = {"MUSTER_LISTEN": ANY_PORT[1], **environment}
    done = muster(
        "serve", "--data", str(tmp_path / "data"), *arguments, environment=environment, cwd=tmp_path
    )
    assert done.returncode in (1, 2)
    check_refused(done, done.returncode, *words)


def test_a_password_in_a_url_is_not_repeated(tmp_path):
    for flag, url in (("--smtp-url", "smtp://u:hidden@mail"), ("--public-url", "https://u:hidden@a.example")):
        done = muster("serve", flag, url, "--data", str(tmp_path / "data"))
        check_refused(done, 2, flag, f"'...@{url.split('@')[1]}'")
        assert "hidden" not in done.stderr


@pytest.mark.parametrize("url", ["http://[::1]:80/", "https://A.example", "http://192.0.2.1:1", "https://x"])
def test_a_url_that_can_be_opened_is_a_public_url(url):
    assert muster("version", "--public-url", url).returncode == 0


@pytest.mark.parametrize("listen", ["localhost:0", ":0"])
def test_a_name_or_no_address_can_be_listened_on(listen, tmp_path):
    server = Server(tmp_path / "data", arguments=["--listen", listen]).start()
    port = server.address[1]
    server.address = ("127.0.0.1", port)
    assert server.client().get("/livez").status == 200
    server.stop()


def test_a_second_server_on_one_data_directory_is_refused(embedded):
    done = muster("serve", "--data", str(embedded.data), "--listen", "127.0.0.1:0")
    check_refused(done, 1, str(embedded.data), "another muster")
    client = embedded.client()
    assert client.get("/api/v1/health").status == 200
    client.close()


@pytest.mark.parametrize("more", [(), ("--metrics-listen",)], ids=["listen", "metrics_listen"])
def test_a_port_in_use_by_another_program_is_refused_and_nothing_is_made(more, tmp_path):
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))
        taken.listen()
        port = str(taken.getsockname()[1])
        given = (*ANY_PORT, *more) if more else ("--listen",)
        done = muster("serve", "--data", str(tmp_path / "data"), *given, f"127.0.0.1:{port}", cwd=tmp_path)
    check_refused(done, 1, port, "choose another port")
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize("listen, metrics", [("127.0.0.1:9", "127.0.0.1:9"), ("localhost:9", ":9"), ("[::]:9", ":9")])
def test_addresses_that_collide_are_refused_before_anything_is_made(listen, metrics, tmp_path):
    given = ("--listen", listen, "--metrics-listen", metrics)
    done = muster("serve", "--data", str(tmp_path / "data"), *given, cwd=tmp_path)
    check_refused(done, 2, f"metrics_listen: '{metrics}' collides with listen, which is '{listen}'", "another port")
    assert list(tmp_path.iterdir()) == []


def test_a_data_directory_that_is_not_there_is_made_by_serve_alone(tmp_path):
    data = tmp_path / "data"
    done = muster("tenant", "list", "--data", str(data))
    check_refused(done, 1, str(data), "muster serve")
    assert not data.exists()
    Server(data).start().stop()
    assert data.stat().st_mode & 0o777 == 0o700
    for path in data.iterdir():
        assert path.stat().st_mode & 0o077 == 0, f"{path.name} can be read by others"
    assert muster("tenant", "list", "--data", str(data)).returncode == 0
    (tmp_path / "file").write_text("")
    done = muster("serve", "--data", str(tmp_path / "file"), *ANY_PORT)
    check_refused(done, 1, "not a directory")
    done = muster("serve", "--data", str(tmp_path / "no" / "parent"), *ANY_PORT)
    check_refused(done, 1, "no/parent")


def test_a_directory_without_a_database_is_filled_by_serve_alone(tmp_path):
    """As that of a service with PostgreSQL, which has only its master key there."""
    for command in (("tenant", "add", "acme"), ("user", "list"), ("check",), ("backup", str(tmp_path / "copy"))):
        done = muster(*command, "--data", str(tmp_path))
        check_refused(done, 1, str(tmp_path))
        assert "no database" in done.stderr and list(tmp_path.iterdir()) == [], command
    (tmp_path / "lock").touch()  # of a server that was killed while it started
    done = muster("tenant", "add", "acme", "--data", str(tmp_path))
    check_refused(done, 1, "no database in", "`muster serve` creates one", "--database")
    assert [path.name for path in tmp_path.iterdir()] == ["lock"]


def test_the_database_of_a_newer_program_is_refused_with_a_sentence(tmp_path):
    server = Server(tmp_path / "data").start()
    server.stop()
    database = sqlite3.connect(server.data / "muster.db")
    columns = "(number, name, applied_at, oldest)"
    database.execute(f"INSERT INTO schema_version {columns} VALUES (9999, 'from_the_future', 0, 9999)")
    database.commit()
    database.close()
    for command in (("serve", *ANY_PORT), ("tenant", "list")):
        done = muster(*command, "--data", str(server.data))
        check_refused(done, 1, "9999", "newer muster")


def test_tokens_are_in_no_file_of_the_store(embedded):
    tenant = embedded.add_tenant()
    tokens = [tenant.token, tenant.add_key("collector")]
    assert limits(embedded, tokens[1]).status == 200
    embedded.stop()
    files = [path for path in embedded.data.rglob("*") if path.is_file()]
    assert any(path.stat().st_size > 10000 for path in files)
    for path in [*files, embedded.stderr]:
        held = path.read_bytes()
        for token in tokens:
            assert token.encode() not in held, path
            assert token[7:37].encode() not in held, path


def test_what_others_wrote_does_not_steer_the_terminal(server):
    """Agents choose their names: none may begin a line, move the cursor or colour anything."""
    tenant = server.add_tenant("--name", "Acme\x1b[2J\nbeta")
    name = "bot\x1b[31m\r\nup        now        other\x9b2J\x7f\u202e\u2066"
    answer = tenant.client.post("/api/v1/agents/register", {"agent_name": name})
    assert answer.status == 200
    server.cli("key", "add", "--tenant", tenant.slug, "--label", "x\x1b]0;y\x07")
    server.cli("key", "add", "--tenant", tenant.slug, "--agent", name)
    agents = server.cli("agent", "list", "--tenant", tenant.slug)
    shown = r"bot\x1b[31m\x0d\x0aup        now        other\x9b2J\x7f\u202e\u2066"
    assert agents.splitlines()[1:] == [f"never_reported  never      {shown}"]
    keys = server.cli("key", "list", "--tenant", tenant.slug)
    assert len(keys.splitlines()) == 4
    assert r"x\x1b]0;y\x07" in keys and shown in keys
    (line,) = [line for line in server.cli("tenant", "list").splitlines() if tenant.slug in line]
    assert line.endswith(r"Acme\x1b[2J\x0abeta")
    done = server.run("agent", "disable", "no\x1b[31m", "--tenant", tenant.slug)
    check_refused(done, 1, r"no\x1b[31m")
    tenant.client.close()


def test_what_the_api_finds_wrong_is_told_as_a_sentence(server):
    check = server.run("tenant", "add", "Bad Slug")
    assert (check.returncode, check.stdout) == (1, "")
    assert check.stderr.startswith("muster: slug: Should be lowercase letters")
    tenant = server.add_tenant()
    done = server.run("key", "add", "--tenant", tenant.slug, "--label", "x" * 300)
    assert done.stderr == "muster: label: String should have at most 256 characters\n"
    tenant.client.close()
