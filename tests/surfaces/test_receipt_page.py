"""The page of plain JavaScript finds what `earnest receipt verify` finds: in Node, and in Chromium when offline."""

import base64
import json
import re
import shutil
import subprocess
from pathlib import Path

import pytest
from playwright.async_api import async_playwright

from earnest.foundation.canonical import canonical_bytes
from earnest.journal.receipt import PAYLOAD_TYPE, check_receipt, pae
from earnest.surfaces.web.log import receipt_page
from journal.test_receipts import DRAFT, KEY, NOTARY, WITNESSES, cosigned
from surfaces.dashboard.conftest import ARGUMENTS, CHROMIUM, IS_REQUIRED, IS_THERE

LINES_MAX = 150
SCRIPT = re.search(r"<script>(.*)</script>", receipt_page().decode(), re.DOTALL)
RUNNER = """
const { readFileSync } = require("node:fs");
const given = JSON.parse(readFileSync(0, "utf8"));
(async () => {
  const [logs, witnesses] = [await readKeys(given.key), await readKeys(given.witnesses)];
  const whole = Uint8Array.from(Buffer.from(given.data, "base64"));
  const told = [];
  for (const [at, mask] of given.flips) {
    const data = whole.slice();
    if (mask) data[at] ^= mask;
    told.push((await checkReceipt(data, logs, witnesses)).flaws);
  }
  console.log(JSON.stringify(told));
})();
"""


def in_node(folder: Path, data: bytes, flips: list[tuple[int, int]]) -> list[list[str]]:
    """The flaws that the page's own functions find in the file with these bits flipped."""
    node = shutil.which("node")
    if node is None:
        pytest.skip("there is no Node")
    assert SCRIPT is not None
    program = folder / "page.js"
    program.write_text(SCRIPT[1] + RUNNER)
    given = {
        "key": str(KEY.public),
        "witnesses": "\n".join(str(one.public) for one in WITNESSES),
        "data": base64.b64encode(data).decode(),
        "flips": flips,
    }
    done = subprocess.run([node, program], input=json.dumps(given), capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    found: list[list[str]] = json.loads(done.stdout)
    return found


def test_the_page_is_short_and_asks_nobody() -> None:
    text = receipt_page().decode()
    assert len(text.splitlines()) <= LINES_MAX
    assert "default-src 'none'" in text
    assert not re.search(
        r"\b(src|href|fetch|XMLHttpRequest|WebSocket|import\()\b\s*[=(]", text.replace("default-src", "")
    )


@pytest.mark.slow
async def test_node_finds_a_flaw_in_every_byte_and_none_in_the_whole(tmp_path: Path) -> None:
    database = await cosigned(tmp_path)
    data = database.read_sync(lambda reader: NOTARY.receipt(reader, DRAFT))
    database.close()
    flips = [(0, 0), *((at, 1 << at % 8) for at in range(len(data)))]
    whole, *flawed = in_node(tmp_path, data, flips)
    assert whole == []
    assert [at for at, flaws in enumerate(flawed) if not flaws] == []


@pytest.mark.slow
async def test_node_and_python_place_the_same_flaws(tmp_path: Path) -> None:
    """What the log itself signed, and is false: signed anew, so that the envelope's signature does not tell."""
    database = await cosigned(tmp_path)
    envelope = json.loads(database.read_sync(lambda reader: NOTARY.receipt(reader, DRAFT)))
    database.close()
    payload = base64.b64decode(envelope["payload"])
    statement = json.loads(payload)
    note = statement["predicate"]["log"]["checkpoint"]
    changes = [
        (b'"seq":17', b'"seq":16'),
        (b"urn:earnest:receipt:v1", b"urn:earnest:receipt:v2"),
        (b"https://in-toto.io/Statement/v1", b"https://in-toto.io/Statement/v2"),
        (note.split("\n")[2].encode(), base64.b64encode(bytes(32))),
        (b'"origin":"example.org/log"', b'"origin":"example.org/lo"'),
    ]
    for old, new in changes:
        assert old in payload
        forged = payload.replace(old, new)
        sig = base64.b64encode(KEY.sign(pae(PAYLOAD_TYPE, forged))).decode()
        label = KEY.public.label
        lied = {**envelope, "payload": base64.b64encode(forged).decode(), "signatures": [{"keyid": label, "sig": sig}]}
        data = canonical_bytes(lied) + b"\n"
        [told] = in_node(tmp_path, data, [(0, 0)])
        ours = check_receipt(data, [KEY.public], NOTARY.witnesses).flaws
        assert {line.split(": ")[0] for line in told} == {flaw.where for flaw in ours} != set(), old


@pytest.mark.slow
async def test_chromium_checks_a_receipt_from_a_file_without_a_network(tmp_path: Path) -> None:
    if not IS_THERE and not IS_REQUIRED:
        pytest.skip(f"there is no Chromium at {CHROMIUM}")
    database = await cosigned(tmp_path)
    data = database.read_sync(lambda reader: NOTARY.receipt(reader, DRAFT))
    database.close()
    (tmp_path / "check.html").write_bytes(receipt_page())
    (tmp_path / "good.json").write_bytes(data)
    (tmp_path / "bad.json").write_bytes(data[:-40] + bytes([data[-40] ^ 1]) + data[-39:])
    asked: list[str] = []
    async with async_playwright() as playwright:
        browser = await playwright.chromium.launch(executable_path=str(CHROMIUM), args=ARGUMENTS)
        context = await browser.new_context(offline=True)
        page = await context.new_page()
        page.on("request", lambda request: asked.append(request.url))
        page.on("pageerror", lambda error: asked.append(str(error)))
        await page.goto((tmp_path / "check.html").as_uri())
        await page.get_by_label("verifier keys").fill(str(KEY.public))
        await page.get_by_label("Witnesses").fill("\n".join(str(one.public) for one in WITNESSES))
        result = page.get_by_role("status")
        for name, said in (("good.json", "HOLDS: test t1, under 20 facts"), ("bad.json", "DOES NOT HOLD")):
            await page.locator("#file").set_input_files(tmp_path / name)
            await page.wait_for_function(
                "said => document.getElementById('result').textContent.includes(said)", arg=said
            )
            assert said in (await result.text_content() or "")
        await browser.close()
    assert asked == [(tmp_path / "check.html").as_uri()]
