"""Are words of libraries said plainly?"""

import pytest

from earnest.foundation.text import plain_fault


@pytest.mark.parametrize(
    ("said", "plain"),
    [
        ("Value error, 'x' is not one of 'a', 'b'.", "'x' is not one of 'a', 'b'."),
        ("Field required", "is missing"),
        ("Input should be a valid integer, unable to parse string as an integer", "must be a whole number"),
        ("String should have at least 1 character", "must have at least 1 character"),
        ("List should have at least 1 item after validation, not 0", "must have at least 1 item, not 0"),
        ("no file of that name", "no file of that name"),
    ],
)
def test_what_pydantic_says_is_said_plainly(said: str, plain: str) -> None:
    assert plain_fault(said) == plain
