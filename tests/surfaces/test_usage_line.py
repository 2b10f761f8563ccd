"""Does a user see what models took, and what of it nobody knows the price of?"""

import pytest

from earnest.engine.messages import Usage
from earnest.surfaces.cli.lines import usage_text


@pytest.mark.parametrize(
    ("usage", "text"),
    [
        (Usage(), "no model"),
        (
            Usage(cost_micro=0, prompt_tokens=7, completion_tokens=3, model_calls=1, passes=1),
            "1 pass, 1 model call, 7 + 3 tokens, cost 0",
        ),
        (
            Usage(cost_micro=1_200_050, prompt_tokens=7, completion_tokens=3, model_calls=6, passes=5),
            "5 passes, 6 model calls, 7 + 3 tokens, cost 1.20005",
        ),
        (
            Usage(cost_micro=50, prompt_tokens=7, completion_tokens=3, model_calls=6, passes=5, unpriced_calls=2),
            "5 passes, 6 model calls, 7 + 3 tokens, cost 0.00005 for 4 of the calls",
        ),
        (
            Usage(prompt_tokens=7, completion_tokens=3, model_calls=2, passes=2, unpriced_calls=2),
            "2 passes, 2 model calls, 7 + 3 tokens, cost not known",
        ),
    ],
)
def test_what_models_took_is_told_with_its_coverage(usage: Usage, text: str) -> None:
    assert usage_text(usage) == text
