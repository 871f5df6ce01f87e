"""Any other provider through LiteLLM, behind the same call as `ChatClient`."""

from __future__ import annotations

import logging
import os
import time
from collections.abc import Mapping, Sequence
from typing import Any

from helpseek.models.completion import ChatReply, ContextLengthExceeded, read_completion, refusal, shown
from helpseek.models.retry import PassingError, Patience
from helpseek.models.secrets import read_secret

log = logging.getLogger(__name__)


class LitellmChat:
    """Asks `model` (with LiteLLM's provider prefix). Raises `UserError` when `api_key_env` is named and not set."""

    def __init__(self, model: str, *, api_key_env: str | None, timeout_s: float, max_retries: int) -> None:
        # Without this LiteLLM asks the network for a price list when it is imported.
        os.environ.setdefault("LITELLM_LOCAL_MODEL_COST_MAP", "True")
        import litellm  # a slow import, and only this backend needs it

        litellm.suppress_debug_info = True  # it prints advice to standard output on every error
        self.litellm, self.model = litellm, model
        self._secret = read_secret(api_key_env)
        # Retries are ours, so that every backend pauses, logs and gives up alike.
        self._options: dict[str, Any] = {"timeout": timeout_s, "max_retries": 0, "num_retries": 0}
        if self._secret.value:
            self._options["api_key"] = self._secret.value
        self._seeded = "seed" in (litellm.get_supported_openai_params(model=model) or ())
        if not self._seeded:
            log.warning("%s takes no seed: its attempts cannot be repeated", model)
        self._patience = Patience(f"{model} through LiteLLM", max_retries)

    def complete(
        self,
        messages: Sequence[Mapping[str, Any]],
        *,
        tools: Sequence[Mapping[str, Any]] | None = None,
        **sampling: Any,
    ) -> ChatReply:
        """As `ChatClient.complete`."""
        sent = {key: value for key, value in sampling.items() if value is not None and (key != "seed" or self._seeded)}
        request = {"model": self.model, "messages": list(messages), **sent, **self._options}
        if tools:
            request["tools"] = list(tools)
        start = time.perf_counter()
        return self._patience.call(lambda: self._ask(request, start))

    def close(self) -> None:
        """End the pauses between retries in all threads; their calls raise `InfraError`."""
        self._patience.close()

    def _ask(self, request: dict[str, Any], start: float) -> ChatReply:
        errors = self.litellm.exceptions
        try:
            response = self.litellm.completion(**request)
        except errors.ContextWindowExceededError as error:
            raise ContextLengthExceeded(self._secret.masked(str(error))) from None
        except (
            errors.BadRequestError,
            errors.AuthenticationError,
            errors.PermissionDeniedError,
            errors.NotFoundError,
            errors.UnprocessableEntityError,
        ) as error:
            text = self._secret.masked(str(error))
            raise refusal(self._patience.who, error.status_code, text, request.get("max_tokens")) from None
        except self.litellm.openai.OpenAIError as error:
            raise PassingError(shown(self._secret.masked(f"{type(error).__name__}: {error}"))) from None
        return read_completion(response.model_dump(), time.perf_counter() - start)
