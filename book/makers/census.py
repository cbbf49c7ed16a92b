r"""Read an installed transformers package and list every architecture that rotates.

    PYTHONPATH=book python -m makers.census                 # writes census.json beside this file
    PYTHONPATH=book python -m makers.census --show llama    # one architecture, with the line of every fact

Nothing is imported or run: every `modeling_*.py` is parsed. A function *rotates* if its body makes (−x₂, x₁) out of
a vector's features, or calls a function that does. An architecture rotates if a class that its models instantiate
calls such a function from a method. The rest follows from the conditions around the call (`if self.use_rope:`), the
frequency class and the configuration's defaults. Parsing can miss facts: census_by_hand.json holds facts read by
hand, and `agreement` compares the two.
"""

from __future__ import annotations

import argparse
import ast
import importlib.metadata
import importlib.util
import json
import re
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path

DATA = Path(__file__).resolve().parents[1] / "data"
CENSUS = DATA / "census.json"
BY_HAND = DATA / "census_by_hand.json"
FORMAT = "rope_book census 2"
EVERY = "every rule of transformers"  # short for all rules in the next line
EVERY_RULE = ("linear", "dynamic", "yarn", "longrope", "llama3", "proportional")
COMPARED = (
    *("part", "layout", "or_by_config", "other_parts", "sense", "width", "axes", "without_position", "rules"),
    "frequencies_by_layer",
)
NAMED = re.compile(r"rotat|rotary|_rope|rope_", re.IGNORECASE)
ROTATES = re.compile(
    r"[(\[]-\w+(\[[^]]*\])?, \w+|view_as_complex|stack_freqs|\w+ \* cos - \w+ \* sin|cat\(\(\w+, -"
)
PAIRS = re.compile(r"\b0?::2\]|-1, 1, 2\)|-1, 2\)|view_as_complex")  # pairs of neighbouring features
HALVES = re.compile(r"// 2|chunk\(")  # pairs of features half a head apart
BACKWARDS = re.compile(r"\(\w+, -\w+\)")  # (x2, −x1): the opposite sense
TILED = re.compile(r"repeat\(1, 1, 1, 2\)")  # the angles twice, as two equal halves
FREQUENCIES = re.compile(r"(Rotary|Rope|RoPE)\w*Emb|PositionalEncoder")
PARTS = {  # parts of a model by class name; any other class belongs to its attention
    "indexer": re.compile(r"Indexer|Compressor"),
    "vision": re.compile(r"Vision|Image|ViT|Visual"),
    "audio": re.compile(r"Audio|Conformer|Code2Wav|DiT"),
}
MISNAMED = {  # classes whose names contradict the layers that use them
    "HiggsAudioV2Attention": "attention",
    "VoxtralRealtimeAttention": "audio",
    "VoxtralRealtimeEncoderLayer": "audio",
}
BY_LAYER = re.compile(r"use_rope|sliding|is_local|force_rope")
BY_CONFIG = re.compile(r"embeddings?_type == 'rotary'|alibi|use_mem_rope")
BY_TOWER = re.compile(r"self\.rotary_emb is not None")
NOT_GIVEN = re.compile(r"position_embeddings is not None")
SPLIT = r"q_\w+, q_\w+ = torch\.split\(.*nope_head_dim|q_\w+, q_\w+ = torch\.split\(.*rope_head_dim"
TAIL = r"\w*_pass\w* = |, \w+_pass = |passthrough = |q_nope = |nope, rope = "
PARTLY = re.compile(r"partial_rotary_factor|rotary_n?dims?\b")
AXES = (  # patterns in the frequency classes; the first match decides
    ("contiguous over features", r"section \* 2 for"),
    (
        "interleaved",
        r"slice\(\w+, \w+, 3\)|stack\(\[freq_\w+, freq_\w+\]|1::2\] = \w+_indices|transpose\(1, 2\)\.flip",
    ),
    (
        "contiguous",
        r"mrope_section, dim|freq_h, freq_w =|h_mask|angles\.flatten|spatial_inv_freq\.repeat|cat\(\(window_freqs"
        r"|freqs_x, freqs_y|freq\.flatten\(1\)",
    ),
    ("contiguous", r"mrope_section|spatial_dim"),
)
SHARE = re.compile(
    r"(?:partial_rotary_factor|rotary_pct)\"?\]?(?:: float)?(?:, kwargs\.pop\(\"rotary_pct\")?[,:]?(?: =)? ([\d.]+)"
)
RATIO = re.compile(r"default_partial_rotary_factor = ([\d.]+) / ([\d.]+)")


@dataclass(frozen=True)
class Use:
    """A call to a rotating function in a method of the class `owner`, made under the conditions `under`."""

    owner: str
    function: str
    under: tuple[str, ...]
    line: int

    @property
    def part(self) -> str:
        """The part of the model that rotates: "attention", "indexer", "vision" or "audio"."""
        return part_of(self.owner)


def part_of(owner: str) -> str:
    """Return the part of a model to which a class belongs, judged by its name."""
    if owner in MISNAMED:
        return MISNAMED[owner]
    parts = (part for part, names in PARTS.items() if names.search(owner))
    return "attention" if "TextAttention" in owner or "TextRotary" in owner else next(parts, "attention")


class Source:
    """One file of a model: its rotating functions and their callers."""

    def __init__(self, text: str) -> None:
        """Parse a file; raise SyntaxError if it is not Python."""
        self.text = text
        self.tree = ast.parse(text)
        self.classes = [node for node in self.tree.body if isinstance(node, ast.ClassDef)]
        self.functions = {
            node.name: node for node in ast.walk(self.tree) if isinstance(node, ast.FunctionDef)
        }

    @cached_property
    def instantiated(self) -> list[ast.ClassDef]:
        """The file's models and all classes that they mention, directly or indirectly; the rest is dead code."""
        loose = [node for node in self.tree.body if not isinstance(node, ast.ClassDef | ast.FunctionDef)]
        reached = {
            node.name for node in self.classes if "PreTrained" in "".join(map(ast.unparse, node.bases))
        }
        reached |= {name for node in loose for name in _names(node)}
        mentions = [(node.name, _names(node)) for node in self.classes]
        while more := {n for name, names in mentions if name in reached for n in names} - reached:
            reached |= more
        return [node for node in self.classes if node.name in reached]

    @cached_property
    def layouts(self) -> dict[str, str]:
        """The layout of each rotating function; a function that calls another has the callee's layout."""
        named = {name: _body(node) for name, node in self.functions.items() if NAMED.search(name)}
        layouts = {name: _layout(name, body) for name, body in named.items() if ROTATES.search(body)}
        while True:
            callers = {
                name: layouts[called]
                for name, body in named.items()
                for called in layouts
                if name not in layouts and re.search(rf"\b{called}\(", body)
            }
            if not callers:
                return layouts
            layouts |= callers

    @cached_property
    def uses(self) -> list[Use]:
        """All calls to rotating functions from methods that are not rotating functions themselves."""
        return [
            use
            for owner in (self.instantiated if self.layouts else [])
            for method in owner.body
            if isinstance(method, ast.FunctionDef) and method.name not in self.layouts
            for use in _calls(method, owner.name, self.layouts)
        ]

    def line(self, pattern: str, *within: ast.AST) -> int:
        """Return the line of the first match in these nodes (in the whole file if none are given), or 0."""
        lines = self.text.splitlines()
        spans = [(node.lineno, node.end_lineno) for node in within] or [(1, len(lines))]
        numbers = (number for first, last in spans for number in range(first, last + 1))
        return next((number for number in numbers if re.search(pattern, lines[number - 1])), 0)

    def rotating(self, function: str) -> ast.FunctionDef:
        """Return the function that makes (−x₂, x₁): this function, or the first that it calls."""
        body = _body(self.functions[function])
        called = (name for name in self.layouts if name != function and re.search(rf"\b{name}\(", body))
        return self.functions[function if ROTATES.search(body) else next(called)]

    def sense(self, function: str) -> int:
        """Return +1 if the function, or its callee, rotates by +angle, −1 if by −angle."""
        return -1 if BACKWARDS.search(_body(self.rotating(function))) else 1


def _names(node: ast.AST) -> set[str]:
    """Return the names that a node mentions, except in an assignment to `_can_record_outputs`."""
    names, nodes = set(), [node]
    while nodes:
        node = nodes.pop()
        if isinstance(node, ast.Name):
            names.add(node.id)
        elif not (isinstance(node, ast.Assign) and ast.unparse(node.targets[0]) == "_can_record_outputs"):
            nodes += ast.iter_child_nodes(node)
    return names


def _body(function: ast.FunctionDef) -> str:
    """Return a function's statements as text, without its docstring."""
    documented = ast.get_docstring(function) is not None
    return "\n".join(map(ast.unparse, function.body[documented:]))


def _layout(name: str, body: str) -> str:
    """Return the layout of a rotating function."""
    if PAIRS.search(body):
        if "interleave" in name and "cat(" in body:
            return "interleaved in, half_split out"
        return "interleaved, angles in halves" if TILED.search(body) else "interleaved"
    return "half_split" if HALVES.search(body) else "unknown"


def _calls(node: ast.AST, owner: str, rotating: dict[str, str], under: tuple[str, ...] = ()) -> Iterator[Use]:
    """Yield the calls to rotating functions inside a node, in file order."""
    for field, value in ast.iter_fields(node):
        for child in value if isinstance(value, list) else [value]:
            if not isinstance(child, ast.AST):
                continue
            called = getattr(child, "func", None)
            name = getattr(called, "attr", getattr(called, "id", None))
            if name in rotating:
                yield Use(owner, name, under, child.lineno)
            yield from _calls(child, owner, rotating, (*under, *_condition(node, field)))


def _condition(node: ast.AST, field: str) -> list[str]:
    """Return the condition under which a node's field runs, as a list of one string or none."""
    if not isinstance(node, ast.If | ast.IfExp) or field == "test":
        return []
    return [ast.unparse(node.test) if field == "body" else f"not ({ast.unparse(node.test)})"]


class Architecture:
    """A model folder in transformers: the rotating file, its configuration, and the facts in them."""

    def __init__(self, folder: Path) -> None:
        """Read the folder's files."""
        self.folder = folder
        files = sorted(folder.glob("modeling_*.py"))
        texts = ((file, file.read_text(encoding="utf-8")) for file in files)
        sources = ((file, Source(text)) for file, text in texts if NAMED.search(text))
        self.file, self.source = next(((f, s) for f, s in sources if s.uses), (None, None))
        settings = sorted(folder.glob("configuration_*.py"))
        self.settings = "\n".join(file.read_text(encoding="utf-8") for file in settings)

    @cached_property
    def uses(self) -> list[Use]:
        """Rotating calls in its attention or, if its attention has none, in any part."""
        every = self.source.uses
        return [use for use in every if use.part == "attention"] or every

    @cached_property
    def frequencies(self) -> str:
        """The source text of the classes that make the frequencies for these calls."""
        callers = {use.owner for use in self.uses}
        named = [node for node in self.source.classes if FREQUENCIES.search(node.name)]
        same_part = [node for node in named if part_of(node.name) == self.uses[0].part]
        fallback = [node for node in self.source.classes if node.name in callers]
        return "\n".join(map(ast.unparse, same_part or named or fallback))

    def layout(self) -> tuple[str, str | None, int]:
        """Return the layout, the alternative that a configuration may choose, and the function's line."""
        by_name = {use.function: self.source.layouts[use.function] for use in self._preferred()}
        first, *others = dict.fromkeys(by_name.values())
        name = next(iter(by_name))
        return first, others[0] if others else None, self.source.rotating(name).lineno

    def _preferred(self) -> list[Use]:
        return sorted(self.uses, key=lambda use: any(text.startswith("not (") for text in use.under))

    def others(self) -> dict[str, str]:
        """Return the layout of each other rotating part, by part."""
        layouts = {use.part: self.source.layouts[use.function] for use in self.source.uses}
        return {part: layout for part, layout in sorted(layouts.items()) if part != self.uses[0].part}

    def width(self) -> tuple[str, int]:
        """Return "whole head", "part of the head", "proportional" or "features of its own" (MLA), and the line."""
        callers = [node for node in self.source.classes if node.name in {use.owner for use in self.uses}]
        rotating = [self.source.functions[use.function] for use in self.uses]
        if split := self.source.line(SPLIT, *callers):
            return "features of its own", split
        if "proportional" in self.settings:
            return "proportional", self._made_at()
        tail = self.source.line(TAIL, *rotating, *callers)
        if tail and PARTLY.search(self.frequencies + self.source.text):
            return "part of the head", tail
        return "whole head", self._made_at()

    def shares(self) -> list[float]:
        """Return the shares of a head that rotate by default in the configuration, leaving out 1."""
        shares = {float(text) for text in SHARE.findall(self.settings)}
        shares |= {float(part) / float(whole) for part, whole in RATIO.findall(self.settings)}
        return sorted(share for share in shares if 0 < share < 1)

    def axes(self) -> tuple[str | None, int]:
        """Return how a position's axes share the pairs (None for a single axis), and the line."""
        text = self.frequencies + self._helpers()
        for order, pattern in AXES:
            if match := re.search(pattern, text):
                return order, self._line_of(match[0])
        return None, 0

    def _helpers(self) -> str:
        """Return the text of the functions that the frequency classes call."""
        names = [name for name in self.source.functions if re.search(rf"\b{name}\(", self.frequencies)]
        return "\n".join(_body(self.source.functions[name]) for name in names)

    def _line_of(self, unparsed: str) -> int:
        loose = r"\s*".join(map(re.escape, re.findall(r"\w+|[^\w\s]", unparsed)))
        return self.source.line(loose)

    def without_position(self) -> tuple[str | None, int]:
        """Return "some layers" or "whole model, by config" if attention may skip the rotation, and the line."""
        for use in self.uses:
            for test in use.under:
                if f"not ({test})" in {text for other in self.uses for text in other.under}:
                    continue  # both branches rotate
                if scope := self._scope(test):
                    return scope, use.line
        return None, 0

    def _scope(self, test: str) -> str | None:
        """Return the scope in which a condition switches the rotation off."""
        if BY_LAYER.search(test) or BY_TOWER.search(test):
            return "some layers"
        if BY_CONFIG.search(test):
            return "whole model, by config"
        if not NOT_GIVEN.search(test):
            return None
        text = ast.unparse(self.source.tree)
        whole = re.search(r"rotary_emb is not None else None|position_embeddings = None\n", text)
        return "whole model, by config" if whole else "some layers"

    def rules(self) -> tuple[list[str], bool, int]:
        """Return the supported rules, whether frequencies may differ by layer, and the line."""
        own = re.findall(r"def compute_(\w+?)_(?:rope_)?parameters", self.frequencies)
        every = [EVERY] if "ROPE_INIT_FUNCTIONS" in self.frequencies else []
        by_layer = re.search(r"\[layer_type\]", self.frequencies) or "layer_rope_theta" in self.source.text
        return (
            [*every, *sorted(set(own) - ({"default"} if every else set()))],
            bool(by_layer),
            self._made_at(),
        )

    def _made_at(self) -> int:
        """Return the line of the class that makes the frequencies, or of the first rotating call."""
        name = re.match(r"class (\w+)", self.frequencies)
        return self.source.line(rf"^class {name[1]}\b") if name else self.uses[0].line

    def entry(self) -> dict:
        """Return all facts, and the line of each fact in its file."""
        layout, alternative, layout_at = self.layout()
        (width, width_at), (axes, axes_at) = self.width(), self.axes()
        (without, without_at), (rules, by_layer, rules_at) = self.without_position(), self.rules()
        lines = {"layout": layout_at, "use": self.uses[0].line, "width": width_at, "rules": rules_at}
        lines |= {"axes": axes_at} if axes else {}
        lines |= {"without_position": without_at} if without else {}
        return {
            "name": self.folder.name,
            "layout": layout,
            "or_by_config": alternative,
            "other_parts": self.others(),
            "sense": self.source.sense(self._preferred()[0].function),
            "width": width,
            "shares": self.shares() if width in ("part of the head", "proportional") else [],
            "axes": axes,
            "without_position": without,
            "rules": rules,
            "frequencies_by_layer": by_layer,
            "part": self.uses[0].part,
            "file": f"models/{self.folder.name}/{self.file.name}",
            "lines": lines,
        }


def package() -> Path:
    """Return the folder of the installed transformers, or raise ValueError."""
    spec = importlib.util.find_spec("transformers")
    if spec is None:
        raise ValueError("the census reads the package transformers, which is not installed here")
    return Path(spec.origin).parent


def census(root: str | Path | None = None) -> list[dict]:
    r"""List the rotating architectures of transformers, in alphabetical order.

    Args:
        root: the package folder, which contains `models`; the installed package if None.

    Returns:
        One dict per architecture: name, layout, sense, width, axes, layers without position, rules, and the line of
        each fact in its file.

    Raises:
        ValueError: transformers is not installed, or `root` has no folder `models`.

    Chapter 21.
    """
    models = (package() if root is None else Path(root)) / "models"
    if not models.is_dir():
        raise ValueError(f"root must be a folder with models of transformers, got {str(models.parent)!r}")
    architectures = map(Architecture, sorted(path for path in models.iterdir() if path.is_dir()))
    return [architecture.entry() for architecture in architectures if architecture.source]


def committed() -> dict:
    """Return the committed census: format, version of transformers, architectures."""
    return json.loads(CENSUS.read_text(encoding="utf-8"))


def read_by_hand() -> dict:
    """Return the facts read by hand: two samples of thirty architectures, with the census's errors in each."""
    return json.loads(BY_HAND.read_text(encoding="utf-8"))


def agreement() -> tuple[int, int, list[tuple[str, str, object, object]]]:
    r"""Compare the committed census with the facts read by hand.

    Returns:
        Number of facts that agree, number compared, and (name, property, census, by hand) for every difference.
        Whether an architecture rotates is one fact; every property of a rotating architecture is another.

    >>> agreed, compared, misses = agreement()
    >>> agreed + len(misses) == compared
    True

    Chapter 21.
    """
    entries = {entry["name"]: entry for entry in committed()["architectures"]}
    pairs = []
    for reading in (reading for draw in read_by_hand()["draws"].values() for reading in draw):
        name = reading["name"]
        pairs.append((name, "rotates", name in entries, reading["rotates"]))
        if name in entries and reading["rotates"]:
            pairs += [(name, key, entries[name][key], reading[key]) for key in COMPARED]
    misses = [pair for pair in pairs if pair[2] != pair[3]]
    return len(pairs) - len(misses), len(pairs), misses


def main(arguments: list[str] | None = None) -> None:
    """Write the census, or show one entry."""
    parser = argparse.ArgumentParser("makers.census", description=__doc__.split("\n")[0])
    parser.add_argument("--show", metavar="NAME", help="print one architecture's entry and write nothing")
    options = parser.parse_args(arguments)
    try:
        entries = census()
    except ValueError as error:
        parser.error(str(error))
    if options.show:
        print(json.dumps([entry for entry in entries if entry["name"] == options.show], indent=1))
        return
    lines = ",\n".join(json.dumps(entry) for entry in entries)
    version = importlib.metadata.version("transformers")
    head = f'"format": "{FORMAT}",\n"transformers": "{version}"'
    CENSUS.write_text(f'{{{head},\n"architectures": [\n{lines}\n]}}\n', encoding="utf-8")
    print(f"{len(entries)} architectures of transformers {version} rotate")


if __name__ == "__main__":
    main()
