"""Figures in html-manager, by which front ends that are neither Jupyter nor our pages show widgets: both ways."""

import json
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from functools import partial
from pathlib import Path

import anywidget
import pytest
from html_manager import files
from ipywidgets.embed import dependency_state, embed_data
from serve import Quiet, Server

from rope_book import widgets
from rope_book.widgets import LiveFigure

from .conftest import at_rest

pytestmark = pytest.mark.browser
HOSTS = Path(__file__).with_name("hosts.js")
FIGURES = dict(sorted(LiveFigure.figures.items()))
ANYWIDGET = Path(anywidget.__file__).parent / "nbextension" / "index.js"
PAGE = """<!doctype html><meta charset="utf-8"><title>Figures elsewhere</title>
<script src="require.js"></script>
<script>requirejs.config({{ waitSeconds: 0, paths: {{ anywidget: "anywidget" }} }});</script>
<script src="embed-amd.js"></script><script src="hosts.js"></script>
<body>{places}<script>
const loader = (module) => new Promise((done, fail) => require([module], done, fail));
async function show({{ HTMLManager }}) {{
    window.manager = new HTMLManager({{ loader }});
    for (const model of await manager.set_state({state})) {{
        const place = document.getElementById(model.model_id);
        if (place) manager.display_view(await manager.create_view(model), place);
    }}
}}
require(["@jupyter-widgets/html-manager"], (module) => void show(module));
</script></body>"""
ALIVE = "(count) => window.hosts?.alive().length === count"
# every figure draws or says something else than before, and its work is done
OTHERWISE = """(before) => {
    const now = hosts.pictures();
    return !document.querySelector('[data-live][aria-busy="true"]') &&
        Object.keys(before).every((name) => now[name] !== before[name]);
}"""
BY_CODE = """(moves) => Promise.all(moves.map(async ([id, trait, value]) => {
    const model = await manager.get_model(id);
    const held = model.get(trait);
    model.set(trait, value);
    return held;
}))"""


@contextmanager
def served(folder: Path) -> Iterator[str]:
    """Serve a folder on localhost; the address."""
    with Server(("127.0.0.1", 0), partial(Quiet, directory=str(folder))) as http:
        threading.Thread(target=http.serve_forever, daemon=True).start()
        yield f"http://127.0.0.1:{http.server_port}/"
        http.shutdown()


def test_every_figure_lives_in_html_manager_and_moves_both_ways(browser, tmp_path):
    made = {name: figure() for name, figure in FIGURES.items()}
    views = list(made.values())  # of no other widget that this process has made
    data = embed_data(views=views, state=dependency_state(views))  # as it comes: default values left out
    state = data["manager_state"]
    places = "".join(f'<div id="{figure.model_id}"></div>' for figure in made.values())
    text = PAGE.format(places=places, state=json.dumps(state).replace("</", "<\\/"))
    (tmp_path / "index.html").write_text(text, encoding="utf-8")
    for file in (*files().glob("*.js"), HOSTS):
        (tmp_path / file.name).write_bytes(file.read_bytes())
    (tmp_path / "anywidget.js").write_bytes(ANYWIDGET.read_bytes())
    page = browser.new_page(viewport={"width": 1200, "height": 900})
    asked = []
    page.on("request", lambda request: asked.append(request.url))
    with served(tmp_path) as root:
        page.goto(root)  # all figures of the book in one page
        page.wait_for_function(ALIVE, arg=len(made))
        assert page.evaluate("hosts.alive()") == list(made)
        lines = page.evaluate("hosts.lines()")
        assert {name: repr(eval(line, dict(vars(widgets)))) for name, line in lines.items()} == {
            name: repr(figure) for name, figure in made.items()
        }

        at_rest(page)
        first = page.evaluate("hosts.pictures()")
        moved = page.evaluate("hosts.hand()")
        page.wait_for_function(OTHERWISE, arg=first)
        before = page.evaluate("hosts.pictures()")
        lines = page.evaluate("hosts.lines()")
        moves = [(made[name].model_id, trait, getattr(made[name], trait)) for name, trait in moved.items()]
        held = page.evaluate(BY_CODE, moves)  # code puts back what the hand has moved
        for (name, trait), value in zip(moved.items(), held, strict=True):
            assert value != getattr(made[name], trait), name
            assert value == getattr(eval(lines[name], dict(vars(widgets))), trait), name
        page.wait_for_function(OTHERWISE, arg=before)
        assert [url for url in asked if not url.startswith((root, "data:", "blob:"))] == []
    page.close()
