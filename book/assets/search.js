// Sphinx's search, mended where a reader of this book types something else than a reader of a manual: a whole symptom,
// an error message, the name of a method. It runs between Sphinx's script and its index.
(() => {
  "use strict";
  const DOOR = "book/wrong"; // the page ordered by symptom
  const FEW = 10; // pages with all the words; if there are fewer, pages that lack some are listed too

  // Words are looked up in plain objects, where "constructor" finds what every object has: tables that hold their own
  // words and nothing else.
  const own = Object.assign(Object.create(null), { hasOwnProperty: Object.prototype.hasOwnProperty });
  const setIndex = Search.setIndex;
  Search.setIndex = (index) => {
    for (const table of [index.terms, index.titleterms]) Object.setPrototypeOf(table, own);
    setIndex.call(Search, index);
  };

  // a name of the library comes after a chapter that has the word in its title, and before other text
  Scorer.objPrio = { 0: 0, 1: 0, 2: -5 };

  // Sphinx lists the pages that have every word. Of a sentence that leaves out the page that knows all but one of them.
  const withAll = Search.performTermsSearch;
  Search.performTermsSearch = (words, excluded) => {
    const pages = Search._index.docnames;
    const shares = pages.map(() => 0); // of the query, rare words counting more, that each page has
    const found = new Map();
    let whole = 0;
    let rare = 0; // the share of the door in words that fewer than two thirds of the pages have
    for (const word of words) {
      const hits = withAll(new Set([word]), excluded);
      const weight = Math.log(1 + pages.length / (1 + hits.length));
      whole += weight;
      for (const hit of hits) {
        const at = pages.indexOf(hit[0]);
        shares[at] += weight;
        if (hit[0] === DOOR && 3 * hits.length < 2 * pages.length) rare += weight;
        found.set(hit[0], hit);
      }
    }
    const results = withAll(words, excluded);
    if (results.length < FEW) {
      const listed = new Set(results.map((result) => result[0]));
      for (const [page, hit] of found) {
        const share = shares[pages.indexOf(page)] / whole;
        if (!listed.has(page) && share > 0.4) results.push([...hit.slice(0, 4), Scorer.term * share, hit[5]]);
      }
    }
    return results.map((result) => (result[0] === DOOR && rare > 0 ? door(result, words) : result));
  };

  // The door comes among the first, and opens at the section whose heading has most of the words.
  const door = ([page, title, anchor, description, score, file], words) => {
    const { alltitles, docnames } = Search._index;
    const stemmer = new Stemmer();
    let best = { count: 0, title, anchor };
    for (const [heading, places] of Object.entries(alltitles)) {
      const stems = new Set(splitQuery(heading.toLowerCase()).map((word) => stemmer.stemWord(word)));
      const count = [...words].filter((word) => stems.has(word)).length;
      for (const [at, id] of places) {
        if (docnames[at] === page && id && count > best.count) {
          best = { count, title: `${title} > ${heading}`, anchor: `#${id}` };
        }
      }
    }
    const section = 2 * best.count > words.size ? best : { title, anchor };
    return [page, section.title, section.anchor, description, score + Scorer.title, file];
  };
})();
