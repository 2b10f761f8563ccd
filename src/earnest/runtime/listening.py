"""Who hears a run while it works: what models say and what commands put out, as it comes. Nothing depends on it."""

from typing import TYPE_CHECKING, Protocol

if TYPE_CHECKING:
    from earnest.engine.model_messages import ModelTurn


class Listener(Protocol):
    """Hears one run. Nothing here may raise or take long: what is heard is shown, and forgotten."""

    def said(self, turn: "ModelTurn", piece: str | None, /) -> None:
        """The next piece of what a model says; None: what it said counts no more (`effects.outside.llm.api.Hear`)."""
        ...

    def put_out(self, key: str, stream: int, piece: bytes, left_out: int, /) -> None:
        """The newest of what the call of that key puts out on 1 or 2, and how many bytes before it are left out."""
        ...
