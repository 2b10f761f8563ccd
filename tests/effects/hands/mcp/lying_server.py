"""An MCP server that answers as no library would let it: run as a program, over stdio."""

import json
import sys

ANSWERS = {
    "endless": {"content": [], "structuredContent": {"n": "a" * 40 + "!"}},
    "large": {"content": [], "structuredContent": {"n": 2**70}},
    "nothing": {"content": None},
    "strange": {"content": [{"type": "unheard-of"}]},
}
PATTERN = {"endless": {"type": "object", "properties": {"n": {"type": "string", "pattern": "^(a+)+$"}}}}


def listed(name: str) -> dict[str, object]:
    given = {"outputSchema": PATTERN[name]} if name in PATTERN else {}
    return {"name": name, "inputSchema": {"type": "object"}, **given}


for line in sys.stdin:
    asked = json.loads(line)
    told: object = {}
    match asked.get("method"):
        case "initialize":
            version = asked["params"]["protocolVersion"]
            information = {"name": "lying", "version": "1"}
            told = {"protocolVersion": version, "capabilities": {"tools": {}}, "serverInfo": information}
        case "tools/list":
            told = {"tools": [listed(name) for name in ANSWERS]}
        case "tools/call":
            told = ANSWERS[asked["params"]["name"]]
    if "id" in asked:
        print(json.dumps({"jsonrpc": "2.0", "id": asked["id"], "result": told}), flush=True)
