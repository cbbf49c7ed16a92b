r"""Record the requests that `ask_server` would send, without a server."""

import re
from typing import Any

WORD = re.compile(r" ?[^ ]+")


class Rehearsal:
    """A fake server that records requests and gives all of them the same kind of answer.

    Pass its `post` to `Endpoint`. A request that quotes an earlier answer contains "…" instead.
    """

    def __init__(self) -> None:
        self.requests: list[tuple[str, dict[str, Any]]] = []

    def post(self, path: str, body: dict[str, Any] | None, seconds: float) -> dict[str, Any]:
        """Return a fake answer, and record the request unless it has no body."""
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
