r"""Fifteen public bugs of positions, rebuilt in their smallest form, each beside its mended form.

A replay builds one thing as it was or as it should be, and runs the command that finds it. The words and the code
are ours; the threads are those in which the bugs were reported.
"""

import json
import tempfile
import tomllib
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from rope_doctor.clinic.broken import right
from rope_doctor.clinic.diagnosis import Diagnosis, diagnose
from rope_doctor.command.compare_rows import Rows, compare_weights
from rope_doctor.config.reader import read_config
from rope_doctor.precision import round_to
from rope_doctor.probes import DecoderReport, Kept, ModelReport, Specimen, check_decoder, check_model
from rope_edu.encodings.layouts import convert_projection
from rope_edu.encodings.scaling import longrope
from rope_edu.encodings.spec import RopeSpec, plain_rope, spec_angles

Report = Diagnosis | ModelReport | DecoderReport | Rows
Run = Callable[[bool], Report]
LLAMA = {"model_type": "llama", "hidden_size": 64, "num_attention_heads": 4, "max_position_embeddings": 8192}
PLAIN: dict[str, Any] = {**LLAMA, "rope_theta": 1e4}
HALF_A_MILLION: dict[str, Any] = {"rope_type": "default", "rope_theta": 5e5}
YARN = {"rope_type": "yarn", "rope_theta": 5e5, "factor": 8.0, "original_max_position_embeddings": 8192}
TWO_KINDS: dict[str, Any] = {
    **LLAMA,
    "model_type": "olmo3",
    "layer_types": ["sliding_attention", "full_attention"],
    "rope_parameters": {"sliding_attention": HALF_A_MILLION, "full_attention": YARN},
}


@dataclass(frozen=True)
class Replay:
    """A bug as it was reported."""

    title: str
    threads: Sequence[str]  # where it was reported, "repository number"
    symptom: str
    command: str  # that finds it; "" where none can
    run: (
        Run | None
    )  # from True for broken and False for mended to the report of that command; None where none can
    why: str = ""  # no command can, or how much it sees
    unopened: Sequence[str] = ()  # those of the threads that we could not open, and cite on trust


def rotation(config: dict[str, Any], change: Callable[[RopeSpec], RopeSpec]) -> Run:
    """Diagnose the rotation of a config, where broken with its spec changed."""
    spec = read_config(config).spec
    return lambda broken: diagnose(right(change(spec) if broken else spec), spec.head_dim, against=spec)


def model(config: dict[str, Any], wrong: Sequence[RopeSpec] | None = None, times: int = 1) -> Run:
    """Check the little model against a config, where broken with wrong specs, or with so many turns."""
    kinds = config.get("layer_types", [None, None])
    specs = [read_config(config, layer_type=kind).spec for kind in kinds]

    def run(broken: bool) -> ModelReport:
        from rope_doctor.probes.little import Little

        return check_model(Little(wrong or specs, times) if broken else Little(specs), config)

    return run


def decoder(wrong: type[Specimen], spec: RopeSpec | None = None) -> Run:
    """Check a decoder, wrong or right."""
    return lambda broken: check_decoder((wrong if broken else Specimen)(spec).decoder())


def other_layout(spec: RopeSpec) -> RopeSpec:
    """Return a spec that pairs neighbours."""
    return spec.replace(layout="interleaved")


def never_filled(broken: bool) -> ModelReport:
    """A buffer that is in no checkpoint, and that nobody computes again after `to_empty`."""
    from rope_doctor.probes.little import Little, emptied

    return check_model(emptied(Little()) if broken else Little(), PLAIN)


def two_kernels(broken: bool) -> Diagnosis:
    """The trainer turns by cosines in float32, and the server by cosines in bfloat16."""
    spec = read_config(PLAIN).spec

    def rounded(x: np.ndarray, positions: np.ndarray) -> np.ndarray:
        angles = np.asarray(spec_angles(spec, positions))
        cos, sin = (np.tile(round_to(each(angles), "bfloat16"), 2) for each in (np.cos, np.sin))
        half = x.shape[-1] // 2
        return np.asarray(x * cos + np.concatenate((-x[:, half:], x[:, :half]), axis=-1) * sin)

    return diagnose(rounded if broken else right(spec), spec.head_dim, against=spec)


def by_allocated_length(broken: bool) -> Diagnosis:
    """The list for long texts is taken because the context that was allocated is long; the text has ten tokens."""
    lists: dict[str, Any] = {"short_factor": [1.0] * 8, "long_factor": [2.0 + pair for pair in range(8)]}
    short, long = (
        longrope(16, 32.0, 4096, length=length, layout="half_split", **lists) for length in (10, 131_072)
    )
    return diagnose(right(long if broken else short), 16, against=short)


def not_permuted(broken: bool) -> Rows:
    """A second path of the converter, for packed weights, forgets to permute q and k for the other layout."""
    rows = np.random.default_rng(0).normal(size=(2, 32, 32)).astype(np.float32)
    permuted = np.stack([convert_projection(each, 2, to="interleaved") for each in rows])
    with tempfile.TemporaryDirectory() as folder:
        original, converted = (Path(folder) / name for name in ("original", "converted"))
        write_checkpoint(original, "llama", rows)
        write_checkpoint(converted, "cohere", rows if broken else permuted)  # pairs neighbours
        return compare_weights(original, converted)


def write_checkpoint(folder: Path, family: str, rows: np.ndarray) -> None:
    """Write q and k of layer 0, (2, rows, columns), as safetensors (header and numbers), and a config."""
    folder.mkdir()
    config = {"model_type": family, "hidden_size": 32, "num_attention_heads": 2, "rope_theta": 1e4}
    (folder / "config.json").write_text(json.dumps(config), encoding="utf-8")
    size, form = rows[0].nbytes, {"dtype": "F32", "shape": rows[0].shape}
    header = {
        f"model.layers.0.self_attn.{name}_proj.weight": {**form, "data_offsets": [at * size, (at + 1) * size]}
        for at, name in enumerate("qk")
    }
    text = json.dumps(header).encode()
    (folder / "model.safetensors").write_bytes(len(text).to_bytes(8, "little") + text + rows.tobytes())


class FirstRowOnly(Specimen):
    """A fast path for one token, whose grid forgets the axis of the batch: later rows stay as they were."""

    def rotate(self, x: np.ndarray, positions: np.ndarray) -> np.ndarray:
        turned = super().rotate(x, positions)
        return np.concatenate((turned[:1], x[1:])) if x.shape[-2] == 1 else turned


class Uncounted(Specimen):
    """Cosines by the number of the row, whatever the position ids are."""

    def count(self, tokens: np.ndarray, positions: np.ndarray | None, seen: int) -> np.ndarray:
        return super().count(tokens, None, seen)


class SlotsByTime(Specimen):
    """A new token's key goes to the slot that its temporal coordinate names, which an image has made too small."""

    def store(
        self, k: np.ndarray, v: np.ndarray, cache: Kept | None, layer: int, positions: np.ndarray
    ) -> tuple[np.ndarray, np.ndarray]:
        slot = int(positions[0, -1, 0])
        if cache is None or k.shape[-2] > 1 or slot >= cache.count:
            return super().store(k, v, cache, layer, positions)
        keys, values = super().store(k, v, cache, layer, positions)
        for every, new in ((keys, k), (values, v)):
            every[:, :, slot] = new[:, :, 0]
            every[:, :, -1] = 0
        return keys, values


THREE = RopeSpec(plain_rope(16).inv_freq, axes=(0, 0, 0, 1, 1, 1, 2, 2), layout="half_split")
RUNS: dict[str, Run] = {
    # a new case in a switch: 39 architectures fall through to the other pairing
    "flipped_pairs": rotation({**LLAMA, "model_type": "qwen2", "rope_theta": 1e6}, other_layout),
    # the base is at the top, where version 4 kept it; only the dict of version 5 is asked, and 10,000 taken
    "moved_base": model({**LLAMA, "rope_theta": 5e5}, [plain_rope(16, layout="half_split")] * 2),
    "never_filled": never_filled,
    "two_kernels": two_kernels,
    # half of each head turns in the linear layers; their factor halves the latent layers' rotary head too
    "another_kinds_width": model(
        {**LLAMA, "rope_parameters": HALF_A_MILLION}, [plain_rope(8, 5e5, layout="half_split")] * 2
    ),
    # the indexer of sparse attention pairs halves, where the attention beside it pairs neighbours
    "indexer": rotation(PLAIN, other_layout),
    "first_row_only": decoder(FirstRowOnly),
    # a scale of 2 is the default of a rule that scales no positions
    "doubled": rotation(
        {**PLAIN, "rope_scaling": {"type": "dynamic", "factor": 6.0}},
        lambda spec: spec.replace(inv_freq=2 * spec.inv_freq),
    ),
    "by_allocated_length": by_allocated_length,
    # the model rotates, and so does the attention backend, which was not told that it need not
    "turned_twice": model(PLAIN, times=2),
    "uncounted": decoder(Uncounted),
    # YaRN is meant for full attention only, and sliding layers are given it too
    "one_rule_for_all": model(TWO_KINDS, [read_config(TWO_KINDS, layer_type="full_attention").spec] * 2),
    "not_permuted": not_permuted,
    "slots_by_time": decoder(SlotsByTime, THREE),
}
_STATED = tomllib.loads(Path(__file__).with_suffix(".toml").read_text(encoding="utf-8"))
REPLAYS = tuple(Replay(run=RUNS.get(name), **stated) for name, stated in _STATED.items())
