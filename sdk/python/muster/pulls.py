"""What an agent asks the service for: its model, command policy, document and configuration.

Every answer is kept on disk with its ETag. An unchanged one is not transferred again, and while
the service is away the last known good one is used; an answer that is not the service's own, such
as a proxy's page, counts as away. The configuration may hold secrets: its file is readable by the
agent's user only, like the folder it is in.
"""

from __future__ import annotations

import json
import logging
from pathlib import Path
from typing import Any, Dict, Optional

from .errors import Refused, Unavailable
from .state import State, write_durably
from .transport import Answer, Transport

log = logging.getLogger("muster")


class Pulls:
    def __init__(self, transport: Transport, agent_name: str, state: Optional[State]) -> None:
        self.transport, self.agent_name, self.state = transport, agent_name, state
        self._known: Dict[str, Dict[str, Any]] = {}  # by kind: etag and body

    def get(self, kind: str, keep: bool = True) -> Optional[Dict[str, Any]]:
        """The body of `GET /api/v1/agents/<kind>`; None: the agent has no document.

        Raises Unavailable when the service is away and no answer is known, Refused when the key is
        not accepted (an agent whose key was revoked gets nothing from disk), ApiError otherwise.
        """
        known = self._recall(kind) if keep else None
        try:
            answer = self._ask(kind, known)
            if answer is None:
                self._keep(kind, None, None, keep)
                return None
            if answer.status == 304 and known is not None:
                return _body(known)
            body = answer.record()
        except Unavailable as error:
            if known is None:
                raise
            log.warning("muster: %s of %s: using the last known (%s)", kind, self.agent_name, error)
            return _body(known)
        self._keep(kind, answer.headers.get("ETag"), body, keep)
        return body

    def _ask(self, kind: str, known: Optional[Dict[str, Any]]) -> Optional[Answer]:
        headers = {"If-None-Match": known["etag"]} if known and known.get("etag") else {}
        query = {"agent_name": self.agent_name}
        try:
            return self.transport.call("GET", f"/api/v1/agents/{kind}", None, query, headers)
        except Refused as error:
            if error.status == 401 or (error.status == 403 and error.own):
                raise
            if error.status == 404 and error.own and kind == "document":
                return None
            raise Unavailable(f"no answer of the service: {error}") from error

    def _path(self, kind: str) -> Optional[Path]:
        return self.state.folder / f"{kind}.json" if self.state else None

    def _recall(self, kind: str) -> Optional[Dict[str, Any]]:
        path = self._path(kind)
        if kind not in self._known and path is not None:
            try:
                kept = json.loads(path.read_bytes())
                self._known[kind] = {"etag": kept["etag"], "body": kept["body"]}
            except (OSError, ValueError, KeyError, TypeError):
                pass
        return self._known.get(kind)

    def _keep(self, kind: str, etag: Optional[str], body: Any, keep: bool) -> None:
        if not keep:
            return
        self._known[kind] = {"etag": etag, "body": body}
        path = self._path(kind)
        if path is None or self.state is None or not self.state.writable:
            return
        try:
            write_durably(path, json.dumps(self._known[kind]).encode())
        except OSError as error:
            log.warning("muster: %s: not kept on disk: %s", kind, error)


def _body(known: Dict[str, Any]) -> Optional[Dict[str, Any]]:
    body: Optional[Dict[str, Any]] = known["body"]
    return body
