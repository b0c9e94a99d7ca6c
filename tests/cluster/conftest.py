"""The tests of several nodes drive the same binary, through the same doors, as the black-box tests."""

import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[1] / "integration"))
