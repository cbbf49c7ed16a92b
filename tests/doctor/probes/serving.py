"""A server of the tests: a decoder that copies phrases, with a prefix cache, behind OpenAI's JSON; and its faults.

The decoder is built by hand, not trained. One head finds the token before each by its rotation, and the other finds
the earlier places behind the same token and expects what followed there. So its loss falls as phrases come back.
"""

import json
import math
import random
import re
import socketserver
import threading
import time
from contextlib import contextmanager
from dataclasses import dataclass
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

import numpy as np

from rope_doctor.probes.endpoint import UnansweredError
from rope_doctor.probes.prose import Prose
from rope_edu import apply_rope, inv_freq, rope_angles

WIDTH, HEAD, VOCABULARY, BASE = 96, 32, 160, 10.0
NEAR, LIKE, GAIN = 48.0, 16.0, 10.0  # sharpness of the two heads, and of the logits
TOP = 5
LONG = 300  # tokens of a long request


@dataclass
class Kept:
    """The tokens read, the keys of both heads, the values of both, and the logits."""

    ids: list
    keys: np.ndarray
    before: np.ndarray
    values: np.ndarray
    logits: np.ndarray

    def cropped(self, count):
        return Kept(*(part[:count] for part in vars(self).values()))


def empty():
    return Kept([], *(np.zeros((0, width)) for width in (HEAD, WIDTH, WIDTH, VOCABULARY)))


class Copier:
    """The decoder; `base` and `scale` are those of its rotation, right as they are."""

    def __init__(self):
        draw = np.random.default_rng(7)
        self.embedding = draw.normal(size=(VOCABULARY, WIDTH)) / np.sqrt(WIDTH)
        self.usual = draw.normal(size=VOCABULARY) / 2  # logits of a token whose past says nothing
        self.pairs = draw.normal(size=(WIDTH, VOCABULARY))  # and by which the token before it changes them
        self.base, self.scale = BASE, 1.0

    def read(self, ids, positions, kept):
        """Return the cache after more tokens at these positions."""
        ones = np.tile([1.0, 0.0], (len(ids), HEAD // 2)) / np.sqrt(HEAD // 2)
        angles = self.scale * rope_angles(np.asarray(positions), inv_freq(HEAD, self.base))
        query = apply_rope(ones, angles)
        key = apply_rope(
            query, np.tile(inv_freq(HEAD, BASE), (len(ids), 1))
        )  # it meets the next token's query
        now = self.embedding[ids]
        keys, values = np.concatenate((kept.keys, key)), np.concatenate((kept.values, now))
        before = np.concatenate((kept.before, attend(NEAR * query @ keys.T, values)))
        followed = attend(LIKE * now @ before.T, values)
        late = before[len(kept.ids) :] @ self.pairs
        expected = GAIN * followed @ self.embedding.T + late + self.usual
        logits = np.concatenate((kept.logits, expected))
        return Kept([*kept.ids, *ids], keys, before, values, logits)


def attend(scores, values):
    rows, columns = scores.shape
    future = np.arange(columns) > columns - rows + np.arange(rows)[:, None]
    weights = np.exp(scores - scores.max(axis=-1, keepdims=True, initial=-1e9, where=~future))
    weights = np.where(future, 0.0, weights)
    return weights / weights.sum(axis=-1, keepdims=True) @ values


class Server:
    """A right server with one slot, whose cache keeps the last text; its `post` is that of an `Endpoint`."""

    lists = echo = chats = True
    context = None

    def __init__(self):
        self.model, self.kept, self.words, self.lock = Copier(), empty(), {}, threading.Lock()
        self.asked = 0
        self.common = len(set(self.ids(Prose(0).sentences(200))))  # the rest are names

    def post(self, path, body, seconds):
        with self.lock:
            if path == "/models":
                return {"data": [{"id": "mine", "max_model_len": self.context}]}
            self.asked += 1
            self.before_request()
            return {"/completions": self.complete, "/chat/completions": self.chat}[path](body)

    def before_request(self):
        """Happen before each request."""

    def complete(self, body):
        prompts = [body["prompt"]] if isinstance(body["prompt"], str) else body["prompt"]
        if len(prompts) > 1 and not self.lists:
            raise UnansweredError("/completions answered 400: one prompt")
        texts = [self.ids(prompt) for prompt in prompts]
        longest = max(map(len, texts))
        choices = []
        for index, ids in enumerate(texts):
            prompt, new = self.written(ids, body["max_tokens"], longest)
            rows = [*(prompt if body.get("echo") and self.echo else []), *new]
            choices.append({"index": index, "logprobs": self.listed(rows)})
        return {"choices": choices}

    def chat(self, body):
        if not self.chats:
            raise UnansweredError("/chat/completions answered 404: no chat")
        turns = [self.ids(f" <{each['role']}> {each['content']}") for each in body["messages"]]
        _, new = self.written([token for turn in turns for token in turn], body["max_tokens"], 0, turns)
        rows = [
            {
                "token": token,
                "logprob": number,
                "top_logprobs": [{"token": t, "logprob": n} for t, n in top.items()],
            }
            for token, number, top in new
        ]
        return {"choices": [{"logprobs": {"content": rows}}]}

    def ids(self, text):
        return [self.words.setdefault(word, len(self.words)) for word in re.findall(r" ?[^ ]+", text)]

    def written(self, ids, new, longest, turns=()):
        """Return the rows of a prompt and of `new` tokens after it: token, log probability, likeliest ones."""
        self.kept = self.prefilled(ids, turns)
        count = len(ids)
        for step in range(new):
            best = int(self.kept.logits[-1][: self.common].argmax())
            self.kept = self.model.read([best], [self.place(count + step, longest + step)], self.kept)
        words = list(self.words)
        rows = [self.row(words, token, at) for at, token in enumerate(self.kept.ids)]
        self.kept = self.kept.cropped(count + new - 1)  # the last token was never read
        return rows[:count], rows[count:]

    def row(self, words, token, at):
        if at == 0:
            return words[token], None, {}
        logs = self.kept.logits[at - 1]
        logs = logs - np.log(np.exp(logs).sum())
        best = sorted({*np.argsort(-logs[: self.common])[:TOP].tolist(), token})
        return words[token], float(logs[token]), {words[each]: float(logs[each]) for each in best}

    def prefilled(self, ids, turns):
        """Return the cache after a prompt, read from where it departs from the last text."""
        same = next(
            (n for n, pair in enumerate(zip(ids, self.kept.ids, strict=False)) if len(set(pair)) > 1), None
        )
        same = min(len(ids), len(self.kept.ids)) if same is None else same
        hit = min(same, len(ids) - 1)
        return self.model.read(ids[hit:], self.places(hit, len(ids), turns), self.kept.cropped(hit))

    def places(self, hit, count, turns):
        return range(hit, count)

    def place(self, own, padded):
        """Return the position of a token that is written."""
        return own

    def listed(self, rows):
        tokens, numbers, tops = zip(*rows, strict=True)
        return {"tokens": tokens, "token_logprobs": numbers, "top_logprobs": [top or None for top in tops]}


class PrefixOffByOne(Server):
    def places(self, hit, count, turns):
        return range(hit + (hit > 0), count + (hit > 0))


class LooksAtTwenty(Server):
    """The cache is taken for the same text if the first twenty tokens agree."""

    def prefilled(self, ids, turns):
        if ids[:20] != self.kept.ids[:20]:
            return super().prefilled(ids, turns)
        hit = min(len(self.kept.ids), len(ids) - 1)
        kept = self.model.read(ids[hit:], range(hit, len(ids)), self.kept.cropped(hit))
        return Kept(list(ids), *list(vars(kept).values())[1:])


class KeepsLongFrequencies(Server):
    def prefilled(self, ids, turns):
        if len(ids) > LONG:
            self.model.scale = 0.5
        return super().prefilled(ids, turns)


class PaddedBatch(Server):
    """Tokens written in a batch are counted with the padding."""

    def place(self, own, padded):
        return max(own, padded)


class TurnsRestart(Server):
    def places(self, hit, count, turns):
        first = len(turns[0]) if turns else 0
        return range(count - hit) if turns and hit == first else range(hit, count)


class DecodesAtZero(Server):
    def place(self, own, padded):
        return 0


class Reloads(Server):
    """The model is loaded again in the middle, with another base."""

    def before_request(self):
        if self.asked == 35:
            self.model.base, self.kept = 1e4, empty()


class EchoesTheNext(Server):
    """Each echoed token has the distribution that follows it, as in llama-cpp-python without a token in front."""

    def listed(self, rows):
        if rows[0][2]:  # nothing was echoed
            return super().listed(rows)
        tokens, _, tops = zip(*rows, strict=True)
        numbers = [None, *(top.get(token, -20.0) for token, top in zip(tokens[1:], tops[2:], strict=False))]
        return {"tokens": tokens[:-1], "token_logprobs": numbers, "top_logprobs": [None, *tops[2:]]}


class RollsNumbers(Server):
    def listed(self, rows):
        listed = super().listed(rows)
        return listed | {"token_logprobs": [*listed["token_logprobs"][1:], None]}


class Random(Server):
    draw = np.random.default_rng(0)

    def before_request(self):
        self.model.scale, self.kept = self.draw.uniform(1, 2), empty()


class WrongScale(Server):
    def __init__(self):
        super().__init__()
        self.model.scale = 0.25


class LosesTheThread(Server):
    """Beyond 500 tokens, its scores are those of other frequencies."""

    def prefilled(self, ids, turns):
        kept = super().prefilled(ids, turns)
        kept.logits[500:] = np.roll(kept.logits[500:], 3, axis=-1)
        return kept


ODD = [None, True, 0, -1, 0.5, 10**400, math.nan, -math.inf, "", "NaN", [], {}, [[]], [None], [1], {"a": [1]}]


def spots(part, path=()):
    """Yield the way to each part of an answer, of lists to the first two."""
    yield path
    if isinstance(part, dict | list | tuple):
        keys = part if isinstance(part, dict) else range(min(2, len(part)))
        for key in keys:
            yield from spots(part[key], (*path, key))


def with_odd(answer, path, odd):
    """Return an answer with something odd in one place."""
    if not path:
        return odd
    first, *rest = path
    changed = dict(answer) if isinstance(answer, dict) else list(answer)
    changed[first] = with_odd(answer[first], rest, odd)
    return changed


class Odd(Server):
    """Some answers hold something odd, drawn from a seed."""

    def __init__(self, seed):
        super().__init__()
        self.draw = random.Random(seed)
        self.share = self.draw.choice((1, 0.1, 0.02))

    def post(self, path, body, seconds):
        answer = super().post(path, body, seconds)
        if self.draw.random() > self.share:
            return answer
        place = self.draw.choice(list(spots(answer)))
        return with_odd(answer, place, self.draw.choice(ODD))


def course(count, seed=0, rise=0.0, at=2000, slope=0):
    """Losses as a text has them: many small, few large, high at first; from `at` on higher by `rise` nats."""
    draw = np.random.default_rng(seed)
    tokens = np.arange(count)
    beyond = np.clip((tokens - at) / slope, 0, 1) if slope else tokens >= at
    return draw.gamma(0.5, 4.0, size=count) + 2 * np.exp(-tokens / 60) + rise * beyond


@contextmanager
def over_loopback(server, key=""):
    """Serve on a free port of this machine; yield the address."""

    class Handler(BaseHTTPRequestHandler):
        def do_GET(self):
            self.answer(None)

        def do_POST(self):
            self.answer(json.loads(self.rfile.read(int(self.headers["Content-Length"]))))

        def answer(self, body):
            status = 200
            try:
                if key and self.headers["Authorization"] != f"Bearer {key}":
                    raise PermissionError(f"wrong key {self.headers['Authorization']}")
                content = server.post(self.path.removeprefix("/v1"), body, 60)
            except (UnansweredError, PermissionError, KeyError) as error:
                status, content = 400, {"error": str(error)}
            data = json.dumps(content).encode()
            self.send_response(status)
            self.send_header("Content-Length", str(len(data)))
            self.end_headers()
            self.wfile.write(data)

        def log_message(self, *_):
            pass

    http = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    thread = threading.Thread(target=http.serve_forever, kwargs={"poll_interval": 0.01})
    thread.start()
    try:
        yield f"http://127.0.0.1:{http.server_port}"
    finally:
        http.shutdown()
        thread.join()
        http.server_close()


@contextmanager
def saying(parts, pause=0.0):
    """Serve the same bytes to each request, whatever they are, with a pause after each part; yield the address."""

    class Handler(socketserver.BaseRequestHandler):
        def handle(self):
            self.request.recv(2**16)
            for part in parts:
                try:
                    self.request.sendall(part)
                except OSError:  # nobody listens any more
                    return
                time.sleep(pause)

    with socketserver.ThreadingTCPServer(("127.0.0.1", 0), Handler) as tcp:
        thread = threading.Thread(target=tcp.serve_forever, kwargs={"poll_interval": 0.01})
        thread.start()
        try:
            yield f"http://127.0.0.1:{tcp.server_address[1]}"
        finally:
            tcp.shutdown()
            thread.join()
