"""What must hold of a flow before anything runs. Each rule is a function from the flow to the problems it finds."""

from __future__ import annotations

from collections.abc import Callable, Iterator

from millpond.decide.flows.context import FlowContext
from millpond.decide.flows.rules import fan_out, graph, params, ports, publishing, references, steps, triggers
from millpond.model.flow import FlowProblem

Rule = Callable[[FlowContext], Iterator[FlowProblem]]

RULES: tuple[Rule, ...] = (
    references.are_readable,
    references.name_what_exists,
    references.in_text_are_scalars,
    references.files_are_inputs,
    references.datasets_are_known_at_the_start,
    references.components_are_written_out,
    graph.has_no_cycle,
    graph.comes_after_known_steps,
    steps.components_exist,
    steps.commands_are_complete,
    steps.datasets_are_datasets,
    steps.retries_are_for_known_endings,
    ports.inputs_fit,
    ports.inputs_are_complete,
    params.of_components_fit,
    params.have_valid_defaults,
    fan_out.is_bounded,
    fan_out.is_gathered,
    publishing.names_outputs_and_branches,
    triggers.are_complete,
    triggers.make_no_loop,
    triggers.are_different,
)
