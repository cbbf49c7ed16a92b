// Adapt Sphinx's search to the queries of this book's readers, such as a whole symptom, an error message or the
// name of a method. This script runs between Sphinx's script and the search index.
(() => {
  "use strict";
  const DOOR = "book/wrong"; // the page organised by symptom
  const CHINESE = "book/zh/"; // pages with a separate index, on the Chinese search page
  const FEW = 10; // if fewer pages contain all the words, pages that lack some are also listed
  const LONG = { bf16: "bfloat16", fp16: "float16", fp32: "float32" }; // as written in headings

  // Sphinx looks words up in plain objects, and every object has a property named "constructor". Give the tables a
  // prototype without such properties.
  const own = Object.assign(Object.create(null), { hasOwnProperty: Object.prototype.hasOwnProperty });
  const setIndex = Search.setIndex;
  Search.setIndex = (index) => {
    for (const table of [index.terms, index.titleterms]) Object.setPrototypeOf(table, own);
    setIndex.call(Search, index);
  };

  // a name from the library ranks below a chapter with the word in its title, and above other text
  Scorer.objPrio = { 0: 0, 1: 0, 2: -5 };

  // Sphinx lists only pages that contain every word, so a sentence excludes any page that lacks just one.
  const withAll = Search.performTermsSearch;
  Search.performTermsSearch = (words, excluded) => {
    const pages = Search._index.docnames;
    const shares = pages.map(() => 0); // each page's share of the query, with words weighted by rarity
    const found = new Map();
    let whole = 0;
    let rare = 0; // the door's share from words that are on fewer than two thirds of the pages
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

  // Rank the door near the top, and link to the section whose heading contains the most words.
  const door = ([page, title, anchor, description, score, file], words) => {
    const { alltitles, docnames } = Search._index;
    const stemmer = new Stemmer();
    let best = { count: 0, title, anchor };
    for (const [heading, places] of Object.entries(alltitles)) {
      const stems = new Set(splitQuery(heading.toLowerCase()).map((word) => stemmer.stemWord(word)));
      const count = [...words].filter((word) => stems.has(word) || stems.has(LONG[word])).length;
      for (const [at, id] of places) {
        if (docnames[at] === page && id && count > best.count) {
          best = { count, title: `${title} > ${heading}`, anchor: `#${id}` };
        }
      }
    }
    const section = 2 * best.count > words.size ? best : { title, anchor };
    return [page, section.title, section.anchor, description, score + Scorer.title, file];
  };

  // A Chinese query goes to the Chinese search page. Sphinx splits words at spaces, which Chinese does not have. On
  // that page, pages whose text contains every piece of the query are therefore listed before the English ones.
  const root = document.documentElement.dataset.content_root;
  const inChinese = document.documentElement.lang.startsWith("zh");
  const asked = new URLSearchParams(location.search).get("q") ?? "";
  if (!inChinese && /\p{Script=Han}/u.test(asked)) {
    location.replace(`${root}${CHINESE}search.html?q=${encodeURIComponent(asked)}`);
  }

  let texts = {};
  Search.chinese = (given) => (texts = given);

  function sections(page, parts, pieces) {
    const [, title] = parts[0];
    const plain = parts.map(([, heading, text]) => `${heading} ${text}`.toLowerCase());
    if (!pieces.every((piece) => plain.some((text) => text.includes(piece)))) return [];
    const counts = parts.map(([, heading, text], at) => {
      const named = pieces.filter((piece) => heading.toLowerCase().includes(piece)).length;
      const said = pieces.filter((piece) => plain[at].includes(piece)).length;
      return Scorer.title * named + Scorer.term * said + (text ? 0.1 : 0);
    });
    const best = counts.indexOf(Math.max(...counts));
    const [id, heading] = parts[best];
    return [[page, best ? `${title} > ${heading}` : title, best ? `#${id}` : "", null, 100 + counts[best], page]];
  }

  if (inChinese) {
    const performed = Search._performSearch;
    Search._performSearch = (query, ...rest) => {
      const pieces = query.toLowerCase().split(/\s+/).filter(Boolean);
      const ours = Object.entries(texts).flatMap(([page, parts]) => sections(page, parts, pieces));
      ours.sort((a, b) => a[4] - b[4]); // the last one is shown first
      document.documentElement.dataset.content_root = ""; // Sphinx then writes links relative to the root
      return [...performed(query, ...rest), ...ours].map(([page, ...others]) => [root + page, ...others]);
    };
  }
})();
