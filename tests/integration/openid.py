"""A real OpenID provider (tests/oidc/provider.mjs), and a person who signs in on its pages."""

import http.cookiejar
import json
import re
import selectors
import subprocess
import urllib.error
import urllib.parse
import urllib.request
from contextlib import contextmanager

from muster import ROOT

START_S = 300
INSTALL_S = 600
ANSWER_S = 120
STEPS_MAX = 12
PUBLIC_URL = "http://muster.example"
CALLBACK = f"{PUBLIC_URL}/oidc/callback"
SECRET = "a secret with : and / in it"
FOLDER = ROOT / "tests/oidc"


class NoRedirect(urllib.request.HTTPRedirectHandler):
    def redirect_request(self, *_):
        return None


def fetch(opener, url, form=None):
    """(status, location, text) of one request."""
    data = None if form is None else urllib.parse.urlencode(form).encode()
    try:
        answer = opener.open(url, data, timeout=ANSWER_S)
    except urllib.error.HTTPError as error:
        answer = error
    with answer:
        return answer.status, answer.headers.get("Location"), answer.read().decode()


def fetch_page(url):
    """(status, text) of a page for anyone."""
    status, _, text = fetch(urllib.request.build_opener(NoRedirect), url)
    return status, text


def sign_in_there(url, subject):
    """What a person does at the provider: signs in, agrees. The parameters of its redirect back."""
    jar = urllib.request.HTTPCookieProcessor(http.cookiejar.CookieJar())
    opener = urllib.request.build_opener(jar, NoRedirect)
    form = None
    for _ in range(STEPS_MAX):
        status, location, text = fetch(opener, url, form)
        form = None
        if location:
            url = urllib.parse.urljoin(url, location)
            if url.startswith(CALLBACK):
                return dict(urllib.parse.parse_qsl(urllib.parse.urlsplit(url).query))
            continue
        prompt = re.search(r'name="prompt" value="(\w+)"', text)
        assert status == 200 and prompt, (status, text)
        form = {"prompt": prompt.group(1), "login": subject, "password": "any"}
    raise AssertionError(f"no way back from {url}")


class OpenIdProvider:
    def __init__(self, process, issuer):
        self.process, self.issuer = process, issuer
        self.opener = urllib.request.build_opener()

    def set(self, **wishes):
        request = urllib.request.Request(f"{self.issuer}/test/set", json.dumps(wishes).encode())
        with self.opener.open(request, timeout=ANSWER_S) as answer:
            return json.load(answer)

    def seen(self):
        return self.set()


def _issuer_of(process):
    with selectors.DefaultSelector() as selector:
        selector.register(process.stdout, selectors.EVENT_READ)
        assert selector.select(START_S), "the provider does not start"
    line = process.stdout.readline().decode()
    assert line.startswith("issuer "), line
    return line.split()[1]


@contextmanager
def openid_provider():
    subprocess.run([ROOT / "scripts/npm_ci", FOLDER], check=True, timeout=INSTALL_S,
                   stdout=subprocess.DEVNULL)  # fmt: skip
    process = subprocess.Popen(["node", FOLDER / "provider.mjs", CALLBACK], stdin=subprocess.PIPE,
                               stdout=subprocess.PIPE, stderr=subprocess.DEVNULL)  # fmt: skip
    try:
        yield OpenIdProvider(process, _issuer_of(process))
    finally:
        process.kill()
        process.wait()
        process.stdin.close()
        process.stdout.close()
