"""Sphinx extension: addresses that were published lead on.

``book/data/moved.yml`` says where a page or a section is now. In the place of a page that is gone a page is
written that leads on, by a script and without one. A page whose sections have moved carries their new addresses,
for ``site.js``. A section that has become a detour, or is none any more, needs no entry: ``site.js`` knows that.
"""

import html
import json
from pathlib import Path

import yaml
from docutils import nodes
from sphinx.application import Sphinx

MOVED = Path(__file__).resolve().parents[1] / "data" / "moved.yml"
LEADS_ON = """<!DOCTYPE html>
<html lang="en">
  <head>
    <meta charset="utf-8" />
    <meta name="viewport" content="width=device-width, initial-scale=1" />
    <meta name="robots" content="noindex" />
    <meta http-equiv="refresh" content="0; url={target}" />
    <link rel="canonical" href="{target}" />
    <link rel="icon" href="{icon}" />
    <title>{title} has moved</title>
    <script defer src="{script}"></script>
  </head>
  <body>
    <main>
      <h1>This page has moved</h1>
      <p>Go on to <a data-moved href="{target}">{title}</a>.</p>
      {sections}
    </main>
  </body>
</html>
"""

# Whoever asks for the site comes to its first page. It names an icon: else a browser asks for one that is not there
FIRST = """<!DOCTYPE html>
<html lang="en">
  <head>
    <meta charset="utf-8" />
    <meta http-equiv="refresh" content="0; url={target}" />
    <link rel="icon" href="_static/logo.svg" />
    <title>{title}</title>
  </head>
  <body>
    <main>
      <h1><a href="{target}">{title}</a></h1>
    </main>
  </body>
</html>
"""


def table() -> dict[str, dict[str, str]]:
    """Return {page: {id of a section: "page#id" where it is now}}; the id "" is of a page that is gone."""
    found = yaml.safe_load(MOVED.read_text(encoding="utf-8")) or {}
    return {page: {"": now} if isinstance(now, str) else now for page, now in found.items()}


def whole(page: str, now: str) -> str:
    """Return an address with its page: "#id" is on the page itself."""
    return page + now if now.startswith("#") else now


def relative(page: str, now: str) -> str:
    """Return the link from a page to an address; both are in folders of the site."""
    target, _, section = whole(page, now).partition("#")
    up = "../" * page.count("/")
    return f"{up}{target}.html" + (f"#{section}" if section else "")


def island(page: str, sections: dict[str, str]) -> str:
    """Return the block of data in which ``site.js`` finds where the sections of a page are now."""
    links = {section: relative(page, now) for section, now in sections.items() if section}
    text = json.dumps(links, sort_keys=True).replace("</", "<\\/")
    return f'<script id="moved" type="application/json">{text}</script>' if links else ""


def add_table(app: Sphinx, page: str, template: str, context: dict, doctree: nodes.Node | None) -> None:
    """Put the new addresses of its sections into a page."""
    if "body" in context and page in table():
        context["body"] += island(page, table()[page])


def leading_on(page: str, sections: dict[str, str], title: str) -> str:
    """Return the page that leads on in the place of one that is gone; ``title`` is that of the new one."""
    return LEADS_ON.format(
        target=relative(page, sections[""]),
        title=html.escape(title),
        script="../" * page.count("/") + "_static/site.js",
        icon="../" * page.count("/") + "_static/logo.svg",
        sections=island(page, sections),
    )


def write_pages(app: Sphinx, error: Exception | None) -> None:
    """Write a page that leads on in the place of every page that is gone, and one that leads to the first."""
    if error or app.builder.format != "html":
        return
    root = app.config.root_doc
    first = FIRST.format(target=f"{root}.html", title=html.escape(app.env.titles[root].astext()))
    (Path(app.outdir) / "index.html").write_text(first, encoding="utf-8")
    for page, sections in table().items():
        if "" not in sections or page in app.env.found_docs:
            continue
        now = sections[""].partition("#")[0]
        if now not in app.env.found_docs:
            raise ValueError(f"{MOVED.name}: {page} is gone, and so is {now}")
        text = leading_on(page, sections, app.env.titles[now].astext())
        (Path(app.outdir) / f"{page}.html").write_text(text, encoding="utf-8")


def setup(app: Sphinx) -> dict[str, bool]:
    """Connect the extension; its pages are written before ``pages`` gives each a policy."""
    app.connect("html-page-context", add_table)
    app.connect("build-finished", write_pages, priority=400)
    return {"parallel_read_safe": True, "parallel_write_safe": True}
