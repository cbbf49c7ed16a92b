"""The figures' scripts without a browser: V8 alone, in the tests' process."""

import json
import math
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import numpy as np
from py_mini_racer import MiniRacer

from rope_book.widgets._bundle import module, scopes
from rope_book.widgets._modules import constant

# browsers have atob, V8 alone does not; numbers that JSON cannot hold travel as words
START = """
globalThis.atob ??= (text) => {
    const letters = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
    const place = Object.fromEntries([...letters].map((letter, i) => [letter, i]));
    let [bytes, bits, count] = [[], 0, 0];
    for (const letter of text.replace(/=+$/, "")) {
        [bits, count] = [(bits << 6) | place[letter], count + 6];
        if (count >= 8) bytes.push(String.fromCharCode((bits >> (count -= 8)) & 255));
    }
    return bytes.join("");
};
const odd = { NaN, Infinity, "-Infinity": -Infinity, "-0": -0 };
const special = (value) => (typeof value === "string" && Object.hasOwn(odd, value) ? odd[value] : value);
const read = (text) => JSON.parse(text, (_, value) => special(value));
const named = (part) => (Object.is(part, -0) ? "-0" : Number.isFinite(part) ? part : String(part));
const write = (value) => JSON.stringify(value, (_, part) => (typeof part === "number" ? named(part) : part));
"""


BTOA = """
globalThis.btoa ??= (text) => {
    const letters = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
    let [out, bits, count] = ["", 0, 0];
    for (const byte of text) {
        [bits, count] = [(bits << 8) | byte.charCodeAt(0), count + 8];
        while (count >= 6) out += letters[(bits >> (count -= 6)) & 63];
    }
    if (count) out += letters[(bits << (6 - count)) & 63];
    return out.padEnd(4 * Math.ceil(out.length / 4), "=");
};
"""


class Scripts:
    """Modules of ``js/`` in V8, their exports in scope."""

    def __init__(self, *modules: str) -> None:
        origins = {name: script for script in modules for name in module(script).exports if name != "default"}
        unpacked = "".join(f"const {name} = {constant(script)}.{name};\n" for name, script in origins.items())
        self.engine = MiniRacer()
        self.engine.eval(f"{scopes(*modules)}\n{unpacked}{START}{BTOA}0")

    def evaluate(self, expression: str) -> Any:
        """Return the value of an expression."""
        return json.loads(self.engine.eval(f"write({expression}) ?? 'null'"), parse_int=float)

    def answer(self, calls: list[tuple[str, list]]) -> list:
        """Return the values of calls: a function, often no more than its name, and its arguments."""
        functions = ",\n".join(
            f"{json.dumps(call)}: {call}" for call in dict.fromkeys(call for call, _ in calls)
        )
        asked = json.dumps([(call, written(arguments)) for call, arguments in calls])
        return self.evaluate(
            f"((functions) => read({json.dumps(asked)}).map(([call, values]) => functions[call](...values)))"
            f"({{\n{functions}\n}})"
        )


@contextmanager
def scripts(*modules: str) -> Iterator[Scripts]:
    """Start V8 with these modules, and close it afterwards."""
    started = Scripts(*modules)
    try:
        yield started
    finally:
        started.engine.close()


def plain(value: Any) -> Any:
    """Return NumPy's numbers and arrays as Python's."""
    if isinstance(value, np.ndarray):
        return value.tolist()
    return value.item() if isinstance(value, np.generic) else value


def written(value: Any) -> Any:
    """Return a value with words in place of numbers that JSON cannot hold."""
    value = plain(value)
    if isinstance(value, dict):
        return {key: written(part) for key, part in value.items()}
    if isinstance(value, (list, tuple, range)):
        return [written(part) for part in value]
    is_odd = isinstance(value, float) and (
        not math.isfinite(value) or (value == 0 and math.copysign(1, value) < 0)
    )
    return (
        {"nan": "NaN", "inf": "Infinity", "-inf": "-Infinity", "-0.0": "-0"}[repr(value)] if is_odd else value
    )
