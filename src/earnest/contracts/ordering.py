"""The order of subtasks that name what they come after."""

from collections.abc import Mapping, Sequence


def levels(after: Mapping[str, Sequence[str]], given: Mapping[str, int]) -> dict[str, int]:
    """The level of every name: as `given`, else one more than the highest level it comes after, at least 1.

    Names on a cycle, and those that come after one, are left out. Every name in `after` must be a key of one of both.
    """
    found = dict(given)
    waiting = {name: before for name, before in after.items() if name not in found}
    while True:
        ready = [name for name, before in waiting.items() if all(other in found for other in before)]
        if not ready:
            return found
        for name in ready:
            found[name] = 1 + max((found[other] for other in waiting.pop(name)), default=0)


def cycle(after: Mapping[str, Sequence[str]], waiting: set[str]) -> list[str]:
    """The members of one cycle among names that never became ready, in the order in which they wait."""
    name, path = min(waiting), list[str]()
    while name not in path:
        path.append(name)
        name = min(other for other in after[name] if other in waiting)
    return path[path.index(name) :]
