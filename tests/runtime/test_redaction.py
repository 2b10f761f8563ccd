"""Is every secret taken out of a text, wherever it stands, and nothing else?"""

import pytest

from earnest.runtime.redaction import REDACTED, Redaction

SHAPES = [
    "-----BEGIN RSA PRIVATE KEY-----\nMIIEow",
    "-----begin private key-----\nmiieow",
    "Bearer abcdefgh12",
    "sk-abcdefghijkl",
    "rk_abcdefghijkl",
    "hf_abcdefghijkl",
    "ghp_abcdefghijkl",
    "github_pat_abcdefghijkl",
    "glpat-abcdefghijkl",
    "xoxb-abcdefghijkl",
    "AKIAABCDEFGHIJKL",
    "api_key=abcdefgh",
    "ACCESS-KEY: abcdefgh",
    "secret: abcdefgh",
    "token=abcdefgh",
    "Password = abcdefgh",
    "passwd=abcdefgh",
    "Authorization: Basic abcdefgh",
]


@pytest.mark.parametrize("secret", SHAPES)
def test_what_looks_like_a_secret_is_taken_out(secret: str) -> None:
    shown = Redaction().of(f"see {secret} there")
    assert REDACTED in shown
    assert secret[-7:] not in shown
    assert shown.startswith("see ")


@pytest.mark.parametrize("first", [*"zZ0-]^[\\&|~#. é", "\n"])
def test_a_known_secret_is_taken_out_whatever_it_begins_with(first: str) -> None:
    secret = f"{first}hoever reads this"
    assert Redaction(["z-another one", secret]).of(f"see {secret.upper()} there") == f"see {REDACTED} there"


def test_other_text_stays_as_it_is() -> None:
    text = "A token of thanks: the secretary passes a key, and asks for authorization at /api/keys."
    assert Redaction(["hunter2hunter2"]).of(text) == text
