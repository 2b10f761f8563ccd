"""A receipt holds by the log's key alone, and no byte of it can be another."""

import base64
import json
from pathlib import Path

import pytest

from earnest.effects.ground.clock import VirtualClock
from earnest.effects.ground.storage.database import Database
from earnest.foundation.errors import Refused
from earnest.foundation.facts import Fact
from earnest.journal.notary import Notary
from earnest.journal.notes import checkpoint_flaws, cosign, read_checkpoint, with_signatures
from earnest.journal.receipt import Draft, Subject, check_receipt
from earnest.journal.service import Sealer
from earnest.journal.signing import LOG, WITNESS, PrivateKey, read_private_key, read_public_key

KEY = PrivateKey(name="example.org/log", type=LOG, seed=bytes(range(32)))
WITNESSES = [PrivateKey(name=f"w{n}.example", type=WITNESS, seed=bytes([n]) * 32) for n in (1, 2)]
DRAFT = Draft(
    subjects=(Subject(name="answer.json", sha256="ab" * 32),),
    predicate={"kind": "test", "id": "t1", "text": "naïve — “✓” 𝄞", "loss": 0.00026453333333333333, "é": 1e21},
    seqs=(3, 17),
)
NOTARY = Notary(key=KEY, witnesses=tuple(one.public for one in WITNESSES))


async def books(path: Path) -> Database:
    database = Database.open(path / "books.sqlite3", VirtualClock(0), is_durable=False)
    for number in range(20):
        fact = Fact(kind="test.happened", subject="s", at_ms=number, body={"n": number})
        database.write_sync(lambda transaction, fact=fact: transaction.record(fact))  # type: ignore[misc]
    await Sealer(database, VirtualClock(0)).seal()
    return database


async def cosigned(path: Path) -> Database:
    """Books whose newest checkpoint both witnesses cosigned."""
    database = await books(path)
    checkpoint = database.read_sync(NOTARY.checkpoint)
    note = str(with_signatures(checkpoint, [cosign(one, checkpoint, 1_780_000_000) for one in WITNESSES]))
    for fact in database.read_sync(lambda reader: NOTARY.new_cosignatures(reader, note)):
        database.write_sync(lambda transaction, fact=fact: transaction.record(fact))  # type: ignore[misc]
    assert database.read_sync(lambda reader: NOTARY.new_cosignatures(reader, note)) == ()
    return database


async def test_a_receipt_holds_by_the_public_key(tmp_path: Path) -> None:
    database = await cosigned(tmp_path)
    data = database.read_sync(lambda reader: NOTARY.receipt(reader, DRAFT))
    found = check_receipt(data, [KEY.public], NOTARY.witnesses)
    assert found.flaws == ()
    assert [(one.name, one.at_s) for one in found.cosigned] == [(one.name, 1_780_000_000) for one in WITNESSES]
    assert found.checkpoint is not None
    assert found.checkpoint.head.size == 20
    assert found.statement is not None
    assert found.statement["subject"] == [{"name": "answer.json", "digest": {"sha256": "ab" * 32}}]
    database.close()


@pytest.mark.slow
async def test_another_byte_anywhere_is_found_and_placed(tmp_path: Path) -> None:
    """Every byte of the file with its lowest bit flipped, and each of the payload's own bytes behind the base64."""
    database = await cosigned(tmp_path)
    data = database.read_sync(lambda reader: NOTARY.receipt(reader, DRAFT))
    database.close()
    envelope = json.loads(data)
    payload = base64.b64decode(envelope["payload"])
    for at in range(len(data)):
        flawed = data[:at] + bytes([data[at] ^ 1]) + data[at + 1 :]
        found = check_receipt(flawed, [KEY.public], NOTARY.witnesses)
        assert found.flaws, at
        assert all(flaw.where and flaw.why for flaw in found.flaws)
    for at in range(len(payload)):
        other = payload[:at] + bytes([payload[at] ^ 1]) + payload[at + 1 :]
        text = json.dumps({**envelope, "payload": base64.b64encode(other).decode()}, separators=(",", ":"))
        assert check_receipt(f"{text}\n".encode(), [KEY.public]).flaws, at


@pytest.mark.parametrize("bit", range(1, 8))
async def test_other_bits_are_found_too(tmp_path: Path, bit: int) -> None:
    database = await cosigned(tmp_path)
    data = database.read_sync(lambda reader: NOTARY.receipt(reader, DRAFT))
    database.close()
    for at in range(bit, len(data), 23):
        flawed = data[:at] + bytes([data[at] ^ 1 << bit]) + data[at + 1 :]
        assert check_receipt(flawed, [KEY.public], NOTARY.witnesses).flaws, at
    for flawed in (data[:-1], data + b"\n", data[:200], b"", b" " + data, b"[]\n", b"null\n", b"[" * 100_000):
        assert check_receipt(flawed, [KEY.public]).flaws


def test_where_it_is_flawed_is_said() -> None:
    wheres = {
        b'{"payload":"","payloadType":"x","signatures":[]}\n': "envelope",
        b'{"payload" :""}\n': "file, byte 11",
        b'{"payload":"\xff"}\n': "file, byte 13",
        b"{]\n": "file, byte 2",
        b"{}": "file, byte 2",
    }
    for data, where in wheres.items():
        assert [flaw.where for flaw in check_receipt(data, [KEY.public]).flaws] == [where]


@pytest.mark.slow
async def test_another_bit_of_a_checkpoint_is_found(tmp_path: Path) -> None:
    """With the keys of all who signed: a line of a key that nobody gave says nothing, in any signed note."""
    database = await cosigned(tmp_path)
    note = str(database.read_sync(NOTARY.checkpoint)).encode()
    assert checkpoint_flaws(read_checkpoint(note.decode()), [KEY.public], NOTARY.witnesses) == []
    database.close()
    for at in range(len(note)):
        for bit in range(8):
            try:
                flawed = read_checkpoint((note[:at] + bytes([note[at] ^ 1 << bit]) + note[at + 1 :]).decode())
            except ValueError:  # it says where; UnicodeDecodeError is one
                continue
            assert checkpoint_flaws(flawed, [KEY.public], NOTARY.witnesses), (at, bit)


async def test_a_receipt_of_another_log_or_without_its_witness_does_not_hold(tmp_path: Path) -> None:
    database = await books(tmp_path)
    data = database.read_sync(lambda reader: NOTARY.receipt(reader, DRAFT))
    database.close()
    other = PrivateKey(name=KEY.name, type=LOG, seed=b"x" * 32).public
    assert "envelope.signatures[0].keyid" in {flaw.where for flaw in check_receipt(data, [other]).flaws}
    assert check_receipt(data, [KEY.public]).flaws == ()
    [flaw] = check_receipt(data, [KEY.public], [WITNESSES[0].public]).flaws
    assert str(flaw) == "checkpoint: the witness w1.example did not cosign it"


async def test_what_is_not_sealed_gets_no_receipt(tmp_path: Path) -> None:
    database = await books(tmp_path)
    draft = Draft(subjects=DRAFT.subjects, predicate={}, seqs=(22,))
    with pytest.raises(Refused, match="not sealed"):
        database.read_sync(lambda reader: NOTARY.receipt(reader, draft))
    database.close()


async def test_only_known_witnesses_are_heard(tmp_path: Path) -> None:
    database = await books(tmp_path)
    checkpoint = database.read_sync(NOTARY.checkpoint)
    stranger = PrivateKey(name="stranger", type=WITNESS, seed=b"s" * 32)
    line = cosign(WITNESSES[0], checkpoint, 5)
    forged = type(line)(name=line.name, key_id=line.key_id, data=line.data[:-1] + b"\x00")
    for lines, code in (
        ([cosign(stranger, checkpoint, 1)], "witness_unknown"),
        ([forged], "validation"),
        ([], "witness_unknown"),
    ):
        note = str(with_signatures(checkpoint, lines))
        with pytest.raises(Refused) as refused:
            database.read_sync(lambda reader, note=note: NOTARY.new_cosignatures(reader, note))  # type: ignore[misc]
        assert refused.value.code == code
    database.close()


def test_keys_are_read_as_they_are_written() -> None:
    for key in (KEY, WITNESSES[0]):
        assert read_private_key(key.secret_text()) == key
        assert read_public_key(str(key.public)) == key.public
        assert repr(key).find(key.seed.hex()) == -1
    for text in ("", "a+b+c", str(KEY.public)[:-4] + "AAAA", "x" + str(KEY.public), "a b+00000000+AAAA"):
        with pytest.raises(Refused):
            read_public_key(text)
    with pytest.raises(Refused):
        read_private_key(str(KEY.public))


def test_the_example_of_signed_notes_verifies() -> None:
    """The key and note in the documentation of golang.org/x/mod/sumdb/note."""
    key = read_public_key("PeterNeumann+c74f20a3+ARpc2QcUPDhMQegwxbzhKqiBfsVkmqq/LDE4izWy10TW")
    text = "If you think cryptography is the answer to your problem,\nthen you don't know what your problem is.\n"
    line = "x08go/ZJkuBS9UG/SffcvIAQxVBtiFupLLr8pAcElZInNIuGUgYN1FFYC2pZSNXgKvqfqdngotpRZb6KE6RyyBwJnAM="
    data = base64.b64decode(line)
    assert data[:4] == key.id
    assert key.verifies(text.encode(), data[4:])
