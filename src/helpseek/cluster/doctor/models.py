"""What the configuration's models, judges and files need."""

from __future__ import annotations

import os
import socket
from collections.abc import Iterator, Mapping
from pathlib import Path
from urllib.parse import urlsplit

from helpseek.cluster.doctor.findings import Finding, error, ok, warning
from helpseek.config import Config, EndpointModel, Judge, LitellmModel, LlmJudge, Model, ReferencePolicy, TaskFiles
from helpseek.errors import UserError
from helpseek.models.chat import check_base_url

CONNECT_TIMEOUT_S = 3


def check_models(config: Config) -> Iterator[Finding]:
    """Servers, keys and files of what this configuration evaluates."""
    for name in config.evaluate.models:
        yield from _check_served(f"model {name}", f"models.{name}", config.models[name])
    judge = config.oracle.judge
    yield from _check_served(f"judge {judge}", f"judges.{judge}", config.judges[judge])
    for name in config.evaluate.tasksets:
        spec = config.tasksets[name]
        if isinstance(spec, TaskFiles):
            yield _check_path(
                f"tasks {name}", f"tasksets.{name}.path", spec.path, "`helpseek tasks fetch` gets public ones"
            )
    if config.bfcl.wheel:
        yield _check_path("BFCL data", "bfcl.wheel", config.bfcl.wheel, "`pip download bfcl-eval --no-deps` gets it")


def _check_served(subject: str, key: str, spec: Model | Judge) -> Iterator[Finding]:
    if isinstance(spec, ReferencePolicy) or not isinstance(spec, EndpointModel | LitellmModel | LlmJudge):
        yield ok(subject, "needs no server")
        return
    if spec.api_key_env and not os.environ.get(spec.api_key_env):
        yield error(subject, f"the variable {spec.api_key_env} is not set", f"export {spec.api_key_env}=… (its key)")
    elif not isinstance(spec, LitellmModel):
        yield _check_server(subject, key, spec.base_url)
    else:
        yield ok(subject, f"key in {spec.api_key_env}" if spec.api_key_env else "no key is named")


def _check_server(subject: str, key: str, base_url: str) -> Finding:
    try:
        check_base_url(base_url)
    except UserError as mistake:
        return error(subject, str(mistake), f"change `{key}.base_url`")
    parts = urlsplit(base_url)
    address = (parts.hostname or "", parts.port or (443 if parts.scheme == "https" else 80))
    try:
        socket.create_connection(address, CONNECT_TIMEOUT_S).close()
    except OSError as mistake:
        # A server may be started later, on a node that this one cannot see.
        fix = f"start its server, or change `{key}.base_url`; compute nodes must reach it too"
        return warning(subject, f"nothing answers at {base_url}: {mistake}", fix)
    return ok(subject, f"{base_url} answers")


def _check_path(subject: str, key: str, path: Path, hint: str) -> Finding:
    if path.exists():
        return ok(subject, str(path))
    return error(subject, f"{path}: no such file or folder", f"put it there or change `{key}`; {hint}")


def uses_shell(config: Config) -> bool:
    """Whether an agent of this configuration gets a shell, which needs a sandbox."""
    tasksets: Mapping[str, object] = config.tasksets
    return any(getattr(tasksets[name], "domain", "") == "swe" for name in config.evaluate.tasksets)
