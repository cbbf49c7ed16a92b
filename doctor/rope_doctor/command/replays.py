r"""Minimal reproductions of fifteen publicly reported position bugs, with their fixes.

A replay builds the broken or the fixed version and runs the command that detects the bug. The bugs were reported in
the cited threads; the text and code were written for this package.
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
LLAMA_PLAIN: dict[str, Any] = {**LLAMA, "rope_theta": 1e4}
BASE_500_000: dict[str, Any] = {"rope_type": "default", "rope_theta": 5e5}
YARN = {"rope_type": "yarn", "rope_theta": 5e5, "factor": 8.0, "original_max_position_embeddings": 8192}
OLMO_3: dict[str, Any] = {
    **LLAMA,
    "model_type": "olmo3",
    "layer_types": ["sliding_attention", "full_attention"],
    "rope_parameters": {"sliding_attention": BASE_500_000, "full_attention": YARN},
}


@dataclass(frozen=True)
class Replay:
    """A publicly reported bug."""

    title: str
    threads: Sequence[str]  # threads that report the bug, as "repository number"
    symptom: str
    command: str  # the command that detects the bug, or ""
    run: Run | None  # maps `broken` to the report; None if no command detects the bug
    why: str = ""  # why no command detects the bug, or which part of it the command misses
    unopened: Sequence[str] = ()  # cited threads that we have not read because we could not open them


def rotation(config: dict[str, Any], change: Callable[[RopeSpec], RopeSpec]) -> Run:
    """Return a replay that diagnoses a config's rotation, with its spec changed if broken."""
    spec = read_config(config).spec
    return lambda broken: diagnose(right(change(spec) if broken else spec), spec.head_dim, against=spec)


def model(config: dict[str, Any], wrong: Sequence[RopeSpec] | None = None, times: int = 1) -> Run:
    """Return a replay that checks `Little` against a config, with wrong specs or repeated rotation if broken."""
    kinds = config.get("layer_types", [None, None])
    specs = [read_config(config, layer_type=kind).spec for kind in kinds]

    def run(broken: bool) -> ModelReport:
        from rope_doctor.probes.little import Little

        return check_model(Little(wrong or specs, times) if broken else Little(specs), config)

    return run


def decoder(wrong: type[Specimen], spec: RopeSpec | None = None) -> Run:
    """Return a replay that checks a `Specimen`, or a decoder of the wrong class if broken."""
    return lambda broken: check_decoder((wrong if broken else Specimen)(spec).decoder(), length=64)


def other_layout(spec: RopeSpec) -> RopeSpec:
    """Return the same spec, but with neighbouring features paired."""
    return spec.replace(layout="interleaved")


def never_filled(broken: bool) -> ModelReport:
    """Check a model whose frequencies are not in the checkpoint and are not recomputed after `to_empty`."""
    from rope_doctor.probes.little import Little, emptied

    return check_model(emptied(Little()) if broken else Little(), LLAMA_PLAIN)


def two_kernels(broken: bool) -> Diagnosis:
    """Diagnose a server that rotates with bfloat16 cosines although the trainer used float32 cosines."""
    spec = read_config(LLAMA_PLAIN).spec

    def rounded(x: np.ndarray, positions: np.ndarray) -> np.ndarray:
        angles = np.asarray(spec_angles(spec, positions))
        cos, sin = (np.tile(round_to(function(angles), "bfloat16"), 2) for function in (np.cos, np.sin))
        half = x.shape[-1] // 2
        return np.asarray(x * cos + np.concatenate((-x[:, half:], x[:, :half]), axis=-1) * sin)

    return diagnose(rounded if broken else right(spec), spec.head_dim, against=spec)


def by_allocated_length(broken: bool) -> Diagnosis:
    """Diagnose a model that applies the long-text factors to ten tokens because the allocated context is long."""
    lists: dict[str, Any] = {"short_factor": [1.0] * 8, "long_factor": [2.0 + pair for pair in range(8)]}
    short, long = (
        longrope(16, 32.0, 4096, length=length, **lists).replace(layout="half_split")
        for length in (10, 131_072)
    )
    return diagnose(right(long if broken else short), 16, against=short)


def not_permuted(broken: bool) -> Rows:
    """Compare weights from a converter that forgets to permute q and k when the weights are packed."""
    rows = np.random.default_rng(0).normal(size=(2, 32, 32)).astype(np.float32)
    permuted = np.stack([convert_projection(projection, 2, to="interleaved") for projection in rows])
    with tempfile.TemporaryDirectory() as folder:
        original, converted = (Path(folder) / name for name in ("original", "converted"))
        write_checkpoint(original, "llama", rows)
        write_checkpoint(converted, "cohere", rows if broken else permuted)  # Cohere pairs neighbours
        return compare_weights(original, converted)


def write_checkpoint(folder: Path, family: str, rows: np.ndarray) -> None:
    """Write a config, and layer 0's q and k, (2, rows, columns), as a safetensors file."""
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
    """A decoder whose fast path for one token has no batch axis in its grid, so it rotates only the first row."""

    def rotate(self, x: np.ndarray, positions: np.ndarray) -> np.ndarray:
        rotated = super().rotate(x, positions)
        return np.concatenate((rotated[:1], x[1:])) if x.shape[-2] == 1 else rotated


class Uncounted(Specimen):
    """A decoder that indexes cosines by row number and ignores position ids."""

    def count(self, tokens: np.ndarray, positions: np.ndarray | None, seen: int) -> np.ndarray:
        return super().count(tokens, None, seen)


class SlotsByTime(Specimen):
    """A decoder that stores a new key in the slot of its temporal coordinate, which is too low after an image."""

    def store(
        self, k: np.ndarray, v: np.ndarray, cache: Kept | None, layer: int, positions: np.ndarray
    ) -> tuple[np.ndarray, np.ndarray]:
        slot = int(positions[0, -1, 0])
        if cache is None or k.shape[-2] > 1 or slot >= cache.count:
            return super().store(k, v, cache, layer, positions)
        keys, values = super().store(k, v, cache, layer, positions)
        for stored, new in ((keys, k), (values, v)):
            stored[:, :, slot] = new[:, :, 0]
            stored[:, :, -1] = 0
        return keys, values


THREE = RopeSpec(plain_rope(16).inv_freq, axes=(0, 0, 0, 1, 1, 1, 2, 2), layout="half_split")
RUNS: dict[str, Run] = {
    # A new case in a switch makes 39 architectures fall through to the other pairing.
    "flipped_pairs": rotation({**LLAMA, "model_type": "qwen2", "rope_theta": 1e6}, other_layout),
    # The base is at the top level, as in version 4, but the code reads only version 5's dict and uses 10,000.
    "moved_base": model({**LLAMA, "rope_theta": 5e5}, [plain_rope(16, layout="half_split")] * 2),
    "never_filled": never_filled,
    "two_kernels": two_kernels,
    # Linear layers rotate half of each head, but their factor is also applied to the latent layers' rotary head.
    "another_kinds_width": model(
        {**LLAMA, "rope_parameters": BASE_500_000}, [plain_rope(8, 5e5, layout="half_split")] * 2
    ),
    # The indexer of sparse attention must use half_split pairs, unlike the attention itself.
    "indexer": rotation(LLAMA_PLAIN, other_layout),
    "first_row_only": decoder(FirstRowOnly),
    # A rule that should leave positions unscaled has a default scale of 2.
    "doubled": rotation(
        {**LLAMA_PLAIN, "rope_scaling": {"type": "dynamic", "factor": 6.0}},
        lambda spec: spec.replace(inv_freq=2 * spec.inv_freq),
    ),
    "by_allocated_length": by_allocated_length,
    # Both the model and the attention backend rotate.
    "turned_twice": model(LLAMA_PLAIN, times=2),
    "uncounted": decoder(Uncounted),
    # YaRN is meant only for full attention, but sliding layers use it too.
    "one_rule_for_all": model(OLMO_3, [read_config(OLMO_3, layer_type="full_attention").spec] * 2),
    "not_permuted": not_permuted,
    "slots_by_time": decoder(SlotsByTime, THREE),
}
_STATED = tomllib.loads(Path(__file__).with_suffix(".toml").read_text(encoding="utf-8"))
REPLAYS = tuple(Replay(run=RUNS.get(name), **stated) for name, stated in _STATED.items())
