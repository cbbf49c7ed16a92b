"""SmolLM2 in the site: with its weights on request, without its engine where npm is missing."""

import importlib.util
import subprocess
import sys
import types
from pathlib import Path

import pytest
from sphinx.errors import ExtensionError

PATH = Path(__file__).resolve().parents[1] / "book" / "extensions" / "real_model.py"
SPEC = importlib.util.spec_from_file_location("real_model", PATH)
real_model = importlib.util.module_from_spec(SPEC)
SPEC.loader.exec_module(real_model)


@pytest.fixture
def site(tmp_path, monkeypatch):
    """Return an application whose site is an empty folder; its package from npm is in another one."""
    package = tmp_path / "npm" / "@wllama" / "wllama"
    for source in real_model.ENGINE:
        (package / source).parent.mkdir(parents=True, exist_ok=True)
        (package / source).write_text(source, encoding="utf-8")
    monkeypatch.setitem(sys.modules, "npm", types.SimpleNamespace(install=lambda _: tmp_path / "npm"))
    monkeypatch.delenv("MODEL", raising=False)
    outdir = tmp_path / "html"
    return types.SimpleNamespace(builder=types.SimpleNamespace(format="html"), outdir=outdir)


def page(site):
    """Return the body of the model's page."""
    added = []
    site.add_css_file, site.add_js_file = added.append, lambda name, **_: added.append(name)
    context = {"body": real_model.PLACE + "</div>", "pathto": lambda path, resource: f"../{path}"}
    real_model.fill(site, "book/live", "page.html", context, None)
    assert added == ["real.css", "live/real.js"]
    return context["body"]


def test_the_engine_comes_from_npm_and_the_weights_on_request(site, monkeypatch):
    real_model.write_model(site)
    assert 'data-engine="../_static/model/wllama.js"' in page(site)
    assert "data-weights" not in page(site)
    monkeypatch.setenv("MODEL", "1")
    real_model.write_model(site)
    weights = site.outdir / real_model.FOLDER / real_model.WEIGHTS
    assert weights.stat().st_size == real_model.BYTES
    assert "Apache License" in (weights.parent / "SmolLM2-LICENSE.txt").read_text(encoding="utf-8")
    assert f'data-weights="../{real_model.FOLDER}/{weights.name}"' in page(site)
    monkeypatch.delenv("MODEL")
    real_model.write_model(site)
    assert not weights.exists()


def test_without_npm_the_page_has_no_engine_and_a_request_for_the_model_fails(site, monkeypatch):
    def install(_):
        raise subprocess.CalledProcessError(1, "npm")

    monkeypatch.setitem(sys.modules, "npm", types.SimpleNamespace(install=install))
    real_model.write_model(site)
    assert "data-engine" not in page(site)
    monkeypatch.setenv("MODEL", "1")
    with pytest.raises(ExtensionError, match="MODEL=1 asks for the live model, but"):
        real_model.write_model(site)


def test_another_page_loads_neither_script_nor_style(site):
    context = {"body": "<p>no model</p>"}
    real_model.fill(site, "book/map", "page.html", context, None)
    assert context == {"body": "<p>no model</p>"}
