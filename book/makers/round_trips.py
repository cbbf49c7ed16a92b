r"""Save and load the config of every rotating architecture of transformers, and compare the rotations.

    PYTHONPATH=.:book python -m makers.round_trips                 # writes data/round_trips.json; two minutes
    PYTHONPATH=.:book python -m makers.round_trips --show llama    # one architecture

Every architecture gets a config with its defaults, and one with each of four rules. Its rotary module is built from
the config, from the config's dict, from the saved file, and from that file loaded and saved again; frequencies and
attention factor must be equal. The config is also written as version 4 wrote it, with `rope_theta` and
`rope_scaling`, and `rope_doctor` reads the saved file.
"""

from __future__ import annotations

import argparse
import copy
import importlib
import inspect
import json
import re
import tempfile
import warnings
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import numpy as np

DATA = Path(__file__).resolve().parents[1] / "data" / "round_trips.json"
FORMAT = "rope_book round trips 1"
NOT_TEXT = re.compile(r"vision|visual|audio|image|video|patch|speech|codec|2d|3d|siglip|sam|detr", re.I)
ROTARY = re.compile("Rotary|RoPE|Rope")
BASE, TRAINED = 123_456.0, 512
RULES: dict[str, dict[str, Any]] = {
    "default": {"rope_type": "default"},
    "linear": {"rope_type": "linear", "factor": 4.0},
    "llama3": {
        "rope_type": "llama3",
        "factor": 8.0,
        "low_freq_factor": 1.0,
        "high_freq_factor": 4.0,
        "original_max_position_embeddings": TRAINED,
    },
    "yarn": {"rope_type": "yarn", "factor": 4.0, "original_max_position_embeddings": TRAINED},
}
# version 4's names for base and share, for architectures that had their own
OLD_NAMES = dict.fromkeys(("gpt_neox", "gpt_neox_japanese"), ("rotary_emb_base", "rotary_pct"))
State = dict[str, np.ndarray]


def modules(kind: type) -> Iterator[type]:
    """Yield the rotary modules of an architecture whose constructors take a config."""
    import torch

    folder = Path(inspect.getfile(kind)).parent
    for path in sorted(folder.glob("modeling_*.py")):
        modeling = importlib.import_module(f"transformers.models.{folder.name}.{path.stem}")
        for name, value in vars(modeling).items():
            local = inspect.isclass(value) and value.__module__ == modeling.__name__
            if not local or not issubclass(value, torch.nn.Module) or NOT_TEXT.search(name):
                continue
            if ROTARY.search(name) and "config" in inspect.signature(value.__init__).parameters:
                yield value


def state(module: Any, config: Any) -> State:
    """Return the frequencies and attention factors of a module built from a config."""
    instance = module(config)
    buffers = {
        name: values.double().numpy()
        for name, values in instance.named_buffers()
        if "inv_freq" in name and "original" not in name
    }
    return buffers | {
        name: np.array(float(value)) for name, value in vars(instance).items() if "attention_scaling" in name
    }


def equal_states(one: State, other: State) -> bool:
    """Return whether two states agree to within one float32 rounding."""
    return one.keys() == other.keys() and all(
        one[name].shape == other[name].shape and np.allclose(one[name], other[name], rtol=1e-6, atol=0)
        for name in one
    )


def spellings(name: str, kind: Any) -> Iterator[tuple[str, dict[str, Any], dict[str, Any] | None]]:
    """Yield each config's name, its fields, and its fields in version 4's spelling (or None)."""
    yield "as it comes", {}, None
    default = kind().to_dict().get("rope_parameters")
    if not isinstance(default, dict) or not default:
        return
    nested = any(isinstance(value, dict) for value in default.values())
    for rule, fields in RULES.items():
        new = {**fields, "rope_theta": BASE}
        if nested:
            by_layer = {layer: {**(rope or {}), **new} for layer, rope in default.items()}
            yield rule, {"rope_parameters": by_layer}, None
            continue
        unchanged = {
            field: default[field]
            for field in ("partial_rotary_factor", "mrope_section", "mrope_interleaved")
            if field in default
        }
        base, share = OLD_NAMES.get(name, ("rope_theta", "partial_rotary_factor"))
        old: dict[str, Any] = {base: BASE, "rope_scaling": None if rule == "default" else dict(fields)}
        if share in default or "partial_rotary_factor" in default:
            old[share] = default.get("partial_rotary_factor")
        sections = {field: unchanged[field] for field in unchanged if field.startswith("mrope")}
        if sections:
            old["rope_scaling"] = {"type": "mrope", **(old["rope_scaling"] or {}), **sections}
        yield rule, {"rope_parameters": {**new, **unchanged}}, old


def from_file(kind: Any, content: dict[str, Any]) -> Any:
    """Return the config loaded from a file with this content."""
    with tempfile.TemporaryDirectory() as folder:
        Path(folder, "config.json").write_text(json.dumps(content), encoding="utf-8")
        return kind.from_pretrained(folder)


def saved(config: Any) -> Any:
    """Return a config after saving and loading."""
    with tempfile.TemporaryDirectory() as folder:
        config.save_pretrained(folder)
        return type(config).from_pretrained(folder)


def old_file(kind: Any, old: dict[str, Any]) -> Any:
    """Return the config loaded from a file in version 4's spelling."""
    content = kind().to_dict()
    for field in ("rope_parameters", "rope_theta", "rope_scaling", "transformers_version"):
        content.pop(field, None)
    return from_file(kind, content | copy.deepcopy(old))


def outcome(module: Any, expected: State, make: Callable[[], Any]) -> str:
    """Return "same", "differs" or the text of the error."""
    try:
        return "same" if equal_states(expected, state(module, make())) else "differs"
    except Exception as error:  # the library may raise anything
        return _sentence(error)


def reader_outcome(expected: State, config: Any) -> str:
    """Compare our reader's frequencies of the saved file, in any order: "same", "differs" or an error."""
    from rope_doctor.config.files import read_kinds

    try:
        specs = [reading.spec for reading in read_kinds(json.loads(config.to_json_string()))]
    except ValueError as error:
        return _sentence(error)
    buffers = [np.sort(values) for name, values in expected.items() if "inv_freq" in name]
    matches = [
        any(
            len(spec.inv_freq) == len(buffer)
            and np.allclose(np.sort(spec.inv_freq), buffer, rtol=4e-6, atol=1e-12)
            for spec in specs
        )
        for buffer in buffers
    ]
    return "same" if all(matches) else "differs"


def trips(name: str) -> dict[str, dict[str, str]]:
    """Return the outcome of every way of saving and loading, for every config of an architecture."""
    from transformers import CONFIG_MAPPING

    kind, outcomes = CONFIG_MAPPING[name], {}
    for module in modules(kind):
        for label, fields, old in spellings(name, kind):
            try:
                config = kind(**copy.deepcopy(fields))
                expected = state(module, config)
            except Exception:  # the module belongs to another architecture, or refuses the rule
                continue
            if not expected:
                continue
            ways: dict[str, Callable[[], Any]] = {
                "dict": lambda config=config: kind.from_dict(config.to_dict()),
                "saved": lambda config=config: saved(config),
                "saved twice": lambda config=config: saved(saved(config)),
            }
            if old is not None:
                ways["as version 4 wrote it"] = lambda old=old: old_file(kind, old)
            outcomes[label] = {way: outcome(module, expected, make) for way, make in ways.items()}
            outcomes[label]["our reader"] = reader_outcome(expected, config)
    return outcomes


def all_trips() -> dict[str, Any]:
    """Return the tested configs by architecture, and every outcome other than "same"."""
    import transformers
    from transformers import CONFIG_MAPPING

    tried: dict[str, list[str]] = {}
    failures: dict[str, dict[str, dict[str, str]]] = {}
    for name in sorted(CONFIG_MAPPING.keys()):
        try:
            outcomes = trips(name)
        except Exception:  # a package is missing, or the config has no defaults
            continue
        if outcomes:
            tried[name] = list(outcomes)
        for label, ways in outcomes.items():
            if differing := {way: result for way, result in ways.items() if result != "same"}:
                failures.setdefault(name, {})[label] = differing
    return {
        "format": FORMAT,
        "transformers": transformers.__version__,
        "tried": tried,
        "not the same": failures,
    }


def written(content: dict[str, Any]) -> str:
    """Return the file's text, with one line per architecture."""

    def lines(by_name: dict[str, Any]) -> str:
        rows = (f'  "{name}": {json.dumps(value, ensure_ascii=False)}' for name, value in by_name.items())
        return "{\n" + ",\n".join(rows) + "\n }"

    rows = (
        f' "{key}": {lines(value) if isinstance(value, dict) else json.dumps(value)}'
        for key, value in content.items()
    )
    return "{\n" + ",\n".join(rows) + "\n}\n"


def _sentence(error: Exception) -> str:
    line = str(error).partition("\n")[0][:100]
    return f"{type(error).__name__}: {line}"


def main() -> None:
    """Write the file, or show one architecture."""
    import transformers

    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--show", metavar="NAME")
    options = parser.parse_args()
    warnings.filterwarnings("ignore")
    transformers.logging.set_verbosity_error()
    if options.show:
        print(json.dumps(trips(options.show), indent=1))
    else:
        DATA.write_text(written(all_trips()), encoding="utf-8")


if __name__ == "__main__":
    main()
