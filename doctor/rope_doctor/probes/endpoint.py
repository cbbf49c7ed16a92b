r"""An OpenAI-compatible server as a black box that maps a text to tokens with log probabilities."""

import http.client
import json
import math
import time
import urllib.error
import urllib.request
from collections.abc import Callable, Iterable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from dataclasses import dataclass, field
from itertools import zip_longest
from typing import Any

TOP = 5  # alternatives requested per token, the maximum in OpenAI's API
CHARACTERS = 4  # estimated number of characters per token
MOST_BYTES, AT_ONCE = 2**28, 2**16  # maximum size of a response, and bytes between two looks at the clock
UNREADABLE = (
    ArithmeticError,
    AttributeError,
    LookupError,
    TypeError,
    ValueError,
)  # a response of another form
UNREACHED = (OSError, ValueError, RecursionError, http.client.HTTPException)

Post = Callable[[str, dict[str, Any] | None, float], Any]  # (path, body, seconds) -> JSON


@dataclass(frozen=True)
class Place:
    """One token of a text, with its log probability and those of the likeliest tokens at its position."""

    token: str
    logprob: float | None = None
    top: dict[str, float] = field(default_factory=dict)


@dataclass(frozen=True)
class Answer:
    """The tokens of the prompt (empty unless requested), the new tokens, and the number of cached tokens."""

    prompt: tuple[Place, ...]
    new: tuple[Place, ...]
    cached: int | None = None  # None if the server does not report it

    @property
    def text(self) -> str:
        """Return the generated text."""
        return "".join(place.token for place in self.new)


class UnansweredError(Exception):
    """A request that the server refused or did not answer; the message gives the reason."""


class SpentError(UnansweredError):
    """A request that was not sent because the time limit was used up."""


class Endpoint:
    r"""A model on a server, with counters for the requests, tokens and seconds used so far.

    Args:
        post: function that sends a body to a path and returns the JSON response; `over_http` makes one.
        model: the model's name.
        seconds: time limit for all requests together.
    """

    def __init__(self, post: Post, model: str, *, seconds: float) -> None:
        self.post, self.model, self.seconds = post, model, seconds
        self.began = time.monotonic()
        self.requests = self.tokens = 0
        self.echoes: str = "echo"  # request field that asks for the prompt's log probabilities
        self.lists = True  # whether the server accepts several prompts in one request

    @property
    def spent(self) -> float:
        """Return the seconds since the endpoint was created."""
        return time.monotonic() - self.began

    def write(self, prompt: str, new: int) -> Answer:
        """Generate `new` tokens after a prompt, greedily."""
        return self._complete([prompt], new, {})[0]

    def read(self, prompt: str, new: int = 1) -> Answer:
        """Return the tokens of a prompt with their log probabilities, and `new` tokens after it."""
        return self._complete([prompt], new, self._echo())[0]

    def together(self, prompts: Sequence[str], new: int, *, echo: bool) -> list[Answer]:
        """Query several prompts in one request, or in parallel requests if the server refuses lists."""
        extra = self._echo() if echo else {}
        if self.lists:
            try:
                return self._complete(list(prompts), new, extra)
            except UnansweredError:
                self.lists = False
        with ThreadPoolExecutor(len(prompts)) as pool:
            return list(pool.map(lambda prompt: self._complete([prompt], new, extra)[0], prompts))

    def chat(self, messages: Sequence[dict[str, str]], new: int) -> Answer:
        """Return the first `new` tokens of the reply to a list of chat messages."""
        body = {"messages": list(messages), "max_tokens": new, "temperature": 0}
        answered = self._send("/chat/completions", {**body, "logprobs": True, "top_logprobs": TOP})
        with _reading("the log probabilities"):
            choice = _choices(answered, 1)[0]
            rows = (choice.get("logprobs") or {}).get("content") or []
            return Answer((), tuple(map(_of_chat, rows)), _cached(answered))

    def context(self) -> int | None:
        """Return the context, in tokens, that the server claims for its model, or None if it claims none."""
        try:
            answered = self._send("/models", None)
            with _reading("the list of models"):
                return _claim(answered.get("data") or [], self.model)
        except UnansweredError:
            return None

    def _echo(self) -> dict[str, Any]:
        return {"echo": True} if self.echoes == "echo" else {self.echoes: TOP}

    def _complete(self, prompts: list[str], new: int, extra: dict[str, Any]) -> list[Answer]:
        body = {"prompt": prompts[0] if len(prompts) == 1 else prompts, "max_tokens": new, "temperature": 0}
        answered = self._send("/completions", {**body, "logprobs": TOP, **extra})
        with _reading("the log probabilities"):
            choices, cached = _choices(answered, len(prompts)), _cached(answered)
            return [
                _completed(choice, prompt, bool(extra), cached)
                for choice, prompt in zip(choices, prompts, strict=True)
            ]

    def _send(self, path: str, body: dict[str, Any] | None) -> Any:
        left = self.seconds - self.spent
        if left <= 0:
            raise SpentError(f"the limit of {self.seconds:,.0f} seconds is used up")
        if body is not None:
            body = {"model": self.model, **body}
            self.requests += 1
            self.tokens += tokens_in(body)
        answered = self.post(path, body, left)
        if not isinstance(answered, dict):
            raise UnansweredError(f"{path} did not answer with an object")
        return answered


def tokens_in(body: dict[str, Any]) -> int:
    """Estimate the number of tokens that the server reads for a request, at four characters per token."""
    prompt = body.get("prompt", "")
    texts = [prompt] if isinstance(prompt, str) else prompt
    texts += [message["content"] for message in body.get("messages", ())]
    return sum(-(-len(text) // CHARACTERS) for text in texts)


def over_http(url: str, key: str = "") -> Post:
    r"""Return a function that sends JSON to a server and returns its response.

    A /v1 at the end of `url` is optional. The key is sent only to this server, so redirects are refused, and error
    messages never show it.
    """
    if not (key.isascii() and key.isprintable()):
        raise ValueError("the key must be printable ASCII; it may end with a line break")
    base = url.rstrip("/")
    base = base if base.endswith("/v1") else f"{base}/v1"
    if not base.startswith(("http://", "https://")):
        raise ValueError(f"the address must begin with http:// or https://, got {url!r}")
    opener = urllib.request.build_opener(_NoRedirection)

    def post(path: str, body: dict[str, Any] | None, seconds: float) -> Any:
        data = None if body is None else json.dumps(body).encode()
        headers = {"Content-Type": "application/json", "User-Agent": "rope-doctor"}
        headers |= {"Authorization": f"Bearer {key}"} if key else {}
        request = urllib.request.Request(base + path, data, headers)
        try:
            try:
                with opener.open(request, timeout=seconds) as answer:
                    return json.loads(_body(answer, time.monotonic() + seconds))
            except urllib.error.HTTPError as error:
                with error:
                    said = error.read(2_000).decode("utf-8", "replace")
                problem = f"{path} answered {error.code}: {' '.join(said.split())[:200]}"
        except UNREACHED as error:
            problem = f"{path} did not answer: {getattr(error, 'reason', error)}"
        raise UnansweredError(problem.replace(key, "…") if key else problem)

    return post


def _body(answer: http.client.HTTPResponse, end: float) -> bytes:
    """Return a response's bytes; TimeoutError if they do not end in time. A socket limits each part alone."""
    body = bytearray()
    while len(body) < MOST_BYTES and (part := answer.read1(AT_ONCE)):
        if time.monotonic() > end:
            raise TimeoutError("its answer did not end within the time limit")
        body += part
    return bytes(body)


class _NoRedirection(urllib.request.HTTPRedirectHandler):
    def redirect_request(self, *_: Any) -> None:
        return None


@contextmanager
def _reading(what: str) -> Iterator[None]:
    """Turn any error that a response of another form causes into UnansweredError."""
    try:
        yield
    except UNREADABLE as error:
        raise UnansweredError(f"{what} cannot be read ({type(error).__name__}: {str(error)[:80]})") from None


def _claim(models: list[dict[str, Any]], name: str) -> int | None:
    """Return the context that a list of models claims for one of them, or for its first."""
    named = [model for model in models if model.get("id") == name] or models[:1]
    facts = {**(named[0].get("meta") or {}), **named[0]} if named else {}
    found = (facts.get(key) for key in ("max_model_len", "context_length", "n_ctx", "n_ctx_train"))
    return next((number for number in found if type(number) is int and number > 0), None)


def _choices(answered: dict[str, Any], count: int) -> list[dict[str, Any]]:
    choices = answered.get("choices")
    if not isinstance(choices, list) or len(choices) != count:
        raise UnansweredError(f"the answer must have {count} choices")
    return sorted(choices, key=lambda choice: choice.get("index", 0))


def _cached(answered: dict[str, Any]) -> int | None:
    details = (answered.get("usage") or {}).get("prompt_tokens_details") or {}
    count = details.get("cached_tokens")
    return None if count is None else int(count)


def _completed(choice: dict[str, Any], prompt: str, echo: bool, cached: int | None) -> Answer:
    """Convert a choice to an Answer; if the prompt was echoed, the choice begins with its tokens."""
    places = tuple(_places(choice.get("logprobs") or {}))
    listed = choice.get("prompt_logprobs")
    if listed is not None:
        return Answer(tuple(map(_of_vllm, listed)), places, cached)
    length = prompt_length(places, prompt) if echo else 0
    return Answer(places[:length], places[length:], cached)


def _places(logprobs: dict[str, Any]) -> Iterator[Place]:
    tokens = logprobs.get("tokens") or []
    numbers, tops = logprobs.get("token_logprobs") or [], logprobs.get("top_logprobs") or []
    for token, number, top in zip_longest(tokens, numbers[: len(tokens)], tops[: len(tokens)]):
        yield _place(token, number, (top or {}).items())


def _place(token: Any, number: Any, top: Iterable[tuple[Any, Any]]) -> Place:
    """Return a token with numbers; ValueError if one of them is NaN, which no comparison would notice."""
    logs = {str(name): float(log) for name, log in top}
    log = None if number is None else float(number)
    if any(map(math.isnan, (*logs.values(), log or 0.0))):
        raise ValueError("a log probability is NaN")
    return Place(str(token), log, logs)


def _of_vllm(row: dict[str, dict[str, Any]] | None) -> Place:
    """Convert a row of vLLM's `prompt_logprobs`, which is keyed by token id and starts with the prompt's token."""
    top = [(each.get("decoded_token"), each["logprob"]) for each in (row or {}).values()]
    return _place(*top[0], top) if top else Place("")


def _of_chat(row: dict[str, Any]) -> Place:
    top = [(each["token"], each["logprob"]) for each in row.get("top_logprobs") or ()]
    return _place(row["token"], row.get("logprob"), top)


def prompt_length(places: Sequence[Place], prompt: str) -> int:
    r"""Return the number of tokens up to the end of a prompt, including any before it; 0 if the prompt is missing.

    >>> prompt_length([Place("<s>"), Place("A"), Place(" boat"), Place(" sank")], "A boat")
    3
    """
    wanted, text = plain(prompt), ""
    for count, place in enumerate(places, 1):
        text += plain(place.token)
        if text.endswith(wanted):
            return count
    return 0


def plain(text: str) -> str:
    """Return a text without spaces, which servers encode in different ways."""
    return text.replace("▁", "").replace("Ġ", "").replace(" ", "")
