"""What a user can still have of an abandoned run, in plain words: one model call on top of the template."""

import asyncio
from dataclasses import replace
from typing import Final

from earnest.effects.outside.llm.fencing import Data, told
from earnest.engine.gradient.cascade import MacroState
from earnest.engine.messages import FinalResult
from earnest.engine.model.prompting import closed, listed, persona_parts, prompt
from earnest.engine.ports import RoleModel
from earnest.foundation.canonical import JsonValue
from earnest.foundation.text import printable

TIMEOUT_S: Final = 20
WORDS_CHARACTERS_MAX: Final = 1_000
MOVES_MAX: Final = 3
MOVE_CHARACTERS_MAX: Final = 200
LIST_CHARACTERS_MAX: Final = 8_000
PREFACE: Final = "In the words of a model:"

_SCHEMA: Final = closed(
    {"summary": {"type": "string"}, "next_moves": {"type": "array", "items": {"type": "string"}}},
    ["summary", "next_moves"],
)


async def last_words(
    result: FinalResult, model: RoleModel, timeout_s: float = TIMEOUT_S, *, persona: str = ""
) -> FinalResult:
    """The result with the model's words behind the template's, marked as such. No field but these two changes.

    Without an answer in time, and for a run that was not abandoned, the result stays as it is.
    """
    if result.directive is not MacroState.ABANDON:
        return result
    try:
        async with asyncio.timeout(timeout_s):
            answer = await model.ask(
                prompt("graceful").question(_SCHEMA, told(*persona_parts(persona), *_parts(result)))
            )
    except Exception:  # nothing that goes wrong over words may keep a run from ending
        return result
    words = _line(answer.get("summary"), WORDS_CHARACTERS_MAX)
    moves = answer.get("next_moves")
    more = [_line(move, MOVE_CHARACTERS_MAX) for move in (moves if isinstance(moves, list) else [])[:MOVES_MAX]]
    return replace(
        result,
        summary=f"{result.summary} {PREFACE} {words}" if words else result.summary,
        next_moves=tuple(dict.fromkeys((*result.next_moves, *filter(None, more)))),
    )


def _line(text: JsonValue, characters_max: int) -> str:
    return printable(" ".join(text.split())[:characters_max]) if isinstance(text, str) else ""


def _parts(result: FinalResult) -> list[str | Data]:
    unmet = listed(f"{one.scope}: {one.text} ({one.reason})" for one in result.unmet)
    lists = {
        "why it ended": result.summary,
        "done": listed(result.done),
        "not done": listed(result.not_done),
        "criteria that are not met": unmet,
        "output of what was done": result.output,
        "next moves that are suggested anyway": listed(result.next_moves),
    }
    shown = [
        Data(name=name, text=text or "nothing", characters_max=LIST_CHARACTERS_MAX) for name, text in lists.items()
    ]
    return [*shown, "Tell the user."]
