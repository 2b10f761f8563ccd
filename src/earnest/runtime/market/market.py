"""What the stories of the market work with. One of it for a process."""

import asyncio
from dataclasses import dataclass, field
from typing import Final
from weakref import WeakValueDictionary

from earnest.effects.outside.artifacts.store import ArtifactStore
from earnest.effects.outside.web.fetching import Web
from earnest.identity.account import Account, AccountKind
from earnest.market.service import CLAIMS, JOBS
from earnest.market.terms import Terms
from earnest.runtime.desk import Desk
from earnest.verification.registry import Registry
from earnest.verification.service import Verifier

LOOKUPS: Final = {"claim_id": CLAIMS.lookup, "job_id": JOBS.lookup}
"""Where a story looks that is given these ids."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Market:
    """The desk, the operator's terms, and the effects that happen outside transactions."""

    desk: Desk
    terms: Terms
    verifier: Verifier
    registry: Registry
    artifacts: ArtifactStore
    web: Web
    replaying: asyncio.Lock = field(default_factory=asyncio.Lock)
    """Held while a verdict is reached again for somebody who asked."""
    linted: dict[str, None] = field(default_factory=dict)
    """The digests of checks that were tried on worthless work and refused it, oldest first."""
    linting: WeakValueDictionary[str, asyncio.Lock] = field(default_factory=WeakValueDictionary)
    """Held while the checks of a digest are tried, for which others wait."""

    def verifier_of(self, poster: Account) -> Verifier:
        """What judges by the specs of `poster`: probes measure for those of the operator alone."""
        return self.verifier if poster.kind is AccountKind.OPERATOR else self.verifier.without_probes()
