"""Run with `python -m unittest` in the folder above: natively, without WebAssembly."""

import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parents[3] / "sdk-guest" / "python" / "src"))
