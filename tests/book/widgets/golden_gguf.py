"""What Python says of two files in the page: a GGUF's keys, statements, and the words of `compare`."""

import contextlib
import importlib.util
import itertools
import json
import tempfile
from collections.abc import Callable, Iterator
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np

from rope_doctor.command import compare_files, read_files
from rope_doctor.config import PRESETS, ConfigError, each_layer, gguf_rotation, preset
from rope_doctor.config import files as config_files
from rope_doctor.config import gguf as config_gguf
from rope_edu.encodings import inv_freq

from .golden import Call, room, trying

WRITTEN = importlib.util.spec_from_file_location(
    "written_gguf", Path(__file__).parents[2] / "doctor" / "command" / "written.py"
)
gguf_files = importlib.util.module_from_spec(WRITTEN)
WRITTEN.loader.exec_module(gguf_files)
FIRST, SECOND = "the first file", "the second file"


def digest(path: Path) -> dict:
    """Return what the page keeps of a GGUF: the keys of its architecture, and the lists of factors."""
    header = config_gguf.read_header(path)
    arch = header.values["general.architecture"]
    kept = {key: value for key, value in header.values.items() if key.startswith(f"{arch}.")}
    lists = {name: config_gguf.read_factors(path, header, name) for name in gguf_rotation.TENSORS}
    lists = {
        name: [float(str(each)) for each in values] for name, values in lists.items() if values is not None
    }
    return {"general.architecture": arch} | kept | lists


@cache
def files_of_presets() -> list[tuple[str, bytes, dict]]:
    """Return (form, bytes, what the page holds) of every preset as a config and as a GGUF, and of odd files."""
    found = []
    with tempfile.TemporaryDirectory() as folder:
        for each in PRESETS:
            found.append(("config.json", json.dumps(each.config).encode(), each.config))
            if each.config["model_type"] in gguf_files.ARCHITECTURES | gguf_files.CONTAINERS:
                path = gguf_files.written(Path(folder) / "a.gguf", each.config)
                found.append(("GGUF", path.read_bytes(), digest(path)))
        path = gguf_files.written(Path(folder) / "a.gguf", preset("Llama 2 7B").config, rotary_dim=64)
        found.append(("GGUF", path.read_bytes(), digest(path)))
        changes = [{"base": 1e4}, {"factors": np.linspace(1, 3, 64).astype(np.float32)}]
        for change in changes:
            path = gguf_files.written(Path(folder) / "a.gguf", preset("Llama 3.1 8B").config, **change)
            found.append(("GGUF", path.read_bytes(), digest(path)))
    lists = {"rope_type": "longrope", "short_factor": [1.0] * 32, "long_factor": [4.0] * 32, "factor": 2.0}
    phi = {"model_type": "phi3", "head_dim": 64, "rope_theta": 1e4, "max_position_embeddings": 8192}
    for last, family in ((4.0, "phi3"), (5.0, "phi3"), (4.0, "new"), (5.0, "new")):  # "new": one remark more
        stated = lists | {"long_factor": [4.0] * 31 + [last], "original_max_position_embeddings": 4096}
        config = phi | {"model_type": family, "rope_scaling": stated}
        found.append(("config.json", json.dumps(config).encode(), config))
    plain = {
        "model_type": "llama",
        "head_dim": 64,
        "rope_theta": 16_777_217,
        "max_position_embeddings": 131_072,
    }
    for config in (plain, plain | {"rope_interleave": True}, plain | {"partial_rotary_factor": 0.5}):
        found.append(("config.json", json.dumps(config).encode(), config))
    return found


def read_here(name: str, content: bytes, seq_len: int | None = None) -> Any:
    """Return the statement of a file that is written under this name into the current folder."""
    Path(name).write_bytes(content)
    return config_files.read_file(name, seq_len)


def in_a_folder(calls: Callable[[], Iterator[Call]]) -> Callable[[], Iterator[Call]]:
    """Make calls in an empty folder that is the current one."""

    def of_x() -> Iterator[Call]:
        with tempfile.TemporaryDirectory() as folder, contextlib.chdir(folder):
            yield from calls()

    of_x.__name__ = calls.__name__
    return of_x


def what_a_kind_says(reading: Any) -> dict:
    spec = reading.spec
    return {
        "inverses": [1 / each if each else 0.0 for each in spec.inv_freq.tolist()],
        "softmaxScale": reading.softmax_scale,
        "attentionFactor": spec.attention_factor,
        "layout": spec.layout,
        "kind": spec.kind,
        "axes": list(spec.axes) if spec.axes else None,
        "ropeType": reading.rope_type,
        "base": reading.base,
        "factor": reading.factor,
        "longest": reading.longest,
        "trained": reading.trained,
        "layerType": reading.layer_type,
        "layerTypes": list(reading.layer_types),
        "remarks": [[remark.kind, remark.text] for remark in reading.remarks],
    }


SAID = (
    "softmaxScale, attentionFactor, layout, kind, axes, ropeType, base, factor, longest, trained, layerType"
)
SAID += ", layerTypes, remarks"
KINDS = (
    "each => { const inverses = each.invFreq.map((f) => (f ? 1 / f : 0));"
    f" const {{ {SAID} }} = each; return {{ inverses, {SAID} }}; }}"
)


@room
def of_gguf_fields():
    facts = {name: fact for name, fact in gguf_rotation.FACTS.items() if name != "source"}
    yield Call("() => FACTS", [], facts, exactly=True)
    yield Call("() => KEYS", [], gguf_rotation.KEYS, exactly=True)
    for arch, stated in itertools.product(("deepseek2", "mistral4", "mistral3", "glm-dsa"), (None, 0.07)):
        yield Call("mscales", [arch, stated], gguf_rotation._mscales(arch, stated))
    call = "(arch, keys) => windowOf(arch, (key) => keys[key] ?? null)"
    for arch, keys in itertools.product(ARCHS, KEYS_OF_LAYERS):
        yield Call(call, [arch, keys], gguf_rotation._window(keys, arch))
    stated = "JSON.parse(JSON.stringify(fieldsOf(keys)), (_, each) => each ?? undefined)"
    call = "(arch, values) => { const get = (key) => values[`${arch}.${key}`] ?? null;"
    call += f" const keys = {{ arch, get, values }}; return [{stated}, [...kindsOf(arch, get)]]; }}"
    files = [held for form, _, held in files_of_presets() if form == "GGUF"]
    baseless = {name: each for name, each in files[0].items() if not name.endswith(".rope.freq_base")}
    step = {"general.architecture": "step35", "step35.attention.key_length": 8}
    narrow = step | {"step35.rope.dimension_count": 4}
    for held in (*files, baseless, step, narrow):
        arch = held["general.architecture"]
        keys = {name.removeprefix(f"{arch}."): each for name, each in held.items()}
        lists = {name: np.array(held[name], dtype="<f4") for name in gguf_rotation.TENSORS if name in held}
        file = gguf_rotation._File(arch, keys, lists)
        kinds = [list(each) for each in gguf_rotation._kinds(file).items()]
        yield Call(call, [arch, held], [without_none(gguf_rotation._fields(file)), kinds], exactly=True)


def without_none(fields: dict[str, Any]) -> dict[str, Any]:
    """Return fields without those that a file lacks."""
    kept = {name: without_none(each) if isinstance(each, dict) else each for name, each in fields.items()}
    return {name: each for name, each in kept.items() if each is not None}


@room
@in_a_folder
def of_gguf_rotation():
    call = f"(values, length) => {{ {trying(f'return readGguf(values, length).map({KINDS});')} }}"
    for form, content, held in files_of_presets():
        if form == "GGUF":
            found = [what_a_kind_says(each) for each in read_here(FIRST, content).readings]
            yield Call(call, [held, None], found)
    for share in (0.0, 1.0, 64.0, -1.0):
        values = YARN | {"qwen2.rope.scaling.yarn_ext_factor": share, "qwen2.rope.scaling.attn_factor": 1.5}
        yield Call(call, [values, None], refused_gguf(values))
    deepseek = {name.replace("qwen2", "deepseek4"): each for name, each in YARN.items()}
    deepseek |= {
        "general.architecture": "deepseek4",
        "deepseek4.attention.compress_rope_freq_base": 160_000.0,
    }
    yield Call(call, [deepseek, None], refused_gguf(deepseek))
    exaone = {
        "general.architecture": "exaone4",
        "exaone4.attention.key_length": 4,
        "exaone4.rope.freq_base": 1e4,
    }
    exaone |= {"exaone4.attention.sliding_window": 8, "rope_freqs.weight": [1.0, 2.0]}
    yield Call(call, [exaone, None], refused_gguf(exaone))
    for arch, keys in KEYS_OF_ROTATIONS:
        values = {"general.architecture": arch, f"{arch}.attention.key_length": 8}
        values |= {
            name if name == "rope_freqs.weight" else f"{arch}.{name}": each for name, each in keys.items()
        }
        yield Call(call, [values, None], refused_gguf(values))
    yield Call(call, [{"general.architecture": "new"}, None], refused_gguf({"general.architecture": "new"}))
    for wrong in WRONG_KEYS:
        yield Call(call, [{"general.architecture": "llama"} | wrong, None], refused_gguf(wrong))
    for names, length in itertools.product([("short",), ("long",), ("long", "short")], [None, 4096, 4097]):
        given = PHI | {f"rope_factors_{name}.weight": PHI_FACTORS[name] for name in names}
        yield Call(call, [given, length], refused_gguf(given, length))


ARCHS = ("gemma3", "modern-bert", "llama4", "smollm3", "phi3", "gemma4", "exaone4", "mistral3", "starcoder2")
ARCHS += ("deepseek4", "llama", "qwen3next", "lfm2", "afmoe", "smallthinker", "mistral4")
KEYS_OF_LAYERS: tuple[dict[str, Any], ...] = (
    {},
    {"block_count": 5},
    {"block_count": 64},
    {"attention.recurrent_layers": [False, True], "attention.temperature_scale": 0.1},
    {"attention.temperature_scale": 0.1, "attention.temperature_length": 8, "context_length": 64},
    {"attention.sliding_window": 7, "attention.temperature_scale": 0.1, "context_length": 64},
    {"attention.sliding_window": [0, 7], "attention.sliding_window_pattern": 2},
    {"attention.sliding_window": 7, "attention.sliding_window_pattern": [True, False, True]},
    {"attention.sliding_window": 0},
    {"attention.head_count_kv": [0, 2, 0, 0, 2], "full_attention_interval": 2},
    {"full_attention_interval": 3},
)
YARN = {
    "general.architecture": "qwen2",
    "qwen2.attention.key_length": 8,
    "qwen2.context_length": 128,
    "qwen2.rope.freq_base": 1e4,
    "qwen2.rope.scaling.type": "yarn",
    "qwen2.rope.scaling.factor": 4.0,
    "qwen2.rope.scaling.original_context_length": 32,
}
SCALED = {name.removeprefix("qwen2."): each for name, each in YARN.items() if name.startswith("qwen2.")}
KEYS_OF_ROTATIONS: tuple[tuple[str, dict[str, Any]], ...] = (
    ("step35", {"attention.sliding_window": 8, "rope_freqs.weight": [2.0, 4.0, 1.0, 1.0]}),
    ("step35", {"rope.dimension_count": 4, "rope.dimension_count_swa": 6}),
    ("glm4", {"rope.dimension_sections": [1, 1, 2, 0]}),
    ("glm4", {}),
    ("afmoe", {}),
    ("exaone4", {"attention.sliding_window": 8, "block_count": 30}),
    ("llama4", {"attention.sliding_window": 0}),
    ("smallthinker", {"attention.sliding_window": 8}),
    *((arch, SCALED) for arch in ("deepseek2-ocr", "deepseek2", "glm-dsa", "mistral4", "mistral3", "gemma4")),
    *(
        (arch, SCALED | {"rope.scaling.yarn_log_multiplier": 0.07})
        for arch in ("deepseek2", "glm-dsa", "mistral3")
    ),
)
WRONG_KEYS = (
    {},
    {"general.architecture": ""},
    {"general.architecture": "mamba"},
    {"llama.attention.key_length": 8, "llama.rope.freq_base": 0.5},
    {"llama.attention.key_length": [8, 0, 16]},
    {"llama.attention.key_length": 8, "rope_freqs.weight": [1.0, 2.0]},
    {"llama.attention.key_length": 8, "llama.rope.scaling.type": "yarn", "llama.rope.scaling.factor": 4.0},
)


PHI = {
    "general.architecture": "phi3",
    "phi3.attention.key_length": 4,
    "phi3.context_length": 131_072,
    "phi3.rope.scaling.original_context_length": 4096,
    "phi3.rope.scaling.attn_factor": 1.19,
}
PHI_FACTORS = {"long": [2.0, 4.0], "short": [1.0, 1.5]}


def refused_gguf(wrong: dict, length: int | None = None) -> Any:
    """Return what Python says of these keys."""
    values = {"general.architecture": "llama"} | wrong
    lists = {
        name: np.array(values.pop(name), dtype="<f4") for name in gguf_rotation.TENSORS if name in values
    }
    try:
        readings = gguf_rotation.readings_of(config_gguf.Header(values, {}), lists, length)[1]
    except ConfigError as error:
        return {"refused": [error.reason, error.field, str(error)]}
    return [what_a_kind_says(each) for each in readings]


@room
def of_gguf_layers():
    told = "(values, n) => { const found = layersOfKeys(values); return [found.count, found.why, found.row ? "
    told += "Array.from({ length: n }, (_, i) => found.row(i, found.count || n)) : null]; }"
    for arch, keys in itertools.product(ARCHS, KEYS_OF_LAYERS):
        values = {"general.architecture": arch} | {f"{arch}.{name}": each for name, each in keys.items()}
        found = gguf_rotation.layers_of_keys(keys, arch)
        rows = None if found.row is None else [vars(found.row(i, found.count or 9)) for i in range(9)]
        yield Call(told, [values, 9], [found.count, found.why, rows], exactly=True)


@room
@in_a_folder
def of_statement():
    for form, content, held in files_of_presets()[::3]:
        found = read_here(FIRST, content)
        call = (
            "(config, name) => { const s = statementOf(config, name); return [s.form, s.model, s.permuted]; }"
        )
        yield Call(call, [held, FIRST], [form, found.model, found.permuted])
        call = "(config) => kept(statementOf(config, 'a')).readings.map(({ base }) => base)"
        yield Call(call, [held], [each.base for each in found.kept.readings])
        if form == "config.json":
            bases = [each.base for each in config_files.read_kinds(held, 777)]
            yield Call("(config) => readKinds(config, 777).map(({ base }) => base)", [held], bases)
        for label in (None, "full_attention", "nope"):
            try:
                base = found.of(label).base
            except ConfigError:
                base = None
            call = "(config, label) => kindOf(statementOf(config, 'a'), label)?.base ?? null"
            yield Call(call, [held, label], base)
        call = "(text) => { const { reading: r, content } = readAny(text, null, null); return lineOf(r, content); }"
        first = found.readings[0]
        line = 'rotation_of("model.gguf")' if form == "GGUF" else first.call.line()
        if len(found.readings) == 1:
            yield Call(call, [json.dumps(held)], line)
    for value in (0.1, 1e6, 16_777_217, 7, True, "0.1", [1 / 3, {"a": 2.0000001}], 1e31, -1e-7 / 3):
        yield Call("inFloat32", [value], config_files.in_float32(value), exactly=True)
    for text, reason in (
        ("{", "not JSON"),
        ("[]", "not an object"),
        ('{"a": 1}', "missing"),
        ('{"general.architecture": 7}', "missing"),
    ):
        yield Call("(text) => readAny(text, null, null).refused.reason", [text], reason)
    yield Call("(text) => contentOf(text)", ['{"a": 1}'], {"a": 1})


def rows_of(layers, count):
    """Return layers as JavaScript has them."""
    return [vars(row) for row in layers.rows(count)]


LAYERS = "({count, why, ...layers}, n) => ({count, why, rows: rowsOf({count, why, ...layers}, n)})"


@room
def of_config_each_layer():
    call = f"(config, family, still, n) => ({LAYERS})(layersOfConfig(config, family, still), n)"
    released = Path(__file__).parents[2] / "doctor" / "config" / "released.json"
    files = json.loads(released.read_text(encoding="utf-8"))["files"]
    configs = [each.config for each in PRESETS] + [each["config"] for each in files if "config" in each]
    odd = [
        {"model_type": "qwen2", "use_sliding_window": True, "sliding_window": 9, "max_window_layers": 2},
        {"model_type": "qwen2", "use_sliding_window": True, "sliding_window": 9},
        {"model_type": "qwen2_moe", "use_sliding_window": True, "sliding_window": 9, "max_window_layers": 4},
        {
            "model_type": "exaone4",
            "sliding_window_pattern": "LLG",
            "sliding_window": 7,
            "num_hidden_layers": 5,
        },
        {"model_type": "exaone4", "sliding_window_pattern": [1], "sliding_window": 7},
        {"model_type": "cohere2", "sliding_window": None},
        {"model_type": "new", "sliding_window": 8, "n_layer": 3},
        {"model_type": "dory", "layer_types": ["full_attention", "mlp"], "num_hidden_layers": 2},
        {"model_type": "lara_mini", "num_hidden_layers": 7, "sliding_window": 5},
        {"model_type": "recurrent_gemma", "num_hidden_layers": 5, "attention_window_size": 6},
        {"model_type": "recurrent_gemma", "block_types": ["attention", "recurrent"], "num_hidden_layers": 3},
        {"model_type": "recurrent_gemma", "block_types": ["attention", 3], "num_hidden_layers": 3},
        {"model_type": "qwen", "use_logn_attn": True, "seq_length": 2048},
        {"model_type": "llama4_text", "attn_temperature_tuning": False},
        {"model_type": "mistral", "sliding_window": 4096},
        {"model_type": "mistral", "sliding_window": 4096, "max_position_embeddings": 4096},
        {"model_type": "mistral", "sliding_window": "wide", "max_position_embeddings": 4096},
        {"model_type": "x", "layer_rope_theta": [0, 1e4], "num_hidden_layers": 3},
    ]
    for config in [*configs, *odd]:
        for still in ((), ("full_attention",), ("nope",)):
            family = str(config.get("model_type") or "")
            found = each_layer.layers_of_config(config | {"model_type": family}, still)
            said = {"count": found.count, "why": found.why, "rows": rows_of(found, 9)}
            yield Call(call, [config, family, list(still), 9], said)
    labels = [each_layer.FULL, each_layer.SLIDING, each_layer.CHUNKED, each_layer.NOT_STATED]
    for label in (*labels[:3], "conv", "indexed_attention"):
        layer = each_layer.Layer(label, True, 7, "")
        yield Call("coarse", [vars(layer)], vars(layer.coarse()))
    heads = list(each_layer.WITHOUT_HEADS)
    yield Call("() => WITHOUT_HEADS", [], heads)
    yield Call("() => [FULL, SLIDING, CHUNKED, NOT_STATED]", [], labels)
    yield Call("grows", [0.1, 8192, 1], each_layer.grows(0.1, 8192, 1))
    for period, first, ends in ((0, False, False), (3, True, False), (3, False, True)):
        found = each_layer.periodic(period, first=first, ends=ends)
        call_ = "(period, first, ends) => [0, 1, 2, 3, 4].map((i) => periodic(period, first, ends)(i, 5))"
        yield Call(call_, [period, first, ends], [found(i, 5) for i in range(5)])


def drawn_pairs(count: int) -> list[tuple]:
    """Return (what the page holds, the statement) of two files each."""
    files, draw = files_of_presets(), np.random.default_rng(22)
    return [
        (files[i][2], read_here(FIRST, files[i][1]), files[j][2], read_here(SECOND, files[j][1]))
        for i, j in draw.integers(len(files), size=(count, 2)).tolist()
    ]


def in_lists(differences: Any) -> list:
    """Return differences as JavaScript has them."""
    return [[each.what, each.layers, each.wanted, each.found, each.fix] for each in differences]


STATED = f"[statementOf(a, '{FIRST}'), statementOf(b, '{SECOND}')]"
TOLD = "map((each) => [each.what, each.layers, each.wanted, each.found, each.fix])"


@room
@in_a_folder
def of_compare_kinds():
    for label in (None, "nope", "full_attention"):
        yield Call("nameOf", [label], read_files.name_of(label))
    for name in ("Llama 3.1 8B", "Llama 2 7B", "Cohere 2 (defaults)"):
        for each in config_files.read_kinds(preset(name).config):
            held = {"ropeType": each.rope_type, "base": each.base, "factor": each.factor}
            yield Call("ruleOf", [held], read_files.rule_of(each))
    call = f"(a, b, length) => [...between(...{STATED}, length)].{TOLD}"
    for held, first, other, second in drawn_pairs(60):
        sides = compare_files._Sides(first, second, 4096)
        yield Call(call, [held, other, 4096], in_lists(sides.differences()))
    config, found = preset("Llama 3.1 8B").config, []
    first = read_here(FIRST, json.dumps(config).encode())
    [spec] = [each.spec for each in first.readings]
    factors = (inv_freq(spec.rotary_dim, 5e5) / spec.inv_freq).astype(np.float32)
    for off in (0.0, 4e-7, 1e-4):  # of a slow pair, as a share of its factor, beside the rounding of a list
        changed = factors * np.where(np.arange(len(factors)) == 40, np.float32(1 + off), np.float32(1))
        path = gguf_files.written(Path("near.gguf"), config, factors=changed)
        second = read_here(SECOND, path.read_bytes())
        found.append(in_lists(compare_files._Sides(first, second, 4096).differences()))
        yield Call(call, [config, digest(path), 4096], found[-1])
    assert [len(differences) for differences in found] == [0, 0, 1]


@room
@in_a_folder
def of_compare_layers():
    call = f"(a, b) => {{ const [found, why] = layersBetween(...{STATED}); return [found.{TOLD}, why]; }}"
    for held, first, other, second in drawn_pairs(60):
        found, reasons = compare_files._layers(first, second)
        yield Call(call, [held, other], [in_lists(found), reasons], exactly=True)


@room
@in_a_folder
def of_compare_judged():
    yield Call("() => CHECKS", [], compare_files.CHECKS, exactly=True)
    call = f"(a, b, found) => notJudged(...{STATED}, found.map((what) => ({{ what }})))"
    for held, first, other, second in drawn_pairs(60):
        kinds = [remark.kind for each in first.readings for remark in each.remarks]
        yield Call(f"(a) => kindsOfRemarks(statementOf(a, '{FIRST}').readings)", [held], kinds)
        for found in ([], ["width"], ["width", "frequencies"]):
            yield Call(call, [held, other, found], compare_files._not_judged(first, second, set(found)))
    call = "(found, why) => verdictOf(found.map((what) => ({ what })), why)"
    why = dict.fromkeys(compare_files.CHECKS.values(), "it is not known")
    some = [[], ["layout"], ["windows", "softmax-scale"], ["layout", "loading"], list(why)]
    for found, names in itertools.product(([], ["layout"], ["rotation", "query scale"]), some):
        reasons = {name: why[name] for name in names}
        differing = [compare_files.Difference(what, "", "", "", "") for what in found]
        verdict = compare_files._verdict(differing, reasons)
        yield Call(call, [found, reasons], [verdict.status, str(verdict)])


@room
@in_a_folder
def of_compare():
    files, draw = files_of_presets(), np.random.default_rng(21)
    chosen = [(i, i) for i in range(len(files))] + [(i, i + 1) for i in range(len(files) - 1)]
    chosen += [(len(files) - 1, i) for i in range(len(files))]
    chosen += [tuple(pair) for pair in draw.integers(len(files), size=(300, 2)).tolist()]
    call = "(a, b) => inWords(comparedFiles(a, b)).join('\\n')"
    for i, j in chosen:
        statements = read_here(FIRST, files[i][1]), read_here(SECOND, files[j][1])
        yield Call(call, [files[i][2], files[j][2]], str(compare_files.compare(*statements)))
