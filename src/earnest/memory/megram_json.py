"""Megrams as JSON, in the store and in facts."""

from typing import Any

from earnest.foundation.canonical import JsonObject
from earnest.foundation.errors import Broken, Refused
from earnest.memory.megram import Level, Megram, MegramState


def encode_megram(megram: Megram) -> JsonObject:
    """All its fields; the last recall only if there was one."""
    fields: dict[str, str | int | float] = {
        "id": megram.id,
        "level": megram.level.value,
        "created_at_ms": megram.created_at_ms,
        "space": megram.space,
        "entity": megram.entity,
        "content": megram.content,
        "state": megram.state.value,
        "f": megram.f,
        "sigma": megram.sigma,
        "k": megram.k,
        "agent": megram.agent,
        "run_id": megram.run_id,
    }
    if megram.last_recalled_at_ms is not None:
        fields["last_recalled_at_ms"] = megram.last_recalled_at_ms
    return fields


def decode_megram(fields: JsonObject) -> Megram:
    """What `encode_megram` gave. Raises `Broken` for what no version of ours wrote."""
    try:
        values: dict[str, Any] = {**fields}
        weights = {name: float(values[name]) for name in ("f", "sigma", "k")}  # RFC 8785 writes 1.0 as 1
        return Megram(**{**values, **weights, "level": Level(values["level"]), "state": MegramState(values["state"])})
    except (ValueError, TypeError, KeyError, AttributeError, Refused) as error:
        raise Broken(f"memory holds a record that it did not write: {error}") from error
