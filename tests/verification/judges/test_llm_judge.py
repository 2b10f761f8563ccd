"""Does a model decide only where its answer is perfect, and never where it is missing, silent or confused?"""

import json
from pathlib import Path
from typing import Any

import pytest

from earnest.effects.outside.llm.api import ChatModel, Completion, CompletionLimits
from earnest.foundation.canonical import JsonObject
from earnest.testing.check_conformance import CheckCase, CheckConformance
from earnest.testing.model_server import (
    Behaviour,
    ModelServer,
    ReceivedRequest,
    ScriptedReply,
    WireFault,
    answers,
    calls_tools,
    fails,
    fenced,
    huge,
    invalid_json,
    invalid_utf8,
    prose_around,
    refused_url,
    says,
    thinking_first,
    two_objects,
)
from earnest.testing.scripted_judge import approves, judgement, rejects, statements_of
from earnest.verification.checks.llm_judge import is_same_model
from earnest.verification.plugin import Promise
from earnest.verification.verdict import Answer, Cause

from .judging_cases import GOOD, judged, model_at


def changed(**changes: Any) -> Behaviour:
    """A perfect answer with these top-level keys changed."""
    return lambda request: answers({**judgement(request.prompt), **changes})


def entry(**changes: Any) -> Behaviour:
    """A perfect answer with these keys of its first entry changed."""

    def behave(request: ReceivedRequest) -> ScriptedReply:
        given: Any = judgement(request.prompt)
        given["statements"][0].update(changes)
        return answers(given)

    return behave


def swapped(request: ReceivedRequest) -> ScriptedReply:
    """A perfect answer whose first two entries stand in each other's place."""
    given: Any = judgement(request.prompt)
    one, other, *rest = given["statements"]
    return answers({"statements": [other, one, *rest]})


def spoilt(text: str, by: str) -> Behaviour:
    """A perfect answer in which one text is replaced by another."""
    return lambda request: says(json.dumps(judgement(request.prompt)).replace(text, by))


async def test_a_judge_that_says_yes_in_perfect_form_verifies(tmp_path: Path) -> None:
    async with ModelServer(approves) as server:
        verdict = await judged(tmp_path, GOOD, model_at(server.base_url))
    assert verdict.answer is Answer.VERIFIED, verdict.criteria[0].reason
    assert verdict.criteria[0].evidence == ("report.md",)


async def test_a_judge_that_says_no_in_perfect_form_fails_the_work(tmp_path: Path) -> None:
    async with ModelServer(rejects) as server:
        verdict = await judged(tmp_path, GOOD, model_at(server.base_url))
    assert verdict.answer is Answer.NOT_VERIFIED
    assert verdict.criteria[0].reason == "the judge finds not met C1: as the work shows"


UNREADABLE: dict[str, Behaviour] = {
    "prose": says("Yes, the work is verified."),
    "prose around": lambda request: prose_around(judgement(request.prompt)),
    "two code blocks": lambda request: says(f"{fenced(judgement(request.prompt)).text}\n" * 2),
    "a code block with prose": lambda request: says(f"Here:\n{fenced(judgement(request.prompt)).text}"),
    "a think block": lambda request: thinking_first(judgement(request.prompt)),
    "two objects": lambda request: two_objects(judgement(request.prompt), judgement(request.prompt)),
    "an object and its opposite": lambda request: two_objects(
        judgement(request.prompt, unmet="*"), judgement(request.prompt)
    ),
    "a list of the object": lambda request: answers([judgement(request.prompt)]),
    "nothing": says(""),
    "blanks": says("  \n "),
    "null": says("null"),
    "an empty object": says("{}"),
    "the seed's form": answers({"ok": True, "reason": "fine"}),
    "a key more": changed(confidence=1),
    "no statements": changed(statements=[]),
    "statements as an object": changed(statements={"C1": True}),
    "another order": swapped,
    "a wrong id": entry(id="C9"),
    "a number for an id": entry(id=1),
    "another word": entry(answer="met"),
    "a truth value": entry(answer=True),
    "null for a word": entry(answer=None),
    "no reason": entry(reason=""),
    "a reason that is none": entry(reason=7),
    "a key more in an entry": entry(score=10),
    "a duplicate key": spoilt('"statements":', '"statements": [], "statements":'),
    "a duplicate key within": spoilt('"answer":', '"answer": "x", "answer":'),
    "a trailing comma": spoilt("}]}", "}],}"),
    "single quotes": spoilt('"', "'"),
    "a comment": spoilt("{", "/* fine */ {"),
    "a byte order mark": lambda request: says("\ufeff" + json.dumps(judgement(request.prompt))),
    "cut at its length": lambda request: ScriptedReply(text=json.dumps(judgement(request.prompt)), finish="length"),
    "filtered": lambda request: ScriptedReply(text=json.dumps(judgement(request.prompt)), finish="content_filter"),
    "a tool call": calls_tools(("verdict", {"verdict": "verified"})),
}
UNREACHABLE: dict[str, Behaviour] = {
    "500": fails(500),
    "503 with a date": fails(503, retry_after="Fri, 31 Dec 2999 23:59:59 GMT"),
    "429": fails(429),
    "429 with seconds": fails(429, retry_after="1"),
    "401": fails(401),
    "404": fails(404),
    "a reset connection": ScriptedReply(fault=WireFault.RESET),
    "a truncated stream": ScriptedReply(text="x" * 300, fault=WireFault.TRUNCATED),
    "an unfinished stream": ScriptedReply(text="x" * 300, fault=WireFault.UNFINISHED),
    "silence before headers": ScriptedReply(fault=WireFault.HANG_BEFORE_HEADERS),
    "silence after headers": ScriptedReply(fault=WireFault.HANG_AFTER_HEADERS),
    "endless tokens": ScriptedReply(text="x" * 2_000, piece_characters=1, pause_ms=10),
    "a web page": ScriptedReply(raw=b"<html>verified</html>", content_type="text/html"),
    "a huge answer": huge(5_000_000),
    "invalid UTF-8": invalid_utf8(),
    "invalid JSON": invalid_json(),
}


class Hurried:
    """A model as it is, with bounds that fit into a test."""

    def __init__(self, model: ChatModel) -> None:
        self._model = model
        self.endpoint = model.endpoint

    async def complete(
        self,
        messages: Any,
        *,
        call_id: str,
        schema: Any = None,
        limits: Any = None,
        native: Any = None,
        hear: Any = None,
    ) -> Completion:
        limits = CompletionLimits(silence_ms=300, deadline_ms=2_000)
        return await self._model.complete(messages, call_id=call_id, schema=schema, limits=limits)


@pytest.mark.slow
@pytest.mark.parametrize("name", [*UNREADABLE, *UNREACHABLE])
async def test_a_judge_that_does_not_judge_leaves_it_unclear_at_our_cost(tmp_path: Path, name: str) -> None:
    behaviour = UNREADABLE.get(name) or UNREACHABLE[name]
    model_of = model_at if name in UNREADABLE else lambda url: Hurried(model_at(url))
    async with ModelServer(behaviour) as server:
        verdict = await judged(tmp_path, GOOD, model_of(server.base_url))
    found = verdict.criteria[0]
    assert (found.answer, found.cause, found.failure_class) == (Answer.UNCLEAR, Cause.VERIFIER, None), found.reason
    assert "check failed" not in found.reason  # it says what happened, not which exception
    assert not verdict.contradiction


async def test_nobody_listening_leaves_it_unclear(tmp_path: Path) -> None:
    verdict = await judged(tmp_path, GOOD, model_at(refused_url()))
    assert (verdict.answer, verdict.criteria[0].cause) == (Answer.UNCLEAR, Cause.VERIFIER)


async def test_without_a_judge_it_waits_for_a_person(tmp_path: Path) -> None:
    verdict = await judged(tmp_path, GOOD, None)
    assert (verdict.answer, verdict.criteria[0].cause) == (Answer.UNCLEAR, Cause.VERIFIER)
    assert "VERIFY_LLM_BASE_URL" in verdict.criteria[0].reason
    assert [review.criterion_id for review in verdict.reviews] == ["C7"]


async def test_a_model_does_not_judge_its_own_work(tmp_path: Path) -> None:
    async with ModelServer(approves) as server:
        promise = Promise(worker_model="Vendor/Scripted:latest")
        verdict = await judged(tmp_path, GOOD, model_at(server.base_url), promise=promise)
    assert verdict.answer is Answer.UNCLEAR
    assert server.requests == []
    assert len(verdict.reviews) == 1


@pytest.mark.parametrize(
    ("one", "other", "same"),
    [("a", "a", True), ("v/A", "a:latest", True), ("a", "b", False), ("a", "", False), ("", "", False)],
)
def test_a_model_is_known_by_its_name(one: str, other: str, same: bool) -> None:
    assert is_same_model(one, other) is same


@pytest.mark.parametrize("kind", ["judge", "judgment"])
async def test_the_other_names_of_the_kind_mean_it_too(tmp_path: Path, kind: str) -> None:
    verdict = await judged(tmp_path, GOOD, None, kind=kind)
    assert verdict.check_versions == {"llm_judge": 2}


async def test_all_of_several_askings_must_say_yes(tmp_path: Path) -> None:
    async with ModelServer(*[approves] * 6, rejects) as server:
        model = model_at(server.base_url)
        twice = await judged(tmp_path / "1", GOOD, model, repeat=2)
        again = await judged(tmp_path / "2", GOOD, model, repeat=2)
    assert (twice.answer, again.answer) == (Answer.VERIFIED, Answer.NOT_VERIFIED)
    assert len(server.chats) == 8


async def test_one_code_block_around_the_whole_answer_is_taken_off(tmp_path: Path) -> None:
    async with ModelServer(lambda request: fenced(judgement(request.prompt))) as server:
        assert (await judged(tmp_path, GOOD, model_at(server.base_url))).answer is Answer.VERIFIED


async def test_an_answer_that_cannot_be_read_is_asked_for_once_more_and_shown(tmp_path: Path) -> None:
    async with ModelServer(says("Well, yes."), approves, approves) as server:
        assert (await judged(tmp_path / "1", GOOD, model_at(server.base_url))).answer is Answer.VERIFIED
        assert len(server.chats) == 3
    async with ModelServer(says("Well, yes."), approves, says("Well, no.")) as server:
        found = (await judged(tmp_path / "2", GOOD, model_at(server.base_url))).criteria[0]
        assert len(server.chats) == 3
    assert (found.answer, found.cause) == (Answer.UNCLEAR, Cause.VERIFIER)
    assert found.reason.endswith("it said: Well, no.")


async def test_both_answers_on_the_same_work_must_agree(tmp_path: Path) -> None:
    for at, behaviours in enumerate([(approves, rejects), (rejects, approves)]):
        async with ModelServer(*behaviours) as server:
            verdict = await judged(tmp_path / str(at), GOOD, model_at(server.base_url))
        found = verdict.criteria[0]
        assert (found.answer, found.cause) == (Answer.UNCLEAR, Cause.VERIFIER)
        assert "answers differently" in found.reason
        assert "answers differently" in verdict.reviews[0].flags[0]


@pytest.mark.parametrize("word", ["if_met", "if_not"])
async def test_a_judge_that_is_wrong_about_what_code_knows_is_believed_on_nothing(tmp_path: Path, word: str) -> None:
    def always(request: ReceivedRequest) -> ScriptedReply:
        rows = statements_of(request.prompt)
        return answers({"statements": [{"id": row["id"], "answer": row[word], "reason": "so"} for row in rows]})

    async with ModelServer(always) as server:
        verdict = await judged(tmp_path, GOOD, model_at(server.base_url))
    found = verdict.criteria[0]
    assert len(server.chats) == 1
    assert (found.answer, found.cause) == (Answer.UNCLEAR, Cause.VERIFIER)
    assert "the judge is not believed, for it takes for" in found.reason
    assert (verdict.flags, len(verdict.reviews[0].flags)) == ((), 1)


async def test_a_file_that_is_not_there_needs_no_judge(tmp_path: Path) -> None:
    async with ModelServer(approves) as server:
        config: JsonObject = {"files": ["report.md", "notes.md"]}
        verdict = await judged(tmp_path, GOOD, model_at(server.base_url), config=config)
    assert verdict.answer is Answer.NOT_VERIFIED
    assert verdict.criteria[0].reason == "notes.md: not in the work"
    assert server.requests == []


async def test_only_the_named_files_and_our_criteria_are_shown(tmp_path: Path) -> None:
    work = {**GOOD, "secret.txt": b"only for the author"}
    config: JsonObject = {"files": ["*.md"], "criteria": ["It names the moon", "It names no one else"]}
    async with ModelServer(approves) as server:
        verdict = await judged(
            tmp_path, work, model_at(server.base_url), config=config, promise=Promise(text="Explain the tides")
        )
    assert verdict.answer is Answer.VERIFIED
    assert len(server.chats) == 2
    for chat in server.chats:
        assert "only for the author" not in chat.prompt
        for part in ("It names the moon", "It names no one else", "Explain the tides", "fifty minutes"):
            assert part in chat.prompt


@pytest.mark.parametrize(
    ("work", "part"),
    [
        ({"report.md": b"x" * 200_000}, "too long to be shown"),
        ({"report.md": b"\xff\xfe\x00"}, "is not text"),
        ({"report.md": b" \n"}, "no text in the work"),
    ],
)
async def test_what_cannot_be_shown_whole_needs_a_person(tmp_path: Path, work: dict[str, bytes], part: str) -> None:
    async with ModelServer(approves) as server:
        verdict = await judged(tmp_path, work, model_at(server.base_url))
    assert (verdict.answer, verdict.criteria[0].cause) == (Answer.UNCLEAR, Cause.EVIDENCE)
    assert part in verdict.criteria[0].reason


class TestConformance(CheckConformance):
    """It keeps the contract of checks; without a judge nothing is verified, so that one sentence is told elsewhere."""

    @pytest.fixture
    def case(self) -> CheckCase:
        from earnest.verification.checks.llm_judge import CHECK

        return CheckCase(check=CHECK, config={"files": ["report.md"]}, submission=GOOD)

    async def test_good_work_is_verified(self, case: CheckCase, tmp_path: Path) -> None:
        async with ModelServer(approves) as server:
            assert (await judged(tmp_path, GOOD, model_at(server.base_url))).answer is Answer.VERIFIED
