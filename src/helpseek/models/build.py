"""From a model's section of the config to the function that makes one mini-swe-agent Model per episode."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any, Literal

from minisweagent import Model
from pydantic import TypeAdapter

from helpseek import config
from helpseek.models.reference import ReferenceModel
from helpseek.tasks.task import Task

ModelBuilder = Callable[[Task, Sequence[str], int], Model]


def read_model(spec: Mapping[str, Any]) -> config.Model:
    """The model's section as a record again, after it travelled through a rule's params."""
    return TypeAdapter[config.Model](config.Model).validate_python(dict(spec))


def model_mode(spec: config.Model) -> Literal["text", "tool_call"]:
    """How the model issues commands."""
    return "text" if isinstance(spec, config.ReferencePolicy) else spec.mode


def model_builder(spec: config.Model, concurrency: int) -> ModelBuilder:
    """A function (task, offered commands, seed) -> Model; clients are shared, `concurrency` connections wide."""
    match spec:
        case config.ReferencePolicy():
            policy = spec.policy
            return lambda task, offered, seed: ReferenceModel(policy, task, offered, seed)
        case config.EndpointModel():
            return _endpoint_builder(spec, concurrency)
        case config.LitellmModel():
            return _litellm_builder(spec)
