"""The work of the day: 32 jobs of eight families, written down as a proposer's backlog. Every kind of check that decides in the market is there."""

import itertools
import json
import pathlib

TIMES = 4
FUNCTION = '''import unittest

from solution import scaled


class Scaled(unittest.TestCase):
    def test_numbers(self):
        self.assertEqual([scaled(n) for n in (0, 1, 7)], [0, {k}, {seven}])

    def test_large(self):
        self.assertEqual(scaled(10**30), {k} * 10**30)

    def test_negative(self):
        with self.assertRaises(ValueError):
            scaled(-1)
'''


def criteria(*checks):
    return [{"id": f"C{number}", "text": text, "check": check} for number, (text, check) in enumerate(checks, 1)]


def json_schema(n):
    numbers = [17 * n, 4 + n, 21]
    schema = {"type": "object", "required": ["sum"], "additionalProperties": False, "properties": {"sum": {"const": sum(numbers)}}}
    text = f"Add up {numbers[0]}, {numbers[1]} and {numbers[2]}. Write answer.json with one member, sum."
    return "Sum", text, ["answer.json"], criteria(("answer.json holds the sum", {"kind": "json_schema", "path": "answer.json", "schema": schema})), {}


def json_list(n):
    words = ["rain", "wind", "snow", "sun"]
    sentence = f"On day {n} there was {words[n - 1]} at noon. At night it was {10 + n} degrees."
    text = f"Write text.md with this line: {sentence} Write sources.json: a list of two objects with file (text.md) and quote, one of each sentence."
    check = {"kind": "json_list", "path": "sources.json", "items_min": 2, "items_max": 2, "keys": {"file": "text", "quote": {"type": "text", "min": 10}}, "unique": ["quote"], "citation": {"source": "file", "quote": "quote"}}
    form = {"kind": "files", "required": [{"path": "text.md", "regex": rf"\AOn day {n} there was \w+ at noon\. At night it was {10 + n} degrees\.\n?\z"}]}
    return "Quotes", text, ["text.md", "sources.json"], criteria(("both sentences are quoted", check), ("text.md has the line", form)), {}


def files(n):
    text = f"Write NOTES.md with the headings Summary and Total. Below Total stands how many seconds {n} hours have, in a line of its own."
    check = {"kind": "files", "required": [{"path": "NOTES.md", "headings": ["Summary", "Total"], "regex": rf"(?m)^{n * 3600}$"}]}
    return "Seconds", text, ["NOTES.md"], criteria(("the headings and the number are there", check)), {}


def md_table(n):
    text = f"Write REPORT.md with a heading Powers and a table of the columns Exponent and Value: the powers of {n + 1} from 1 to 4."
    check = {"kind": "md_table", "path": "REPORT.md", "heading": "Powers", "rows_min": 4, "rows_max": 4, "unique": ["Exponent"], "columns": [{"name": "Exponent", "type": "integer", "min": 1, "max": 4}, {"name": "Value", "type": "integer", "min": n + 1, "max": (n + 1) ** 4}]}
    last = {"kind": "files", "required": [{"path": "REPORT.md", "regex": rf"\| *4 *\| *{(n + 1) ** 4} *\|"}]}
    return "Powers", text, ["REPORT.md"], criteria(("the table is whole", check), ("the fourth power is right", last)), {}


def stdout(n):
    text = f"Write main.py: called with a number, it prints that number plus {n}, and nothing else."
    cases = [{"args": [str(one)], "expected": str(one + n)} for one in (0, 5, 999)]
    check = {"kind": "stdout", "program": ["python3", "main.py"], "trim_final_newline": True, "cases": cases}
    return "Plus", text, ["main.py"], criteria(("it adds", check)), {}


def unit_tests(n):
    k = n + 2
    text = f"Write solution.py with a function scaled(n): n times {k} for whole numbers; below 0 it raises ValueError."
    check = {"kind": "unit_tests", "module": "solution", "tests": ["hidden/test_scaled.py"], "min_tests": 3}
    return "Scaled", text, ["solution.py"], criteria(("the hidden tests pass", check)), {"hidden/test_scaled.py": FUNCTION.format(k=k, seven=7 * k)}


def checklist(n):
    text = f"Write total.txt with one line: total: and the sum of the numbers from 1 to {10 * n}. Write REPORT.md with a section Evidence that answers A1 in words of its own and quotes total.txt. Evidence required."
    told = {"kind": "checklist", "path": "REPORT.md", "criteria": {"A1": "total.txt holds the sum"}}
    total = {"kind": "files", "required": [{"path": "total.txt", "regex": rf"\Atotal: {sum(range(10 * n + 1))}\n?\z"}]}
    return "Report", text, ["total.txt", "REPORT.md"], criteria(("the report answers for it", told), ("the sum is right", total)), {}


def command(n):
    text = f"Write main.py that prints the word day {n} times, with a blank between them, and nothing else."
    check = {"kind": "stdout", "program": ["python3", "main.py"], "trim_final_newline": True, "cases": [{"expected": " ".join(["day"] * n)}]}
    short = {"kind": "command", "command": ["grep", "-qx", "print(.*)", "main.py"]}
    return "Days", text, ["main.py"], criteria(("it prints that", check), ("it is one call of print", short)), {}


FAMILIES = [json_schema, json_list, files, md_table, stdout, unit_tests, checklist, command]


def write(folder):
    """The proposer's folder: a specification for each job, and agent.toml with the backlog."""
    lines = ['role = "proposer"', "every_s = 1", "model = false", ""]
    for n, family in itertools.product(range(1, TIMES + 1), FAMILIES):
        title, text, hand_in, found, files = family(n)
        place = pathlib.Path(folder, "backlog", f"{title.lower()}-{n}")
        for name, content in files.items():
            (place / name).parent.mkdir(parents=True, exist_ok=True)
            (place / name).write_text(content)
        place.mkdir(parents=True, exist_ok=True)
        spec = {"format": "earnest-spec-v1", "title": f"{title} {n}", "text": text, "criteria": found}
        if family is command:  # a stranger's work can fake how a command ends: the proposer decides
            spec["acceptance"] = "proposer"
        (place / "spec.yaml").write_text(json.dumps(spec, indent=2))  # JSON is YAML
        category = "software" if any(name.endswith(".py") for name in hand_in) else "data"
        lines += ["[[backlog]]", f'path = "backlog/{place.name}/spec.yaml"', f'category = "{category}"', 'amount = "2.00"', f"hand_in = {json.dumps(hand_in)}", ""]
    pathlib.Path(folder, "agent.toml").write_text("\n".join(lines))
    return TIMES * len(FAMILIES)
