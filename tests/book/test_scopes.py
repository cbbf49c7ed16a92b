"""A name used in two modules of a bundle breaks neither."""

import pytest

from rope_edu.widgets import _bundle

pytestmark = pytest.mark.browser
LIB = """
const size = 1;
let count = 0;
function name() { return `lib ${size}`; }
export function told() { count += 1; return `${name()} ${count}`; }
export { size as libSize };
"""
MATHS = """
import {
  libSize as other,
  told as said,
} from "../lib/told.js";
import * as lib from "../lib/told.js";
const size = 2;
let count = 10;
function name() { return `maths ${size}`; }
export const told = () => `${name()} ${count++} ${other} ${said()} ${lib.told()}`;
"""
FIGURE = """
import { told } from "../maths/told.js";
const [size, count, name, lib] = [3, 20, () => "figure", "nobody's"];
class Told { text() { return `${name()} ${size} ${count} ${lib} | ${told()}`; } }
export default new Told();
"""


def test_two_modules_may_use_the_same_names(browser, tmp_path, monkeypatch):
    for room, text in {"lib": LIB, "maths": MATHS, "figures": FIGURE}.items():
        (tmp_path / room).mkdir()
        (tmp_path / room / "told.js").write_text(text, encoding="utf-8")
    monkeypatch.setattr(_bundle, "JS", tmp_path)
    page = browser.new_page()
    page.evaluate("window.RopeLive = { define: (name, figure) => (window[name] = figure) }")
    page.add_script_tag(content=_bundle.page_script("told", "Told"))
    expected = "figure 3 20 nobody's | maths 2 10 1 lib 1 1 lib 1 2"
    assert page.evaluate("Told.text()") == expected
    page.evaluate(
        """(text) => import(URL.createObjectURL(new Blob([text], { type: "text/javascript" })))
        .then((module) => (window.fromBlob = module.default))""",
        _bundle.module_script("told"),
    )
    assert page.evaluate("fromBlob.text()") == expected
    page.close()
