"""How far a run was from its promise, round by round, as a chart."""

from earnest.engine.messages import PlanDirective
from earnest.surfaces.charts import Chart, Series
from earnest.views.runs import RunView


def loss_chart(run: RunView) -> Chart:
    """D, P, Ω, L and the gradient over the rounds of a run, as its directives and its end say."""
    measured = [
        (f"{one.round} {one.directive}", one.loss, one.gradient)
        for each in run.rounds
        for one in each.messages
        if isinstance(one, PlanDirective)
    ]
    result = run.line.result
    if result is not None and result.loss is not None:
        measured.append((f"{result.round} {result.directive}", result.loss, result.gradient))
    series = {
        "D distance": [loss.distance for _, loss, _ in measured],
        "P implausibility": [loss.implausibility for _, loss, _ in measured],
        "Ω cost": [loss.resource for _, loss, _ in measured],
        "L loss": [loss.total for _, loss, _ in measured],
        "∇ gradient": [gradient for _, _, gradient in measured],
    }
    return Chart(
        title="Loss over the rounds, with what the solver decided",
        across="round, and what was decided",
        up="loss",
        labels=tuple(label for label, _, _ in measured),
        series=tuple(Series(name=name, values=tuple(values)) for name, values in series.items()),
    )
