"""What an agent asks the service for: its model, command policy, document and configuration.

Every answer is kept on disk with its ETag. An unchanged one is not transferred again, and while
the service is away the last known good one is used. The configuration may hold secrets: its file
is readable by the agent's user only, like the folder it is in.
"""

from __future__ import annotations

import json
import logging
from pathlib import Path
from typing import Any, Dict, Optional

from .errors import Refused, Unavailable
from .state import write_durably
from .transport import Transport

log = logging.getLogger("muster")


class Pulls:
    def __init__(self, transport: Transport, agent_name: str, folder: Optional[Path]) -> None:
        self.transport, self.agent_name, self.folder = transport, agent_name, folder
        self._known: Dict[str, Dict[str, Any]] = {}  # by kind: etag and body

    def get(self, kind: str, keep: bool = True) -> Any:
        """The body of `GET /api/v1/agents/<kind>`; None for 404.

        Raises Unavailable when the service is away and no answer is known, Refused when the key is
        not accepted (an agent whose key was revoked gets nothing from disk), ApiError otherwise.
        """
        known = self._recall(kind) if keep else None
        headers = {"If-None-Match": known["etag"]} if known and known.get("etag") else {}
        query = {"agent_name": self.agent_name}
        try:
            answer = self.transport.call("GET", f"/api/v1/agents/{kind}", None, query, headers)
        except Unavailable as error:
            if known is None:
                raise
            log.warning("muster: %s of %s: using the last known (%s)", kind, self.agent_name, error)
            return known["body"]
        except Refused as error:
            if error.status != 404:
                raise
            self._keep(kind, None, None, keep)
            return None
        if answer.status == 304 and known is not None:
            return known["body"]
        body = answer.json()
        self._keep(kind, answer.headers.get("ETag"), body, keep)
        return body

    def _path(self, kind: str) -> Optional[Path]:
        return self.folder / f"{kind}.json" if self.folder else None

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
        if path is None:
            return
        try:
            write_durably(path, json.dumps(self._known[kind]).encode())
        except OSError as error:
            log.warning("muster: %s: not kept on disk: %s", kind, error)
