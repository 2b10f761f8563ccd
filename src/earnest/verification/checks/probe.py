"""Check kind `probe`: the world is as the operator expects, measured by a probe that the operator set up.

Work can only name a probe. What cannot be measured is unknown: never zero, and nobody's fault.
"""

from pathlib import Path

from earnest.contracts.node import Node
from earnest.contracts.reader import NodeReader
from earnest.foundation.errors import Unavailable
from earnest.verification.plugin import CheckTools, ConfiguredCheck, Findings, Subject


async def _measure(name: str, _subject: Subject, tools: CheckTools) -> Findings:
    """See docs/checks/probe.md. Asks the world, which may answer otherwise tomorrow.

    Raises `Unavailable` for whatever cannot be measured.
    """
    if tools.probes is None:
        raise Unavailable(f"there is no probe {name!r}: none is set up")
    reading = await tools.probes.measure(name)
    shown = "something" if isinstance(reading.value, str) else "nothing" if reading.value is None else reading.value
    reason = f"the probe {name!r} measured {shown}; expected: {reading.expectation}"
    measured = {} if reading.value is None else {"value": reading.value}
    return Findings(passed=reading.as_expected, reason=reason, evidence=(f"probe {name}",), measured=measured)


def _name(reader: NodeReader, node: Node, _base_folder: Path | None) -> str:
    entries = reader.mapping(node, required=("probe",), optional=())
    return reader.slug(entries.get("probe"))


CHECK = ConfiguredCheck(kind="probe", version=1, read=_name, measure=_measure, reproducible=False)
