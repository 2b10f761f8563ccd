"""A role's model that answers from a script, read as strictly as a real one's answers, and what minds are given."""

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

from earnest.effects.hands.tools.failures import logical
from earnest.effects.hands.tools.record import ToolCall, ToolRecord
from earnest.effects.outside.llm.answers import NoAnswer, read_answer
from earnest.effects.outside.llm.api import MessageRole
from earnest.engine.ports import Question, Unanswered
from earnest.foundation.canonical import JsonObject
from earnest.foundation.failures import FailureClass

Answer = Mapping[str, object] | str | Exception


class ScriptedModel:
    """Gives its answers in order. A mapping stands for its JSON, a text is read as it is, a failure is raised."""

    def __init__(self, *answers: Answer) -> None:
        self._answers = list(answers)
        self.asked: list[Question] = []

    async def ask(self, question: Question) -> JsonObject:
        self.asked.append(question)
        answer = self._answers.pop(0)
        if isinstance(answer, Exception):
            raise answer
        try:
            return read_answer(answer if isinstance(answer, str) else json.dumps(answer), question.form)
        except NoAnswer as error:
            raise Unanswered(str(error)) from None

    def heard(self, number: int = -1) -> str:
        """All that was said to it by us in one question."""
        return "\n".join(message.text for message in self.asked[number].messages if message.role is MessageRole.USER)


@dataclass
class ScriptedTools:
    """Tools whose calls succeed, but for those whose command says `fail`."""

    output: str = "done\n"
    calls: list[ToolCall] = field(default_factory=list)

    async def call(self, call: ToolCall, look: str | None = None) -> ToolRecord:
        self.calls.append(call)
        failed = "fail" in str(call.args.get("command"))
        failure = logical("exit_code", "exit code 1") if failed else None
        assert failure is None or failure.failure_class is FailureClass.LOGICAL
        return ToolRecord(
            tool=call.tool,
            tool_ids=frozenset({call.tool}),
            target="",
            args=call.args,
            call_digest="",
            ok=failure is None,
            exit_code=1 if failure else 0,
            failure=failure,
            output_excerpt=self.output,
            output_digest="",
            output_bytes=len(self.output),
            duration_ms=1,
            started_at_ms=0,
            changed=(),
            sandbox="",
        )


def data_in(text: str) -> dict[str, str]:
    """What stands between fences, by name, as whoever keeps to the rules reads it."""
    found: dict[str, str] = {}
    lines: Sequence[str] = text.split("\n")
    at = 0
    while at < len(lines):
        if lines[at].startswith("<<<DATA ") and lines[at].endswith(">>>"):
            name, _, word = lines[at][8:-3].rpartition(" ")
            end = lines.index(f"<<<END {word}>>>", at)
            found[name] = "\n".join(lines[at + 1 : end])
            at = end
        at += 1
    return found
