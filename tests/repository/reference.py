"""Pages of docs/ that are made from the code: commands, and tables of settings. `make docs` writes them.

A page is a frame that people write, with parts between `<!-- made: NAME -->` and `<!-- made: end -->` that the code
fills. What a part says is changed where the code is: in the help of a command, in the text under a setting.
"""

import ast
import dataclasses
import inspect
import re
import sys
import textwrap
from collections.abc import Callable, Iterator, Mapping
from typing import Any, Final

import click

from app.bounds import bounds_of
from earnest.app.judging_settings import PlainSettings
from earnest.app.settings import CONSTANTS, Settings
from earnest.engine.gradient.constants import BOUNDS as SOLVER_LIMITS
from earnest.engine.gradient.constants import Constants, SolverSignal
from earnest.market.terms import CURRENCIES, CurrencyTerms, Terms
from earnest.surfaces.cli.commands import program
from earnest.surfaces.cli.helping import commands_in

from .source import DOCS

BOUNDS: Final[Mapping[type, Mapping[str, tuple[Any, Any]]]] = {
    Settings: bounds_of(PlainSettings),
    CurrencyTerms: bounds_of(CurrencyTerms) | {"can_pay_out": (False, True)},
    Constants: {name: (low, high) for name, low, high in SOLVER_LIMITS},
}
"""The least and greatest value of each number that can be set, by its class."""
END: Final = "<!-- made: end -->"
USUAL: Final = {
    ("--as", "The agent in whose name, by its credentials here."),
    ("--json", "Print JSON."),
    ("--json", "Print one JSON object."),
    ("--json", "Print one JSON object a line."),
    ("--home", "The data directory."),
    ("--file", "The file; HEARTBEAT.md of this folder."),
    ("[FILE]", "The file; HEARTBEAT.md of this folder."),
    ("JOB", "The id of a job."),
    ("[RUN]", "A run's id, or its beginning. Default: the newest run."),
    ("RUN", "A run's id, or its beginning."),
}
"""Options and arguments that the head of the page explains, once for all commands."""
PART: Final = re.compile(rf"^<!-- made: ([a-z-]+) -->\n.*?^{END}$", re.MULTILINE | re.DOTALL)


def commands() -> str:
    """Every command: what it does, arguments, options. `earnest help` adds exit codes, notes and examples."""
    return "\n".join(_commands(program.make_context("earnest", [], resilient_parsing=True)))


def _commands(context: click.Context) -> Iterator[str]:
    group = context.command if isinstance(context.command, click.Group) else None
    if group is None or (group.invoke_without_command and group is not program):
        yield from _section(context)
    for _, inner in sorted(commands_in(context)):
        yield from _commands(inner)


def _section(context: click.Context) -> Iterator[str]:
    yield from (f"## `{context.command_path}`", "")
    yield from (inspect.cleandoc(context.command.help or "").partition("\n\n")[0], "")
    own: dict[str, list[str]] = {}
    for one in context.command.params:
        what, about = _told(context, one)
        if (what.partition(" ")[0], about) not in USUAL:
            own.setdefault(about.replace("  ", " ").removesuffix(" [required]"), []).append(what)
    yield from (f"* {', '.join(f'`{one}`' for one in names)}: {about}" for about, names in own.items())
    if own:
        yield ""


def _told(context: click.Context, one: click.Parameter) -> tuple[str, str]:
    """How a parameter is written and what it does, without the name of its type, which says less than its text."""
    what, about = one.get_help_record(context) or ("", "")
    is_typed = isinstance(one, click.Option) and not one.is_flag and one.metavar is None
    return what.rpartition(" ")[0] if is_typed and not isinstance(one.type, click.Choice) else what, about


def texts(kind: type) -> Mapping[str, str]:
    """The text under each field of a class, on one line."""
    (node,) = ast.parse(textwrap.dedent(inspect.getsource(kind))).body
    assert isinstance(node, ast.ClassDef)
    found: dict[str, str] = {}
    for field, text in zip(node.body, node.body[1:], strict=False):
        match field, text:
            case ast.AnnAssign(target=ast.Name(id=name)), ast.Expr(value=ast.Constant(value=str() as said)):
                found[name] = " ".join(said.split()).removesuffix(".")
    return found


def _row(name: str, kind: type, *defaults: Any, called: str = "") -> str:
    low, high = BOUNDS[kind][name]
    within = "true, false" if high is True else f"{low} to {high}"
    shown = " | ".join(str(one).lower() if isinstance(one, bool) else str(one) for one in defaults)
    about = next(texts(one)[name] for one in kind.__mro__ if name in texts(one))
    return f"| `{called or name}` | {about} | {within} | {shown} |"


def run_settings() -> str:
    """The numbers at the head of settings.toml."""
    usual = {one.name: one.default for one in dataclasses.fields(Settings)}
    rows = [_row(name, Settings, usual[name]) for name in BOUNDS[Settings]]
    return "\n".join(["| setting | | range | default |", "|---|---|---|---|", *rows])


def solver_settings() -> str:
    """The solver's constants that can be set."""
    usual = Constants()
    rows = [
        _row(field, Constants, getattr(usual, field), called=name)
        for name, field in CONSTANTS.items()
        if field in BOUNDS[Constants]
    ]
    signals = ", ".join(f"`{one}`" for one in SolverSignal)
    rows.append(f"| `signal` | {texts(Constants)['signal']} | {signals} | `{usual.signal}` |")
    return "\n".join(["| constant | | range | default |", "|---|---|---|---|", *rows])


def currency_settings() -> str:
    """The tables `[market.currencies.CODE]`."""
    terms = Terms().currencies
    rows = [
        _row(name, CurrencyTerms, *(getattr(terms[code], name) for code in CURRENCIES))
        for name in BOUNDS[CurrencyTerms]
    ]
    head = " | ".join(f"default for `{code}`" for code in CURRENCIES)
    return "\n".join([f"| number | | range | {head} |", "|---|---|---|" + "---|" * len(CURRENCIES), *rows])


PARTS: Final[Mapping[str, Callable[[], str]]] = {
    "commands": commands,
    "run-settings": run_settings,
    "solver-settings": solver_settings,
    "currency-settings": currency_settings,
}
PAGES: Final = ("cli.md", "settings.md")


def made(page: str) -> str:
    """A page of docs/ as the code says that it is now."""
    text = (DOCS / page).read_text(encoding="utf-8")
    return PART.sub(lambda part: f"<!-- made: {part[1]} -->\n{PARTS[part[1]]()}\n{END}", text)


if __name__ == "__main__":
    for name in PAGES:
        (DOCS / name).write_text(made(name), encoding="utf-8")
    sys.stdout.write(f"{', '.join(PAGES)} say what the code says\n")
