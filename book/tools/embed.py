"""Write every live figure as one file for anybody's page: python book/tools/embed.py FOLDER

A page needs one script and one element: ``<script src="rotate_pair.js"></script>`` and ``<rope-figure
name="RotatePair" position="9"></rope-figure>``. The file has the figure's modules, style and initial state;
``book/assets/embed.js`` defines the element. ``make dist`` writes the files into the site, under ``embed/``.
"""

import gzip
import json
import re
import sys
from pathlib import Path

from rope_book.widgets import LiveFigure
from rope_book.widgets._bundle import lean, scopes, style
from rope_book.widgets._data import DATA
from rope_book.widgets._modules import constant

ELEMENT = Path(__file__).resolve().parents[1] / "assets" / "embed.js"
HEAVIEST = 60_000  # maximum size of a compressed figure, in bytes
DARK = re.compile(r'html\[data-theme="dark"\][^{]*\{')  # dark hosts in the style sheet
SHELL = """:host { display: block; }
.shell { all: initial; display: block; direction: ltr; container-type: inline-size; }
"""
STRICT = '"use strict";'  # needed only once per file
MODULE = re.compile(r"\$(?:lib|maths|data|figures)\$\w+")  # the constant of a module
SCOPE = re.compile(r"^(?=const \$\w+\$\w+ = \(\(\) => \{)", re.MULTILINE)  # the beginning of a module
LEADS = re.compile(r"(?<=const LEADS = )\{.*\}(?=;)")  # leads of all figures; a file needs one's
UNITS = re.compile(r"([^{}]+)\{([^{}]*)\}")  # a rule of a style sheet: selectors, declarations
CLASS = re.compile(r"\.(rl-[\w-]+)")


def own_style() -> str:
    """Return the figures' style sheet for a shadow root: in pixels, and dark if the element is."""
    text, count = DARK.subn('.shell[data-theme="dark"] .rope-live {', style())
    if count != 1:
        raise ValueError(f"figure.css has {count} rules for dark pages, one was expected")
    text = re.sub(r"([\d.]+)rem\b", lambda length: f"{16 * float(length[1]):g}px", text)
    text = re.sub(r"\s+", " ", re.sub(r"/\*.*?\*/\n?", "", SHELL + text, flags=re.DOTALL))
    return re.sub(r" ?([{};]) ?|(?<=[:,]) ", r"\1", text).replace(";}", "}")


def of_use(sheet: str, body: str) -> str:
    """Return a style sheet without rules for classes that a figure does not use, such as those of questions.

    >>> of_use(".rl-a,.rl-b .c{left:0}.rl-c{top:0}", 'class: "rl-b"')
    '.rl-b .c{left:0}'
    """

    def rule(match: re.Match[str]) -> str:
        if "(" in match[1]:  # :is(…) may name both a used class and an unused one
            return match[0]
        selectors = [one for one in match[1].split(",") if all(name in body for name in CLASS.findall(one))]
        return f"{','.join(selectors)}{{{match[2]}}}" if selectors else ""

    return UNITS.sub(rule, sheet)


def data_first(body: str) -> str:
    """Return modules with data modules first, which depend on nothing: code next to code compresses better."""
    return "".join(sorted(SCOPE.split(body), key=lambda module: not module.startswith("const $data$")))


def short(script: str) -> str:
    """Return a script with short names for its modules."""
    names = {name: f"${number:x}" for number, name in enumerate(dict.fromkeys(MODULE.findall(script)))}
    return MODULE.sub(lambda name: names[name[0]], script)


def script(figure: type[LiveFigure]) -> str:
    """Return the file of a figure."""
    name = f"figures/{figure.module_name()}"
    state = figure().get_state()
    initial = {key: state[key] for key in ("_controls", *figure.controls())}
    body = data_first(lean(scopes(name, "lib/controls")).replace(f"{STRICT}\n", ""))
    own = {name: leads for name, leads in DATA["leads"]().items() if name == figure.__name__}
    body = LEADS.sub(lambda _: json.dumps(own, separators=(",", ":")), body)
    options = ", ".join(
        (
            f"state: {json.dumps(initial, ensure_ascii=False, separators=(',', ':'))}",
            f"style: {json.dumps(of_use(own_style(), body))}",
            f"controls: {constant('lib/controls')}",
        )
    )
    return short(
        f"// {figure.__name__}, a live figure of RoPE, Turn by Turn. MIT licence.\n"
        f"{lean(ELEMENT.read_text(encoding='utf-8'))}"
        f"(() => {{\n{STRICT}\n{body}\n"
        f'RopeFigures.define("{figure.__name__}", {constant(name)}.default, {{ {options} }});\n}})();\n'
    )


def weight(text: str) -> int:
    """Return the bytes that a server sends for a file."""
    return len(gzip.compress(text.encode(), 9, mtime=0))


def write(folder: Path) -> dict[str, int]:
    """Write every figure's file; return the files' weights. Raise ValueError for one that is too heavy."""
    folder.mkdir(parents=True, exist_ok=True)
    weights = {}
    for name, figure in sorted(LiveFigure.figures.items()):
        text = script(figure)
        weights[name] = weight(text)
        (folder / f"{figure.module_name()}.js").write_text(text, encoding="utf-8", newline="\n")
    return weights


if __name__ == "__main__":
    for name, size in write(Path(sys.argv[1])).items():
        print(f"{size / 1000:7.1f} kB  {name}")
