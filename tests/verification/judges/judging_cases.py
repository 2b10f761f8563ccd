"""What tests of judges share: a verifier whose judge is a scripted model behind the real client."""

from collections.abc import Mapping
from pathlib import Path

from earnest.contracts.criterion import CheckSpec, Criterion
from earnest.effects.ground.clock import SeededChance, SystemClock
from earnest.effects.outside.llm.api import ChatModel, Endpoint
from earnest.effects.outside.llm.openai_compatible import OpenAICompatible
from earnest.foundation.canonical import JsonObject
from earnest.verification.plugin import Judges, Promise, Reviews
from earnest.verification.registry import Registry
from earnest.verification.service import Verifier
from earnest.verification.verdict import Verdict

GOOD = {"report.md": b"# Tides\n\nHigh water comes about fifty minutes later each day, because the moon moves on.\n"}


class Unsleeping(SystemClock):
    """Time passes, but nobody waits for it."""

    async def sleep_ms(self, duration_ms: int) -> None:
        """Return at once."""


def model_at(base_url: str) -> OpenAICompatible:
    """The real client, with the server's model."""
    endpoint = Endpoint(base_url=base_url, model="scripted")
    return OpenAICompatible(endpoint, clock=Unsleeping(), chance=SeededChance())


async def judged(
    tmp_path: Path,
    work: Mapping[str, bytes],
    model: ChatModel | None,
    *,
    kind: str = "llm_judge",
    config: JsonObject | None = None,
    reviews: Reviews | None = None,
    promise: Promise | None = None,
    repeat: int = 1,
) -> Verdict:
    """The verdict on a folder with these files."""
    folder = tmp_path / "work"
    for name, data in work.items():
        (folder / name).parent.mkdir(parents=True, exist_ok=True)
        (folder / name).write_bytes(data)
    folder.mkdir(exist_ok=True)
    config = config if config is not None else {"files": ["**"]}
    criterion = Criterion(
        id="C7", text="It explains the tides", check=CheckSpec(kind=kind, config=config, repeat=repeat)
    )
    judges = Judges(model=model, reviews=reviews, chance=SeededChance())
    verifier = Verifier(registry=Registry(), sandbox=None, clock=SystemClock(), judges=judges)
    return await verifier.verify([criterion], folder, promise=promise)
