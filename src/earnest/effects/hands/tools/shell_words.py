"""The words and operators of a shell command line, and the command lines inside it."""

import re
from dataclasses import dataclass
from typing import Final, NamedTuple, TypeAlias


class Unbalanced(ValueError):
    """A quote or a parenthesis has no end."""


class Word(NamedTuple):
    """A word with its quotes removed. `known` is False if a part of it is only known when it runs."""

    text: str
    known: bool


Token: TypeAlias = Word | str
"""A word, or an operator such as `&&` or a new line. Redirections and their words are left out."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Line:
    """A command line in pieces. `substitutions` are the command lines in `$(…)`, backquotes and `<(…)`."""

    tokens: list[Token]
    substitutions: list[str]


_BLANK: Final = re.compile(r"(?:[ \t\r]|\\\n)+")
_COMMENT: Final = re.compile(r"#[^\n]*")
_OPERATOR: Final = re.compile(r"&&|\|\||;;&|;;|;&|\|&|[;&|()\n]")
_REDIRECTION: Final = re.compile(r"(?:\d*|&)(<<<|<<-?|>>|<&|>&|<>|>\||[<>])")
_ARITHMETIC: Final = re.compile(r"\(\([^\n;()]*\)\)")
_PLAIN: Final = re.compile(r"[^ \t\r\n;&|()<>'\"\\$`]+")
_PLAIN_QUOTED: Final = re.compile(r"[^\"\\$`]+")
_VARIABLE: Final = re.compile(r"\$(?:\w+|[@*#?$!-])?")
_SPECIAL: Final = re.compile(r"\\.|['\"`(){}]|\$[({]", re.DOTALL)


def scan(command: str) -> Line:
    """Take a command line apart, in time proportional to its length. Raises `Unbalanced`."""
    scanner = _Scanner(command)
    scanner.run()
    return Line(tokens=scanner.tokens, substitutions=scanner.substitutions)


class _Scanner:
    def __init__(self, command: str) -> None:
        self.tokens: list[Token] = []
        self.substitutions: list[str] = []
        self._command = command
        self._at = 0
        self._documents: list[str] = []
        """Delimiters of here-documents whose text begins after the next new line."""

    def run(self) -> None:
        while self._at < len(self._command):
            if self._take(_BLANK) or self._take(_COMMENT) or self._take(_ARITHMETIC):
                continue
            if redirection := self._take(_REDIRECTION):
                self._redirect(redirection)
            elif operator := self._take(_OPERATOR):
                self.tokens.append(operator)
                if operator == "\n":
                    self._skip_documents()
            else:
                self.tokens.append(self._word())

    def _take(self, pattern: re.Pattern[str]) -> str:
        found = pattern.match(self._command, self._at)
        if found is None:
            return ""
        self._at = found.end()
        return found[0]

    def _redirect(self, operator: str) -> None:
        if operator in {"<", ">"} and self._command.startswith("(", self._at):
            self._substitute(self._at + 1)
            return
        self._take(_BLANK)
        word = self._word()
        if operator.endswith(("<<", "<<-")):
            self._documents.append(word.text)

    def _skip_documents(self) -> None:
        for delimiter in self._documents:
            end = re.compile(rf"^\t*{re.escape(delimiter)}$", re.MULTILINE).search(self._command, self._at)
            self._at = min(end.end() + 1, len(self._command)) if end else len(self._command)
        self._documents.clear()

    def _word(self) -> Word:
        text: list[str] = []
        known, quoted = True, False
        while self._at < len(self._command):
            character = self._command[self._at]
            if plain := self._take(_PLAIN_QUOTED if quoted else _PLAIN):
                text.append(plain)
            elif character == '"':
                quoted = not quoted
                self._at += 1
            elif character == "\\":
                text.append(self._command[self._at + 1 : self._at + 2].replace("\n", ""))
                self._at += 2
            elif character in "$`":
                known = False
                self._expand()
            elif character == "'" and not quoted:
                text.append(self._until("'"))
            else:
                break
        if quoted:
            raise Unbalanced
        return Word("".join(text), known)

    def _until(self, quote: str) -> str:
        """What stands between here and the next such character, which is passed."""
        start = self._at + 1
        end = self._command.find(quote, start)
        if end < 0:
            raise Unbalanced
        self._at = end + 1
        return self._command[start:end]

    def _expand(self) -> None:
        if self._command.startswith("`", self._at):
            self.substitutions.append(self._until("`"))
        elif self._command.startswith("$(", self._at):
            self._substitute(self._at + 2)
        elif self._command.startswith("${", self._at):
            self._at = self._closing(self._at + 2, "}")
        else:
            self._take(_VARIABLE)

    def _substitute(self, start: int) -> None:
        end = self._closing(start, ")")
        inner = self._command[start : end - 1]
        if not (inner.startswith("(") and inner.endswith(")")):  # arithmetic
            self.substitutions.append(inner)
        self._at = end

    def _closing(self, start: int, mark: str) -> int:
        """The position after the `mark` that closes what was opened before `start`; without recursion."""
        open_marks, at = [mark], start
        while open_marks:
            found = _SPECIAL.search(self._command, at)
            if found is None:
                raise Unbalanced
            at = found.end()
            piece, inside = found[0], open_marks[-1]
            if piece == inside:
                open_marks.pop()
            elif piece in {"$(", "${"}:
                open_marks.append(")" if piece == "$(" else "}")
            elif piece == '"':
                open_marks.append(piece)
            elif inside != '"' and piece == "(":
                open_marks.append(")")
            elif inside != '"' and piece == "'":
                at = self._command.find("'", at) + 1
                if at == 0:
                    raise Unbalanced
        return at
