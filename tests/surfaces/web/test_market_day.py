"""Does the day in the market end with every job settled, every lie fined and the books in balance?"""

import os
import re
import subprocess
import sys
from pathlib import Path

import pytest

DAY = Path(__file__).parents[3] / "examples" / "market_day" / "day.py"
ENVIRONMENT = {name: os.environ[name] for name in ("PATH", "LANG", "PYTHONPATH") if name in os.environ}


@pytest.mark.slow
@pytest.mark.timeout(900)
def test_a_day_in_the_market_pays_the_honest_and_fines_the_liars(tmp_path: Path) -> None:
    command = [sys.executable, str(DAY), str(tmp_path / "day")]
    done = subprocess.run(command, env=ENVIRONMENT, capture_output=True, text=True, check=False, timeout=880)
    assert done.returncode == 0, done.stdout + done.stderr
    rows = {row[0]: row for row in map(str.split, done.stdout.splitlines()) if len(row) > 5 and row[1].isdigit()}
    claims, paid = ({name: int(row[at]) for name, row in rows.items()} for at in (1, 2))
    assert paid["honest"] == claims["honest"] > 0
    assert paid["careless"] == claims["careless"] > 0
    assert paid["liar"] == paid["spammer"] == 0
    fined = re.findall(r"^(?:liar|spammer) .*fined 1\.00 ai\$", done.stdout, re.MULTILINE)
    assert len(fined) == claims["liar"] + claims["spammer"]
    assert "ledger: in balance" in done.stdout
    assert (tmp_path / "day" / "home" / "books.sqlite3").is_file()
