"""A look at the whole journal in a process of its own: a platform answers others meanwhile.

Reads `{"home": …, "continued": …}` from its input, and prints what it saw, or `{"code": …, "detail": …}` of a refusal.
"""

import json
import os
import sys

from earnest.app.home_check import records_json, verify_records
from earnest.app.judging_settings import read_judging_settings
from earnest.app.places import HOME_VARIABLE
from earnest.foundation.errors import Refused


def main() -> None:
    """One question, one answer."""
    asked = json.load(sys.stdin)
    try:
        settings = read_judging_settings({**os.environ, HOME_VARIABLE: asked["home"]})
        found: object = records_json(verify_records(settings.home, settings.books, continued=asked["continued"]))
    except Refused as refused:
        found = {"code": refused.code, "detail": str(refused)}
    json.dump(found, sys.stdout)


if __name__ == "__main__":
    main()
