// Words of the search index are looked up in plain objects, where "constructor" finds what every object has. Between
// Sphinx's search and its index: tables that hold their own words and nothing else.
(() => {
  "use strict";
  const own = Object.assign(Object.create(null), { hasOwnProperty: Object.prototype.hasOwnProperty });
  const setIndex = Search.setIndex;
  Search.setIndex = (index) => {
    for (const table of [index.terms, index.titleterms]) Object.setPrototypeOf(table, own);
    setIndex.call(Search, index);
  };
})();
