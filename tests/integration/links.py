"""Links that choose a password, mailed or shown, and a server that mails them."""

import base64
import re
from email import message_from_bytes

import pytest
from mail_server import WAIT_S, running_with_mail
from people import OTHER_PASSWORD

ACCEPT, FORGOT = "/api/v1/auth/link/accept", "/api/v1/auth/forgot"
URL = re.compile(r"^http://\S+/#/link\?token=([A-Za-z0-9_-]{43})$", re.M)


@pytest.fixture(scope="module")
def shared(store, tmp_path_factory):
    folder = tmp_path_factory.mktemp("links")
    with running_with_mail(store, folder, "--trusted-proxies", "127.0.0.1") as started:
        started.ahead = 0
        yield started


@pytest.fixture
def mails(shared):
    return shared.mails


def text_of(mail):
    return base64.b64decode(message_from_bytes(mail.data).get_payload()).decode().replace("\r", "")


def mailed_token(mails, email):
    """Of the next mail."""
    mail = mails.mails.get(timeout=WAIT_S)
    assert mail.recipients == [f"<{email}>"]
    (token,) = URL.findall(text_of(mail))
    return token


def shown_token(answer):
    return URL.match(answer.json()["url"]).group(1)


def accept(server, token, password=OTHER_PASSWORD, **more):
    client = server.client()
    answer = client.post(ACCEPT, {"token": token, "password": password}, **more)
    client.close()
    return answer
