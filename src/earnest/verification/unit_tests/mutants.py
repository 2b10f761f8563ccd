"""Tests that the submission brought: they must tell the solution from what is nearly the solution.

They run, split from it like hidden ones, against the solution, against an equivalent rewrite of it (other local names,
other layout, no comments) and against mutants: copies with one small change. Which mutants are equivalent to the
solution nobody can tell, hence a share and not all of them.
"""

import ast
import copy
import itertools
from collections.abc import Iterator, Mapping
from typing import Final

from earnest.effects.hands.sandbox.api import ExecutionReport, ExecutionStatus
from earnest.verification.plugin import CheckTools, Findings
from earnest.verification.unit_tests.asserting import Function, parsed
from earnest.verification.unit_tests.judging import judge
from earnest.verification.unit_tests.trial import SuitePlan, run_trial

MUTANTS_MAX: Final = 20
SOURCE_BYTES_MAX: Final = 256 * 1024

COMPARISONS: Final[dict[type[ast.cmpop], type[ast.cmpop]]] = {
    ast.Lt: ast.LtE,
    ast.LtE: ast.Lt,
    ast.Gt: ast.GtE,
    ast.GtE: ast.Gt,
    ast.Eq: ast.NotEq,
    ast.NotEq: ast.Eq,
    ast.In: ast.NotIn,
    ast.NotIn: ast.In,
    ast.Is: ast.IsNot,
    ast.IsNot: ast.Is,
}
ARITHMETIC: Final[dict[type[ast.operator], type[ast.operator]]] = {
    ast.Add: ast.Sub,
    ast.Sub: ast.Add,
    ast.Mult: ast.Add,
    ast.Div: ast.Mult,
    ast.FloorDiv: ast.Mult,
    ast.Mod: ast.Add,
    ast.Pow: ast.Mult,
}


async def judge_own_tests(
    plan: SuitePlan, sources: Mapping[str, bytes], tools: CheckTools, killed_percent: int
) -> Findings:
    """Solution and rewrite must pass, and at least this share of the mutants fail."""
    work = {name: content for name, content in sources.items() if name not in plan.tests}
    place, tree = _solution(plan, work)
    if tree is None:
        return Findings(passed=False, reason=f"{plan.modules[0]} is no module of the submission that can be read")
    reports: list[ExecutionReport] = []
    for what, variant in (("the solution", None), ("an equivalent rewrite of it", rewritten(tree))):
        files = work if variant is None else work | {place: ast.unparse(variant).encode()}
        trial = await run_trial(plan, files, tools)
        reports += trial.reports
        findings = judge(plan, trial, tuple(reports))
        if findings.passed is not True or findings.flags:
            reason = f"the submission's own tests on {what}: {findings.reason}"
            ran = all(report.status is ExecutionStatus.DONE for report in trial.reports)
            blamed = ran and not findings.cannot_run and not findings.flags  # tests of its own that decide nothing
            passed = False if blamed else findings.passed
            return Findings(
                passed=passed,
                cannot_run=findings.cannot_run,
                reason=reason,
                reports=tuple(reports),
                flags=findings.flags,
            )
    killed = tried = 0
    for mutant in spread(list(mutants(tree)), MUTANTS_MAX):
        trial = await run_trial(plan, work | {place: ast.unparse(mutant).encode()}, tools)
        refused = next((report for report in trial.reports if report.status is ExecutionStatus.REFUSED), None)
        if refused is not None:
            return Findings(passed=None, reason=refused.reason, reports=(*reports, refused))
        tried += 1
        killed += judge(plan, trial, trial.reports).passed is not True
    if not tried:
        return Findings(passed=None, reason="there is nothing in it to change", reports=tuple(reports))
    passed = killed * 100 >= killed_percent * tried
    reason = f"the submission's own tests noticed {killed} of {tried} changes to it"
    return Findings(passed=passed, reason=reason, reports=tuple(reports), evidence=tuple(plan.tests))


def _solution(plan: SuitePlan, work: Mapping[str, bytes]) -> tuple[str, ast.Module | None]:
    stem = plan.modules[0].replace(".", "/")
    for place in (f"{stem}.py", f"{stem}/__init__.py"):
        source = work.get(place)
        if source is not None and len(source) <= SOURCE_BYTES_MAX:
            return place, parsed(source)
    return "", None


def spread(found: list[ast.Module], at_most: int) -> list[ast.Module]:
    """At most so many, evenly from the whole."""
    count = min(at_most, len(found))
    return [found[at * len(found) // count] for at in range(count)]


def mutants(tree: ast.Module) -> Iterator[ast.Module]:
    """Every copy of the module with one small change."""
    for at, node in enumerate(ast.walk(tree)):
        if _change(copy.copy(node)):
            mutant = copy.deepcopy(tree)
            _change(next(itertools.islice(ast.walk(mutant), at, None)))
            yield ast.fix_missing_locations(mutant)


def _change(node: ast.AST) -> bool:
    """Make the one small change that there is for a node of its kind. False if there is none."""
    match node:
        case ast.Compare() if type(node.ops[0]) in COMPARISONS:
            node.ops = [COMPARISONS[type(node.ops[0])](), *node.ops[1:]]
        case ast.BinOp() | ast.AugAssign() if type(node.op) in ARITHMETIC:
            node.op = ARITHMETIC[type(node.op)]()
        case ast.Constant(value=bool() as value):
            node.value = not value
        case ast.Constant(value=int() | float() as value):
            node.value = value + 1
        case ast.Return(value=ast.expr() as value) if not (isinstance(value, ast.Constant) and value.value is None):
            node.value = ast.Constant(None)
        case ast.If():
            node.test = ast.UnaryOp(op=ast.Not(), operand=node.test)
        case ast.While():
            node.test = ast.Constant(value=False)
        case ast.BoolOp():
            node.op = ast.Or() if isinstance(node.op, ast.And) else ast.And()
        case _:
            return False
    return True


def rewritten(tree: ast.Module) -> ast.Module:
    """The same program with other names for the local variables of its functions."""
    other = copy.deepcopy(tree)
    for node in ast.walk(other):
        if isinstance(node, Function):
            _rename_locals(node)
    return ast.fix_missing_locations(other)


def _rename_locals(function: Function) -> None:
    """Only in functions where a name can mean one thing: no inner scopes, `global`, `locals()` or `exec`."""
    inner = [node for statement in function.body for node in ast.walk(statement)]
    scopes = (ast.FunctionDef, ast.AsyncFunctionDef, ast.ClassDef, ast.Lambda, ast.Global, ast.Nonlocal)
    comprehensions = (ast.ListComp, ast.SetComp, ast.DictComp, ast.GeneratorExp, ast.Match, ast.Import, ast.ImportFrom)
    if any(isinstance(node, (*scopes, *comprehensions)) for node in inner):
        return
    names = [node for node in inner if isinstance(node, ast.Name)]
    if any(node.id in {"locals", "vars", "exec", "eval", "dir"} for node in names):
        return
    arguments = function.args
    taken = {each.arg for each in (*arguments.posonlyargs, *arguments.args, *arguments.kwonlyargs)}
    taken |= {each.arg for each in (arguments.vararg, arguments.kwarg) if each is not None}
    taken |= {node.name for node in inner if isinstance(node, ast.ExceptHandler) and node.name}
    bound = dict.fromkeys(node.id for node in names if isinstance(node.ctx, ast.Store) and node.id not in taken)
    fresh = {name: f"{name}_{number}_" for number, name in enumerate(bound)}
    for node in names:
        node.id = fresh.get(node.id, node.id)
