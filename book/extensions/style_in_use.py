"""Keep the rules of a style sheet that the site's pages can use; the theme's holds three times as many.

A rule goes only if each of its selectors needs a class or an id that is in no page and no script of the site.
"""

import re
from collections.abc import Iterable
from pathlib import Path

import tinycss2
from tinycss2.ast import Node

NAMED = re.compile(r'\b(?:class|id)="([^"]*)"')
WORD = re.compile(r"[\w-]+")
NEEDED = re.compile(r"[.#](-?[A-Za-z_][\w-]*)")
OPTIONAL = re.compile(
    r"\[[^]]*\]|:(?:not|is|where|has)\((?:[^()]|\([^()]*\))*\)"
)  # may match without these names
COMMA = re.compile(r",(?![^()]*\))")


def names_in_use(pages: Iterable[Path], scripts: Iterable[Path]) -> set[str]:
    """Return the classes and ids of all pages, and every word of the scripts, which may set them."""
    names = {
        name for page in pages for held in NAMED.findall(page.read_text("utf-8")) for name in held.split()
    }
    return names.union(*(WORD.findall(script.read_text("utf-8")) for script in scripts))


def in_use(style: str, names: set[str]) -> str:
    """Return the style sheet without rules that need other names.

    >>> in_use(".a{color:red}.b,.a .c{color:blue}@media print{.b{color:red}}", {"a", "c"})
    '.a{color:red}.a .c{color:blue}'
    >>> in_use("p:not(.b),.a\\\\:b{color:red}@media print{.a{color:red}}", {"a"})
    'p:not(.b),.a\\\\:b{color:red}@media print{.a{color:red}}'
    """
    return _kept(tinycss2.parse_stylesheet(style, skip_comments=True, skip_whitespace=True), names)


def _kept(rules: list[Node], names: set[str]) -> str:
    return "".join(_rule(rule, names) for rule in rules)


def _rule(rule: Node, names: set[str]) -> str:
    """Return a rule with the selectors that can match, or "" if none can; an at-rule with the rules inside."""
    if rule.type == "qualified-rule":
        selectors = COMMA.split(tinycss2.serialize(rule.prelude))
        possible = ",".join(each for each in selectors if _can_match(each, names))
        return f"{possible}{{{tinycss2.serialize(rule.content)}}}" if possible else ""
    if rule.type == "at-rule" and rule.lower_at_keyword in ("media", "supports"):
        inside = tinycss2.parse_rule_list(rule.content, skip_comments=True, skip_whitespace=True)
        held = _kept(inside, names)
        return f"@{rule.at_keyword}{tinycss2.serialize(rule.prelude)}{{{held}}}" if held else ""
    return rule.serialize()


def _can_match(selector: str, names: set[str]) -> bool:
    """Return whether the names that a selector needs are in use; one with escapes counts as used."""
    return "\\" in selector or names.issuperset(NEEDED.findall(OPTIONAL.sub("", selector)))
