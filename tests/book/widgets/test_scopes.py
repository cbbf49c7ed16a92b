"""A name used in two modules of a bundle breaks neither."""

from py_mini_racer import MiniRacer

from rope_book.widgets import _bundle

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


def test_two_modules_may_use_the_same_names(tmp_path, monkeypatch):
    for room, text in {"lib": LIB, "maths": MATHS, "figures": FIGURE}.items():
        (tmp_path / room).mkdir()
        (tmp_path / room / "told.js").write_text(text, encoding="utf-8")
    monkeypatch.setattr(_bundle, "JS", tmp_path)
    expected = "figure 3 20 nobody's | maths 2 10 1 lib 1 1 lib 1 2"
    v8 = MiniRacer()
    v8.eval("globalThis.RopeLive = { define: (name, figure) => (globalThis[name] = figure) }; 0")
    v8.eval(_bundle.page_script("told", "Told") + "0")
    assert v8.eval("Told.text()") == expected
    script = _bundle.module_script("told").replace(
        "\nexport default ", "\nglobalThis.default_ = "
    )  # V8 alone has no modules
    v8.eval(f"{{ {script} }} 0")
    assert v8.eval("default_.text()") == expected
    monkeypatch.setattr(_bundle, "SHARED", ("lib/told",))  # a shared module runs once for all scripts
    for script in (
        _bundle.shared_script(),
        *[_bundle.page_script("told", name, alone=False) for name in "AB"],
    ):
        v8.eval(script + "0")
    assert [v8.eval(f"{name}.text()") for name in "AB"] == [
        expected,
        expected.replace("lib 1 1 lib 1 2", "lib 1 3 lib 1 4"),
    ]
    v8.close()
