"""The gallery: each playbook and specification accepts honest work, and refuses a lie that looks like it."""

import json
import os
import re
import shutil
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
import yaml

from .source import ROOT, expect_none, page

GALLERY = ROOT / "examples" / "gallery"
PLAYBOOKS = sorted(path.parent.name for path in GALLERY.glob("*/playbook.yaml"))
SPECS = sorted(path.parent.name for path in GALLERY.glob("*/spec.yaml"))
LIES = {
    "backup": "mkdir l && head -n 1 letters/1914-06.txt > l/1914-06.txt && tar -czf letters.tar.gz l"
    " && sha256sum letters.tar.gz > letters.sha256",
    "csv-to-sqlite": 'python3 -c \'import sqlite3; b = sqlite3.connect("stock.db");'
    ' b.execute("create table stock (name text, price real)"); b.commit()\''
    " && tail -n +2 stock.csv > rejected.csv",
    "dead-links": 'echo \'[{"note": "tides.md", "target": "moon.md"}]\' > dead.json',
    "licence-headers": "find shop -name '*.py' -exec sed -i '1i # SPDX-License-Identifier: MIT' {} +"
    " && echo 'A shop. All files are licensed.' > shop/README.txt",
    "merge-logs": "sed 's/ / north /' north.log > north.named; sed 's/ / south /' south.log > south.named;"
    " cp north.named merged.log",
    "month-totals": 'echo \'{"2026-09": 20000, "2026-10": 100000, "2026-11": 30}\' > totals.json',
}
"""What pretends to be the work of a playbook: it ends with 0 and leaves the files that are asked for."""


def earnest(home: Path, *words: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [sys.executable, "-m", "earnest", *words],
        env={**os.environ, "EARNEST_HOME": str(home)},
        stdin=subprocess.DEVNULL,
        capture_output=True,
        text=True,
        timeout=100,
        check=False,
    )


def lying(name: str, folder: Path) -> Path:
    """The playbook in `folder`, each of whose subtasks is done by the lie."""
    shutil.copytree(GALLERY / name, folder)
    path = folder / "playbook.yaml"
    playbook: dict[str, Any] = yaml.safe_load(path.read_text(encoding="utf-8"))
    for subtask in playbook["subtasks"]:
        subtask["approaches"] = [{"id": "lie", "steps": [{"tool": "shell", "args": {"command": LIES[name]}}]}]
    path.write_text(yaml.safe_dump(playbook), encoding="utf-8")
    return path


def test_the_gallery_holds_twelve_and_its_page_names_each() -> None:
    assert len(PLAYBOOKS) + len(SPECS) == 12
    assert set(LIES) == set(PLAYBOOKS)
    assert sorted(re.findall(r"^## ([\w-]+)$", page("gallery.md"), flags=re.MULTILINE)) == sorted(PLAYBOOKS + SPECS)
    expect_none({path.name for path in GALLERY.iterdir()} ^ {*PLAYBOOKS, *SPECS}, "neither playbook nor specification")


@pytest.mark.slow  # a run each
@pytest.mark.parametrize("name", PLAYBOOKS)
def test_a_playbook_is_accepted_with_honest_work_and_not_with_a_lie(name: str, tmp_path: Path) -> None:
    honest = earnest(tmp_path / "home", "run", str(GALLERY / name / "playbook.yaml"), "--quiet")
    assert honest.returncode == 0, honest.stdout + honest.stderr
    lie = earnest(tmp_path / "home", "run", str(lying(name, tmp_path / name)), "--json")
    told = json.loads(lie.stdout)
    assert lie.returncode in {1, 2}, lie.stdout + lie.stderr
    assert told["directive"] != "accept"
    assert told["unmet"]


@pytest.mark.slow  # two verdicts and a lint each
@pytest.mark.parametrize("name", SPECS)
def test_a_specification_verifies_honest_work_and_not_a_lie(name: str, tmp_path: Path) -> None:
    spec = str(GALLERY / name / "spec.yaml")
    honest, lie = (earnest(tmp_path / "home", "verify", spec, str(GALLERY / name / work)) for work in ("honest", "lie"))
    assert (honest.returncode, lie.returncode) == (0, 1), honest.stdout + lie.stdout
    assert earnest(tmp_path / "home", "verify", spec, "--lint").returncode == 0
