r"""rope-doctor ask URL --model NAME: check that a server gives the same log probabilities however it is queried.

URL points to an OpenAI-compatible server, with or without /v1. It must return log probabilities of new tokens, and
most checks need those of the prompt (`echo` with `logprobs`, or vLLM's `prompt_logprobs`). Servers known to do so
are vLLM and llama-cpp-python with `--logits_all True`. The texts are drawn anew for each run, so the server cannot
have cached them.

    same request twice    the noise of cold answers, against which all other differences are judged; central
    alignment             each log probability of an echoed prompt is that of the token next to it
    prefix cache          a text before and after a cache hit, and extended word by word; central
    batch                 three texts of different lengths, alone and together; central
    own answer            the server's output, read back as part of a prompt; central
    turns                 a whole chat, and the same chat after a request with only its first turn
    level                 with --text and --losses, the losses equal those of a correct run, overall and by token
    after a long request  a text before and after a long one; central
    falls                 the loss on a repetitive text falls, as in a trained model
    context               the loss on the long text stays level up to the claimed context
    claim                 the context that the server claims is not longer than that in --config
    first again           the first text, again at the end; central

A full run takes about 57 requests and 6,400 tokens besides the long text, or 66 requests if the server takes only
one prompt per request. A check that differs is repeated up to twice. --dry-run prints the requests and the time
limit, and sends nothing.

A server that makes the same mistake in every request passes all checks but three. `level` compares it with another
program. `falls` and `context` notice a large mistake in a long text: SmolLM2 with a base of 10,000 fails both at
4,096 tokens, with 500,000 neither. Some mistakes pass all checks: a server that always counts the turns of a chat
from 0, and one whose mistake has less effect than rounding, such as a cache that is off by one.

The API key is read from the environment variable ROPE_DOCTOR_KEY, or from the variable given by --key. It is sent
only to this server and is never printed.

The exit status is 0 only if every central check ran and nothing differs, 1 if something differs, otherwise 2.
"""

import argparse
import json
import os
from dataclasses import asdict
from pathlib import Path

from rope_doctor.command.judging import names_in
from rope_doctor.command.losses import read_losses
from rope_doctor.config.files import read_file
from rope_doctor.probes.endpoint import Endpoint, over_http, tokens_in
from rope_doctor.probes.rehearsal import Rehearsal
from rope_doctor.probes.served import ask_server

SHOWN = 60  # characters shown of each prompt in a dry run
COULD_NOT_TELL = 2


def run(chosen: argparse.Namespace) -> tuple[int, object, str]:
    """Query a server; exit status 0 if it is right, 1 if not, 2 if a central check did not run."""
    rehearsal = Rehearsal() if chosen.dry_run else None
    post = rehearsal.post if rehearsal else over_http(chosen.url, os.environ.get(chosen.key, ""))
    report = ask_server(
        Endpoint(post, chosen.model, seconds=chosen.seconds),
        length=chosen.length,
        context=_context(chosen),
        text=None if chosen.text is None else Path(chosen.text).read_text(encoding="utf-8"),
        expected=None if chosen.losses is None else read_losses(chosen.losses)[0],
        seed=chosen.seed,
        only=names_in(chosen.only),
        skip=names_in(chosen.skip),
        require=names_in(chosen.require),
    )
    if rehearsal:
        return COULD_NOT_TELL, _plan(rehearsal), _plan_in_words(rehearsal, chosen.seconds)
    facts = {"right": report.right, "status": report.verdict.status, **asdict(report), "text": str(report)}
    return report.verdict.status, facts, str(report)


def _context(chosen: argparse.Namespace) -> int | None:
    """Return the context given in the options, otherwise the longest one in the config."""
    if chosen.context is not None or chosen.config is None:
        return chosen.context
    lengths = [reading.longest for reading in read_file(chosen.config).readings]
    return max((length for length in lengths if length), default=None)


def _plan(rehearsal: Rehearsal) -> list[dict[str, object]]:
    return [{"path": path, "body": body, "tokens": tokens_in(body)} for path, body in rehearsal.requests]


def _plan_in_words(rehearsal: Rehearsal, seconds: float) -> str:
    """Return the totals and the time limit, then a line per request with the start of its prompt."""
    total = sum(tokens_in(body) for _, body in rehearsal.requests)
    head = (
        f"Nothing was asked. A run makes {len(rehearsal.requests)} requests of about {total:,} tokens in at most "
        f"{seconds:,.0f} seconds. A check that differs is repeated up to twice."
    )
    return "\n".join([head, *(_line(path, body) for path, body in rehearsal.requests)])


def _line(path: str, body: dict[str, object]) -> str:
    settings = {name: value for name, value in body.items() if name not in ("prompt", "messages")}
    text = json.dumps(body.get("prompt", body.get("messages")), ensure_ascii=False)
    shown = text if len(text) <= SHOWN else f"{text[:SHOWN]}…"
    return f"POST /v1{path} ({tokens_in(body)} tokens) {json.dumps(settings)} {shown}"
