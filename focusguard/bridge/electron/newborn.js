'use strict';
/**
 * Preload of pages that begin while the person composes. A guest beside them is made inert before its first script or
 * `autofocus` can take the input method away; then the sentry has it, which lets it go between two words.
 */
(() => {
  const { ipcRenderer } = require('electron');
  if (window !== window.top || !ipcRenderer.sendSync('focusguard:newborn')) return;

  /** For the sentry to come; an inert page for which it does not come is let go. */
  const LONGEST_MS = 3000;
  const hold = () => {
    const root = document.documentElement;
    if (!root || root.inert) return !!root;
    root.inert = true;
    setTimeout(() => {
      root.inert = false;
    }, LONGEST_MS);
    return true;
  };
  if (hold()) return;
  new MutationObserver((_all, observer) => {
    if (hold()) observer.disconnect();
  }).observe(document, { childList: true });
})();
