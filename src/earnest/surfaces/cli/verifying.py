"""Judging by hand, as it is printed, and with which exit code it ends."""

from collections.abc import Mapping, Sequence
from dataclasses import asdict
from pathlib import Path

from earnest.app.judging import lint_of, replay_of, spec_of, verdicts_on
from earnest.app.judging_settings import read_judging_settings
from earnest.contracts.spec import VerificationSpec
from earnest.foundation.errors import Diagnostic, Faulty
from earnest.runtime.judging import RecordedVerdict, SubmittedWork, submissions
from earnest.surfaces.cli.here import finish_unless_stopped, settings_of
from earnest.surfaces.cli.printing import complain, present, say, say_json, tell
from earnest.verification.replay import Comparison
from earnest.verification.verdict import Answer, verdict_to_json

EXIT_CODES = {"verified": 0, "not_verified": 1, "unclear": 2}
REPLAY_CODES = {"agrees": 0, "disagrees": 1, "different_now": 2, "not_comparable": 2}


def judge_again(verdict: str, *, as_json: bool) -> int:
    """Judge what a kept verdict was about, and compare; gives the exit code."""
    found = finish_unless_stopped(replay_of(verdict, read_judging_settings()))
    more = {"id": found.kept.id, "now": verdict_to_json(found.verdict)}
    return _told_again(found.comparisons, more, as_json=as_json)


def judge_receipt_again(receipt: Path, *, as_json: bool) -> int:
    """Judge what the receipt of a claim says was judged, and compare; gives the exit code."""
    from earnest.app.receipts import replayed_receipt  # noqa: PLC0415 - loads what the market needs

    return _told_again(finish_unless_stopped(replayed_receipt(receipt, settings_of())), {}, as_json=as_json)


def _told_again(comparisons: Sequence[Comparison], more: Mapping[str, object], *, as_json: bool) -> int:
    if as_json:
        rows = [{"id": one.id, "agreement": one.agreement.value, "detail": one.detail} for one in comparisons]
        say_json({**more, "criteria": rows})
    else:
        say(*(f"{one.agreement:<15} {one.id}  {one.detail}" for one in comparisons))
    codes = {REPLAY_CODES[one.agreement] for one in comparisons}
    return 1 if 1 in codes else max(codes, default=2)


def judge(spec: Path, works: Sequence[Path], *, as_json: bool, keep: bool | None) -> int:
    """Judge them and say what each came to; gives the exit code."""
    settings = read_judging_settings()
    handed_in = submissions(*spec_of(spec), works)
    several = len(works) > 1

    told = 0

    def tell_of(submission: SubmittedWork, judged: RecordedVerdict) -> None:
        nonlocal told
        told += 1
        if not several and not as_json:
            _say_at_length(submission.spec, judged)
        elif not as_json:
            _say_shortly(submission, judged)
        elif several:
            tell(f"{told} of {len(works)} judged" if told < len(works) else "")
        if judged.unkept:
            complain([f"the verdict is not kept: {judged.unkept}"])

    found = finish_unless_stopped(verdicts_on(handed_in, settings, tell_of, keep=keep))
    if as_json:
        rows = [
            {
                **({"submission": str(given)} if several else {}),
                **verdict_to_json(one.verdict),
                **({"id": one.id} if one.id else {}),
            }
            for given, one in zip(works, found, strict=True)
        ]
        say_json(rows if several else rows[0])
    worst = max((one.verdict.answer for one in found), key=list(Answer).index)
    return EXIT_CODES[worst]


def _say_shortly(submission: SubmittedWork, judged: RecordedVerdict) -> None:
    reasons = (f"{one.id}: {one.reason}" for one in judged.verdict.criteria if one.answer != "verified")
    say("  ".join((f"{judged.verdict.answer:<12}", str(submission.work), *reasons)))


def _say_at_length(spec: VerificationSpec, judged: RecordedVerdict) -> None:
    for criterion, line in zip(spec.criteria, judged.verdict.criteria, strict=True):
        say(f"{line.answer:<12}  {line.id}: {criterion.text}", f"{'':<12}  {line.reason}")
    say("", f"{judged.verdict.answer.upper()}  {judged.verdict.snapshot or 'nothing was taken in'}")
    if judged.id:
        say(f"kept as {judged.id}")


def try_spec(spec: Path, *, as_json: bool) -> int:
    """Try a specification on worthless work; gives the exit code. Raises `Faulty` for one that lets it pass."""
    found = finish_unless_stopped(lint_of(spec, read_judging_settings()))
    present(
        {"complaints": [asdict(one) for one in found]},
        *(f"note: {one.criterion}: {one.message}" for one in found if not one.is_grave),
        as_json=as_json,
    )
    grave = [one for one in found if one.is_grave]
    if grave:
        raise Faulty(
            Diagnostic(source=str(spec), line=one.line, message=f"{one.criterion}: {one.message}") for one in grave
        )
    untried = any(one.is_untried for one in found)
    if not as_json:
        say("not every check could be tried" if untried else "every check that can be tried refuses worthless work")
    return EXIT_CODES["unclear"] if untried else 0
