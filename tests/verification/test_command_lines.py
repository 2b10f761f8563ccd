"""Is what a part of a command line put out believed exactly if that part succeeded? In the real sandbox."""

import json
import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from earnest.contracts.criterion import Criterion
from earnest.effects.hands.tools.record import ToolRecord
from earnest.verification.records.evidence import FileText, WorkRecords, against_file, folded, pieces
from earnest.verification.records.rulings import Citation, JudgeOpinion, ruled

from .command_lines import DISGUISES, HONEST, Disguise, Honest

ORDINARY = 12_345
PROJECT = Path(__file__).parents[2]
PROGRAM = Path(__file__).with_name("command_lines.py")

pytestmark = [pytest.mark.slow, pytest.mark.timeout(300)]


@pytest.fixture(scope="module", params=["whoever runs this", "an ordinary user"])
def seen(request: pytest.FixtureRequest) -> dict[Honest | Disguise, ToolRecord]:
    """The records of all lines."""
    ordinary = request.param == "an ordinary user"
    if ordinary and os.geteuid() != 0:
        pytest.skip("it is one already")
    interpreter = sys.executable
    if ordinary:
        version = f"python{sys.version_info.major}.{sys.version_info.minor}"
        candidates = (sys.executable, shutil.which(version, path="/usr/bin:/usr/local/bin"))
        reachable = (c for c in candidates if c and all(p.stat().st_mode & 1 for p in Path(c).resolve().parents))
        interpreter = next(reachable, "") or pytest.skip("no interpreter that an ordinary user can reach")
    paths = [str(PROJECT / "src"), *(path for path in sys.path if path.endswith("site-packages"))]
    done = subprocess.run(
        [interpreter, str(PROGRAM)],
        env={"PYTHONPATH": os.pathsep.join(paths), "PYTHONDONTWRITEBYTECODE": "1", "PATH": "/usr/bin:/bin"},
        user=ORDINARY if ordinary else None,
        group=ORDINARY if ordinary else None,
        extra_groups=[] if ordinary else None,
        cwd="/",
        capture_output=True,
        timeout=240,
        check=False,
    )
    if b"SKIP" in done.stderr:
        pytest.skip(done.stderr.decode())
    assert done.returncode == 0, done.stderr.decode()
    records = map(ToolRecord.from_json, json.loads(done.stdout))
    return dict(zip((*HONEST, *DISGUISES), records, strict=True))


@pytest.mark.parametrize("case", HONEST, ids=lambda case: f"{case.line} {case.path}")
def test_what_a_part_that_succeeded_has_put_out_or_made_is_believed(
    case: Honest, seen: dict[Honest | Disguise, ToolRecord]
) -> None:
    record = seen[case]
    if case.path:
        assert against_file(record, case.path) == "", record.processes
    else:
        told = [piece.against for piece in pieces(record) if folded(case.quote) in folded(piece.text)]
        assert "" in told, (told, record.output_excerpt, record.processes)


@pytest.mark.parametrize("case", DISGUISES, ids=lambda case: f"{case.line} {case.path}")
def test_no_disguise_makes_a_failure_a_proof_of_success(
    case: Disguise, seen: dict[Honest | Disguise, ToolRecord]
) -> None:
    record = seen[case]
    if case.path:
        assert against_file(record, case.path) != "" or not record.ok, record.processes
    else:
        believed = [piece.text for piece in pieces(record, measures=True) if not piece.against]
        assert not any(folded(case.quote) in folded(text) for text in believed), (believed, record.processes)
        assert folded(case.quote) in folded(record.output_excerpt) or not record.ok, record.output_excerpt


def test_words_that_a_program_was_told_to_print_are_not_believed_though_it_succeeded(
    seen: dict[Honest | Disguise, ToolRecord],
) -> None:
    honest = seen[HONEST[0]]
    lie = ToolRecord.from_json({**honest.to_json(), "args": {"command": "python3 -c 'print(\"total 42\")'"}})
    opinion = JudgeOpinion(
        criterion=Criterion(id="C1", text="All tests pass"),
        met=True,
        citations=(Citation(call="c1", quote="total 42"),),
        reason="it says so",
    )
    files = {"out": FileText(digest="sha256:", text="")}
    assert ruled(opinion, WorkRecords(calls=(honest,), texts=files)).findings.passed is True
    assert ruled(opinion, WorkRecords(calls=(lie,), texts=files)).findings.passed is False
