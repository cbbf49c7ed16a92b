// The first script of every page: where the browser keeps nothing (storage is denied, absent or full), what scripts
// store lasts as long as the page. The theme's own scripts would fail there.
for (const name of ["localStorage", "sessionStorage"]) {
  let kept = {};
  try {
    kept = { ...window[name] };
    window[name].setItem("rope-probe", "");
    window[name].removeItem("rope-probe");
  } catch {
    const items = new Map(Object.entries(kept));
    const value = {
      getItem: (key) => items.get(key) ?? null,
      setItem: (key, text) => void items.set(key, String(text)),
      removeItem: (key) => void items.delete(key),
    };
    Object.defineProperty(window, name, { configurable: true, value });
  }
}
