"""What the log says of requests, and what it must never say."""

import json
import re
import signal

from waiting import until

ACCESS = re.compile(r"^\S+Z info access (.*)$")
SECRET = "canary7f3a"


def read_bytes(server):
    return server.stderr.read_bytes()


def access_lines(server):
    """Of what came over the network; commands come over the socket."""
    found = [ACCESS.match(line) for line in server.log().split("\n")]
    return [match.group(1) for match in found if match and " peer=unix" not in match.group(1)]


def restart_with(server, *arguments):
    server.stop()
    server.arguments = list(arguments)
    return server.start()


def test_each_request_has_one_line_that_names_it(own_server):
    tenant = own_server.add_tenant()
    asked = [
        ("GET", "/api/v1/health", None, 200),
        ("POST", "/api/v1/telemetry", tenant.event(), 202),
        ("POST", "/api/v1/telemetry", {}, 422),
        ("GET", "/api/v1/nothing", None, 404),
        ("PUT", "/api/v1/telemetry", None, 405),
    ]
    ids = []
    for method, path, body, status in asked:
        answer = tenant.client.request(method, path, body)
        assert answer.status == status
        ids.append(answer.headers["X-Request-Id"])
    tenant.client.close()
    own_server.stop()  # all lines are written
    lines = access_lines(own_server)
    assert len(lines) == len(asked)
    for (method, path, _, status), request_id in zip(asked, ids, strict=True):
        (line,) = [line for line in lines if f"request_id={request_id} " in line]
        assert f"method={method} path={path} status={status} " in line
        if path == "/api/v1/telemetry" and status != 405:
            assert f"tenant={tenant.slug} key=key_" in line


def test_no_secret_reaches_the_log_even_at_debug(own_server):
    restart_with(own_server, "--log-level", "debug")
    tenant = own_server.add_tenant()
    client = own_server.client()
    event = tenant.event(
        message=SECRET, metadata={SECRET: SECRET}, output={"k": SECRET}, agent_name=SECRET,
        event_id=SECRET, category=SECRET, links=[SECRET],
    )  # fmt: skip
    headers = {"X-Secret": SECRET, "Cookie": SECRET, "User-Agent": SECRET, "Referer": SECRET}
    sent = [
        ("POST", "/api/v1/telemetry", event, tenant.token, 202),
        ("POST", "/api/v1/telemetry", event, tenant.token, 202),
        ("POST", "/api/v1/telemetry", {**event, "event": SECRET}, tenant.token, 422),
        ("POST", "/api/v1/telemetry", {**event, "client_id": SECRET}, tenant.token, 403),
        ("POST", "/api/v1/telemetry", f"{{{SECRET}", tenant.token, 422),
        ("POST", f"/api/v1/telemetry?token={SECRET}", event, SECRET, 401),
        ("GET", f"/api/v1/limits?key={SECRET}&{SECRET}=1", None, tenant.token, 200),
        ("GET", f"/api/v1/health?{SECRET}", None, None, 200),
    ]
    for method, path, body, token, status in sent:
        answer = client.request(method, path, body, headers, token)
        assert answer.status == status, answer.body
    own_server.raw(f"GET /x?{SECRET} HTTP/9.9\r\n{SECRET}: {SECRET}\r\n\r\n".encode())
    client.close()
    own_server.stop()
    log = read_bytes(own_server)
    assert log.count(b" access ") >= len(sent)
    assert SECRET.encode() not in log
    assert tenant.token.encode() not in log
    assert b"mst_ws_" not in log


def test_nothing_a_client_sends_can_forge_or_colour_a_line(own_server):
    forged = b"\r\n2026-01-01T00:00:00Z info access forged=1"
    for target in (
        b"/\x1b[31mred",
        b"/a%0d%0aforged=1",
        b"/\xff\xfe",
        b"/a\tb",
        b'/"quoted"=x\\',
        b"/ space",
        b"/" + "é\u202e".encode(),
    ):
        own_server.raw(b"GET " + target + b" HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n")
    own_server.raw(b"GET /\x1b]0;title\x07" + forged + b"\r\n\r\n")
    own_server.raw(b"BR\x1bEW / HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n")
    own_server.stop()
    log = read_bytes(own_server)
    assert log.count(b"\n") >= 7
    assert not re.search(rb"[\x00-\x09\x0b-\x1f\x7f]", log)
    log.decode()  # and it is UTF-8
    for line in log.decode().splitlines():
        assert re.match(r"^\d{4}-\d\d-\d\dT[\d:.]+Z (debug|info|warning|error) [a-z]+ ", line), line
        assert not line.endswith("forged=1")
    assert rb' path="/\"quoted\"=x\\" status=404 ' in log  # what it says cannot end the field


def test_the_level_silences(own_server):
    restart_with(own_server, "--log-level", "error")
    before = len(read_bytes(own_server))
    client = own_server.client()
    assert client.get("/api/v1/health").status == 200
    client.close()
    own_server.stop()
    assert read_bytes(own_server)[before:] == b""


def test_an_internal_path_or_statement_is_never_told_to_a_client(tenant):
    for body in ("\x00", "[" * 100, json.dumps(tenant.event(seq=10**400)), "1e999"):
        answer = tenant.client.post("/api/v1/telemetry", body)
        assert answer.status == 422
        for word in (b"/home", b"src/", b"SELECT", b"sqlite", b"postgres", b"muster.db"):
            assert word not in answer.body


def objects(path):
    """The lines of a log in JSON; every one must be an object."""
    return [json.loads(line) for line in path.read_text().splitlines()]


def test_every_line_in_json_is_an_object_without_a_secret(own_server):
    restart_with(own_server, "--log-level", "debug", "--log-format", "json")
    before = len(read_bytes(own_server))
    tenant = own_server.add_tenant()
    client = own_server.client(tenant.token)
    odd = "/api/v1/%22%0a" + "x" * 3000 + "\u00e4\U0001f600\x85".encode().decode("latin-1") + f"?q={SECRET}"
    answer = client.get("/api/v1/limits", headers={"X-Secret": SECRET})
    raw = odd.encode("latin-1")
    quoted = '/"status":200,\\"x\\'
    for target in (raw, quoted.encode()):
        own_server.raw(b"GET " + target + b" HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n")
    client.post("/api/v1/telemetry", tenant.event(message=SECRET))
    tenant.client.close()
    client.close()
    own_server.stop()
    written = read_bytes(own_server)[before:]
    assert SECRET.encode() not in written and tenant.token.encode() not in written
    assert all(byte in b"\n" or 0x20 <= byte < 0x7F for byte in written)
    rows = [json.loads(line) for line in written.splitlines()]
    assert all({"time", "level", "event"} <= set(row) for row in rows)
    assert [row["status"] for row in rows if row.get("path") == quoted] == [404]
    (line,) = [row for row in rows if row.get("request_id") == answer.headers["X-Request-Id"]]
    assert line["event"] == "access" and line["path"] == "/api/v1/limits" and line["status"] == 200


def test_a_log_file_is_opened_again_after_it_was_renamed(own_server, tmp_path):
    log, old = tmp_path / "muster.log", tmp_path / "muster.log.1"
    restart_with(own_server, "--log-file", str(log), "--log-format", "json")
    client = own_server.client()

    def count(path):
        return sum(row.get("path") == "/nowhere" for row in objects(path)) if path.exists() else 0

    def ask():
        client.get("/nowhere")
        asked.append(1)

    asked = []
    ask()
    until(lambda: count(log) == 1)
    log.rename(old)
    ask()
    until(lambda: count(old) == 2)  # the name says nothing to a server that has the file open
    own_server.process.send_signal(signal.SIGHUP)
    until(lambda: ask() or count(log) > 0)  # a moment later, and no line is lost meanwhile
    until(lambda: count(old) + count(log) == len(asked))
    client.close()
