"""Faults, each put into a model that is right: tiny models of transformers, and the decoder in NumPy."""

import contextlib
import sys

import numpy as np
import torch

from rope_doctor.precision import round_to
from rope_doctor.probes import Kept, Specimen
from rope_edu.encodings.spec import RopeSpec, plain_rope

from .tiny import tiny

MODELS, DECODERS = {}, {}
TWO_KINDS = {
    "layer_types": ["sliding_attention", "full_attention"],
    "rope_parameters": {
        "sliding_attention": {"rope_type": "default", "rope_theta": 1e4},
        "full_attention": {"rope_type": "default", "rope_theta": 1e6},
    },
}
YARN = {"rope_type": "yarn", "rope_theta": 5e5, "factor": 8.0, "original_max_position_embeddings": 256}
LLAMA3 = {
    "rope_type": "llama3",
    "rope_theta": 5e5,
    "factor": 8.0,
    "low_freq_factor": 1.0,
    "high_freq_factor": 4.0,
    "original_max_position_embeddings": 64,
}
DYNAMIC = {"rope_type": "dynamic", "rope_theta": 1e4, "factor": 2.0}


def fault(of, model_type="llama", **changes):
    """Register a function that puts a fault into a model, with the words that the report must say."""

    def register(put):
        of[put.__name__] = lambda: (tiny(model_type, **changes), put)
        return put

    return register


def turns(model):
    """The rotary module of a model."""
    return model.model.rotary_emb


def frequencies(base, width=16):
    return torch.tensor(plain_rope(width, base).inv_freq, dtype=torch.float32)


@contextlib.contextmanager
def patched(model, name, new):
    """Replace a function of the file in which a model is written."""
    file = sys.modules[type(model).__module__]
    old = getattr(file, name)
    setattr(file, name, new(old))
    try:
        yield
    finally:
        setattr(file, name, old)


def rewired(module, change):
    """Replace a module's forward by one that calls it."""
    old = module.forward
    module.forward = lambda *args, **options: change(old, *args, **options)


# faults of modules, for `model`


@fault(MODELS, "gemma3_text", **TWO_KINDS)
def wrong_base_in_one_kind_of_layers(model):
    turns(model).full_attention_inv_freq = frequencies(1e4)


@fault(MODELS, "gemma3_text", **TWO_KINDS)
def the_bases_of_two_kinds_exchanged(model):
    module = turns(model)
    module.full_attention_inv_freq = frequencies(1e4)
    module.sliding_attention_inv_freq = frequencies(1e6)


@fault(MODELS)
def frequencies_cast_to_bfloat16(model):
    model.to(torch.bfloat16)


@fault(MODELS)
def frequencies_cast_to_float16(model):
    turns(model).inv_freq = turns(model).inv_freq.half()


@fault(MODELS)
def frequencies_never_filled(model):
    turns(model).inv_freq = torch.zeros(8)


@fault(MODELS)
def frequencies_that_are_nan(model):
    turns(model).inv_freq = torch.full((8,), torch.nan)


@fault(MODELS)
def frequencies_of_a_stranger(model):
    turns(model).inv_freq = torch.linspace(3e8, 1e-38, 8)


@fault(MODELS)
def frequencies_left_on_the_meta_device(model):
    turns(model).inv_freq = turns(model).inv_freq.to("meta")


@fault(MODELS, rope_parameters={"rope_type": "default", "rope_theta": 5e5})
def base_lost(model):
    turns(model).inv_freq = frequencies(1e4)


@fault(MODELS, rope_parameters=LLAMA3)
def rule_lost(model):
    turns(model).inv_freq = frequencies(5e5)


@fault(MODELS, rope_parameters=YARN)
def attention_factor_lost(model):
    turns(model).attention_scaling = 1.0


@fault(MODELS, rope_parameters=YARN)
def attention_factor_squared(model):
    turns(model).attention_scaling **= 2


@fault(MODELS, rope_parameters={"rope_type": "linear", "rope_theta": 1e4, "factor": 4.0})
def factor_applied_twice(model):
    turns(model).inv_freq = turns(model).inv_freq / 4


@fault(MODELS, "phi")
def the_whole_head_turned_where_half_is_wanted(model):
    turns(model).inv_freq = frequencies(1e4)


@fault(MODELS, "phi")
def exponents_by_another_width(model):
    turns(model).inv_freq = frequencies(1e4)[: len(turns(model).inv_freq)]


@fault(MODELS)
def one_clock(model):
    turns(model).inv_freq = torch.ones(8)


@fault(MODELS)
def exponents_doubled(model):
    turns(model).inv_freq = turns(model).inv_freq ** 2


@fault(MODELS)
def positions_from_one(model):
    rewired(turns(model), lambda old, x, position_ids: old(x, position_ids + 1))


@fault(MODELS)
def positions_in_bfloat16(model):
    rewired(turns(model), lambda old, x, position_ids: old(x, position_ids.bfloat16()))


@fault(MODELS)
def positions_clamped_to_a_table(model):
    rewired(turns(model), lambda old, x, position_ids: old(x, position_ids.clamp(max=127)))


@fault(MODELS)
def positions_by_row_number(model):
    def counted(old, x, position_ids):
        return old(x, torch.arange(position_ids.shape[-1]).expand(position_ids.shape))

    rewired(turns(model), counted)


@fault(MODELS)
def cosines_and_sines_exchanged(model):
    rewired(turns(model), lambda old, *args: old(*args)[::-1])


@fault(MODELS)
def sines_negated(model):
    def negated(old, *args):
        cos, sin = old(*args)
        return cos, -sin

    rewired(turns(model), negated)


@fault(MODELS, "gemma3_text", **TWO_KINDS)
def one_kind_for_all_layers(model):
    rewired(turns(model), lambda old, x, ids, layer_type: old(x, ids, "full_attention"))


@fault(MODELS, rope_parameters=DYNAMIC, max_position_embeddings=128)
def dynamic_frequencies_that_stay(model):
    """As transformers 5.23 has it: between the trained and the longest length the old frequencies stay."""


@fault(MODELS)
def layout_swapped(model):
    def neighbours(_):
        def apply(q, k, cos, sin, **options):
            return tuple(interleaved(x, cos[:, None], sin[:, None]) for x in (q, k))

        return apply

    return patched(model, "apply_rotary_pos_emb", neighbours)


def interleaved(x, cos, sin):
    cos, sin = (each[..., : each.shape[-1] // 2] for each in (cos, sin))
    first, second = x[..., ::2], x[..., 1::2]
    return torch.stack((first * cos - second * sin, first * sin + second * cos), dim=-1).flatten(-2)


@fault(MODELS)
def turned_twice(model):
    def twice(old):
        return lambda q, k, *args, **options: old(*old(q, k, *args, **options), *args, **options)

    return patched(model, "apply_rotary_pos_emb", twice)


@fault(MODELS)
def queries_turned_and_keys_not(model):
    def half(old):
        return lambda q, k, *args, **options: (old(q, k, *args, **options)[0], k)

    return patched(model, "apply_rotary_pos_emb", half)


@fault(MODELS)
def turned_in_no_layer(model):
    return patched(model, "apply_rotary_pos_emb", lambda _: lambda q, k, *args, **options: (q, k))


@fault(MODELS, "smollm3", no_rope_layers=[1, 0])
def a_layer_turned_that_must_not(model):
    model.model.layers[1].self_attn.use_rope = 1


# faults of decoders, for `decode`


def wrong(**parts):
    """Register a decoder in NumPy with a part replaced, and the check that must differ first of all."""

    def register(kind):
        facts = parts.get("facts", {})
        DECODERS[kind.__name__] = lambda: kind(parts.get("spec")).decoder(**facts), parts["differs"]
        return kind

    return register


@wrong(differs="step by step")
class NewTokensFromZero(Specimen):
    def count(self, tokens, positions, seen):
        return super().count(tokens, positions, 0)


@wrong(differs="step by step")
class KeysTurnedAgainAtEachStep(Specimen):
    def store(self, k, v, cache, layer, positions):
        if cache is not None:
            again = self.rotate(cache.keys[layer], np.arange(cache.count)[None])
            cache = Kept((*cache.keys[:layer], again, *cache.keys[layer + 1 :]), cache.values, cache.count)
        return super().store(k, v, cache, layer, positions)


@wrong(differs="step by step")
class OneCounterAdvancedByEachLayer(Specimen):
    def rotate(self, x, positions):
        self.calls = getattr(self, "calls", 0) + 1
        return super().rotate(x, positions + (x.shape[-2] == 1) * (self.calls % 4 > 1))


@wrong(differs="step by step, with positions")
class GivenPositionsIgnoredInSteps(Specimen):
    def count(self, tokens, positions, seen):
        return (
            positions * 0 + seen + 1
            if positions is not None and seen
            else super().count(tokens, positions, seen)
        )


@wrong(differs="left padding")
class PaddingSeen(Specimen):
    def see(self, tokens, keys, seen, mask):
        return super().see(tokens, keys, seen, None)


@wrong(differs="left padding")
class PaddingCountedInSteps(Specimen):
    def count(self, tokens, positions, seen):
        return super().count(tokens, None if seen else positions, seen)


@wrong(differs="right padding")
class PaddingMovesTheText(Specimen):
    def __call__(self, tokens, *, positions=None, mask=None, cache=None):
        if mask is not None and positions is None and cache is None:
            positions = np.arange(tokens.shape[1]) * (1 + (mask == 0).any(axis=1, keepdims=True))
        return super().__call__(tokens, positions=positions, mask=mask, cache=cache)


@wrong(differs="rows")
class FirstRowsPositionsForAll(Specimen):
    def rotate(self, x, positions):
        return super().rotate(x, positions + (len(positions) > 1) * 3 * np.arange(positions.shape[1]))


@wrong(differs="rows at length 1")
class LaterRowsUnturnedAtLengthOne(Specimen):
    def rotate(self, x, positions):
        turned = super().rotate(x, positions)
        return np.concatenate((turned[:1], x[1:])) if x.shape[-2] == 1 else turned


@wrong(differs="moved")
class QueriesAndKeysByDifferentBases(Specimen):
    def rotate(self, x, positions):
        self.calls = getattr(self, "calls", 0) + 1
        return super().rotate(x, positions * (1.0 if self.calls % 2 else 1.01))


@wrong(differs="effect of positions")
class PositionIdsIgnored(Specimen):
    def count(self, tokens, positions, seen):
        return super().count(tokens, None, seen)


@wrong(differs="gaps")
class GapsHalved(Specimen):
    def count(self, tokens, positions, seen):
        found = super().count(tokens, positions, seen)
        return found[:, :1] + np.cumsum(np.minimum(np.diff(found, prepend=found[:, :1]), 2), axis=1)


@wrong(differs="cropped cache")
class CropThatKeepsTheCount(Specimen):
    def crop(self, cache, length, removed):
        cropped = super().crop(cache, length, removed)
        return Kept(cropped.keys, cropped.values, cropped.count + removed)

    def see(self, tokens, keys, seen, mask):
        return super().see(tokens, keys, keys - tokens.shape[1], mask)


@wrong(differs="shifted cache")
class ShiftThatTurnsNoKeys(Specimen):
    def shift(self, cache, by):
        return cache


@wrong(differs="state", facts={"trained": 32})
class FrequenciesOfTheLongestText(Specimen):
    def rotate(self, x, positions):
        self.longest = max(getattr(self, "longest", 0), int(positions.max()))
        return super().rotate(x, positions / max(1.0, self.longest / 32))


@wrong(differs="across the trained length", facts={"trained": 32, "rule": "dynamic"})
class KeysOfTwoBases(Specimen):
    def rotate(self, x, positions):
        return super().rotate(x, positions / max(1.0, float(positions.max()) / 32))


@wrong(
    differs="M-RoPE ids",
    spec=RopeSpec(plain_rope(16).inv_freq, axes=(0, 0, 0, 1, 1, 1, 2, 2), layout="half_split"),
)
class TimeForAllCoordinates(Specimen):
    def count(self, tokens, positions, seen):
        found = super().count(tokens, positions, seen)
        return np.stack([found[..., 0]] * 3, axis=-1) if seen else found


class RoundedFrequencies(Specimen):
    """The copy in bfloat16, in which the frequencies are rounded too."""

    def rotate(self, x, positions):
        rounded = round_to(self.spec.inv_freq, "bfloat16")
        return Specimen(self.spec.replace(inv_freq=rounded)).rotate(x, positions)


@wrong(differs="bfloat16", facts={"narrow": lambda: RoundedFrequencies().decoder(), "trained": 4096})
class RightButForItsNarrowCopy(Specimen):
    pass
