// What is marked and painted in one way stands for all of its kind, before axe looks at a page: in a third of the time.
// Words of code lose their marks; contrast is looked at once for each ink, size, weight and paper; a paragraph, an
// item, a row or a formula of which every part is like one before goes; of a row an empty, hidden place is left, so that
// others keep their stripe, and of a formula its room. What has a name of its own, a control, a small target, or words beyond its
// edge stays. Returns how many elements stay for contrast.
() => {
    const BLOCK = "p:not(table p), li:not(table li), dt, dd, tr, pre:not(table pre)";
    const NAMED = ["aria-label", "aria-labelledby", "aria-describedby", "for", "headers"]; // its words matter
    const FREE = ["id", "href", "src", "alt", "title", "name", "download", "style"]; // it matters whether it has any
    const STAYS = "input, select, textarea, button, summary, label, svg, img, h1, h2, h3, h4, h5, h6";
    const kinds = new Set();
    const first = (...marks) => {
        const kind = marks.join("|");
        return !kinds.has(kind) && kinds.add(kind);
    };
    const seen = [...document.querySelectorAll(":is(.highlight pre, .sig, code) span[class]")].filter((token) => {
        const { color, fontWeight } = getComputedStyle(token);
        if (token.id || token.closest("table")) return false; // a table wraps as its words do
        return !first(token.className, token.parentElement.localName, color, fontWeight);
    }); // all are read before one is moved: each change would make the browser find its styles anew
    for (const token of seen) token.replaceWith(...token.childNodes);
    document.body.normalize();

    const papers = new Map([[null, ""]]);
    const paper = (el) => {
        if (!papers.has(el)) {
            const { backgroundColor, backgroundImage, opacity, filter } = getComputedStyle(el);
            papers.set(el, [paper(el.parentElement), backgroundColor, backgroundImage, opacity, filter]
                .filter((part) => !["", "rgba(0, 0, 0, 0)", "none", "1"].includes(part)).join(" "));
        }
        return papers.get(el);
    };
    const speaks = (el) => [...el.childNodes].some((node) => node.nodeType === 3 && node.data.trim());
    const ink = (el) => {
        const { color, fontSize, fontWeight, textShadow } = getComputedStyle(el);
        return [color, fontSize, fontWeight, textShadow, paper(el)].join();
    };
    const firsts = [...document.body.querySelectorAll("*")].filter((el) => speaks(el)
        && el.checkVisibility({ visibilityProperty: true }) && first(el.localName, el.className, ink(el)));
    for (const el of firsts) el.toggleAttribute("data-first", true);
    axe.configure({ rules: [{ id: "color-contrast", selector: "[data-first], input, select, textarea, button" }] });

    const marks = (el) => [...el.attributes].map(({ name, value }) =>
        FREE.includes(name) ? `${name} ${value.trim() !== ""}` : `${name}=${value}`);
    const scrolls = (el) => el.clientWidth && el.scrollWidth > el.clientWidth
        && getComputedStyle(el).overflowX !== "visible";
    const isSmall = ({ width, height }) => Math.min(width, height) < 24;
    const isSmallTarget = (el) => el.localName === "a" && isSmall(el.getBoundingClientRect())
        && el.parentElement.textContent.trim() === el.textContent.trim(); // a link among words may be small
    const stays = (el) => NAMED.some((name) => el.hasAttribute(name)) || el.matches(`${STAYS}, [data-first]`)
        || isSmallTarget(el);
    const isNew = (el) => first("part", el.localName, el.parentElement.localName, marks(el).join(), ink(el),
        scrolls(el), speaks(el), el.textContent.trim() !== "", getComputedStyle(el.parentElement).color);
    // each part is asked, so that each is known afterwards
    const anyNew = (parts, isNew) => parts.map(isNew).some(Boolean);

    const formulas = [...document.querySelectorAll("mjx-container")].filter((math) => !scrolls(math)
        && !anyNew([...math.querySelectorAll("*")], (el) => first("in math", el.localName, ...el.getAttributeNames())));
    const blocks = [...document.querySelectorAll(BLOCK)].filter((block) => {
        const parts = [block, ...block.querySelectorAll(":not(mjx-container *)")];
        if (block.querySelector(BLOCK) || parts.some(stays)) return false;
        const landmark = block.closest("main, nav, aside, header, footer, [role]");
        const isHere = first("in", landmark?.localName, landmark?.className, block.localName);
        return !anyNew(parts, isNew) && !isHere;
    });
    const sizes = formulas.map((math) => math.getBoundingClientRect());
    for (const [at, { width, height }] of sizes.entries()) {
        formulas[at].replaceChildren();
        formulas[at].style.cssText = `display: inline-block; width: ${width}px; height: ${height}px`;
    }
    for (const block of blocks) {
        if (block.matches("tr, dt, dd")) block.replaceChildren();
        else block.remove();
        block.style.display = "none";
    }
    return firsts.length;
}
