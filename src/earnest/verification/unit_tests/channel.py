"""The tests' talk with the submission: one message there, one back; what is theirs is served in between.

Runs with the tests, in a sandbox that the submission never enters. Nothing that comes over the pipe is believed: it is
plain data, or an object of the submission known by a number. What does not fit is a fault: it ends all further use, and
a run with a fault proves nothing.
"""

import contextlib
import os.path
import sys
import threading
import warnings
from collections.abc import Sequence
from os import getcwd
from types import FrameType
from typing import TYPE_CHECKING, Any, Final, NoReturn

from earnest.verification.unit_tests import pipe
from earnest.verification.unit_tests.failures import FILES, Failures
from earnest.verification.unit_tests.held import Held
from earnest.verification.unit_tests.library import Malformed, Node, exception_named, known_exception
from earnest.verification.unit_tests.marking import NOTES, SET_BACK
from earnest.verification.unit_tests.sharing import PREFIX, Shelf
from earnest.verification.unit_tests.surroundings import SURROUNDINGS
from earnest.verification.unit_tests.values import MessageReader, MessageWriter, is_scalar
from earnest.verification.unit_tests.volume import LARGE_BYTES, VOLUME

if TYPE_CHECKING:
    from earnest.verification.unit_tests.meaning import SubmissionObjects

DEPTH_MAX: Final = 150  # of calls within calls, back and forth
ANSWER_PARTS: Final = 11
BRIEF_PARTS: Final = 2
ASK_PARTS: Final = 12
USING: Final = frozenset({"call", "call_above", "method", "operate", "member", "await"})
EXITING: Final = frozenset({"__exit__", "__aexit__"})
ITERATING: Final = frozenset({"__next__", "send", "throw", "close"})
ENDING: Final = {"operate": ITERATING, "call_above": ITERATING, "await": frozenset({""})}
"""Operations that may say that there is no more. From any other it would end a loop of the test, unheard."""

HOSTILE: Final = (
    *(pipe.Closed, pipe.BadMessage, Malformed, TypeError, ValueError, LookupError, AttributeError, ArithmeticError),
    *(RecursionError, ImportError, OSError),
)
"""What taking in a message may raise: each of them means that no writer of ours made it."""


class Lost(BaseException):
    """The submission cannot be used any more: it ended, or answered what no answer can be."""


class Inseparable(Exception):
    """The test needs the submission itself, which a stand-in is not."""


class Channel:
    """The test's end of the pipe. What happened on the way is for the count.

    `meaning` knows what nodes mean that are no plain data, and what the submission may do with what is the test's.
    """

    meaning: "SubmissionObjects"

    def __init__(self) -> None:
        self.calls = 0
        self.fault = ""
        self.inseparable = ""
        self.flags: set[str] = set()
        self.limits: list[str] = []
        self.failures = Failures()
        self._lock = threading.RLock()
        self._incoming = pipe.Incoming(pipe.ANSWER_BYTES_MAX)
        self._incoming.large, self._incoming.large_bytes = VOLUME.add, LARGE_BYTES
        self._number = 0
        self._depth = 0
        self._held = Held(self._write)
        self._dropped: list[int] = []
        self._originals: dict[tuple[int, str], object] = {}
        self._shelf = Shelf()
        self._has_told = False

    def request(
        self,
        operation: str,
        target: int,
        name: str = "",
        arguments: Sequence[object] = (),
        keywords: dict[str, object] | None = None,
    ) -> Any:
        """Have the submission do something. Raises what it raised, or `Lost`."""
        with self._lock:
            if self.fault:
                raise Lost(self.fault)
            if self._depth >= DEPTH_MAX:
                raise RecursionError("too many calls within calls")
            value, succeeded, warned = self._exchange(operation, target, name, arguments, keywords)
            if not self._depth:
                self.failures.returned(succeeded=succeeded)
        for text, category in warned:
            warnings.warn(text, category, stacklevel=3)
        if succeeded:
            return value
        if _is_unheard(type(value)) or (
            isinstance(value, StopIteration | StopAsyncIteration | GeneratorExit)
            and name not in ENDING.get(operation, ())
        ):
            raise RuntimeError(f"the submission raised {type(value).__name__}") from value
        raise value

    def _exchange(
        self, operation: str, target: int, name: str, arguments: Sequence[object], keywords: dict[str, object] | None
    ) -> tuple[Any, bool, Sequence[tuple[str, type[Warning]]]]:
        """One message there and one back: the value or exception, whether it is a value, and warnings."""
        told = SURROUNDINGS.take()
        if told is not None:
            self._surround(told)
        nodes = self._brief(arguments, keywords)
        if nodes is None:
            message = self._message(operation, target, name, arguments, keywords or {})
        else:
            self._number += 1
            message = [self._number, operation, target, name, nodes]
        self.calls += operation in USING
        if name == "__next__":
            VOLUME.item(target)
        self._depth += 1
        try:
            pipe.send(message)
            answer = self._await_answer(self._number)
            if len(answer) != BRIEF_PARTS:
                return self._conclude(answer)
            if nodes is None:
                self._held.agree()
            return answer[1], True, ()
        except HOSTILE as error:
            self._lose(error)
        finally:
            self._depth -= 1

    def replace(self, number: int, name: str, value: object) -> None:
        """Set an attribute of a module or class, for the submission too. What was there first is kept."""
        if (number, name) not in self._originals:
            with contextlib.suppress(AttributeError):
                self._originals[number, name] = self.request("get", number, name)
        self.request("set", number, name, (value,))

    def put_back(self, number: int, name: str) -> None:
        """What deleting an attribute of a module or class means: the original comes back if there was one."""
        if (number, name) in self._originals:
            self.request("set", number, name, (self._originals.pop((number, name)),))
        else:
            self.request("del", number, name)

    def limit(self, why: str) -> None:
        """The test that runs now needs what the split does not carry: should it fail, nobody is to blame."""
        self.limits.append(why + line())

    def refuse(self, why: str) -> NoReturn:
        """The tests cannot be split from the submission."""
        self.inseparable = self.inseparable or why + line()
        raise Inseparable(why)

    def _brief(self, arguments: Sequence[object], keywords: dict[str, object] | None) -> list[Node] | None:
        """The arguments as they are, if they are plain and nothing else is to be said."""
        if keywords or self._dropped or self._has_told or self._shelf.is_used or SURROUNDINGS.has_moved:
            return None
        if not all(is_scalar(each, PREFIX) for each in arguments) or not self._held.is_quiet:
            return None
        return list(arguments)

    def _message(
        self, operation: str, target: int, name: str, arguments: Sequence[object], keywords: dict[str, object]
    ) -> list[Node]:
        writer = MessageWriter(self._write, self._held.numbers, PREFIX)
        changes = self._changes(writer)
        nodes = [writer.node(argument) for argument in arguments]
        named = {key: writer.node(value) for key, value in keywords.items()}
        table = writer.finish()
        setting = self._setting(writer)
        held = [self._dropped, changes]
        self._held.hold(writer.containers)
        self._dropped = []
        self._number += 1
        return [self._number, operation, target, name, nodes, named, table, setting, held]

    def _changes(self, writer: MessageWriter) -> list[Node]:
        """Of what both sides hold; what need not be held any longer is dropped."""
        superfluous = self._held.superfluous()
        changes = self._held.changes(writer)
        self._held.drop(superfluous)
        self._dropped += superfluous
        return changes

    def _surround(self, told: dict[str, object]) -> None:
        """Tell what the test has set for its whole process."""
        try:
            self.request("surround", 0, "", (), told)
        except (TypeError, Malformed) as error:
            self.refuse(
                f"a test sets {', '.join(told)} of its process, which cannot be done for the submission: {error}"
            )

    def _setting(self, writer: MessageWriter) -> Node:
        """Files and folder, once anything of them was used."""
        folder = getcwd() if SURROUNDINGS.has_moved else ""  # noqa: PTH109 - a text
        named = writer.noted | ({folder} if folder.startswith(PREFIX) else set())
        for path in named:
            self._shelf.add(path)
        if not self._has_told and not self._shelf.is_used:
            return None
        self._has_told = True
        try:
            files = self._shelf.changes()
        except Malformed as error:
            self.refuse(f"a test gives it {error}")
        return [files, self._shelf.shared(), folder if folder.startswith(PREFIX) else None]

    def _lose(self, error: Exception) -> NoReturn:
        gone = isinstance(error, pipe.Closed)
        self.fault = "the submission ended" if gone else f"the submission broke the protocol: {error}"[:300]
        raise Lost(self.fault) from None

    def _await_answer(self, number: int) -> list[Any]:
        while True:
            message: list[Any] = self._incoming.receive()
            if len(message) == BRIEF_PARTS and type(message[0]) is int and message[0] == number:
                if not is_scalar(message[1]):
                    raise Malformed("a brief answer that is none")
                return message
            kind = message[1] if len(message) in {ANSWER_PARTS, ASK_PARTS} else None
            if kind == "ask" and len(message) == ASK_PARTS:
                self._serve(message)
            elif kind == "answer" and len(message) == ANSWER_PARTS and type(message[0]) is int and message[0] == number:
                return message
            else:
                raise Malformed("an answer out of turn")

    def _conclude(self, message: list[Any]) -> tuple[Any, bool, Sequence[tuple[str, type[Warning]]]]:
        """The value or exception, whether it is a value, and warnings."""
        _, _, succeeded, node, table, changes, out, err, classes, files, warned = message
        _print(out, err)
        reader = self._take_over(classes, table, changes)
        value = reader.value(node)
        if files is not None:
            self._shelf.apply(files, anywhere=False)
        if succeeded is not True and not isinstance(value, BaseException):
            raise Malformed("no exception")
        return value, succeeded is True, [_warning(text, category) for text, category in warned]

    def _take_over(self, classes: Any, table: Any, changes: Any) -> MessageReader:
        """Take note of classes and of what the submission changed of what both hold; hold what it hands over now."""
        self.meaning.learn(classes)
        reader = MessageReader(table, self.meaning.read, self._held.containers)
        self._held.apply(reader, changes)
        NOTES.has_changed |= bool(changes)
        if NOTES.counted and any(id(self._held.containers[number]) in NOTES.counted for number, _ in changes):
            self.flags.add(SET_BACK)
        self._held.hold_answer(reader.containers, table)
        self._held.agree()
        return reader

    def _serve(self, message: list[Any]) -> None:
        """One request of the submission about what is the test's."""
        number, _, operation, target, name, arguments, keywords, table, changes, out, err, classes = message
        _print(out, err)
        if type(operation) is not str or type(name) is not str or type(keywords) is not dict:
            raise Malformed("no request")
        reader = self._take_over(classes, table, changes)
        flags = set(self.flags)
        given = reader.values(arguments)
        if name in EXITING:  # where the class of what was raised is told, and nothing is caught by it
            self.flags = flags
        named = {key: reader.value(node) for key, node in keywords.items()}
        self._depth += 1
        try:
            if self._depth >= DEPTH_MAX:
                raise RecursionError("too many calls within calls")  # noqa: TRY301 - told to the submission like any
            result, succeeded = self.meaning.serve(operation, target, name, given, named), True
        except (Lost, Malformed):
            raise
        except BaseException as error:
            self.failures.left(error)
            result, succeeded = error, False
        finally:
            self._depth -= 1
        writer = MessageWriter(self._write, self._held.numbers, PREFIX)
        changes = self._changes(writer)
        try:
            node = writer.node(result) if succeeded else self._write(writer, result, 0)
            handed_over = writer.finish()
        except (TypeError, Malformed) as error:
            self.refuse(f"a test hands over {error}")
        self._held.hold(writer.containers)
        self._held.agree()
        dropped, self._dropped = self._dropped, []
        pipe.send([number, "reply", succeeded, node, handed_over, [dropped, changes]])

    def _write(self, writer: MessageWriter, value: object, depth: int) -> Node:
        return self.meaning.write(writer, value, depth)


def _is_unheard(kind: type) -> bool:
    """True for an exception of the library that means something to what runs tests, and is no error of a test."""
    if issubclass(kind, Exception | SystemExit | GeneratorExit):
        return False
    return next(base for base in kind.__mro__ if known_exception(base)) is not BaseException


def line() -> str:
    """Where in the tests we are."""
    frame: FrameType | None = sys._getframe(1)  # noqa: SLF001
    while frame is not None and frame.f_code.co_filename not in FILES:
        frame = frame.f_back
    return "" if frame is None else f" ({os.path.basename(frame.f_code.co_filename)}, line {frame.f_lineno})"  # noqa: PTH119


def _print(out: object, err: object) -> None:
    if type(out) is not str or type(err) is not str:
        raise Malformed("no text")
    VOLUME.add(len(out) + len(err))
    if out:
        sys.stdout.write(out)
    if err:
        sys.stderr.write(err)


def _warning(text: object, category: Any) -> tuple[str, type[Warning]]:
    kind = exception_named(*category) if category else UserWarning
    if not issubclass(kind, Warning) or type(text) is not str:
        raise Malformed("no warning")
    return text, kind


CHANNEL: Final = Channel()
