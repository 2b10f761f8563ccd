"""Cases of tests that stand in YAML, read by the loader in C: the other takes two seconds for all of them."""

from pathlib import Path
from typing import Any

import yaml


def read_yaml(path: Path) -> Any:
    """What a file of ours holds."""
    return yaml.load(path.read_text(encoding="utf-8"), yaml.CSafeLoader)
