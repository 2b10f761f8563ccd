"""Rubrics in the config of a check."""

from typing import Final

from earnest.contracts.node import Node
from earnest.contracts.reader import NodeReader
from earnest.verification.reviews.review import Rubric, RubricItem

ITEMS_MAX: Final = 20
POINTS_MAX: Final = 1_000
CRITERION_CHARACTERS_MAX: Final = 2_000


def read_rubric(reader: NodeReader, node: Node) -> Rubric:
    """The rubric of a config with the keys `rubric` and `threshold`; none of them means a plain yes or no."""
    entries = reader.mapping(node, required=(), optional=("rubric", "threshold"))
    nodes = reader.items(entries.get("rubric"), at_least=1, at_most=ITEMS_MAX)
    items = tuple(_item(reader, item) for item in nodes)
    points = sum(item.points for item in items)
    threshold = entries.get("threshold")
    if threshold is not None and not items:
        reader.fault(threshold, "a threshold is the least sum of a rubric: give one")
        return Rubric()
    rubric = Rubric(items=items, threshold=reader.integer(threshold, low=0, high=points, default=0))
    if items and rubric.approves([0] * len(items)):
        reader.fault(entries["rubric"], "with 0 points for everything the work would pass: give a threshold")
    return rubric


def _item(reader: NodeReader, node: Node) -> RubricItem:
    entries = reader.mapping(node, required=("criterion", "points"), optional=("threshold",))
    points = reader.integer(entries.get("points"), low=1, high=POINTS_MAX, default=1)
    return RubricItem(
        criterion=reader.text(entries.get("criterion"), at_most=CRITERION_CHARACTERS_MAX),
        points=points,
        threshold=reader.integer(entries.get("threshold"), low=0, high=points, default=0),
    )
