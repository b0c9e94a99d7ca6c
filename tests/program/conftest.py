"""The program as people meet it, on the embedded store: its help, its README, its demo."""

import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[1] / "integration"))
