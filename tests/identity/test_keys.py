"""Keys, links and accounts, as values."""

import re
from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as st

from earnest.effects.ground.clock import SystemChance
from earnest.foundation.errors import Refused
from earnest.identity.account import Account, AccountKind, AccountStatus, owned, resumed, suspended, with_payouts
from earnest.identity.key import (
    KEY_TEXT,
    Caller,
    Key,
    KeyedHash,
    Scope,
    base62,
    check_operator_link,
    ends_at_ms,
    key_text,
    may_add,
    operator_link,
    rotated,
    works,
)

HASHING = KeyedHash(b"k" * 32)
END_MS = 1_780_000_000_000
AGENT = Account(id="act_1", handle="maya_r", kind=AccountKind.AGENT, status=AccountStatus.REGISTERED, created_at_ms=0)
OPERATOR = replace(
    AGENT, id="act_2", handle="olga", kind=AccountKind.OPERATOR, status=AccountStatus.IDENTITY_VERIFIED, mail="o@x"
)
KEY = Key(id="key_1", account_id="act_1", scope=Scope.LIVE, prefix="", digest="", created_at_ms=0)


@given(st.binary(min_size=32, max_size=32), st.binary(min_size=32, max_size=32))
def test_different_entropy_is_a_different_key_of_the_same_form(one: bytes, other: bytes) -> None:
    first, second = key_text(Scope.LIVE, one), key_text(Scope.LIVE, other)
    assert (first == second) == (one == other)
    assert KEY_TEXT.fullmatch(first)


def test_base62_has_the_digits_that_everybody_has() -> None:
    assert base62(bytes(32)) == "0" * 43
    assert base62(bytes(31) + b"\x3d") == "0" * 42 + "z"
    assert base62(b"\xff" * 32)[0] != "0"
    alphabet = "0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz"
    entropy = SystemChance().secret()
    value = 0
    for digit in base62(entropy):
        value = value * 62 + alphabet.index(digit)
    assert value.to_bytes(32, "big") == entropy


@pytest.mark.parametrize(
    "text",
    ["", "ern_live_", "ern_root_" + "0" * 43, "ern_live_" + "0" * 42, "ern_live_" + "é" * 43, " ern_live_" + "0" * 43],
)
def test_what_has_not_the_form_of_a_key_is_none(text: str) -> None:
    assert not KEY_TEXT.fullmatch(text)
    assert not KEY_TEXT.fullmatch(text + "\n")


def test_a_digest_says_for_what_and_by_whom_it_was_made() -> None:
    digest = HASHING.digest("key", "x")
    assert re.fullmatch("[0-9a-f]{64}", digest)
    assert digest not in {
        HASHING.digest("session", "x"),
        HASHING.digest("key", "y"),
        KeyedHash(bytes(32)).digest("key", "x"),
    }
    assert "kkkk" not in repr(HASHING)


@pytest.mark.parametrize(
    ("expires_at_ms", "revoked_at_ms", "end_ms"), [(None, None, None), (9, None, 9), (None, 5, 5), (9, 5, 5), (3, 5, 3)]
)
def test_a_key_ends_with_the_first_of_its_ends(
    expires_at_ms: int | None, revoked_at_ms: int | None, end_ms: int | None
) -> None:
    key = replace(KEY, expires_at_ms=expires_at_ms, revoked_at_ms=revoked_at_ms)
    assert ends_at_ms(key) == end_ms
    assert [works(key, now_ms) for now_ms in (0, 20)] == [True, end_ms is None]
    assert end_ms is None or (works(key, end_ms - 1) and not works(key, end_ms))


def test_a_rotated_key_never_lives_longer_than_it_would_have() -> None:
    assert rotated(KEY, 100, 50).expires_at_ms == 150
    assert rotated(replace(KEY, expires_at_ms=120), 100, 50).expires_at_ms == 120
    assert not works(rotated(KEY, 100, 0), 100)


def test_an_operators_link_is_true_to_its_moment_and_its_maker() -> None:
    link = operator_link(HASHING, "0" * 26, END_MS)
    assert check_operator_link(HASHING, link, END_MS - 1) == END_MS
    with pytest.raises(Refused, match="expired"):
        check_operator_link(HASHING, link, END_MS)
    later = f"{END_MS * 2:x}" + link[link.index(".") :]
    theirs = operator_link(KeyedHash(bytes(32)), "0" * 26, END_MS)
    for text in (later, theirs, link.swapcase(), link + "0", link + "\n", "", "."):
        with pytest.raises(Refused, match="no such link"):
            check_operator_link(HASHING, text, 0)


@pytest.mark.parametrize(
    ("scope", "status", "code"),
    [
        (Scope.LIVE, AccountStatus.IDENTITY_VERIFIED, None),
        (Scope.HEARTBEAT, AccountStatus.PAYOUTS_ENABLED, None),
        (Scope.LIVE, AccountStatus.REGISTERED, "onboarding_required"),
        (Scope.OPERATOR, AccountStatus.PAYOUTS_ENABLED, "scope_forbidden"),
        (Scope.AUDITOR, AccountStatus.PAYOUTS_ENABLED, "scope_forbidden"),
        (Scope.REGISTERED, AccountStatus.PAYOUTS_ENABLED, "scope_forbidden"),
    ],
)
def test_an_agent_gives_itself_working_keys_once_it_is_owned(
    scope: Scope, status: AccountStatus, code: str | None
) -> None:
    account = replace(AGENT, status=status)
    if code is None:
        may_add(account, scope)
    else:
        with pytest.raises(Refused) as refused:
            may_add(account, scope)
        assert refused.value.code == code


@pytest.mark.parametrize("scope", Scope)
def test_a_key_does_what_its_scope_says_and_nothing_else(scope: Scope) -> None:
    caller = Caller(account=AGENT, scope=scope, key_id="key_1")
    caller.need(scope)
    for other in set(Scope) - {scope}:
        with pytest.raises(Refused) as refused:
            caller.need(other)
        assert refused.value.code == ("heartbeat_scope_forbidden" if scope is Scope.HEARTBEAT else "scope_forbidden")


def test_an_agent_is_owned_once_and_by_whoever_confirmed() -> None:
    mine = owned(AGENT, OPERATOR, "")
    assert (mine.operator_id, mine.status, mine.mail) == (OPERATOR.id, AccountStatus.IDENTITY_VERIFIED, "o@x")
    assert owned(AGENT, OPERATOR, "m@y").mail == "m@y"
    for account in (mine, OPERATOR):
        with pytest.raises(Refused, match="claimed once"):
            owned(account, OPERATOR, "")


@pytest.mark.parametrize("status", sorted(set(AccountStatus) - {AccountStatus.SUSPENDED}))
def test_a_suspended_account_resumes_where_it_was(status: AccountStatus) -> None:
    account = replace(AGENT, status=status)
    assert resumed(suspended(account)) == account


def test_what_an_account_is_not_in_state_for_is_refused() -> None:
    gone = suspended(AGENT)
    for rule, account in (
        (suspended, gone),
        (suspended, OPERATOR),
        (resumed, AGENT),
        (with_payouts, AGENT),
        (with_payouts, gone),
    ):
        with pytest.raises(Refused) as refused:
            rule(account)
        assert refused.value.code == "account_state"
