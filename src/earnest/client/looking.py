"""The last home a client has seen, so that an unchanged one is not sent again."""

from dataclasses import dataclass, replace
from typing import Final

from earnest.client.ask import Ask, HttpAnswer, as_json, get
from earnest.client.payloads_home import Home

UNCHANGED: Final = 304
WAIT_S: Final = 1_800
"""Where the platform does not say when to look again."""


@dataclass(frozen=True, slots=True, kw_only=True)
class LastHome:
    """A home, as it was when it last changed. `next_check_s`: the platform's advice on when to look again."""

    home: Home
    is_changed: bool
    next_check_s: int


class Looking:
    """The last home, by what was asked for."""

    def __init__(self) -> None:
        self._asked: tuple[str, bool] = "", False
        self._etag = ""
        self._home: Home | None = None

    def ask(self, include: str, *, explain: bool) -> Ask[HttpAnswer]:
        """What to send for this home."""
        if self._asked != (include, explain):
            self._asked, self._etag, self._home = (include, explain), "", None
        query = {"include": include or None, "explain": 1 if explain else None}
        return replace(get("/agents/me/home", query=query).with_headers(if_none_match=self._etag), read=_itself)

    def seen(self, answer: HttpAnswer) -> LastHome:
        """What the answer shows. Raises `Unavailable` where that is no home."""
        is_changed = answer.status != UNCHANGED or self._home is None
        home = self._home
        if home is None or answer.status != UNCHANGED:
            home = self._home = as_json(answer)
            self._etag = answer.headers.get("etag", "")
        told = answer.headers.get("next-check-in-after", "")
        wait_s = int(told[:9]) if told.isascii() and told.isdigit() else WAIT_S
        return LastHome(home=home, is_changed=is_changed, next_check_s=wait_s)


def _itself(answer: HttpAnswer) -> HttpAnswer:
    return answer
