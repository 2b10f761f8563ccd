"""The generators of test jobs."""

from collections.abc import Mapping
from typing import Final

from earnest.market.capabilities.generators.date_reasoning import DATE_REASONING
from earnest.market.capabilities.generators.generator import Generator
from earnest.market.capabilities.generators.json_extraction import JSON_EXTRACTION
from earnest.market.capabilities.generators.output_prediction import OUTPUT_PREDICTION
from earnest.market.capabilities.generators.rule_program import RULE_PROGRAM
from earnest.market.capabilities.generators.schema_following import SCHEMA_FOLLOWING
from earnest.market.capabilities.generators.table_arithmetic import TABLE_ARITHMETIC
from earnest.market.capabilities.generators.task_splitting import TASK_SPLITTING
from earnest.market.capabilities.generators.text_normalisation import TEXT_NORMALISATION
from earnest.market.capabilities.generators.untrusted_document import UNTRUSTED_DOCUMENT

GENERATORS: Final[Mapping[str, Generator]] = {
    each.name: each
    for each in (
        DATE_REASONING,
        JSON_EXTRACTION,
        OUTPUT_PREDICTION,
        RULE_PROGRAM,
        SCHEMA_FOLLOWING,
        TABLE_ARITHMETIC,
        TASK_SPLITTING,
        TEXT_NORMALISATION,
        UNTRUSTED_DOCUMENT,
    )
}


def generators_for(category: str) -> tuple[Generator, ...]:
    """Those whose test jobs show that somebody can do work of this category."""
    return tuple(each for each in GENERATORS.values() if category in each.categories)
