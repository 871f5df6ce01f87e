"""Any other provider through LiteLLM, behind the same call as `ChatClient`."""

from __future__ import annotations

import os
import time
from collections.abc import Mapping, Sequence
from typing import Any

from helpseek.errors import InfraError, UserError
from helpseek.models.chat import ChatReply, ContextLengthExceeded


class LitellmChat:
    """Asks `model` (with LiteLLM's provider prefix). Raises `UserError` when `api_key_env` is named and not set."""

    def __init__(self, model: str, *, api_key_env: str | None, timeout_s: float, max_retries: int) -> None:
        # Without this LiteLLM asks the network for a price list when it is imported.
        os.environ.setdefault("LITELLM_LOCAL_MODEL_COST_MAP", "True")
        import litellm  # a slow import, and only this backend needs it

        self.litellm, self.model = litellm, model
        self.options: dict[str, Any] = {"timeout": timeout_s, "num_retries": max_retries, "drop_params": True}
        if api_key_env is not None:
            if not os.environ.get(api_key_env):
                raise UserError(f"`api_key_env: {api_key_env}`: that environment variable is not set")
            self.options["api_key"] = os.environ[api_key_env]

    def complete(
        self,
        messages: Sequence[Mapping[str, Any]],
        *,
        tools: Sequence[Mapping[str, Any]] | None = None,
        **sampling: Any,
    ) -> ChatReply:
        """As `ChatClient.complete`."""
        start = time.perf_counter()
        sent = {key: value for key, value in sampling.items() if value is not None}
        if tools:
            sent["tools"] = list(tools)
        try:
            response = self.litellm.completion(model=self.model, messages=list(messages), **sent, **self.options)
        except self.litellm.exceptions.ContextWindowExceededError as error:
            raise ContextLengthExceeded(str(error)) from error
        except self.litellm.openai.OpenAIError as error:
            raise InfraError(f"{self.model} through LiteLLM: {error}") from error
        choice, usage = response.choices[0], response.usage
        return ChatReply(
            content=choice.message.content or "",
            tool_calls=tuple(call.model_dump() for call in choice.message.tool_calls or ()),
            finish_reason=choice.finish_reason,
            input_tokens=usage.prompt_tokens if usage else None,
            output_tokens=usage.completion_tokens if usage else None,
            duration_s=time.perf_counter() - start,
        )
