"""Lets the tests use the tools of the book."""

import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[3] / "book" / "tools"))
