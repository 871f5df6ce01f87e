"""From a model's section of the config to the function that makes one mini-swe-agent Model per episode."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any, Literal

from minisweagent import Model
from pydantic import TypeAdapter

from helpseek import config
from helpseek.models.chat import ChatClient
from helpseek.models.endpoint import ApiModel, Chat
from helpseek.models.litellm_chat import LitellmChat
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
    if isinstance(spec, config.ReferencePolicy):
        policy = spec.policy
        return lambda task, offered, seed: ReferenceModel(policy, task, offered, seed)
    chat = _client(spec, concurrency)
    sampling, mode = spec.sampling.model_dump(), spec.mode
    return lambda task, offered, seed: ApiModel(chat, mode, offered, sampling | {"seed": seed})


def _client(spec: config.EndpointModel | config.LitellmModel, concurrency: int) -> Chat:
    patience: dict[str, Any] = spec.model_dump(include={"api_key_env", "timeout_s", "max_retries"})
    if isinstance(spec, config.LitellmModel):
        return LitellmChat(spec.model, **patience)
    return ChatClient(spec.base_url, spec.model, connections=concurrency, **patience)
