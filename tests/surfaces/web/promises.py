"""What an OpenAPI document promises, in little, and which of these promises a later one takes back.

`PYTHONPATH=tests python -m surfaces.web.promises openapi.json > tests/surfaces/web/promised.json` makes new ones.
"""

import json
import sys
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

Schema = Mapping[str, Any]
Resolve = Callable[[Schema], Schema]
WORDS = {"title", "description"}
BOUNDS = {"maximum": min, "maxLength": min, "maxItems": min, "minimum": max, "minLength": max, "minItems": max}


def promised(told: Schema) -> dict[str, Any]:
    """By operation: its parameters, its body and its answers, without words, problems and headers."""
    found: dict[str, Any] = {"operations": {}, "schemas": {}}
    for path, item in told["paths"].items():
        for method, operation in item.items():
            found["operations"][f"{method.upper()} {path}"] = {
                "parameters": {
                    f"{one['in']} {one['name']}": {"required": one["required"], "schema": _plain(one["schema"])}
                    for one in operation.get("parameters", ())
                },
                "body": _schema(operation.get("requestBody", {})),
                "answers": {
                    status: _schema(answer)
                    for status, answer in operation["responses"].items()
                    if status < "3" and _schema(answer)
                },
            }
    found["schemas"] = {name: _plain(one) for name, one in told["components"]["schemas"].items() if name != "Problem"}
    return found


def taken_back(old: Schema, new: Schema) -> Iterator[str]:
    """Where `new` takes less than `old` did, or answers what `old` did not say. Both are as `promised` gives them."""
    bodies = _Fitting(_resolver(old), _resolver(new))
    answers = _Fitting(_resolver(new), _resolver(old), is_answer=True)
    for name, operation in old["operations"].items():
        now = new["operations"].get(name)
        if now is None:
            yield f"{name} is gone"
            continue
        before, after = operation["parameters"], now["parameters"]
        yield from (f"{name}: {parameter} is gone" for parameter in before if parameter not in after)
        for parameter, form in after.items():
            if form["required"] and not before.get(parameter, {}).get("required"):
                yield f"{name}: {parameter} is required now"
            if parameter in before:
                yield from bodies.faults(before[parameter]["schema"], form["schema"], f"{name} {parameter}")
        if operation["body"] is not None:
            yield from bodies.faults(operation["body"], now["body"] or {"type": "none"}, f"{name} body")
        for status, form in operation["answers"].items():
            yield from answers.faults(now["answers"].get(status, {}), form, f"{name} {status}")


@dataclass(frozen=True)
class _Fitting:
    """Whether all `given` fits what is `taken`. Members may be added to answers, and to bodies optional ones."""

    of_given: Resolve
    of_taken: Resolve
    is_answer: bool = False

    def faults(self, given: Schema, taken: Schema, at: str) -> Iterator[str]:
        """What does not fit, and where."""
        given, taken = self.of_given(given), self.of_taken(taken)
        if not taken:
            return
        if "anyOf" in given or "anyOf" in taken:
            choices = taken.get("anyOf", [taken])
            for one in given.get("anyOf", [given]):
                if all(any(self.faults(one, choice, at)) for choice in choices):
                    yield f"{at}: {self.of_given(one).get('type', 'anything')} is none of what was said"
        elif given.get("type") != taken.get("type"):
            yield f"{at}: {given.get('type')} where {taken.get('type')} was said"
        else:
            yield from self._narrower(given, taken, at)
            yield from self._within(given, taken, at)

    def _narrower(self, given: Schema, taken: Schema, at: str) -> Iterator[str]:
        words = given.get("enum")
        if "enum" in taken and not set(words or [None]) <= set(taken["enum"]):
            yield f"{at}: words beyond {taken['enum']}"
        for bound, tighter in BOUNDS.items():
            known = given.get(bound, tighter(words) if words and bound in {"maximum", "minimum"} else None)
            if bound in taken and (known is None or tighter(known, taken[bound]) != known):
                yield f"{at}: {bound} is {known}, not {taken[bound]}"
        if "pattern" in taken and given.get("pattern") != taken["pattern"]:
            yield f"{at}: another pattern"

    def _within(self, given: Schema, taken: Schema, at: str) -> Iterator[str]:
        if "items" in taken:
            yield from self.faults(given.get("items", {}), taken["items"], f"{at}[]")
        members, known = given.get("properties", {}), taken.get("properties", {})
        for name in sorted({*taken.get("required", ())} - {*given.get("required", ())}):
            yield f"{at}.{name} is {'no longer sure' if self.is_answer else 'required now'}"
        if known and not self.is_answer:
            yield from (f"{at}.{name} is not taken any more" for name in sorted({*members} - {*known}))
        for name in sorted({*members} & {*known}):
            yield from self.faults(members[name], known[name], f"{at}.{name}")


def _resolver(promises: Schema) -> Resolve:
    def resolve(schema: Schema) -> Schema:
        while "$ref" in schema:
            schema = promises["schemas"][schema["$ref"].rpartition("/")[2]]
        return {**schema, "enum": [schema["const"]]} if "const" in schema else schema

    return resolve


def _schema(holder: Schema) -> Any:
    return next((_plain(one["schema"]) for one in holder.get("content", {}).values() if "schema" in one), None)


def _plain(value: Any) -> Any:
    """Without what is said for people."""
    if isinstance(value, Mapping):
        return {name: _plain(one) for name, one in value.items() if name not in WORDS or not isinstance(one, str)}
    return [_plain(one) for one in value] if isinstance(value, list) else value


def lines_of(promises: Schema) -> str:
    """As JSON, an operation or a schema a line."""
    parts = (
        f"{json.dumps(part)}: {{\n"
        + ",\n".join(f"{json.dumps(name)}: {json.dumps(form)}" for name, form in sorted(found.items()))
        + "\n}"
        for part, found in promises.items()
    )
    return "{\n" + ",\n".join(parts) + "\n}\n"


if __name__ == "__main__":
    sys.stdout.write(lines_of(promised(json.loads(Path(sys.argv[1]).read_text(encoding="utf-8")))))
