"""Read the rotations in a file: a config.json, a checkpoint folder, or a GGUF."""

from dataclasses import dataclass, replace
from functools import cached_property
from pathlib import Path
from typing import Any

from rope_doctor.config.each_layer import UNTOLD, Layers, layers_of_config
from rope_doctor.config.gguf import is_gguf, shortest
from rope_doctor.config.gguf_rotation import FACTS, read_gguf
from rope_doctor.config.layers import body_of
from rope_doctor.config.reader import NOPE, Reading, loaded, read_config, rope_from_config
from rope_doctor.config.sources import on_disk
from rope_doctor.config.values import ConfigError, Notes, config_error, listed
from rope_edu.encodings.spec import RopeSpec

MAX_BYTES = 8 * 2**20  # in bytes; parsing a config.json takes twenty times as much memory


@dataclass(frozen=True)
class Statement:
    """The rotations specified by a file.

    Attributes:
        path, form: the file, and "config.json" or "GGUF".
        model: its model_type or architecture; "" if it does not contain one.
        readings: one `Reading` per layer kind.
        config: the contents of a config.json; None for a GGUF.
        layers: the layers, as far as the file describes them.
        source: the file on disk, which differs from `path` for a pipe or a model on the Hub.
    """

    path: Path
    form: str
    model: str
    readings: tuple[Reading, ...]
    config: dict[str, Any] | None = None
    layers: Layers = UNTOLD
    source: Path | None = None

    def at(self, seq_len: int | None) -> "Statement":
        """Return the rotations for a text of `seq_len` tokens, on which some rules depend."""
        if self.config is None:
            return replace(self, readings=read_gguf(self.source or self.path, seq_len)[1])
        return replace(self, readings=read_kinds(self.config, seq_len))

    @cached_property
    def kept(self) -> "Statement":
        """The statement with its numbers rounded to float32, as in a GGUF."""
        if self.config is None:
            return self
        config = in_float32(self.config)
        return replace(self, config=config, readings=read_kinds(config))

    @property
    def permuted(self) -> str | None:
        """The layout from which the GGUF converter permutes q and k rows, or None if it does not permute them."""
        if self.config is None and self.model in FACTS["rows_permuted"]:
            return "half_split"
        sections = any(reading.spec.sections for reading in self.readings if reading.rope_type != NOPE)
        turned = self.config is None and self.model in FACTS["halves_with_sections"] and sections
        return "interleaved" if turned else None

    def of(self, layer_type: str | None) -> Reading:
        """Return the reading of a layer kind; ConfigError if the kind is unknown."""
        kinds = {reading.layer_type: reading for reading in self.readings}
        if layer_type in kinds or None in kinds:
            return kinds.get(layer_type) or kinds[None]
        names = [label for label in kinds if label]
        reason = "choose" if layer_type is None else "no such layer type"
        raise config_error(reason, "layer_type", choices=names, allowed=listed(names), value=layer_type)


def in_float32(value: Any) -> Any:
    """Return JSON data with its numbers rounded to float32."""
    if isinstance(value, dict):
        return {name: in_float32(item) for name, item in value.items()}
    if isinstance(value, list):
        return [in_float32(item) for item in value]
    exact = isinstance(value, bool) or (isinstance(value, int) and abs(value) <= 2**24)
    return shortest(value) if isinstance(value, int | float) and not exact and abs(value) < 1e30 else value


def read_file(path: str | Path, seq_len: int | None = None) -> Statement:
    """Read the rotation of every layer kind from a config.json, a GGUF, or the config.json next to a checkpoint.

    The path may be "-" for standard input, a pipe, or a model on the Hugging Face Hub, "owner/name@revision".
    `seq_len` is the length of the text, for rules that depend on it. Raises ConfigError, a ValueError, if the
    file is invalid, and OSError if it cannot be opened.
    """
    source = _stating(on_disk(path))
    shown = source if Path(path).exists() and not _is_stream(Path(path)) else Path(path)
    try:
        return _read(source, shown, seq_len)
    except ConfigError as error:
        if error.field == str(source) and source != shown:
            name = "standard input" if str(path) == "-" else str(path)
            raise ConfigError(error.reason, name, error.words, error.choices) from None
        raise


def _is_stream(path: Path) -> bool:
    return not (path.is_file() or path.is_dir())


def _stating(path: Path) -> Path:
    """Return the file that specifies the rotation: the config.json of a checkpoint, or the GGUF in a folder."""
    weights = path.suffix in (".safetensors", ".bin") or path.name.endswith(".index.json")
    if not (path.is_dir() or weights):
        return path
    folder = path if path.is_dir() else path.parent
    files = [folder / "config.json"] if (folder / "config.json").exists() else sorted(folder.glob("*.gguf"))
    if weights and (not path.is_file() or len(files) != 1):
        raise config_error("no config", str(path))
    return files[0] if len(files) == 1 else folder / "config.json"


def _read(path: Path, shown: Path, seq_len: int | None) -> Statement:
    if is_gguf(path):
        model, readings, layers = read_gguf(path, seq_len)
        return Statement(shown, "GGUF", model, readings, None, layers, path)
    if path.stat().st_size > MAX_BYTES:
        raise config_error("not JSON", str(path), detail="it is too large and does not begin like a GGUF")
    content = loaded(path)
    readings = read_kinds(content, seq_len)
    assert isinstance(content, dict)  # other types have been rejected
    body, model, _ = body_of(content, Notes())
    still = {each.layer_type for each in readings if each.rope_type == NOPE}
    layers = layers_of_config(body.values | {"model_type": model}, still)
    return Statement(shown, "config.json", model, readings, content, layers)


def read_kinds(config: Any, seq_len: int | None = None) -> tuple[Reading, ...]:
    """Return a config's readings, one per layer kind."""
    first = None
    try:
        first = read_config(config, seq_len=seq_len)
        labels = first.layer_types
    except ConfigError as error:
        if error.reason != "choose":
            raise
        labels = error.choices
    kinds = [read_config(config, layer_type=label, seq_len=seq_len) for label in labels]
    return (first, *kinds) if first and first.layer_type is None else tuple(kinds)


def rotation_of(path: str | Path, layer_type: str | None = None) -> RopeSpec:
    """Return a file's rotation, or that of a single layer kind if the kinds differ."""
    statement = read_file(path)
    if statement.config is not None:
        return rope_from_config(statement.config, layer_type=layer_type)
    return statement.of(layer_type).spec
