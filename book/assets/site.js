// Repairs of the theme for screen readers and keyboards: the sidebar, logo included, becomes a named landmark.
document.addEventListener("DOMContentLoaded", () => {
  const sidebar = document.querySelector(".bd-sidebar-primary");
  sidebar?.setAttribute("role", "region");
  sidebar?.setAttribute("aria-label", "Book");
  // the entries of a list are its items; docutils gives them a role that is deprecated
  for (const entry of document.querySelectorAll('[role="list"] > [role="doc-biblioentry"]')) {
    entry.setAttribute("role", "listitem");
  }
});

// What is wider than its column scrolls; then it must be reachable by keyboard, also after the window has changed.
addEventListener("load", () => {
  const reach = () => {
    const wide = 'mjx-container[display="true"], .highlight pre, .pst-scrollable-table-container';
    for (const box of document.querySelectorAll(wide)) {
      if (box.scrollWidth > box.clientWidth) box.tabIndex = 0;
      else box.removeAttribute("tabindex");
    }
  };
  reach();
  window.MathJax?.startup?.promise.then(reach);
  addEventListener("resize", reach);
});
