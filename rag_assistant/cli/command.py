"""Commands whose options come in groups: a parameter that is a dataclass stands for one option per field.

Typer reads a command's signature; :func:`command` gives it one with the options of every group.
"""

from __future__ import annotations

import inspect
from collections.abc import Callable
from dataclasses import fields, is_dataclass
from typing import Annotated, Any, get_type_hints

import typer

from rag_assistant.cli.state import State


def _debug(context: typer.Context, value: bool) -> None:
    if value:
        context.obj.debug = True


def _verbose(context: typer.Context, value: bool) -> None:
    if value:
        context.obj.verbose = True


Debug = Annotated[
    bool, typer.Option("--debug", help="Show the traceback of an error.", callback=_debug, expose_value=False)
]
Verbose = Annotated[
    bool, typer.Option("-v", "--verbose", help="Tell on stderr what is done.", callback=_verbose, expose_value=False)
]


def command(function: Callable[..., None]) -> Callable[..., None]:
    """The function in a form that Typer understands.

    A parameter annotated with a dataclass gets an instance made of the options that its fields name, one annotated
    with :class:`State` gets the run; ``--verbose`` and ``--debug`` are added.

    Raises:
        ValueError: Two parameters have the same name.
    """
    parameters = [_parameter("context", typer.Context)]
    groups: dict[str, type[Any]] = {}
    states: list[str] = []
    for parameter in inspect.signature(function, eval_str=True).parameters.values():
        if parameter.annotation is State:
            states.append(parameter.name)
        elif isinstance(parameter.annotation, type) and is_dataclass(parameter.annotation):
            group = groups[parameter.name] = parameter.annotation
            hints = get_type_hints(group, include_extras=True)
            parameters += [_parameter(field.name, hints[field.name], field.default) for field in fields(group)]
        else:
            parameters.append(parameter.replace(kind=inspect.Parameter.KEYWORD_ONLY))
    switches = [_parameter("verbose", Verbose, False), _parameter("debug", Debug, False)]  # act by their callbacks
    parameters += switches

    def run(*, context: typer.Context, **given: Any) -> None:
        for switch in switches:
            given.pop(switch.name, None)
        made = {
            name: group(**{field.name: given.pop(field.name) for field in fields(group)})
            for name, group in groups.items()
        }
        function(**given, **made, **dict.fromkeys(states, context.obj))

    run.__name__, run.__doc__ = function.__name__, function.__doc__
    run.__annotations__ = {parameter.name: parameter.annotation for parameter in parameters}
    run.__signature__ = inspect.Signature(parameters)  # type: ignore[attr-defined]
    return run


def _parameter(name: str, annotation: Any, default: Any = inspect.Parameter.empty) -> inspect.Parameter:
    return inspect.Parameter(name, inspect.Parameter.KEYWORD_ONLY, default=default, annotation=annotation)
