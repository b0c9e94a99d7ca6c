"""The fixtures are those of sdk/fixtures.py, which says what they are."""

import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[2]))

from fixtures import *  # noqa: E402, F403
