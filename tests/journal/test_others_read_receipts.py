"""Software that is not ours opens our receipts: securesystemslib reads and verifies the envelope."""

import base64
import json
from pathlib import Path

import pytest
from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PublicKey
from securesystemslib.dsse import Envelope
from securesystemslib.exceptions import VerificationError
from securesystemslib.signer._key import SSlibKey

from .test_receipts import DRAFT, KEY, NOTARY, books


async def test_securesystemslib_verifies_the_envelope(tmp_path: Path) -> None:
    database = await books(tmp_path)
    data = database.read_sync(lambda reader: NOTARY.receipt(reader, DRAFT))
    database.close()
    public = KEY.public
    key = SSlibKey.from_crypto(Ed25519PublicKey.from_public_bytes(public.public), keyid=public.label)
    assert list(Envelope.from_dict(json.loads(data)).verify([key], 1)) == [public.label]
    altered = json.loads(data)
    altered["payload"] = base64.b64encode(base64.b64decode(altered["payload"]) + b" ").decode()
    with pytest.raises(VerificationError):
        Envelope.from_dict(altered).verify([key], 1)
