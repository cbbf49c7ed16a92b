"""Fingerprints of what each figure draws, says and answers in many states, and the file of those last looked at.

    python -m tests.book.widgets.looks              note what the figures do today, and print what is new
    python -m tests.book.widgets.looks RotatePair   of one figure

A fingerprint is six letters that stand for a picture, a sentence, or the answers to a hand, a click or a button. It
says that something changed, and not what: whoever changes a picture on purpose looks at it and notes it anew.
"""

import json
import sys
from collections.abc import Iterator
from hashlib import blake2b
from itertools import chain
from pathlib import Path

from rope_book.widgets import LiveFigure

from .drawn import states
from .marks.picture import Pictured

FILE = Path(__file__).with_name("looks.json")
DRAWN = sorted(LiveFigure.figures.keys() - {"Question", "Review"})
WIDTHS = (726, 328, 572)  # a desk's, a phone's and one between, in turn
# Of the two that compute, shorter runs than a reader's
KEPT = {"ModelInThePage": [{"times": 2}], "TrainInThePage": [{"steps": 1}, *19 * [{"steps": 0}]]}  # in turn
MORE = {"TrainingCurves": [{"doublings": 3, "guess": [80, 50, 20]}]}  # what chance seldom meets

# Numbers lose the digits in which processors differ: a picture's to a tenth of a pixel, others to four figures. The
# odd share keeps them from the middle between two, where the last bit would decide.
LOOKED = """
const EARLY = 3; // steps of its work, after which a picture has a part of its results
const tenth = (value) => Math.floor(10 * value + 0.3713);
const four = (value) => (Math.abs(value) < 1e-9 ? 0 : Number((value * 1.000037).toPrecision(4)));
const plain = (value, round) => JSON.stringify(value, (_, part) => (typeof part === "number" ? round(part) : part));
function answered({ at, ...given }) {
    const x = given.x + (given.w ?? 0) / 2;
    const y = given.y + (given.h ?? 0) / 2;
    return { ...given, at: at && [[0, 0], [31, -7], [-12, 23]].map(([right, down]) => at(x + right, y + down)) };
}
function looked(values, kept, width) {
    const [first, state, view] = [madeState(kept), madeState({ ...values, ...kept }), only()];
    const size = { width, height: figure.height(width, state, view), ...view };
    const [shapes, between, early] = [[], [], []];
    let steps = 0;
    for (const _ of figure.work?.(first, true) ?? []) {}
    for (const _ of figure.work?.(state, true) ?? []) {
        if (++steps === EARLY) figure.draw(penInto(early), state, size);
    }
    const { taps = {}, marks = {}, ...handles } = figure.draw(penInto(shapes), state, size) ?? {};
    figure.draw(penInto(between), state, { ...size, way: { from: first, share: 0.4 } });
    const each = (parts) => Object.entries(parts).map(([name, part]) => [name, part && answered(part)]);
    const answers = {
        figure, state, results: figure.results?.(state), handles: each(handles), taps: each(taps), marks,
        buttons: (figure.buttons ?? []).map(({ move }) => move(state)),
        uses: figure.uses?.(state, Object.keys(controls)), panel: figure.panel?.(width, state, view),
    };
    const readout = joined(figure.readout(state, view));
    return [plain([size.height, shapes, between, early], tenth), readout, plain(answers, four)];
}0"""


def looks(name: str) -> Iterator[tuple[str, str]]:
    """Yield states of a figure as their widths and values, and the fingerprints of what it does there."""
    drawn = Pictured(name)
    drawn.engine.eval(LOOKED)
    for n, values in enumerate(chain(states(name, 30), MORE.get(name, []))):
        kept = KEPT.get(name, [{}])
        for width in WIDTHS if n == 0 else [WIDTHS[n % 3]]:
            call = f"JSON.stringify(looked({json.dumps(values)}, {json.dumps(kept[n % len(kept)])}, {width}))"
            yield (
                f"{width} {json.dumps(values)}",
                " ".join(map(fingerprint, json.loads(drawn.engine.eval(call)))),
            )
    drawn.close()


def fingerprint(text: str) -> str:
    """Return six letters that stand for a text."""
    return blake2b(text.encode(), digest_size=3).hexdigest()


def noted() -> dict[str, list[str]]:
    """Return the fingerprints of each figure that were noted last."""
    return json.loads(FILE.read_text(encoding="utf-8")) if FILE.exists() else {}


def news(found: list[tuple[str, str]], known: list[str]) -> Iterator[str]:
    """Yield in words what a figure does that it did not do when its fingerprints were noted."""
    if len(found) != len(known):
        yield f"{len(found)} states, and fingerprints of {len(known)}"
        return
    for (state, now), before in zip(found, known, strict=True):
        pairs = zip(("picture", "sentence", "answers"), now.split(), before.split(), strict=True)
        if parts := [part for part, new, old in pairs if new != old]:
            yield f"{' and '.join(parts)} at {state}"


def main(names: list[str]) -> None:
    """Write the fingerprints of today; print what is new."""
    if unknown := set(names) - set(DRAWN):
        sys.exit(f"a figure is one of {', '.join(DRAWN)}; got {', '.join(sorted(unknown))}")
    held = noted()
    for name in names or DRAWN:
        found = list(looks(name))
        for line in news(found, held.get(name, [])):
            print(f"{name}: {line}")
        held[name] = [prints for _, prints in found]
    held = {name: held[name] for name in DRAWN if name in held}
    FILE.write_text(json.dumps(held, indent=1) + "\n", encoding="utf-8")


if __name__ == "__main__":
    main(sys.argv[1:])
