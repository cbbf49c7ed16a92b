r"""From the parameters of one rotation to the call of a rule of `rope_edu.encodings`."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field, replace
from typing import Any, NamedTuple

from rope_edu import encodings
from rope_edu.config.layers import STILL, THETA, Notes, listed, same
from rope_edu.config.values import RULES, Part, checked, missing, refuse, said
from rope_edu.encodings.scaling.yarn import ramp_ends, yarn_mscale
from rope_edu.encodings.spatial import section_axes
from rope_edu.encodings.spec import RopeSpec

LONGEST, ORIGINAL, PARTIAL = (
    "max_position_embeddings",
    "original_max_position_embeddings",
    "partial_rotary_factor",
)


@dataclass(frozen=True)
class Call:
    """The rule that makes a spec: a function of `rope_edu.encodings`, its arguments, and what is changed then."""

    rule: str
    arguments: tuple
    settings: dict[str, Any]
    divided_by: float = 1.0
    axes: tuple[int, ...] | None = None

    def spec(self) -> RopeSpec:
        """Return what the rule gives."""
        if self.rule == STILL:
            head_dim = self.arguments[0]
            return RopeSpec([0.0] * (head_dim // 2), head_dim=head_dim, kind=STILL, **self.settings)
        made = getattr(encodings, self.rule)(*self.arguments, **self.settings)
        return made.replace(inv_freq=made.inv_freq / self.divided_by, axes=self.axes)

    def line(self) -> str:
        """Return the call as a line of Python, or the reader's own where a list, sections or no rule is needed.

        >>> Call("llama3", (128, 8.0, 8192), {"base": 5e5, "layout": "half_split"}).line()
        'llama3(128, 8, 8192, base=500000, layout="half_split")'
        """
        if self.rule in (STILL, "longrope") or self.divided_by != 1 or self.axes is not None:
            return 'rope_from_config("config.json")'
        given = [said(each) for each in self.arguments]
        settings = [f"{name}={_literal(value)}" for name, value in self.settings.items()]
        return f"{self.rule}({', '.join(given + settings)})"


def _literal(value: object) -> str:
    return str(value) if isinstance(value, bool) else said(value)


@dataclass
class Source:
    """What a rule is computed from: the model's part of the file, the rotation's parameters, and what is known."""

    body: Part
    part: Part
    family: str
    label: str | None
    seq_len: int | None
    notes: Notes
    base: float = 1.0
    factor: float | None = None
    trained: int | None = None
    settings: dict[str, Any] = field(default_factory=dict)

    def default(self, name: str) -> Any:
        """Return the architecture's own value of a field that the file leaves out, or None; noted."""
        value = RULES["defaults"].get(self.family, {}).get(name)
        if value is not None:
            self.notes.add("default taken", field=name, value=said(value), model_type=self.family)
        return value


class Widths(NamedTuple):
    """Features of the head, those of them that turn, and the fraction that the file states."""

    head_dim: int
    rotary_dim: int
    partial: float | None


def layout_of(body: Part, family: str, notes: Notes) -> str:
    """Return which features pair: as the file says, or its architecture."""
    stated = body.one("rope_interleave")
    if stated is not None:
        return "interleaved" if stated else "half_split"
    if family in RULES["interleaved"]:
        return "interleaved"
    if family not in RULES["half_split"]:
        notes.add("layout assumed", value=said(family or None))
    return "half_split"


def rope_type_of(part: Part) -> str:
    """Return the rule's name, without aliases."""
    found = [name for name in ("rope_type", "type") if name in part]
    named = [_named_rule(part.path(name), part.get(name)) for name in found]
    if len(set(named)) == 2:
        words = {"value": part.get("rope_type"), "other": part.path("type"), "other_value": part.get("type")}
        raise refuse("contradiction", part.path("rope_type"), **words)
    rule = named[0] if named else "default"
    if rule == "dynamic" and "alpha" in part:
        rule = "ntk_alpha"
    known = RULES["rules"][rule]
    takes = [*known["needs"], *known["takes"]]
    allowed = [*takes, *known["without_effect"], *RULES["any_rule_takes"], *RULES["beside_the_rotation"]]
    for name, value in part.values.items():
        if name not in allowed:
            words = {"value": value, "rule": rule, "allowed": listed(takes) or "no key of its own"}
            raise refuse("no rule uses", part.path(name), **words)
    return rule


def _named_rule(path: str, name: str) -> str:
    for rule, known in RULES["rules"].items():
        if name == rule or name in known["aliases"]:
            return rule
    if name in RULES["refused_rules"]:
        raise refuse("refused rule", path, value=name, why=RULES["refused_rules"][name])
    raise refuse("no rule", path, allowed=listed([*RULES["rules"], *RULES["refused_rules"]]), value=name)


def base_of(at: Source, rule: str) -> float:
    """Return b: from the rotation's parameters, beside them, or the architecture's own where that is safe."""
    inside, beside = at.part.get(THETA), at.body.one(THETA)
    if None not in (inside, beside) and inside != beside and not at.part.apart:
        path = at.body.path_of(THETA)
        raise refuse("contradiction", at.part.path(THETA), value=inside, other=path, other_value=beside)
    other = RULES["theta_named_otherwise"].get(at.family)
    if other and THETA in at.body and other not in at.body and inside is None:
        at.notes.lost("named otherwise", model_type=at.family, other=other, field=at.body.path(THETA))
    alone = RULES["theta_reaches_full_attention_alone"].get(at.family)
    if alone is not None and inside is None and beside not in (None, alone):
        path = at.body.path_of(THETA)
        at.notes.lost("full attention alone", model_type=at.family, field=path, value=said(alone))
    base = beside if inside is None else inside
    if base is None and RULES["rules"][rule]["base_may_be_missing"]:
        base = at.default(THETA)
    if base is None:
        raise missing(at.body.path(THETA), THETA)
    ratio = at.body.get("rope_ratio", 1.0)
    return checked(THETA, at.body.path(THETA), base * ratio)


def head_dim_of(at: Source) -> int:
    """Return the width of the head that turns: MLA's rotary part, or stated, or derived."""
    for name in ("qk_rope_head_dim", *(["global_head_dim"] if at.label == "full_attention" else [])):
        if name in at.body:
            return at.body.get(name)
    stated = at.body.one("head_dim") or at.default("head_dim")
    if stated is not None:
        return stated
    hidden, heads = at.body.one("hidden_size"), at.body.one("num_attention_heads")
    if hidden is None or heads is None:
        raise missing(at.body.path("head_dim"), "head_dim")
    if hidden % heads:
        other = at.body.path_of("num_attention_heads")
        path = at.body.path_of("hidden_size")
        raise refuse("not divisible", path, value=hidden, other=other, other_value=heads)
    return checked("head_dim", at.body.path_of("hidden_size"), hidden // heads)


def widths_of(at: Source, rule: str) -> Widths:
    """Return the widths of the head and of what turns."""
    head_dim = head_dim_of(at)
    inside, beside = at.part.get(PARTIAL), at.body.one(PARTIAL)
    if None not in (inside, beside) and inside != beside and not at.part.apart:
        path = at.body.path_of(PARTIAL)
        raise refuse("contradiction", at.part.path(PARTIAL), value=inside, other=path, other_value=beside)
    partial, path = (
        (inside, at.part.path(PARTIAL)) if inside is not None else (beside, at.body.path_of(PARTIAL))
    )
    if rule == "proportional":
        return Widths(*_even(at, at.body.path_of("head_dim"), head_dim, head_dim, head_dim, 2), partial)
    stated = at.body.get("rotary_dim")
    if "qk_rope_head_dim" in at.body:
        stated, partial = head_dim, _of_whole_head(at, head_dim, partial, path)
    elif partial is None and stated is None:
        partial = at.default(PARTIAL)
    if partial is not None and stated is not None and int(head_dim * partial) != stated:
        other = at.body.path("rotary_dim")
        raise refuse("contradiction", path, value=partial, other=other, other_value=stated)
    width, path = (
        (int(head_dim * partial), path) if partial is not None else (stated or head_dim, _width_path(at))
    )
    value = partial if partial is not None else width
    return Widths(
        *_even(at, path, value, head_dim, width, 4 if rule in ("dynamic", "ntk_alpha") else 2), partial
    )


def _of_whole_head(at: Source, rope_dim: int, partial: float | None, path: str) -> None:
    """Check that a fraction stated beside MLA's widths means the same: qk_rope_head_dim of the whole head."""
    whole = at.body.one("head_dim") or rope_dim
    if partial not in (None, 1.0) and int(whole * partial) != rope_dim:
        other = at.body.path("qk_rope_head_dim")
        raise refuse("contradiction", path, value=partial, other=other, other_value=rope_dim)


def _width_path(at: Source) -> str:
    name = next((name for name in ("qk_rope_head_dim", "rotary_dim") if name in at.body), "head_dim")
    return at.body.path_of(name)


def _even(at: Source, path: str, value: float, head_dim: int, width: int, least: int) -> tuple[int, int]:
    if width % 2 or not least <= width <= head_dim:
        raise refuse("odd width", path, value=value, width=width, least=least)
    return head_dim, width


def call_of(at: Source, rule: str, layout: str) -> Call:
    """Return the call that makes the spec."""
    at.base = base_of(at, rule)
    widths = widths_of(at, rule)
    at.settings = {"base": at.base, "layout": layout}
    if widths.rotary_dim != widths.head_dim:
        at.settings["rotary_dim"] = widths.rotary_dim
    for name in RULES["beside_the_rotation"]:
        if name in at.part:
            at.notes.add("beside the rotation", field=at.part.path(name))
    made = _CALLS[rule](at, widths)
    pairs = widths.rotary_dim // 2
    sections = at.part.get("mrope_section")
    if sections is not None and sum(sections) != pairs:
        raise refuse("wrong sum", at.part.path("mrope_section"), pairs=pairs, value=sections)
    if sections is None:
        return made
    return replace(made, axes=tuple(section_axes(pairs, sections, section_order(at.part)).tolist()))


def section_order(part: Part) -> str | None:
    """Return how the sections of a part are dealt to the pairs, or None where it has none."""
    if "mrope_section" not in part:
        return None
    mixed = part.get("mrope_interleaved", False) or part.get("interleaved", False)
    return "interleaved" if mixed else "contiguous"


def _default(at: Source, widths: Widths) -> Call:
    if widths.rotary_dim == widths.head_dim:
        return Call("plain_rope", (widths.head_dim,), at.settings)
    settings = {name: value for name, value in at.settings.items() if name != "rotary_dim"}
    return Call("partial_rope", (widths.head_dim, widths.rotary_dim), settings)


def _linear(at: Source, widths: Widths) -> Call:
    at.factor = at.part.need("factor")
    return Call("position_interpolation", (widths.head_dim, at.factor), at.settings)


def _dynamic(at: Source, widths: Widths) -> Call:
    at.factor, at.trained = at.part.need("factor"), _longest(at)
    if at.trained is None:
        raise missing(at.body.path(LONGEST), LONGEST)
    at.notes.add("depends on length")
    length = at.seq_len or at.trained
    return Call("dynamic_ntk", (widths.head_dim, length, at.trained), {"factor": at.factor, **at.settings})


def _ntk_alpha(at: Source, widths: Widths) -> Call:
    at.factor = at.part.need("alpha")
    return Call("ntk_aware", (widths.head_dim, at.factor), at.settings)


def _yarn(at: Source, widths: Widths) -> Call:
    _stretch(at)
    fast, slow = at.part.get("beta_fast", 32.0), at.part.get("beta_slow", 1.0)
    _ordered(at, "beta_slow", slow, "beta_fast", fast)
    truncate = at.part.get("truncate", True)
    ramp = {"beta_fast": fast, "beta_slow": slow, "truncate": truncate}
    low, high = ramp_ends(widths.rotary_dim, at.base, at.trained, **ramp)
    if low > high:
        raise refuse("ramp", at.part.path(ORIGINAL), value=at.trained, base=at.base)
    settings = {name: value for name, value in ramp.items() if value != _YARN[name]} | _mscales(at)
    return Call("yarn", (widths.head_dim, at.factor, at.trained), settings | at.settings)


_YARN = {"beta_fast": 32.0, "beta_slow": 1.0, "truncate": True}


def _mscales(at: Source) -> dict[str, float]:
    """Return the settings of YaRN's attention factor; transformers reads the two mscales only together."""
    stated = at.part.get("attention_factor")
    mscale, all_dim = at.part.get("mscale", 0.0), at.part.get("mscale_all_dim", 0.0)
    if all_dim:
        scale = said(round(yarn_mscale(at.factor, all_dim) ** 2, 4))
        at.notes.add("softmax scale", scale=scale)
    if stated is not None:
        return {"attention_factor": stated}
    if bool(mscale) != bool(all_dim):
        at.notes.add("half an mscale")
    return {"mscale": mscale, "mscale_all_dim": all_dim} if mscale and all_dim else {}


def _llama3(at: Source, widths: Widths) -> Call:
    at.part.need("factor")
    _stretch(at)
    low, high = at.part.need("low_freq_factor"), at.part.need("high_freq_factor")
    _ordered(at, "low_freq_factor", low, "high_freq_factor", high)
    settings = {"low_freq_factor": low, "high_freq_factor": high, **at.settings}
    return Call("llama3", (widths.head_dim, at.factor, at.trained), settings)


def _longrope(at: Source, widths: Widths) -> Call:
    lists = {name: at.part.need(name) for name in ("short_factor", "long_factor")}
    pairs = widths.rotary_dim // 2
    for name, values in lists.items():
        if len(values) != pairs:
            raise refuse("wrong length", at.part.path(name), pairs=pairs, value=len(values))
    _stretch(at)
    if at.trained < 2:
        raise refuse("too short", at.part.path(ORIGINAL), value=at.trained)
    at.notes.add("depends on length")
    length = at.seq_len or 1
    stated = _stated_growth(at, length)
    settings = lists | ({} if stated is None else {"attention_factor": stated}) | at.settings
    return Call("longrope", (widths.head_dim, at.factor, at.trained), {"length": length, **settings})


def _stated_growth(at: Source, length: int) -> float | None:
    """Return LongRoPE's attention factor where the file states it; Phi-3.5-MoE states one for each list."""
    short, long = (at.part.get(name) for name in ("short_mscale", "long_mscale"))
    if (short is None) != (long is None):
        lacking = "short_mscale" if short is None else "long_mscale"
        raise missing(at.part.path(lacking), lacking)
    if short is None:
        return at.part.get("attention_factor")
    return long if length > at.trained else short


def _proportional(at: Source, widths: Widths) -> Call:
    at.factor = at.part.get("factor", 1.0)
    partial = 1.0 if widths.partial is None else widths.partial
    return Call("p_rope", (widths.head_dim, partial), at.settings, at.factor)


def _longest(at: Source) -> int | None:
    return at.body.one(LONGEST)


def _stretch(at: Source) -> None:
    """Find the length before the stretch, and the factor: stated, or the ratio of the lengths."""
    inside, beside = at.part.get(ORIGINAL), at.body.get(ORIGINAL)
    if None not in (inside, beside) and not same(inside, beside):
        path = at.body.path(ORIGINAL)
        raise refuse("contradiction", at.part.path(ORIGINAL), value=inside, other=path, other_value=beside)
    at.trained = beside if inside is None else inside
    if at.trained is None:
        raise missing(at.part.path(ORIGINAL), ORIGINAL)
    at.factor, longest = at.part.get("factor"), _longest(at)
    ratio = None if longest is None else longest / at.trained
    if at.factor is None and ratio is None:
        raise missing(at.part.path("factor"), "rule")
    if at.factor is None:
        at.factor = checked("factor", at.part.path("factor"), ratio)
        at.notes.add("factor from lengths", factor=said(ratio))
    elif ratio is not None and ratio not in (1.0, at.factor):
        at.notes.add("factor disagrees", factor=said(at.factor), ratio=said(ratio))


def _ordered(at: Source, low: str, low_value: float, high: str, high_value: float) -> None:
    if low_value >= high_value:
        words = {"value": low_value, "other": at.part.path(high), "other_value": high_value}
        raise refuse("order", at.part.path(low), **words)


_CALLS: dict[str, Callable[[Source, Widths], Call]] = {
    "default": _default,
    "linear": _linear,
    "dynamic": _dynamic,
    "ntk_alpha": _ntk_alpha,
    "yarn": _yarn,
    "llama3": _llama3,
    "longrope": _longrope,
    "proportional": _proportional,
}
