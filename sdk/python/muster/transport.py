"""One request to the service and its answer."""

from __future__ import annotations

import email.utils
import functools
import http.client
import io
import json
import time
import urllib.error
import urllib.parse
import urllib.request
from dataclasses import dataclass
from typing import Any, Dict, Mapping, Optional

from .errors import ApiError, BudgetExceeded, Refused, Unavailable
from .keys import KeyRing

RETRYABLE = {408, 425, 429, 500, 502, 503, 504}
MISDIRECTED = {401, 403, 404, 405}  # of these, no report is the cause
RETRY_AFTER_MAX_S = 3600.0
VERSION = "1.0.0"


@dataclass(frozen=True)
class Answer:
    status: int
    headers: Mapping[str, str]
    body: bytes

    def record(self) -> Dict[str, Any]:
        """The JSON object that it is; anything else does not come from the service."""
        try:
            found = json.loads(self.body)
        except ValueError:
            found = None
        if isinstance(found, dict):
            return found
        raise Unavailable(f"{self.status}: not an answer of the service: {_shown(self.body)}")


def _shown(body: bytes) -> str:
    return body[:200].decode("utf-8", "replace")


class NoRedirects(urllib.request.HTTPRedirectHandler):
    """A redirect would carry the key to another address."""

    def redirect_request(self, *_: Any) -> None:
        return None


class _UntilDeadline(io.RawIOBase):
    """The bytes of a socket. Each byte may be in time, and the answer still be too late."""

    def __init__(self, sock: Any, inner: Any, deadline: float) -> None:
        self._sock, self._inner, self._deadline = sock, inner, deadline

    def readable(self) -> bool:
        return True

    def readinto(self, buffer: Any) -> Any:
        left = self._deadline - time.monotonic()
        if left <= 0:
            raise TimeoutError("timed out")
        self._sock.settimeout(left)
        return self._inner.readinto(buffer)

    def close(self) -> None:
        self._inner.close()
        super().close()


class _Response(http.client.HTTPResponse):
    def __init__(self, sock: Any, *rest: Any, deadline: float, **more: Any) -> None:
        super().__init__(sock, *rest, **more)
        self.fp = io.BufferedReader(_UntilDeadline(sock, self.fp.detach(), deadline))


class _Http(http.client.HTTPConnection):
    """A connection whose answer is there within its timeout, as a whole."""

    def __init__(self, *where: Any, **more: Any) -> None:
        super().__init__(*where, **more)
        deadline = time.monotonic() + float(self.timeout or 0.0)
        self.response_class: Any = functools.partial(_Response, deadline=deadline)

    def send(self, data: Any) -> None:
        try:
            super().send(data)
        except (BrokenPipeError, ConnectionResetError):
            pass  # a server that does not want all of it may have answered: that is read next


class _Https(http.client.HTTPSConnection, _Http):
    pass


class _HttpHandler(urllib.request.HTTPHandler):
    def http_open(self, request: urllib.request.Request) -> Any:
        return self.do_open(_Http, request)


class _HttpsHandler(urllib.request.HTTPSHandler):
    def https_open(self, request: urllib.request.Request) -> Any:
        return self.do_open(_Https, request)


def retry_after(headers: Mapping[str, str]) -> float:
    """Seconds, from a number or a date; nothing sensible is nothing."""
    value = headers.get("Retry-After") or ""
    try:
        seconds = float(value)
    except ValueError:
        try:
            seconds = email.utils.parsedate_to_datetime(value).timestamp() - time.time()
        except (TypeError, ValueError, IndexError, OverflowError):
            return 0.0
    return min(seconds, RETRY_AFTER_MAX_S) if seconds > 0 else 0.0


class Transport:
    """Speaks to the service with the key in use. Thread-safe."""

    def __init__(self, url: str, keys: KeyRing, timeout: float) -> None:
        parts = urllib.parse.urlsplit(url)
        if parts.scheme not in ("http", "https") or not parts.netloc:
            raise ValueError(f"url: expected http://… or https://…, got {url!r}")
        self.url, self.keys, self.timeout = url.rstrip("/"), keys, timeout
        self._opener = urllib.request.build_opener(NoRedirects, _HttpHandler, _HttpsHandler)

    def call(
        self,
        method: str,
        path: str,
        body: Optional[bytes] = None,
        query: Optional[Dict[str, str]] = None,
        headers: Optional[Dict[str, str]] = None,
    ) -> Answer:
        """The answer, when it is 2xx or 304.

        Raises Unavailable when it is worth trying again, Refused when the key or the address is
        wrong, and ApiError for every other 4xx.
        """
        token = self.keys.token
        answer = self.exchange(method, path, token, body, query, headers)
        if answer.status == 401 and (
            self.keys.token != token or self.keys.reload() or self.keys.fall_back()
        ):
            answer = self.exchange(method, path, self.keys.token, body, query, headers)
        return checked(answer)

    def exchange(
        self,
        method: str,
        path: str,
        token: str,
        body: Optional[bytes] = None,
        query: Optional[Dict[str, str]] = None,
        headers: Optional[Dict[str, str]] = None,
    ) -> Answer:
        """Any answer with any status. Raises Unavailable when there was none."""
        url = self.url + path + (f"?{urllib.parse.urlencode(query)}" if query else "")
        request = urllib.request.Request(url, body, headers or {}, method=method)
        request.add_header("Authorization", f"Bearer {token}")
        request.add_header("User-Agent", f"muster-python/{VERSION}")
        if body is not None:
            request.add_header("Content-Type", "application/json")
        try:
            with self._open(request) as got:
                return Answer(got.status, got.headers, got.read())
        except (OSError, http.client.HTTPException) as error:
            raise Unavailable(f"{self.url}: {getattr(error, 'reason', error)}") from error

    def _open(self, request: urllib.request.Request) -> Any:
        try:
            return self._opener.open(request, timeout=self.timeout)
        except urllib.error.HTTPError as error:
            return error  # an answer like any other


def checked(answer: Answer) -> Answer:
    if answer.status < 300 or answer.status == 304:
        return answer
    try:
        detail, own = answer.record()["detail"], True
    except (Unavailable, KeyError):
        detail, own = _shown(answer.body), False
    if answer.status in RETRYABLE or answer.status >= 500:
        raise Unavailable(f"{answer.status}: {detail}", retry_after(answer.headers))
    if answer.status in MISDIRECTED or answer.status < 400:
        raise Refused(answer.status, detail, own)
    kind = BudgetExceeded if answer.status == 402 else ApiError
    raise kind(answer.status, detail, own)
