"""How slow this machine is at the moment, for limits of processor time, which are told in that of a common one.

Neighbours of a virtual machine take its caches and memory, not its steps: what is timed reads and makes many objects.
"""

import json
import re
from statistics import median
from time import process_time

COMMON_S = 0.05
"""What the work takes on a common one."""
_ROWS = [{"id": f"job_{at:08d}", "title": f"Add up {at}", "words": ["a", "b", str(at)]} for at in range(20_000)]


def slowness() -> float:
    """By how many times it takes longer than a common one; 1 where it does not. The middle of five tries."""
    return max(1.0, median(_work_s() for _ in range(5)) / COMMON_S)


def _work_s() -> float:
    start = process_time()
    text = json.dumps(_ROWS)
    read = json.loads(text)
    by_id = {row["id"]: tuple(row.values()) for row in read}
    assert len(re.findall(r'"(job_\d+)"', text)) == len(sorted(by_id, reverse=True))
    return process_time() - start
