r"""Mistakes in a whole model's positions: those in the clinic, and others in configs, in q and k, or in decoding.

Each mistake is an encoding built from the right spec and the number of tokens in the prompt. Decoding mistakes
affect only tokens after the prompt, which are decoded one at a time. A single pass over a whole text measures them
too, because a key is rotated only once, according to its position when it is stored.
"""

from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from typing import Any

import numpy as np
import torch
from torch import Tensor

from rope_book.real.model import Positions
from rope_doctor.clinic import BROKEN
from rope_doctor.clinic.mistakes import MISTAKES as CLINIC
from rope_doctor.precision import round_to
from rope_edu.attention.encoding import NoPosition, PositionEncoding, Rotary
from rope_edu.encodings import RopeSpec, plain_rope
from rope_edu.encodings.scaling import llama3, ntk_aware, position_interpolation, yarn


class PerHead(PositionEncoding):
    r"""An encoding that calls a function with NumPy arrays, x and positions.

    The function receives each head of q and k separately, `(seq, head_dim)` with positions `(seq,)`, as in the
    doctor's `diagnose`.

    Args:
        rotate: the function, which returns the rotated x.
        whole: whether to pass all heads at once instead, `(batch, heads, seq, head_dim)`.
        prompt: number of tokens after which the function is called for one token at a time, as in decoding; None
            for a single call.
    """

    def __init__(
        self,
        rotate: Callable[[np.ndarray, np.ndarray], Any],
        *,
        whole: bool = False,
        prompt: int | None = None,
    ) -> None:
        self.rotate, self.whole, self.prompt = rotate, whole, prompt

    def rotate_q(self, q: Any, positions: Any) -> Any:
        at, x = np.asarray(positions), q.numpy()
        heads = [x] if self.whole else x.reshape(-1, *x.shape[-2:])
        prompt = len(at) if self.prompt is None else self.prompt
        splits = range(max(1, prompt), len(at)) if at[0] == 0 else range(1, len(at))
        calls = list(zip(np.split(at, splits), np.split(np.stack(heads), splits, axis=-2), strict=True))
        rotated = [
            np.stack([np.asarray(self.rotate(head.copy(), at.copy())) for head in rows]) for at, rows in calls
        ]
        return torch.from_numpy(np.concatenate(rotated, axis=-2)).to(q.dtype).reshape(q.shape)

    def rotate_k(self, k: Any, positions: Any) -> Any:
        return self.rotate_q(k, positions)


class Recounted(PositionEncoding):
    """An encoding that applies another encoding at changed positions, which are the same for q and k."""

    def __init__(self, encoding: PositionEncoding, recount: Callable[[Tensor], Tensor]) -> None:
        self.encoding, self.recount = encoding, recount

    def rotate_q(self, q: Any, positions: Positions) -> Any:
        return self.encoding.rotate_q(q, self.recount(torch.as_tensor(positions)))

    def rotate_k(self, k: Any, positions: Positions) -> Any:
        return self.encoding.rotate_k(k, self.recount(torch.as_tensor(positions)))


class Two(PositionEncoding):
    """An encoding that uses different encodings for queries and keys."""

    def __init__(self, of_q: PositionEncoding, of_k: PositionEncoding) -> None:
        self.of_q, self.of_k = of_q, of_k

    def rotate_q(self, q: Any, positions: Positions) -> Any:
        return self.of_q.rotate_q(q, positions)

    def rotate_k(self, k: Any, positions: Positions) -> Any:
        return self.of_k.rotate_k(k, positions)


BY_CALL = {  # mistakes in the clinic whose effect depends on how a text is split into calls
    "adds_row_number",
    "counts_from_the_first",
    "depends_on_length",
    "depends_on_longest_row",
    "fills_gaps",
    "ignores_positions",
    "keeps_first_positions",
    "mixes_tokens",
    "remembers_earlier_calls",
    "takes_first_for_all",
}


TRAINED = 8192  # SmolLM2's training length in tokens


@dataclass(frozen=True)
class Mistake:
    """A mistake: a sentence about its effect, and a function that makes its encoding from the right spec and the
    prompt length."""

    does: str
    make: Callable[[RopeSpec, int], PositionEncoding]


def _other(spec: RopeSpec) -> RopeSpec:
    return spec.replace(layout="half_split" if spec.layout == "interleaved" else "interleaved")


def _config(does: str, change: Callable[[RopeSpec], RopeSpec]) -> Mistake:
    return Mistake(does, lambda spec, prompt: Rotary(change(spec)))


def _count(does: str, recount: Callable[[Tensor, int], Tensor]) -> Mistake:
    """Return a mistake that affects only decoding; `recount` maps positions and the prompt length to positions."""

    def make(spec: RopeSpec, prompt: int) -> PositionEncoding:
        return Recounted(Rotary(spec), lambda at: torch.where(at < prompt, at, recount(at, prompt)))

    return Mistake(does, make)


def _in_place(at: Tensor, prompt: int) -> Tensor:
    return torch.full_like(at, prompt)


def _base(base: float) -> Callable[[RopeSpec], RopeSpec]:
    return lambda spec: plain_rope(spec.head_dim, base, layout=spec.layout)


def _scaled(rule: Callable[..., RopeSpec], *settings: float) -> Callable[[RopeSpec], RopeSpec]:
    return lambda spec: rule(spec.head_dim, *settings, base=spec.base).replace(layout=spec.layout)


def _half(spec: RopeSpec) -> RopeSpec:
    return plain_rope(spec.head_dim, spec.base, rotary_dim=spec.head_dim // 2, layout=spec.layout)


def _held(pairs: slice) -> Callable[[RopeSpec], RopeSpec]:
    def hold(spec: RopeSpec) -> RopeSpec:
        frequencies = spec.inv_freq.copy()
        frequencies[pairs] = 0.0
        return spec.replace(inv_freq=frequencies)

    return hold


def _rounded(spec: RopeSpec, prompt: int) -> PositionEncoding:
    # positions and angles are rounded too, as when the whole module is cast to bfloat16
    frequencies = round_to(spec.inv_freq, "bfloat16")
    turn = BROKEN["angles_in_bfloat16"](spec.replace(inv_freq=frequencies))
    return PerHead(lambda x, positions: turn(x, round_to(positions, "bfloat16")))


def _of_clinic(name: str, spec: RopeSpec, prompt: int) -> PositionEncoding:
    return PerHead(
        BROKEN[name](spec),
        whole=CLINIC[name].takes != "seq head_dim",
        prompt=prompt if name in BY_CALL else None,
    )


OWN: dict[str, Mistake] = {
    "theta_lost": _config("The base is 10,000, the default, since the config's 100,000 is lost.", _base(1e4)),
    "base_500000": _config("The base is that of Llama 3, 500,000.", _base(5e5)),
    "pi_2_unasked": _config("All frequencies are divided by 2.", _scaled(position_interpolation, 2)),
    "pi_4_unasked": _config("All frequencies are divided by 4.", _scaled(position_interpolation, 4)),
    "ntk_4_unasked": _config("NTK-aware scaling by 4 is applied to a short text.", _scaled(ntk_aware, 4)),
    "ntk_16_unasked": _config("NTK-aware scaling by 4 is applied twice.", _scaled(ntk_aware, 16)),
    "yarn_4_unasked": _config("YaRN by 4 is applied to a short text.", _scaled(yarn, 4, TRAINED)),
    "llama3_8_unasked": _config(
        "Llama 3's rule by 8 is applied to a short text.", _scaled(llama3, 8, TRAINED)
    ),
    "half_the_width": _config("Only the first half of the features is rotated.", _half),
    "factor_1.21": _config(
        "Cosines and sines are multiplied by 1.21.", lambda spec: spec.replace(attention_factor=1.21)
    ),
    "layouts_mixed": Mistake(
        "Queries are rotated in one layout, keys in the other.",
        lambda spec, prompt: Two(Rotary(spec), Rotary(_other(spec))),
    ),
    "sign_of_k": Mistake(
        "Queries are rotated forwards, keys backwards.",
        lambda spec, prompt: Two(Rotary(spec), Rotary(spec.replace(inv_freq=-spec.inv_freq))),
    ),
    "k_still": Mistake("Keys are not rotated.", lambda spec, prompt: Two(Rotary(spec), NoPosition())),
    "all_in_bfloat16": Mistake("Positions, frequencies and angles are all rounded to bfloat16.", _rounded),
    "slowest_8_still": _config("The slowest 8 of 32 pairs do not turn.", _held(slice(-8, None))),
    "slowest_20_still": _config("The slowest 20 of 32 pairs do not turn.", _held(slice(-20, None))),
    "fastest_8_still": _config("The fastest 8 of 32 pairs do not turn.", _held(slice(8))),
    "padding_counted": Mistake(
        "Seven tokens of padding on the left are counted, in the prompt and in decoding.",
        lambda spec, prompt: Recounted(Rotary(spec), lambda at: at + 7),
    ),
    "padding_counted_later": _count(
        "Padding (7 tokens) is counted in decoding only.", lambda at, prompt: at + 7
    ),
    "cache_off_by_one": _count("Decoding skips one position after the prompt.", lambda at, prompt: at + 1),
    "cache_one_behind": _count("Decoding repeats the prompt's last position.", lambda at, prompt: at - 1),
    "restarts": _count("Decoding counts from 0 again.", lambda at, prompt: at - prompt),
    "decodes_at_0": _count("Every decoded token is at position 0.", lambda at, prompt: 0 * at),
    "decodes_in_place": _count("Every decoded token is at the position after the prompt.", _in_place),
}
MISTAKES: dict[str, Mistake] = OWN | {
    name: Mistake(CLINIC[name].does, partial(_of_clinic, name)) for name in BROKEN
}


def broken(name: str, spec: RopeSpec, prompt: int) -> PositionEncoding:
    r"""Return an encoding with a known mistake, for `greedy(…, spec=…)`.

    Args:
        name: a key in `MISTAKES`, which includes the mistakes in the clinic.
        spec: the right rotation.
        prompt: number of tokens in the prompt; later tokens are decoded.

    Raises:
        ValueError: `name` is not in `MISTAKES`.

    >>> right = plain_rope(2)
    >>> behind = broken("cache_one_behind", right, prompt=2)
    >>> x = torch.tensor([[[1.0, 0.0]] * 4])
    >>> bool((behind.rotate_k(x, range(4)) == Rotary(right).rotate_k(x, torch.tensor([0, 1, 1, 2]))).all())
    True

    Chapter 22.
    """
    if name not in MISTAKES:
        raise ValueError(f"mistake must be one of {', '.join(sorted(MISTAKES))}, got {name!r}")
    return MISTAKES[name].make(spec, prompt)
