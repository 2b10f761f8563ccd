"""Test jobs that ask what a small program prints."""

from typing import Final

from earnest.market.capabilities.generators.generator import Draws, Generator, Instance, compare_items

_PROGRAM: Final = """\
total, seen = {start}, []
for n in range({low}, {high}, {step}):
    total = (total * {factor} + n) % {modulus}
    if total % {keep} == 0:
        seen.append(total)
    elif n % 2:
        seen.insert(0, n)
print(total)
print(seen[{cut}:])
print(sum(seen) - len(seen))"""


def _make(draws: Draws) -> Instance:
    start, low, step = draws.between(1, 50), draws.between(1, 9), draws.between(1, 3)
    high = low + step * draws.between(7, 11)
    factor, modulus = draws.between(3, 9), draws.between(41, 97)
    keep, cut = draws.between(2, 4), draws.between(-4, 3)
    total, seen = start, []
    for n in range(low, high, step):
        total = (total * factor + n) % modulus
        if total % keep == 0:
            seen.append(total)
        elif n % 2:
            seen.insert(0, n)
    numbers = {"start": start, "low": low, "high": high, "step": step, "factor": factor, "modulus": modulus}
    return Instance(
        question={
            "task": "Say what this Python program prints.",
            "input": _PROGRAM.format(**numbers, keep=keep, cut=cut),
            "answer": "a list of the 3 lines, as texts, exactly as printed",
        },
        key=[str(total), str(seen[cut:]), str(sum(seen) - len(seen))],
    )


OUTPUT_PREDICTION: Final = Generator(
    name="output-prediction",
    version="output-prediction/1",
    categories=("code-generation",),
    make=_make,
    grade=compare_items,
)
