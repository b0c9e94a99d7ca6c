"""Log records as steps of the current run.

logging.getLogger().addHandler(RunHandler())
"""

from __future__ import annotations

import logging
from typing import Optional

from ..run import Run, current_run

LEVELS = ((logging.ERROR, "error"), (logging.WARNING, "warning"), (logging.INFO, "info"))


class RunHandler(logging.Handler):
    """Records outside of a run are ignored; so are this library's own, which would never end."""

    def __init__(self, level: int = logging.INFO, run: Optional[Run] = None) -> None:
        super().__init__(level)
        self.run = run

    def emit(self, record: logging.LogRecord) -> None:
        run = self.run or current_run()
        if run is None or record.name.partition(".")[0] == "muster":
            return
        try:
            run.step(
                self.format(record),
                category=record.name,
                level=next((name for bound, name in LEVELS if record.levelno >= bound), "debug"),
                source=f"{record.filename}:{record.lineno}",
            )
        except Exception:  # logging's own way to say that a handler failed
            self.handleError(record)
