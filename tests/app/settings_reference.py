"""`deploy/settings.reference.toml`, made of the classes that settings are read into; run as a script, it is written."""

import ast
import inspect
import json
import textwrap
from collections.abc import Iterator, Mapping
from dataclasses import MISSING, Field, fields
from enum import Enum
from itertools import pairwise
from pathlib import Path
from typing import Any

from earnest.app.judging_settings import JudgeSettings, PlainSettings
from earnest.app.mail_settings import ENVIRONMENT as MAIL_VARIABLES
from earnest.app.mail_settings import MailSettings
from earnest.app.server_settings import ServerSettings
from earnest.app.settings import Settings, WebSettings
from earnest.market.terms import Terms

from .bounds import bounds_of

PAGE = Path(__file__).parents[2] / "deploy" / "settings.reference.toml"
HEAD = """\
# Every setting of a platform with its default: a settings.toml to begin with. docs/settings.md says more, and has the
# tables [memory], [models], [solver], [probes.NAME], [environment] and [market.currencies]. The environment wins.
"""
UNSET = '"…"'
UNSET_BY_0 = {"port"}
NOT_IN_THE_FILE = {"home", "practice", "currencies", "environment", "mcp_servers", "memory_store"}
Range = tuple[int, int]
TABLES: Mapping[str, tuple[type[Any], Mapping[str, str]]] = {
    "": (Settings, {one.name: f"EARNEST_{one.name.upper()}" for one in fields(PlainSettings)}),
    "server": (ServerSettings, {}),
    "mail": (MailSettings, MAIL_VARIABLES),
    "web": (WebSettings, {"api_key": "EARNEST_SEARCH_API_KEY"}),
    "judge": (JudgeSettings, {one.name: f"VERIFY_LLM_{one.name.upper()}" for one in fields(JudgeSettings)}),
    "market": (Terms, {}),
}


def reference() -> str:
    """The whole page."""
    return HEAD + "".join(f"\n{text}" for text in _tables())


def _tables() -> Iterator[str]:
    for name, (of, variables) in TABLES.items():
        said, ranges = _said(of), bounds_of(of)
        head = [f"[{name}]"] if name else []
        lines = [line for one in fields(of) for line in _lines(one, said, ranges, variables)]
        yield "\n".join((*head, *lines)) + "\n"


def _lines(
    one: Field[Any], said: Mapping[str, str], ranges: Mapping[str, Range], variables: Mapping[str, str]
) -> list[str]:
    if one.name in NOT_IN_THE_FILE or one.default is MISSING:
        return []
    told = [said.get(one.name, "").rstrip(".")]
    if one.name in ranges:
        told.append(f"{ranges[one.name][0]} to {ranges[one.name][1]}")
    if one.name in variables:
        told.append(variables[one.name])
    comment = "; ".join(filter(None, told))
    return [*([f"# {comment}"] if comment else []), f"#{one.name} = {_value(one)}"]


def _value(one: Field[Any]) -> str:
    default: Any = one.default
    if isinstance(default, tuple):
        return json.dumps(list(default))
    plain = default.value if isinstance(default, Enum) else default
    is_unset = plain == "" or (one.name in UNSET_BY_0 and plain == 0)
    return UNSET if is_unset else json.dumps(plain)


def _said(of: type[Any]) -> dict[str, str]:
    """The text below each field, its own and those of the classes above."""
    found: dict[str, str] = {}
    for base in reversed([base for base in of.__mro__ if base is not object]):
        (body,) = [
            node.body
            for node in ast.parse(textwrap.dedent(inspect.getsource(base))).body
            if isinstance(node, ast.ClassDef)
        ]
        for field, text in pairwise(body):
            match field, text:
                case ast.AnnAssign(target=ast.Name(id=name)), ast.Expr(value=ast.Constant(value=str(words))):
                    found[name] = " ".join(words.split())
    return found


if __name__ == "__main__":
    PAGE.write_text(reference(), encoding="utf-8")
