"""Is everything that a user can meet, a code, a fact, a check, a command, a setting, written down, and nothing else?"""

import dataclasses
import re
from collections.abc import Iterator
from importlib import import_module
from typing import get_type_hints

import click
import pytest

from earnest.runtime.recompute import BOOKS
from earnest.surfaces.cli.commands import program
from earnest.surfaces.cli.helping import commands_in

from .source import DOCS, ROOT, argument, calls, expect_none, first_cells, modules, page, project, shown, words

OF_BOOKS = {"src/earnest/effects/ground/storage/rows.py", "src/earnest/runtime/recompute.py"}
"""Where facts of any kind are made: of a book's own kinds, and once more of those that were kept."""


def _literals(call_name: str, keyword: str, position: int | None) -> tuple[set[str], list[str]]:
    """The texts given to every such call in the package, and the places where none can be read off the source."""
    found: set[str] = set()
    unreadable: list[str] = []
    for path in modules("src"):
        for call, function in calls(path, call_name):
            given = argument(call, keyword, position)
            if given is None:
                continue
            texts = words(path, given, function)
            if texts is None:
                unreadable.append(f"{shown(path)}:{call.lineno}")
            else:
                found |= texts
    return found, unreadable


@pytest.mark.parametrize(
    ("call_name", "keyword", "position", "document"),
    [("Refused", "code", 0, "refusals.md"), ("Fact", "kind", None, "facts.md")],
)
def test_codes_and_kinds_in_the_source_are_those_of_their_page(
    call_name: str, keyword: str, position: int | None, document: str
) -> None:
    found, unreadable = _literals(call_name, keyword, position)
    if call_name == "Fact":
        found |= {kind for book in BOOKS for kind in book.projections}
        unreadable = [place for place in unreadable if place.partition(":")[0] not in OF_BOOKS]
    expect_none(unreadable, f"`{keyword}` of {call_name} is neither a literal nor a constant of its file")
    written = first_cells(document)
    assert sorted(written) == sorted(set(written)), f"a row of docs/{document} stands twice"
    expect_none(found - set(written), f"missing in docs/{document}")
    expect_none(set(written) - found, f"only in docs/{document}, not in the source")


def test_a_fact_kind_is_a_room_and_an_event() -> None:
    kinds, _ = _literals("Fact", "kind", None)
    expect_none((kind for kind in kinds if not re.fullmatch(r"[a-z_]+\.[a-z_]+", kind)), "not `room.event`")


def test_every_check_kind_has_a_page_and_every_page_a_kind() -> None:
    kinds = set(project()["project"]["entry-points"]["earnest.checks"])
    expect_none(kinds ^ {path.stem for path in (DOCS / "checks").glob("*.md")}, "a kind or a page in docs/checks only")


def test_every_key_that_a_check_reads_stands_in_its_page() -> None:
    read = {
        (path.stem, key)
        for path in modules("src/earnest/verification/checks")
        for key in re.findall(r'\bentries(?:\.get\(|\[)"(\w+)"', path.read_text(encoding="utf-8"))
    }
    assert len(read) > 40
    unexplained = (f"{kind}: {key}" for kind, key in read if not re.search(rf"`{key}[`:]", page(f"checks/{kind}.md")))
    expect_none(unexplained, "missing in docs/checks")


def _commands(context: click.Context) -> Iterator[tuple[str, set[str]]]:
    """Each command that does something, in full, with its long options; `--help` goes without saying."""
    for _, inner in commands_in(context):
        yield from _commands(inner)
    command = context.command
    if not isinstance(command, click.Group) or (command.invoke_without_command and command is not program):
        given = {word for parameter in command.params for word in (*parameter.opts, *parameter.secondary_opts)}
        yield context.command_path, {word for word in given if word.startswith("--")}


def test_every_command_and_option_stands_in_its_section_of_the_page() -> None:
    commands = dict(_commands(program.make_context("earnest", [], resilient_parsing=True)))
    text = page("cli.md")
    sections = {
        match["name"]: set(re.findall(r"(?<![\w-])--[a-z][a-z-]*", match["text"]))
        for match in re.finditer(r"^## `?(?P<name>earnest[a-z -]*?)`?$(?P<text>.*?)(?=^## |\Z)", text, re.M | re.S)
    }
    expect_none(set(sections) ^ set(commands), "a command or a section of docs/cli.md only")
    shared = set(re.findall(r"`(--[a-z]+)", text.partition("\n## ")[0]))
    for name, options in commands.items():
        expect_none(options - sections[name] - shared, f"options of `{name}` missing in docs/cli.md")


def _settings(kind: type) -> Iterator[str]:
    """The names of a settings class and of the tables within it."""
    hints = get_type_hints(kind)
    for field in dataclasses.fields(kind):
        yield field.name.rstrip("_")  # `lambda` is a word of Python
        if dataclasses.is_dataclass(hints[field.name]):
            yield from _settings(hints[field.name])


def test_every_setting_stands_in_its_page() -> None:
    names = _settings(import_module("earnest.app.settings").Settings)
    text = page("settings.md") + (ROOT / "deploy" / "settings.reference.toml").read_text(encoding="utf-8")
    expect_none(
        (name for name in names if not re.search(rf"\b{name}\b", text)), "missing in docs/settings.md and the reference"
    )


def test_every_environment_variable_of_ours_stands_in_the_page_of_settings() -> None:
    used = {
        name
        for path in modules("src")
        for name in re.findall(r"\b(?:EARNEST|VERIFY_LLM)_[A-Z_]+", path.read_text(encoding="utf-8"))
    }
    text = page("settings.md")
    expect_none((name for name in used if name not in text), "missing in docs/settings.md")


def test_make_targets_are_explained_to_contributors_and_used_by_ci() -> None:
    makefile = (ROOT / "Makefile").read_text(encoding="utf-8")
    targets = set(re.findall(r"^([a-z-]+):.*##", makefile, flags=re.MULTILINE))
    assert set(re.findall(r"^\.PHONY: (.*)$", makefile, flags=re.MULTILINE)[0].split()) == targets
    guide = (ROOT / "CONTRIBUTING.md").read_text(encoding="utf-8")
    expect_none((name for name in targets - {"help"} if f"make {name}" not in guide), "missing in CONTRIBUTING.md")
    steps = re.findall(r"^make ([a-z-]+)$", (ROOT / ".ci" / "run").read_text(encoding="utf-8"), flags=re.MULTILINE)
    assert set(steps) <= targets
    assert steps[-1] == "test", "the summary of the tests closes the output"


def test_a_term_of_the_glossary_has_one_meaning() -> None:
    terms = re.findall(r"\*\*(.+?)\*\*", page("glossary.md"))
    assert len(terms) > 30
    assert sorted(terms) == sorted(set(terms))


def test_decisions_are_numbered_without_gaps_and_say_what_was_weighed() -> None:
    records = sorted((DOCS / "adr").glob("*.md"))
    assert [int(record.name[:4]) for record in records] == list(range(1, len(records) + 1))
    for record in records:
        headings = set(re.findall(r"^## (.+)$", record.read_text(encoding="utf-8"), flags=re.MULTILINE))
        assert {"Context", "Decision", "Consequences"} <= headings, record.name
