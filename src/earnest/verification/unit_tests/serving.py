"""The program that answers for the submission, in its sandbox: it does what the tests ask, message by message.

Nothing here is trusted: the submission shares this process and may make it say anything. What it says is only data.

Asked: `[number, operation, target, name, arguments, keywords, table, setting, held]`. Answered: `[number, "answer",
succeeded, node, table, changes, out, err, classes, files, warnings]`. Where the arguments are plain and nothing else is
to be said, the first five are all; where the answer is plain and nothing else has happened, `[number, value]`. In
between, about what is the test's: `[number, "ask", operation, target, name, arguments, keywords, table, changes, out,
err, classes]`, replied to by `[number, "reply", succeeded, node, table, held]`.
"""

import builtins
import contextlib
import copy
import importlib
import operator
import os
import random
import sys
import threading
import types
import warnings
from collections.abc import Callable, Sequence
from typing import Any, Final

from earnest.verification.unit_tests import pipe
from earnest.verification.unit_tests.held import Held
from earnest.verification.unit_tests.library import Node, known_exception, parameters, plain_base, plain_view
from earnest.verification.unit_tests.sharing import Shelf
from earnest.verification.unit_tests.surrounded import Input, Output, Surrounded
from earnest.verification.unit_tests.telling import Telling, is_made
from earnest.verification.unit_tests.values import MessageReader, MessageWriter, is_scalar

WORK: Final = "/work"

UNARY: Final[dict[str, Callable[..., object]]] = {
    "__iter__": iter,
    "__next__": next,
    "__len__": len,
    "__bool__": bool,
    "__str__": str,
    "__repr__": repr,
    "__hash__": hash,
    "__reversed__": reversed,
    "__format__": format,
    "__copy__": copy.copy,
    "__deepcopy__": copy.deepcopy,
    "__dir__": dir,
}


def main(arguments: list[str]) -> int:
    """Serve until the tests are gone, with chance that begins at the number that `arguments` holds.

    The process ends there, whatever the submission left running in it.
    """
    sys.modules["__main__"] = types.ModuleType("__main__")
    sys.argv = ["solution"]
    sys.path.insert(0, WORK)
    random.seed(int(arguments[0]))
    real = (sys.stdout, sys.stderr)
    with contextlib.suppress(pipe.Closed, pipe.BadMessage):
        SubmissionServer().serve()
    for stream in real:
        stream.flush()
    os._exit(0)


class SubmissionServer:
    """Serves one test process."""

    def __init__(self) -> None:
        self._incoming = pipe.Incoming(pipe.REQUEST_BYTES_MAX)
        self._telling = Telling(self.ask)
        self._held = Held(self._telling.write)
        self._plain = MessageReader([], self._telling.read, self._held.containers)
        self._shelf = Shelf()
        self._surrounded = Surrounded()
        self._warned: list[Node] = []
        self._asking = threading.RLock()
        self._asked = 0
        self._loop: Any = None
        self._out = sys.stdout = Output(sys.stdout)
        self._err = sys.stderr = Output(sys.stderr)
        sys.stdin = Input(lambda operation: self.ask(operation, 0))
        builtins.input = self._input
        warnings.simplefilter("always")
        warnings.showwarning = self._warn
        self._operations: dict[str, Callable[[Any, str, list[Any], dict[str, Any]], object]] = {
            "call": lambda thing, _, given, named: thing(*given, **named),
            "method": lambda thing, name, given, named: getattr(thing, name)(*given, **named),
            "get": lambda thing, name, *_: getattr(thing, name),
            "set": lambda thing, name, given, _: setattr(thing, name, *given),
            "del": lambda thing, name, *_: delattr(thing, name),
            "operate": _operate,
            "plain": lambda thing, *_: _plain(thing),
            "above": lambda thing, name, *_: self._telling.above(thing, name),
            "call_above": lambda thing, name, given, named: self._telling.above(thing, name)(*given, **named),
            "names": lambda thing, *_: _public_names(thing),
            "member": lambda thing, name, *_: getattr(thing, name),
            "signature": lambda thing, *_: parameters(thing),
            "pickle": lambda thing, *_: self._telling.pickle(thing),
            "await": lambda thing, *_: self._run(thing),
        }

    def serve(self) -> None:
        """Until the pipe closes."""
        while True:
            self._answer(self._incoming.receive())

    def ask(
        self,
        operation: str,
        target: int,
        name: str = "",
        arguments: Sequence[object] = (),
        keywords: dict[str, object] | None = None,
    ) -> Any:
        """Have the test's side do something. Raises what it raised."""
        with self._asking:
            writer = MessageWriter(self._telling.write, self._held.numbers)
            changes = self._held.changes(writer)
            nodes = [writer.node(argument) for argument in arguments]
            named = {key: writer.node(value) for key, value in (keywords or {}).items()}
            self._asked += 1
            table = writer.finish()
            begin: list[Any] = [self._asked, "ask", operation, target, name, nodes, named, table, changes]
            self._held.hold_answer(writer.containers, table)
            self._held.agree()
            pipe.send([*begin, self._out.drain(), self._err.drain(), self._telling.new_classes()])
            while True:
                message: list[Any] = self._incoming.receive()
                if message[1] == "reply":
                    break
                self._answer(message)
            _, _, succeeded, node, handed_over, held = message
            value = self._take_over(handed_over, *held).value(node)
        if not succeeded:
            raise value
        return value

    def _answer(self, message: list[Any]) -> None:
        """Do what one message asks and say what came of it."""
        number, operation, target, name, arguments, *rest = message
        keywords: dict[str, Any] = {}
        reader = self._plain
        if rest:
            keywords, handed_over, setting, held = rest
            self._set_up(setting)
            reader = self._take_over(handed_over, *held)
        writer: MessageWriter | None = None
        try:
            given = reader.values(arguments)
            named = {key: reader.value(node) for key, node in keywords.items()}
            result = self._perform(operation, target, name, given, named)
            if is_scalar(result):
                node, succeeded = result, True
            else:
                writer = MessageWriter(self._telling.write, self._held.numbers)
                node, succeeded = self._written(writer, operation, target, result), True
        except BaseException as error:
            writer = MessageWriter(self._telling.write, self._held.numbers)
            node, succeeded = self._telling.write_exception(writer, error, 0), False
        is_same = self._held.is_same
        out, err, classes = self._out.drain(), self._err.drain(), self._telling.new_classes()
        if writer is None and is_same and not (out or err or classes or self._warned or self._shelf.is_used):
            pipe.send([number, node])
            return
        writer = writer or MessageWriter(self._telling.write, self._held.numbers)
        changes = [] if is_same else self._held.changes(writer)
        files = self._shelf.changes() if self._shelf.is_used else None
        warned, self._warned = self._warned, []
        table = writer.finish()
        classes += self._telling.new_classes()
        self._held.hold_answer(writer.containers, table)
        self._held.agree()
        pipe.send([number, "answer", succeeded, node, table, changes, out, err, classes, files, warned])

    def _written(self, writer: MessageWriter, operation: str, target: int, result: object) -> Node:
        """The node of a result; its containers too, so that what cannot be told is an error of the call."""
        made = operation == "call" and type(result) is self._telling.objects[target] and is_made(result)
        node = self._telling.handle(result) if made else writer.node(result)
        writer.finish()
        return node

    def _take_over(self, table: Node, dropped: list[int], changes: Node) -> MessageReader:
        """Make what is held as the test's side holds it, and hold what it hands over now."""
        reader = MessageReader(table, self._telling.read, self._held.containers)
        self._held.apply(reader, changes)
        self._held.drop(dropped)
        self._held.hold(reader.containers)
        self._held.agree()
        return reader

    def _set_up(self, setting: Any) -> None:
        """Files and folder of the test, where they are not what they were."""
        if setting is None:
            return
        files, (folders, single), folder = setting
        self._shelf.folders, self._shelf.files = set(folders), set(single)
        self._shelf.apply(files, anywhere=True)
        os.chdir(folder or WORK)

    def _perform(self, operation: str, target: int, name: str, given: list[Any], named: dict[str, Any]) -> object:
        """One operation; on an object, but for those that concern modules."""
        if operation == "load":
            module = importlib.import_module(name)
            return self._telling.number(module), hasattr(module, "__path__"), module.__doc__
        if operation == "fresh":
            _forget_submission()
            return None
        if operation == "surround":
            self._surrounded.apply(named)
            return None
        if operation == "derive":
            return self._telling.derive(name, given, named)
        if operation == "unpickle":
            return self._telling.unpickle(*given)
        return self._operations[operation](self._telling.objects[target], name, given, named)

    def _run(self, awaitable: Any) -> object:
        """To its end, on a loop of our own."""
        if self._loop is None:
            import asyncio  # noqa: PLC0415 - loading it takes longer than most submissions run

            self._loop = asyncio.new_event_loop()
            asyncio.set_event_loop(self._loop)

        async def wait() -> object:
            return await awaitable

        return self._loop.run_until_complete(wait())

    def _input(self, prompt: object = "") -> str:
        """See `input`."""
        line = self.ask("input", 0, "", (str(prompt),))
        if line is None:
            raise EOFError("EOF when reading a line")
        return str(line)

    def _warn(self, message: object, category: type, *_: object, **__: object) -> None:
        """Keep a warning for the test's side."""
        self._warned.append([str(message), known_exception(category)])


def _operate(thing: Any, name: str, given: list[Any], _named: dict[str, Any]) -> object:
    unary = operator.getitem if name == "__getitem__" and isinstance(thing, type) else UNARY.get(name)
    return unary(thing, *given) if unary else getattr(type(thing), name)(thing, *given)


def _plain(thing: Any) -> object:
    base = plain_base(thing)
    return plain_view(thing, base) if base else list(thing)


def _public_names(module: Any) -> list[str]:
    """Without the modules that it imported: the test has its own."""
    names = [name for name in dir(module) if not name.startswith("_")]
    return [name for name in names if not isinstance(getattr(module, name, None), types.ModuleType)]


def _forget_submission() -> None:
    """Take every module of the submission out of the import system: the next import runs it anew."""
    for name, module in list(sys.modules.items()):
        place = getattr(module, "__file__", None)
        if isinstance(place, str) and place.startswith(WORK + "/"):
            del sys.modules[name]
    importlib.invalidate_caches()
