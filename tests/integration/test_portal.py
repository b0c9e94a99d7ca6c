"""The portal's files: which they are, how they may be kept, and what a browser may do with them."""

import gzip
import re

import pytest

POLICY = (
    "default-src 'none'; script-src 'self'; style-src 'self'; connect-src 'self'; img-src 'self'; "
    "object-src 'none'; base-uri 'none'; frame-ancestors 'none'; form-action 'self'"
)
GZIP = {"Accept-Encoding": "gzip"}


@pytest.fixture
def client(server):
    opened = server.client()
    opened.recorder = None  # files, not answers of the API
    yield opened
    opened.close()


@pytest.fixture
def assets(client):
    page = client.get("/").body.decode()
    if "has no portal" in page:
        pytest.skip("built without Node.js")
    found = re.findall(r'(?:src|href|content)="(/assets/[^"]+)"', page)
    assert any(name.endswith(".js") for name in found)
    assert any(name.endswith(".css") for name in found)
    return found


def test_the_page_is_asked_for_again_each_time(client):
    page = client.get("/")
    assert page.status == 200
    assert page.headers["Cache-Control"] == "no-cache"
    assert page.headers["Content-Security-Policy"] == POLICY
    assert page.headers["X-Content-Type-Options"] == "nosniff"
    assert page.headers["Referrer-Policy"] == "no-referrer"


@pytest.mark.parametrize(("public_url", "strict"), [("https://muster.example.com", "max-age=31536000"),
                                                    ("http://muster.example.com", None)])  # fmt: skip
def test_browsers_keep_to_tls_from_the_page_on(own_server, public_url, strict):
    own_server.stop()
    own_server.arguments = ["--public-url", public_url]
    own_server.start()
    client = own_server.client()
    client.recorder = None
    for path in ("/", "/docs", "/assets/missing.js", "/api/v1/health"):
        assert client.get(path).headers["Strict-Transport-Security"] == strict, path
    client.close()


def test_the_page_has_nothing_inline(client, assets):
    page = client.get("/").body.decode()
    assert "<style" not in page
    assert " style=" not in page
    assert re.search(r"<script(?![^>]*\bsrc=)", page) is None
    assert re.search(r"https?://", page) is None


def test_the_page_of_the_api_is_as_strict_and_needs_no_session(client, assets):
    page = client.get("/docs")
    assert page.status == 200
    assert page.headers["Content-Security-Policy"] == POLICY
    assert page.headers["Cache-Control"] == "no-cache"
    text = page.body.decode()
    assert "<style" not in text and " style=" not in text and "//" not in text
    named = re.findall(r'(?:src|href)="(/assets/[^"]+)"', text)
    assert len(named) == 3
    assert all(client.get(path).status == 200 for path in named)
    assert not {path for path in named if path.endswith((".js", ".css"))} & set(assets)
    assert client.get("/docs/").body == page.body
    assert client.post("/docs", {}).headers["Allow"] == "GET, HEAD"


def test_a_page_that_is_known_is_not_sent_again(client, assets):
    tag = client.get("/").headers["ETag"]
    again = client.get("/", headers={"If-None-Match": tag})
    assert (again.status, again.body) == (304, b"")
    assert again.headers["ETag"] == tag
    assert client.get("/", headers={"If-None-Match": '"other"'}).status == 200


def test_what_the_page_names_is_there_and_may_be_kept_for_a_year(client, assets):
    for path in assets:
        file = client.get(path, headers=GZIP)
        assert file.status == 200, path
        assert file.headers["Cache-Control"] == "public, max-age=31536000, immutable"
        assert file.headers["Content-Encoding"] == "gzip"
        assert file.headers["Vary"] == "Accept-Encoding"
        assert gzip.decompress(file.body)


TYPES = {".js": "text/javascript", ".css": "text/css", ".svg": "image/svg+xml"}


@pytest.mark.parametrize(("end", "wanted"), TYPES.items())
def test_files_say_what_they_are(end, wanted, client, assets):
    path = next(name for name in assets if name.endswith(end))
    assert client.get(path).headers["Content-Type"].split(";")[0] == wanted


# Accept-Encoding, is the answer compressed?
CODINGS = [
    ("gzip", True),
    ("GZip", True),
    ("br, gzip;q=0.5", True),
    ("*", True),
    (None, False),
    ("", False),
    ("identity", False),
    ("br", False),
    ("gzip;q=0", False),
    ("gzip; q=0.000, br", False),
    ("gzip;Q=0", False),
    ("*, gzip;q=0", False),
    ("*;q=0, gzip", True),
]


@pytest.mark.parametrize(("accepted", "compressed"), CODINGS)
def test_whoever_cannot_inflate_gets_the_same_bytes(accepted, compressed, client, assets):
    sent = {} if accepted is None else {"Accept-Encoding": accepted}
    for path in assets:
        plain = gzip.decompress(client.get(path, headers=GZIP).body)
        file = client.get(path, headers={"Accept-Encoding": "", **sent})
        assert (file.headers["Content-Encoding"] == "gzip") == compressed
        assert (gzip.decompress(file.body) if compressed else file.body) == plain


def test_head_tells_the_length_without_the_file(client, assets):
    for path in ("/", assets[0]):
        whole, head = client.get(path), client.request("HEAD", path)
        assert head.status == 200
        assert head.body == b""
        assert head.headers["Content-Length"] == str(len(whole.body))
        assert head.headers["ETag"] == whole.headers["ETag"]


def test_the_libraries_for_agents_are_handed_out_without_a_key(client, assets):
    texts = [client.get(path).body.decode() for path in named_in(client, assets)]
    names = {name for text in texts for name in re.findall(r"muster-[\d.]+(?:-py3-none-any\.whl|\.tgz)", text)}
    types = {".whl": "application/zip", ".tgz": "application/gzip"}
    assert {name[-4:] for name in names} == set(types), "the page that connects an agent names both"
    for name in names:
        plain, packed = (client.get(f"/sdk/{name}", headers=sent) for sent in ({}, GZIP))
        assert (plain.status, plain.headers["Content-Type"]) == (200, types[name[-4:]])
        assert plain.body[:2] == {".whl": b"PK", ".tgz": b"\x1f\x8b"}[name[-4:]]
        assert gzip.decompress(packed.body) == plain.body
        assert plain.headers["Cache-Control"] == "no-cache"  # the next build has the same name
        known = {"If-None-Match": plain.headers["ETag"]}
        assert client.get(f"/sdk/{name}", headers=known).status == 304


def named_in(client, assets):
    """The scripts of the portal: those of the page, and those that they load."""
    found = {path for path in assets if path.endswith(".js")}
    for path in tuple(found):
        text = client.get(path).body.decode()
        found |= {f"/assets/{name}" for name in re.findall(r'"\./([\w-]+\.js)"', text)}
    return found


OTHERS = ["/sdk/none.whl", "/sdk/", "/sdk", "/sdk/a/b", "/assets/none.js", "/assets/", "/assets", "/assets/a/b", "/index.html", "/favicon.ico",
          "/t/acme/runs", "/assets/..%2f..%2fetc%2fpasswd"]  # fmt: skip


@pytest.mark.parametrize("path", OTHERS)
def test_other_paths_are_not_found_as_ever(path, client):
    answer = client.get(path)
    assert answer.status == 404
    assert answer.json() == {"detail": "Not Found"}
    assert answer.headers["Cache-Control"] == "no-store"


def test_the_portal_is_no_part_of_the_description(client):
    paths = client.get("/openapi.json").json()["paths"]
    assert "/" not in paths
    assert not [path for path in paths if path.startswith("/assets")]
