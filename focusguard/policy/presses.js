// Runs in an isolated world of a guest's document before and after each press, which the page can neither see nor
// change; its value is what the document has seen of presses so far. Measured on Electron 22.3, 25.1 and 33.2: each
// press is a `pointerdown`, also on scroll bars, on disabled and inert elements, on plug-ins and outside the viewport, and
// `performance.eventCounts` has those that no listener hears of (a video's own controls).
(() => {
  'use strict';
  const TYPES = ['pointerdown', 'mousedown'];
  const LOOK_MS = 16;
  const install = () => {
    let heard = 0;
    let latest = [];
    const note = (event) => {
      if (!event.isTrusted) return;
      heard += 1;
      latest = latest.concat(event).slice(-TYPES.length);
    };
    for (const type of TYPES) addEventListener(type, note, { capture: true, passive: true });
    // Up to Chromium 114 at least the counts stand still once the list of slow events is full and nobody observes them.
    new PerformanceObserver(() => undefined).observe({ type: 'event', durationThreshold: 1e6 });
    const counted = () => TYPES.reduce((sum, type) => sum + (performance.eventCounts.get(type) || 0), 0);
    // Plug-ins, and what has no frame that could be asked.
    const opaque = () => document.querySelector('embed, object, fencedframe, portal') !== null;
    const seen = () => {
      latest = [];
      return { heard, counted: counted() };
    };
    // What became of the press since `before`: null where it was not known when the press was sent.
    const verdict = (before, ms) => new Promise((resolve) => {
      const began = performance.now();
      const look = () => {
        if (before ? heard > before.heard || counted() > before.counted : counted() > 0) {
          const cancelled = latest.some((event) => event.defaultPrevented);
          latest = [];
          resolve(before ? (cancelled ? 'cancelled' : 'handled') : 'unverified');
        } else if (performance.now() - began >= ms) {
          resolve(opaque() ? 'unverified' : 'missed');
        } else {
          setTimeout(look, LOOK_MS);
        }
      };
      look();
    });
    globalThis.focusguardPresses = { seen, verdict };
  };
  if (!globalThis.focusguardPresses) install();
  return JSON.stringify(globalThis.focusguardPresses.seen());
})();
