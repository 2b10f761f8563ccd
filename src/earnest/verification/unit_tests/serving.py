"""What answers for the submission? A program in its sandbox that does what the tests ask, one message at a time.

Nothing here is trusted: the submission shares this process and may make it say anything. What it says is only data.

Asked: `[number, operation, target, name, arguments, keywords, table, setting, held]`. Answered: `[number, "answer", succeeded,
node, table, changes, out, err, classes, files]`; in between, for what belongs to the test, `[number, "ask", operation,
target, name, arguments, keywords, table, out, err, classes]`, replied to by `[number, "reply", succeeded, node, table]`.
"""

import asyncio
import builtins
import copy
import dataclasses
import enum
import importlib
import inspect
import io
import os
import random
import sys
import threading
import types
import warnings
from collections.abc import Callable, Sequence
from typing import Final

from earnest.verification.unit_tests import pipe
from earnest.verification.unit_tests.held import Held
from earnest.verification.unit_tests.sharing import Shelf
from earnest.verification.unit_tests.values import (
    Malformed,
    Node,
    Reader,
    Writer,
    exception_named,
    known_exception,
    plain_base,
    plain_view,
)

WORK: Final = "/work"
SEED: Final = 20_260_101
CAUSES_MAX: Final = 5
OUTPUT_CHARACTERS_MAX: Final = 1 << 20  # of one call; what is more goes to the sandbox's own output, and its limit

UNARY: Final[dict[str, Callable[..., object]]] = {
    "__iter__": iter,
    "__next__": next,
    "__len__": len,
    "__bool__": bool,
    "__str__": str,
    "__repr__": repr,
    "__hash__": hash,
    "__reversed__": lambda value: reversed(value),
    "__format__": format,
    "__copy__": copy.copy,
    "__deepcopy__": lambda value: copy.deepcopy(value),
    "__dir__": dir,
}
FORWARDED: Final = (
    *("__abs__", "__add__", "__aenter__", "__aexit__", "__aiter__", "__and__", "__anext__", "__await__", "__bool__"),
    *("__bytes__", "__call__", "__ceil__", "__complex__", "__contains__", "__delitem__", "__divmod__", "__enter__"),
    *("__eq__", "__exit__", "__float__", "__floor__", "__floordiv__", "__format__", "__ge__", "__getitem__", "__gt__"),
    *("__hash__", "__iadd__", "__iand__", "__ifloordiv__", "__ilshift__", "__imod__", "__imul__", "__index__"),
    *(
        "__int__",
        "__invert__",
        "__ior__",
        "__ipow__",
        "__irshift__",
        "__isub__",
        "__iter__",
        "__itruediv__",
        "__ixor__",
    ),
    *("__le__", "__len__", "__lshift__", "__lt__", "__matmul__", "__mod__", "__mul__", "__ne__", "__neg__", "__next__"),
    *("__or__", "__pos__", "__pow__", "__radd__", "__rand__", "__rdivmod__", "__reversed__", "__rfloordiv__"),
    *("__rlshift__", "__rmatmul__", "__rmod__", "__rmul__", "__ror__", "__round__", "__rpow__", "__rrshift__"),
    *("__rshift__", "__rsub__", "__rtruediv__", "__rxor__", "__setitem__", "__sub__", "__truediv__", "__trunc__"),
    "__xor__",
)


def main(_arguments: list[str]) -> int:
    """Serve until the tests are gone. The process ends there, whatever the submission left running."""
    module = types.ModuleType("__main__")
    sys.modules["__main__"] = module
    sys.argv = ["solution"]
    sys.path.insert(0, WORK)
    random.seed(SEED)
    server = Server()
    server.take_streams()
    try:
        server.serve()
    except (pipe.Closed, pipe.BadMessage):
        pass
    finally:
        sys.__stdout__.flush()
        sys.__stderr__.flush()
        os._exit(0)


class Theirs:
    """Something of the test in the submission's hands: what it may do, the test's side decides."""

    def __init__(self, server: "Server", number: int, name: str, doc: str) -> None:
        vars(self).update(_server=server, _number=number, __name__=name, __qualname__=name, __doc__=doc)

    def __call__(self, *arguments: object, **keywords: object) -> object:
        return self._server.ask("call", self._number, "", arguments, keywords)

    def __getattr__(self, name: str) -> object:
        if name.startswith("_"):
            raise AttributeError(name)
        return self._server.ask("get", self._number, name)

    def __setattr__(self, name: str, value: object) -> None:
        if name.startswith("_"):
            vars(self)[name] = value
        else:
            self._server.ask("set", self._number, name, (value,))

    def __hash__(self) -> int:
        return hash(self._number)


def _theirs_operation(name: str) -> Callable[..., object]:
    def operation(self: Theirs, *arguments: object) -> object:
        return self._server.ask("operate", self._number, name, arguments)

    return operation


THEIR_OPERATIONS: Final = (
    *("__add__", "__bool__", "__contains__", "__delitem__", "__enter__", "__eq__", "__exit__", "__float__", "__ge__"),
    *("__getitem__", "__gt__", "__index__", "__int__", "__iter__", "__le__", "__len__", "__lt__", "__mul__"),
    *("__next__", "__radd__", "__repr__", "__rmul__", "__setitem__", "__str__", "__sub__"),
)
for _name in THEIR_OPERATIONS:
    setattr(Theirs, _name, _theirs_operation(_name))


class Output(io.TextIOWrapper):
    """What stands in for stdout or stderr: kept for the answer, and beyond a bound given to the real stream."""

    def __init__(self, real: io.TextIOWrapper) -> None:
        self.kept = io.BytesIO()
        self.real = real
        super().__init__(self.kept, encoding="utf-8", errors="backslashreplace", write_through=True)

    def drain(self) -> str:
        """What was written since last time."""
        self.flush()
        data = self.kept.getvalue()
        if not data:
            return ""
        self.kept.seek(0)
        self.kept.truncate()
        if len(data) > OUTPUT_CHARACTERS_MAX:
            self.real.buffer.write(data)
            self.real.flush()
            data = data[:OUTPUT_CHARACTERS_MAX]
        return data.decode("utf-8", "replace")


class Server:
    """Keeps every object that was handed out, under a number."""

    def __init__(self) -> None:
        self.incoming = pipe.Incoming(pipe.REQUEST_BYTES_MAX)
        self.objects: list[object] = []
        self.numbers: dict[int, int] = {}
        self.described: set[int] = set()
        self.classes: list[Node] = []
        self.warned: list[Node] = []
        self.asking = threading.RLock()
        self.asked = 0
        self.shelf = Shelf()
        self.held = Held(self.write_opaque)
        self.loop: asyncio.AbstractEventLoop | None = None

    def take_streams(self) -> None:
        """Put our own in place of what the submission would print to, read from and warn with."""
        self.out = sys.stdout = Output(sys.__stdout__)  # type: ignore[arg-type]
        self.err = sys.stderr = Output(sys.__stderr__)  # type: ignore[arg-type]
        sys.stdin = Input(self)
        builtins.input = self.input
        warnings.simplefilter("always")
        warnings.showwarning = self.warn

    def input(self, prompt: object = "") -> str:
        """See `input`."""
        line = self.ask("input", 0, "", (str(prompt),))
        if line is None:
            raise EOFError("EOF when reading a line")
        return str(line)

    def warn(self, message: object, category: type, *_: object, **__: object) -> None:
        """Keep a warning for the test's side."""
        self.warned.append([str(message), known_exception(category)])

    def serve(self) -> None:
        """Until the pipe closes."""
        while True:
            self.answer(self.incoming.receive())

    def answer(self, message: list[object]) -> None:
        """Do what one message asks and say what came of it."""
        number, operation, target, name, arguments, keywords, table, setting, held = message
        self.set_up(setting)
        reader = self.take_over(table, *held)  # type: ignore[misc]
        known = self.held.numbers
        try:
            positional = reader.values(arguments)
            named = {key: reader.value(node) for key, node in keywords.items()}  # type: ignore[attr-defined]
            result = self.perform(str(operation), target, str(name), positional, named)  # type: ignore[arg-type]
            writer = Writer(self.write_opaque, known)
            made = operation == "call" and type(result) is self.objects[target] and is_made(result)  # type: ignore[call-overload]
            node = self.handle(result) if made else writer.node(result)
            succeeded = True
            writer.finish()
        except BaseException as error:
            writer = Writer(self.write_opaque, known)
            node, succeeded = self.write_exception(writer, error, 0), False
        changes = self.held.changes(writer)
        rest = writer.finish()
        files = self.shelf.changes() if self.shelf.files or self.shelf.folders else None
        classes, self.classes = self.classes, []
        warned, self.warned = self.warned, []
        out, err = self.drain()
        pipe.send([number, "answer", succeeded, node, rest, changes, out, err, classes, files, warned])

    def take_over(self, table: Node, first: int, dropped: list[int], changes: Node) -> Reader:
        """Make what is held as the test's side holds it, and hold what it hands over now."""
        self.held.drop(dropped)
        reader = Reader(table, self.read_opaque, self.held.containers)
        self.held.apply(reader, changes)
        self.held.hold(first, reader.containers)
        if self.held.containers:
            self.held.agree()
        return reader

    def drain(self) -> tuple[str, str]:
        """What was printed since last time, by the streams that are ours."""
        return self.out.drain(), self.err.drain()

    def set_up(self, setting: object) -> None:
        """Files, folder and environment of the test, where they are not what they were."""
        if setting is None:
            return
        files, shared, folder, environment = setting  # type: ignore[misc]
        self.shelf.folders, self.shelf.files = set(shared[0]), set(shared[1])
        self.shelf.apply(files, anywhere=True)
        if environment is not None:
            os.environ.clear()
            os.environ.update(environment)
        os.chdir(folder if folder is not None else WORK)

    def perform(
        self, operation: str, target: int, name: str, arguments: list[object], keywords: dict[str, object]
    ) -> object:
        """One operation on one object."""
        if operation == "load":
            return self.load(name)
        if operation == "fresh":
            return forget_submission()
        thing = self.objects[target]
        match operation:
            case "call":
                return thing(*arguments, **keywords)  # type: ignore[operator]
            case "method":
                return getattr(thing, name)(*arguments, **keywords)
            case "get":
                return getattr(thing, name)
            case "set":
                return setattr(thing, name, arguments[0])
            case "del":
                return delattr(thing, name)
            case "operate":
                unary = UNARY.get(name)
                if unary is not None:
                    return unary(thing, *arguments)
                return getattr(type(thing), name)(thing, *arguments)
            case "plain":
                base = plain_base(thing)
                return plain_view(thing, base) if base else list(thing)  # type: ignore[call-overload]
            case "names":
                return [each for each in dir(thing) if not each.startswith("_") and not is_foreign_module(thing, each)]
            case "member":
                return getattr(thing[name], str(arguments[0]))  # type: ignore[index]
            case "await":
                return self.run_awaitable(thing)
            case "signature":
                return describe_signature(thing)
        raise Malformed(f"an unknown operation {operation!r}")

    def load(self, name: str) -> object:
        """Import a module of the submission."""
        module = importlib.import_module(name)
        return (self.number(module), hasattr(module, "__path__"))

    def run_awaitable(self, awaitable: object) -> object:
        """To its end, on a loop of our own."""
        if self.loop is None:
            self.loop = asyncio.new_event_loop()
            asyncio.set_event_loop(self.loop)

        async def wait() -> object:
            return await awaitable  # type: ignore[misc]

        return self.loop.run_until_complete(wait())

    def ask(
        self,
        operation: str,
        target: int,
        name: str = "",
        arguments: Sequence[object] = (),
        keywords: dict[str, object] | None = None,
    ) -> object:
        """Have the test's side do something. Raises what it raised."""
        with self.asking:
            writer = Writer(self.write_opaque)
            nodes = [writer.node(argument) for argument in arguments]
            named = {key: writer.node(value) for key, value in (keywords or {}).items()}
            table = writer.finish()
            classes, self.classes = self.classes, []
            self.asked += 1
            number = self.asked
            out, err = self.drain()
            pipe.send([number, "ask", operation, target, name, nodes, named, table, out, err, classes])
            while True:
                message = self.incoming.receive()
                if len(message) == 5 and message[1] == "reply":
                    break
                self.answer(message)
            _, _, succeeded, node, rest = message
            value = Reader(rest, self.read_opaque).value(node)
        if not succeeded:
            raise value  # type: ignore[misc]
        return value

    def number(self, value: object) -> int:
        """The number of an object that is handed out."""
        number = self.numbers.get(id(value))
        if number is None:
            number = self.numbers[id(value)] = len(self.objects)
            self.objects.append(value)
        return number

    def handle(self, value: object) -> Node:
        """An object that stays here."""
        return ["h", self.number(value), self.describe(type(value))]

    def describe(self, kind: type) -> int:
        """The number of a class, told about before it is mentioned for the first time."""
        number = self.number(kind)
        if number in self.described:
            return number
        self.described.add(number)
        bases = [self.describe(base) for base in kind.__bases__ if base is not object and not is_known(base)]
        nearest = next((known_exception(base) for base in kind.__mro__ if known_exception(base)), None)
        fields = [each.name for each in dataclasses.fields(kind)] if dataclasses.is_dataclass(kind) else None
        operations = [name for name in FORWARDED if has_operation(kind, name)]
        methods = [name for name in dir(kind) if not name.startswith("__") and is_method(kind, name)]
        plain = next((base.__name__ for base in PLAIN_VIEWS if issubclass(kind, base)), None)
        special = next((name for base, name in SPECIAL.items() if issubclass(kind, base)), None)
        self.classes.append(
            [number, str(kind.__name__), bases, nearest, operations, methods, fields, plain, special, _doc(kind)]
        )
        return number

    def write_opaque(self, writer: Writer, value: object, depth: int) -> Node:
        """What is no plain data."""
        if type(value) is Theirs:
            return ["o", vars(value)["_number"]]
        if isinstance(value, BaseException):
            return self.write_exception(writer, value, depth)
        if isinstance(value, type):
            known = known_exception(value)
            return ["K", *known] if known else ["c", self.describe(value)]
        if isinstance(value, enum.Enum) and isinstance(value.name, str):
            mixin = next((kind for kind in (int, str) if isinstance(value, kind)), None)
            plain = writer.node(plain_view(value, mixin) if mixin else value.value, depth + 1)
            return ["e", self.describe(type(value)), value.name, plain, mixin.__name__ if mixin else ""]
        base = plain_base(value)
        if base in (str, int, float, bytes, tuple, frozenset):
            return writer.node(plain_view(value, base), depth + 1)  # type: ignore[arg-type]
        return self.handle(value)

    def write_exception(self, writer: Writer, error: BaseException, depth: int) -> Node:
        """An exception with what can be told of it."""
        their = vars(error).get("_theirs_number")
        if their is not None:
            return ["o", their]
        kind = type(error)
        known = known_exception(kind)
        cause = error.__cause__ if depth < CAUSES_MAX else None
        grouped = error.exceptions if isinstance(error, BaseExceptionGroup) else ()
        return [
            "X",
            ["K", *known] if known else ["c", self.describe(kind)],
            self.telling(writer, error.args, depth),
            _text(error),
            [[str(name), self.telling(writer, value, depth)] for name, value in vars(error).items()],
            self.write_exception(writer, cause, depth + 1) if cause is not None else None,
            self.number(error),
            [self.write_exception(writer, each, depth + 1) for each in grouped],
        ]

    def telling(self, writer: Writer, value: object, depth: int) -> Node:
        """A part of an exception; what cannot be told is left out."""
        try:
            return writer.node(value, depth + 1)
        except Malformed:
            return None

    def read_opaque(self, reader: Reader, node: Sequence[Node]) -> object:
        """What the test's side hands in besides plain data."""
        tag = node[0]
        if tag == "h":
            return self.objects[node[1]]  # type: ignore[call-overload]
        if tag == "m":
            return getattr(self.objects[node[1]], node[2])  # type: ignore[call-overload, call-overload]
        if tag == "o":
            return Theirs(self, *node[1:4])  # type: ignore[arg-type]
        if tag == "e":
            return self.objects[node[1]][node[2]]  # type: ignore[call-overload]
        if tag == "K":
            return exception_named(node[1], node[2])
        if tag == "X":
            kind = exception_named(*node[1])  # type: ignore[misc]
            error = kind.__new__(kind)
            error.args = reader.value(node[2])  # type: ignore[assignment]
            if node[3] is not None:
                vars(error)["_theirs_number"] = node[3]
            return error
        raise Malformed(f"an unknown tag {tag!r}")


class Input(io.TextIOBase):
    """What stands in for stdin: the test's, if it put one there."""

    def __init__(self, server: Server) -> None:
        self._server = server

    def readable(self) -> bool:
        """It is."""
        return True

    def readline(self, *_: object) -> str:  # type: ignore[override]
        """See `io.TextIOBase`."""
        return str(self._server.ask("readline", 0))

    def read(self, *_: object) -> str:  # type: ignore[override]
        """See `io.TextIOBase`."""
        return str(self._server.ask("read", 0))

    def __next__(self) -> str:
        line = self.readline()
        if not line:
            raise StopIteration
        return line


PLAIN_VIEWS: Final = (list, dict, set, frozenset, str, int, float, bytes, tuple, type({}.keys()), type({}.items()))
SPECIAL: Final[dict[type, str]] = {
    types.GeneratorType: "generator",
    types.CoroutineType: "coroutine",
    types.FunctionType: "function",
    enum.Enum: "enum",
}


def forget_submission() -> None:
    """Take every module of the submission out of the import system: the next import runs it anew."""
    for name, module in list(sys.modules.items()):
        place = getattr(module, "__file__", None)
        if isinstance(place, str) and place.startswith(WORK + "/"):
            del sys.modules[name]
    importlib.invalidate_caches()


def is_foreign_module(thing: object, name: str) -> bool:
    """True for a module of the standard library that a module of the submission imported."""
    module = getattr(thing, name, None)
    return isinstance(module, types.ModuleType) and not str(getattr(module, "__file__", "")).startswith(WORK + "/")


def is_known(kind: type) -> bool:
    """True for a class that both sides have, and for one that says nothing to a test."""
    return kind.__module__ == "builtins" or known_exception(kind) is not None


def is_made(value: object) -> bool:
    """True for what a test makes from a class in order to use it, and not for its value: it stays here, whole."""
    kind = type(value)
    if isinstance(value, enum.Enum | BaseException) or kind.__module__ == "builtins":
        return False
    named = isinstance(value, tuple) and hasattr(kind, "_fields")
    return not named or any(is_method(kind, name) for name in vars(kind) if not name.startswith("_"))


def has_operation(kind: type, name: str) -> bool:
    """True if the class itself offers it; what every object has does not count."""
    return any(vars(base).get(name) is not None for base in kind.__mro__ if base is not object)


def is_method(kind: type, name: str) -> bool:
    """True for a function in a class, which an instance calls as its method."""
    return isinstance(inspect.getattr_static(kind, name, None), types.FunctionType)


def describe_signature(thing: object) -> list[object]:
    """Name, kind, has a default, default, of each parameter."""
    parameters = inspect.signature(thing).parameters.values()  # type: ignore[arg-type]
    return [
        [
            each.name,
            int(each.kind),
            each.default is not each.empty,
            None if each.default is each.empty else each.default,
        ]
        for each in parameters
    ]


def _doc(kind: type) -> str | None:
    doc = vars(kind).get("__doc__")
    return doc if type(doc) is str else None


def _text(error: BaseException) -> str:
    try:
        return str.__add__(str(error), "")
    except BaseException:  # its class is the submission's
        return ""
