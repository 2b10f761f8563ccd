"""Cases of tests that stand in YAML, read by the loader in C: the other takes two seconds for all of them."""

from pathlib import Path
from typing import Any

import yaml
from yaml.scanner import ScannerError


def read_yaml(path: Path) -> Any:
    """What a file of ours holds."""
    text = path.read_text(encoding="utf-8")
    try:
        return yaml.load(text, yaml.CSafeLoader)
    except ScannerError:  # it takes no half of a pair, which names that are no UTF-8 are written with
        return yaml.safe_load(text)
