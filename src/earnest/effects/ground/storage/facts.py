"""A fact as it stands in the books."""

import json
from typing import NamedTuple, cast

from earnest.foundation.canonical import JsonObject, leaf_hash


class StoredFact(NamedTuple):
    """A fact as it stands in the books. `seq` counts from 1 without gaps; `body_json` is RFC 8785; `leaf` 32 bytes."""

    seq: int
    at_ms: int
    kind: str
    subject: str
    body_json: bytes
    leaf: bytes

    @property
    def body(self) -> JsonObject:
        """The body as a JSON object. Raises `ValueError` if it was changed into something else."""
        body = json.loads(self.body_json)
        if not isinstance(body, dict):
            raise ValueError(f"the body of fact {self.seq} is no JSON object")  # noqa: TRY004 - data, not a type error
        return cast("JsonObject", body)

    @property
    def is_intact(self) -> bool:
        """True if the content is the one that the leaf was made of."""
        return self.leaf == self.leaf_as(self.seq)

    def leaf_as(self, seq: int) -> bytes:
        """The leaf of this content, were its number `seq`; empty if no recorded fact can have such content."""
        try:
            return leaf_hash(seq, self.at_ms, self.kind, self.subject, self.body_json)
        except (TypeError, ValueError):  # altered by hand: a text that is no UTF-8, a value of another type
            return b""
