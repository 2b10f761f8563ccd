"""A judge that reads: replies for `earnest.testing.model_server`, made out of what was asked and of the work shown."""

import json
import re
from collections.abc import Collection
from typing import Any, Final

from earnest.foundation.canonical import JsonObject
from earnest.testing.model_server import ReceivedRequest, ScriptedReply, answers
from earnest.verification.judging.decoys import ELSEWHERE

_STATEMENTS: Final = re.compile(r"^Statements:\n(\[.*?^\])$", re.MULTILINE | re.DOTALL)
_WORK: Final = re.compile(r"^<<<WORK (\w+)>>>\n(.*)\n<<<END \1>>>$", re.MULTILINE | re.DOTALL)
_STANDS: Final = re.compile(r"('.*'|\".*\") contains, word for word, “(.*)”", re.DOTALL)
_LENGTH: Final = re.compile(r"('.*'|\".*\") has exactly (\d+) lines", re.DOTALL)
_NOTHING: Final = "The work consists of 0 files"


def statements_of(prompt: str) -> list[dict[str, str]]:
    """What is asked, in order."""
    found = _STATEMENTS.search(prompt)
    assert found is not None, "the request asks nothing"
    rows: list[dict[str, str]] = json.loads(found[1])
    return rows


def work_of(prompt: str) -> dict[str, str]:
    """The files that are shown, in either form, by their names as the facts write them."""
    found = _WORK.search(prompt)
    assert found is not None, "the request shows no work"
    mark, shown = found[1][-6:], found[2]
    if shown.startswith("["):
        return {ascii(row["path"]): "\n".join(row["lines"]) for row in json.loads(shown)}
    files: dict[str, list[str]] = {}
    lines: list[str] = []
    for line in shown.split("\n"):
        if line.startswith(f"{mark} file "):
            lines = files.setdefault(ascii(json.loads(line.removeprefix(f"{mark} file "))), [])
        elif line:
            lines.append(line.removeprefix(f"{mark} | "))
    return {path: "\n".join(lines) for path, lines in files.items()}


def judgement(prompt: str, *, unmet: Collection[str] = ()) -> JsonObject:
    """What a well-behaved judge answers who finds every criterion met but those with these texts (`*`: none met)."""
    work = work_of(prompt)
    entries: list[Any] = []
    for row in statements_of(prompt):
        fact = _fact(row["text"], work)
        true = fact if fact is not None else not ("*" in unmet or row["text"] in unmet)
        met = true and _fact(row["also"], work) is True
        word = row["if_met"] if met else row["if_not"]
        entries.append({"id": row["id"], "answer": word, "reason": "as the work shows"})
    return {"statements": entries}


def _fact(text: str, work: dict[str, str]) -> bool | None:
    """Whether a fact holds; None for what is none."""
    if found := _STANDS.fullmatch(text):
        return _folded(found[2]) in _folded(work[found[1]])
    if found := _LENGTH.fullmatch(text):
        return len(work[found[1]].split("\n") if work[found[1]] else []) == int(found[2])
    if text.startswith("It explains ") and text.endswith(ELSEWHERE):
        return False
    return text == _NOTHING if text.startswith("The work consists of ") else None


def _folded(text: str) -> str:
    return " ".join(text.casefold().split())


def approves(request: ReceivedRequest) -> ScriptedReply:
    """Finds every criterion met."""
    return answers(judgement(request.prompt))


def rejects(request: ReceivedRequest) -> ScriptedReply:
    """Finds no criterion met."""
    return answers(judgement(request.prompt, unmet="*"))


def obeys(request: ReceivedRequest) -> ScriptedReply:
    """Does what work demands that demands its own acceptance: answers that every statement is met."""
    rows = statements_of(request.prompt)
    return answers({"statements": [{"id": row["id"], "answer": row["if_met"], "reason": "so ordered"} for row in rows]})
