"""One path of the user's that a change replaces: what stands there before and after."""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field, replace
from typing import TypeAlias

from earnest.effects.hands.workspace.changes import Change, PathEntry
from earnest.effects.hands.workspace.tree import EntryKind
from earnest.foundation.canonical import JsonObject, JsonValue
from earnest.foundation.errors import Broken

OTHER = PathEntry(kind=EntryKind.FILE, digest="")
"""Something that is neither a plain file, a link nor a folder, or that lies below a link. Equal to no real content."""


@dataclass(frozen=True, slots=True, kw_only=True)
class FileMarks:
    """What a file or folder has beside its content: permission bits, and attributes by name, in base64."""

    mode: int
    attributes: Mapping[str, str] = field(default_factory=dict)

    def to_json(self) -> JsonValue:
        """The form kept in facts."""
        return [self.mode, dict(self.attributes)] if self.attributes else self.mode

    @classmethod
    def from_json(cls, value: JsonValue) -> "FileMarks":
        """The inverse of `to_json`. Raises `Broken` for anything else."""
        match value:
            case int(mode):
                return cls(mode=mode)
            case [int(mode), dict(attributes)]:
                return cls(mode=mode, attributes={name: str(told) for name, told in attributes.items()})
        raise Broken("the recorded permissions of a file cannot be read")


Marks: TypeAlias = Mapping[str, FileMarks]
"""Those of several files, by path."""


def marks_to_json(marks: Marks) -> JsonObject:
    """The form kept in facts."""
    return {path: one.to_json() for path, one in marks.items()}


def marks_of(value: Mapping[str, JsonValue]) -> Marks:
    """The inverse of `marks_to_json`. Raises `Broken` for anything else."""
    return {path: FileMarks.from_json(one) for path, one in value.items()}


@dataclass(frozen=True, slots=True, kw_only=True)
class EditStep:
    """`path` is relative to the edit's original, empty for the original itself if that is a file. None: nothing there.

    `marks`: what the file gets; None keeps that of what it replaces, or gives what is ordinary.
    """

    path: str
    before: PathEntry | None
    after: PathEntry | None
    marks: FileMarks | None = None

    def to_json(self) -> JsonObject:
        """The form kept in facts."""
        return {
            "path": self.path,
            "before": self.before.to_json() if self.before else None,
            "after": self.after.to_json() if self.after else None,
            "mode": self.marks.to_json() if self.marks else None,
        }

    @classmethod
    def from_json(cls, value: JsonValue) -> "EditStep":
        """The inverse of `to_json`. Raises `Broken` for anything else."""
        match value:
            case {"path": str(path), "before": before, "after": after, "mode": marks}:
                read = None if marks is None else FileMarks.from_json(marks)
                return cls(path=path, before=entry_of(before), after=entry_of(after), marks=read)
        raise Broken("a recorded step of an edit cannot be read")


def steps_of(name: str, base: Mapping[str, PathEntry], changes: Iterable[Change]) -> tuple[EditStep, ...]:
    """What the changes below `name` of a workspace mean for the edit's original, in order of path."""
    return tuple(
        EditStep(path=change.path[len(name) + 1 :], before=base.get(change.path), after=change.entry)
        for change in changes
        if change.path == name or change.path.startswith(name + "/")
    )


def links_in(steps: Iterable[EditStep]) -> tuple[str, ...]:
    """The paths at which a link comes, goes or changes: no edit may do that."""
    return tuple(
        step.path for step in steps if any(one and one.kind is EntryKind.LINK for one in (step.before, step.after))
    )


def is_begun(step: EditStep, found: PathEntry | None) -> bool:
    """True if the step was done, or was interrupted between removing a folder for a file, or a file for a folder."""
    if found is None and step.before is not None and step.after is not None:
        return step.before.kind is not step.after.kind
    return found == step.after


def conflicts(steps: Iterable[EditStep], found: Mapping[str, PathEntry | None]) -> tuple[str, ...]:
    """The paths at which neither the former nor the new content stands: somebody else changed them meanwhile."""
    return tuple(
        step.path for step in steps if found[step.path] != step.before and not is_begun(step, found[step.path])
    )


def inverted(steps: Iterable[EditStep], marks: Marks) -> tuple[EditStep, ...]:
    """The steps back; `marks` are those that the files had."""
    return tuple(
        EditStep(path=step.path, before=step.after, after=step.before, marks=marks.get(step.path)) for step in steps
    )


def with_content(step: EditStep, digest: str, size_bytes: int) -> EditStep:
    """The step to other content, as a merge makes it."""
    assert step.after is not None
    return replace(step, after=replace(step.after, digest=digest, size_bytes=size_bytes))


def entry_of(value: JsonValue) -> PathEntry | None:
    """An entry from its JSON form, None from None. Raises `Broken` for anything else."""
    return None if value is None else PathEntry.from_json(value, "a recorded step of an edit cannot be read")
