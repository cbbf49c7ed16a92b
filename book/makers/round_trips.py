r"""Save and load the config of every architecture of transformers that rotates, and compare the rotations.

    PYTHONPATH=.:book python -m makers.round_trips                 # writes data/round_trips.json; two minutes
    PYTHONPATH=.:book python -m makers.round_trips --show llama    # one architecture

A config is made of an architecture's defaults, and of each of four rules. From it, from its dict, from the file
that it saves, and from the file that this one saves, the rotary module of the architecture is made, whose
frequencies and attention factor must be the same. The same config is also written as version 4 wrote it, with
`rope_theta` and `rope_scaling`, and `rope_doctor`'s reader is asked what the saved file says.
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
PICTURES = re.compile(r"vision|visual|audio|image|video|patch|speech|codec|2d|3d|siglip|sam|detr", re.I)
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
# of base and share, where version 4 had names of the architecture's own
OLD_NAMES = dict.fromkeys(("gpt_neox", "gpt_neox_japanese"), ("rotary_emb_base", "rotary_pct"))
State = dict[str, np.ndarray]


def modules(kind: type) -> Iterator[type]:
    """Yield the rotary modules of an architecture that are made of its config alone."""
    import torch

    folder = Path(inspect.getfile(kind)).parent
    for path in sorted(folder.glob("modeling_*.py")):
        modeling = importlib.import_module(f"transformers.models.{folder.name}.{path.stem}")
        for name, each in vars(modeling).items():
            own = inspect.isclass(each) and each.__module__ == modeling.__name__
            if not own or not issubclass(each, torch.nn.Module) or PICTURES.search(name):
                continue
            if ROTARY.search(name) and "config" in inspect.signature(each.__init__).parameters:
                yield each


def state(module: Any, config: Any) -> State:
    """Return the frequencies and attention factors of a module made of a config."""
    made = module(config)
    found = {
        name: values.double().numpy()
        for name, values in made.named_buffers()
        if "inv_freq" in name and "original" not in name
    }
    return found | {
        name: np.array(float(value)) for name, value in vars(made).items() if "attention_scaling" in name
    }


def same(one: State, other: State) -> bool:
    """Tell whether two states are equal, up to one rounding of float32."""
    return one.keys() == other.keys() and all(
        one[name].shape == other[name].shape and np.allclose(one[name], other[name], rtol=1e-6, atol=0)
        for name in one
    )


def spellings(name: str, kind: Any) -> Iterator[tuple[str, dict[str, Any], dict[str, Any] | None]]:
    """Yield the name of a config, its fields, and the fields as version 4 wrote them, or None."""
    yield "as it comes", {}, None
    usual = kind().to_dict().get("rope_parameters")
    if not isinstance(usual, dict) or not usual:
        return
    nested = any(isinstance(each, dict) for each in usual.values())
    for rule, fields in RULES.items():
        new = {**fields, "rope_theta": BASE}
        if nested:
            kinds = {key: {**(each or {}), **new} for key, each in usual.items()}
            yield rule, {"rope_parameters": kinds}, None
            continue
        kept = {
            field: usual[field]
            for field in ("partial_rotary_factor", "mrope_section", "mrope_interleaved")
            if field in usual
        }
        base, share = OLD_NAMES.get(name, ("rope_theta", "partial_rotary_factor"))
        old: dict[str, Any] = {base: BASE, "rope_scaling": None if rule == "default" else dict(fields)}
        if share in usual or "partial_rotary_factor" in usual:
            old[share] = usual.get("partial_rotary_factor")
        sections = {field: kept[field] for field in kept if field.startswith("mrope")}
        if sections:
            old["rope_scaling"] = {"type": "mrope", **(old["rope_scaling"] or {}), **sections}
        yield rule, {"rope_parameters": {**new, **kept}}, old


def from_file(kind: Any, content: dict[str, Any]) -> Any:
    """Return the config that a file with this content is read as."""
    with tempfile.TemporaryDirectory() as folder:
        Path(folder, "config.json").write_text(json.dumps(content), encoding="utf-8")
        return kind.from_pretrained(folder)


def saved(config: Any) -> Any:
    """Return a config, saved and loaded."""
    with tempfile.TemporaryDirectory() as folder:
        config.save_pretrained(folder)
        return type(config).from_pretrained(folder)


def old_file(kind: Any, old: dict[str, Any]) -> Any:
    """Return the config of a file as version 4 wrote it."""
    content = kind().to_dict()
    for field in ("rope_parameters", "rope_theta", "rope_scaling", "transformers_version"):
        content.pop(field, None)
    return from_file(kind, content | copy.deepcopy(old))


def outcome(module: Any, wanted: State, make: Callable[[], Any]) -> str:
    """Return "same" or "differs", or the error's sentence."""
    try:
        return "same" if same(wanted, state(module, make())) else "differs"
    except Exception as error:  # anything that the library raises
        return _sentence(error)


def reader(wanted: State, config: Any) -> str:
    """Return how our reader's frequencies of the saved file compare, whatever their order."""
    from rope_doctor.config.files import read_kinds

    try:
        specs = [each.spec for each in read_kinds(json.loads(config.to_json_string()))]
    except ValueError as error:
        return _sentence(error)
    ladders = [np.sort(values) for name, values in wanted.items() if "inv_freq" in name]
    fits = [
        any(
            len(spec.inv_freq) == len(each)
            and np.allclose(np.sort(spec.inv_freq), each, rtol=4e-6, atol=1e-12)
            for spec in specs
        )
        for each in ladders
    ]
    return "same" if all(fits) else "differs"


def trips(name: str) -> dict[str, dict[str, str]]:
    """Return for each config of an architecture what each way of saving and loading keeps."""
    from transformers import CONFIG_MAPPING

    kind, found = CONFIG_MAPPING[name], {}
    for module in modules(kind):
        for label, fields, old in spellings(name, kind):
            try:
                config = kind(**copy.deepcopy(fields))
                wanted = state(module, config)
            except (
                Exception
            ):  # no module of this config: a part of another architecture, or a rule that it refuses
                continue
            if not wanted:
                continue
            ways: dict[str, Callable[[], Any]] = {
                "dict": lambda config=config: kind.from_dict(config.to_dict()),
                "saved": lambda config=config: saved(config),
                "saved twice": lambda config=config: saved(saved(config)),
            }
            if old is not None:
                ways["as version 4 wrote it"] = lambda old=old: old_file(kind, old)
            found[label] = {way: outcome(module, wanted, make) for way, make in ways.items()}
            found[label]["our reader"] = reader(wanted, config)
    return found


def every() -> dict[str, Any]:
    """Return the configs that were tried, by architecture, and all that is not the same."""
    import transformers
    from transformers import CONFIG_MAPPING

    tried: dict[str, list[str]] = {}
    other: dict[str, dict[str, dict[str, str]]] = {}
    for name in sorted(CONFIG_MAPPING.keys()):
        try:
            outcomes = trips(name)
        except Exception:  # a class of a package that is not installed, or a config without defaults
            continue
        if outcomes:
            tried[name] = list(outcomes)
        for label, ways in outcomes.items():
            if differing := {way: found for way, found in ways.items() if found != "same"}:
                other.setdefault(name, {})[label] = differing
    return {"format": FORMAT, "transformers": transformers.__version__, "tried": tried, "not the same": other}


def written(found: dict[str, Any]) -> str:
    """Return the file's text, a line for each architecture."""

    def lines(each: dict[str, Any]) -> str:
        rows = (f'  "{name}": {json.dumps(value, ensure_ascii=False)}' for name, value in each.items())
        return "{\n" + ",\n".join(rows) + "\n }"

    rows = (
        f' "{key}": {lines(value) if isinstance(value, dict) else json.dumps(value)}'
        for key, value in found.items()
    )
    return "{\n" + ",\n".join(rows) + "\n}\n"


def _sentence(error: Exception) -> str:
    said = str(error).partition("\n")[0][:100]
    return f"{type(error).__name__}: {said}"


def main() -> None:
    """Write the file, or show one architecture."""
    import transformers

    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--show", metavar="NAME")
    chosen = parser.parse_args()
    warnings.filterwarnings("ignore")
    transformers.logging.set_verbosity_error()
    if chosen.show:
        print(json.dumps(trips(chosen.show), indent=1))
    else:
        DATA.write_text(written(every()), encoding="utf-8")


if __name__ == "__main__":
    main()
