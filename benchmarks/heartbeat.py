"""How long does it take to read a HEARTBEAT.md: of 100 tasks, and of a megabyte? Prints one JSON object."""

import json
import time

from earnest.contracts.heartbeat.parse import TEXT_BYTES_MAX, parse_heartbeat

ROUNDS = 50
HEAD = "# HEARTBEAT\n\nBe kind.\n\n## Tasks\n\n"
TASK = "- [ ] check_{at} | Check for new important emails | required | verify: email_count | max_attempts: 5\n"
PROSE = "Read what came in since the last time, and answer what cannot wait; leave the rest for the morning.\n"
CODE = f"- [ ] a | {'`|' * 160}\n"


def best_ms(text: str, rounds: int) -> float:
    """The least CPU time that reading it took: nothing in it waits."""
    found = []
    for _ in range(rounds):
        start = time.process_time()
        parse_heartbeat(text)
        found.append((time.process_time() - start) * 1000)
    return min(found)


def main() -> None:
    tasks = HEAD + "".join(TASK.format(at=at) for at in range(100))
    assert len(parse_heartbeat(tasks).tasks) == 100
    long = [unit * (TEXT_BYTES_MAX // len(unit)) for unit in (PROSE, TASK, CODE)]
    slowest_s = max(best_ms(text, 3) for text in long) / 1000
    print(json.dumps({"tasks_100_ms": best_ms(tasks, ROUNDS), "megabyte_s": slowest_s}, indent=1))


if __name__ == "__main__":
    main()
