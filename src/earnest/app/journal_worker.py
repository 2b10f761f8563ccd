"""A look at the whole journal in a process of its own: a platform answers others meanwhile.

Reads `{"home": …, "continued": …}` from its input, and prints what it saw, or `{"code": …, "detail": …}` of a refusal.
"""

import json
import sys
from pathlib import Path

from earnest.app.home_check import records_json, verify_records
from earnest.foundation.errors import Refused


def main() -> None:
    """One question, one answer."""
    asked = json.load(sys.stdin)
    try:
        found: object = records_json(verify_records(Path(asked["home"]), continued=asked["continued"]))
    except Refused as refused:
        found = {"code": refused.code, "detail": str(refused)}
    json.dump(found, sys.stdout)


if __name__ == "__main__":
    main()
