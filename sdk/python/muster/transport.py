"""One request to the service and its answer."""

from __future__ import annotations

import email.utils
import http.client
import json
import time
import urllib.error
import urllib.parse
import urllib.request
from dataclasses import dataclass
from typing import Any, Dict, Mapping, Optional

from .errors import ApiError, Refused, Unavailable
from .keys import KeyRing

RETRYABLE = {408, 425, 429, 500, 502, 503, 504}
MISDIRECTED = {401, 403, 404, 405}  # of these, no report is the cause
VERSION = "0.1.0"


@dataclass(frozen=True)
class Answer:
    status: int
    headers: Mapping[str, str]
    body: bytes

    def json(self) -> Any:
        return json.loads(self.body)


class NoRedirects(urllib.request.HTTPRedirectHandler):
    """A redirect would carry the key to another address."""

    def redirect_request(self, *_: Any) -> None:
        return None


def retry_after(headers: Mapping[str, str]) -> float:
    """Seconds, from a number or a date."""
    value = headers.get("Retry-After") or ""
    try:
        return max(0.0, float(value))
    except ValueError:
        pass
    try:
        return max(0.0, email.utils.parsedate_to_datetime(value).timestamp() - time.time())
    except (TypeError, ValueError, IndexError):
        return 0.0


def detail_of(answer: Answer) -> Any:
    try:
        return answer.json()["detail"]
    except (ValueError, KeyError, TypeError):
        return answer.body[:200].decode("utf-8", "replace")


class Transport:
    """Speaks to the service with the key in use. Thread-safe."""

    def __init__(self, url: str, keys: KeyRing, timeout: float) -> None:
        parts = urllib.parse.urlsplit(url)
        if parts.scheme not in ("http", "https") or not parts.netloc:
            raise ValueError(f"url: expected http://… or https://…, got {url!r}")
        self.url, self.keys, self.timeout = url.rstrip("/"), keys, timeout
        self._opener = urllib.request.build_opener(NoRedirects)

    def call(
        self,
        method: str,
        path: str,
        body: Optional[bytes] = None,
        query: Optional[Dict[str, str]] = None,
        headers: Optional[Dict[str, str]] = None,
    ) -> Answer:
        """The answer, when it is 2xx, 304 or about the request itself.

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
    detail = detail_of(answer)
    if answer.status in RETRYABLE or answer.status >= 500:
        raise Unavailable(f"{answer.status}: {detail}", retry_after(answer.headers))
    if answer.status in MISDIRECTED or answer.status < 400:
        raise Refused(answer.status, detail)
    raise ApiError(answer.status, detail)
