r"""Record the requests of an interview without a server."""

import re
from typing import Any

WORD = re.compile(r" ?[^ ]+")


class Rehearsal:
    """A stand-in for a server that records requests and answers all of them in the same way.

    Pass its `post` to `Endpoint`. Requests that depend on an earlier answer contain "…" in its place.
    """

    def __init__(self) -> None:
        self.requests: list[tuple[str, dict[str, Any]]] = []

    def post(self, path: str, body: dict[str, Any] | None, seconds: float) -> dict[str, Any]:
        """Record a request and answer it."""
        if body is None:
            return {}
        self.requests.append((path, body))
        new = [" …"] * body["max_tokens"]
        if "messages" in body:
            return {
                "choices": [{"logprobs": {"content": [{"token": token, "logprob": -1.0} for token in new]}}]
            }
        prompts = [body["prompt"]] if isinstance(body["prompt"], str) else body["prompt"]
        echoed = [WORD.findall(prompt) if body.get("echo") else [] for prompt in prompts]
        return {"choices": [{"logprobs": _listed([*words, *new])} for words in echoed]}


def _listed(tokens: list[str]) -> dict[str, Any]:
    return {"tokens": tokens, "token_logprobs": [-1.0] * len(tokens), "top_logprobs": [{}] * len(tokens)}
