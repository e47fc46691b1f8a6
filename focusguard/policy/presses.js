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
    let astray = false;
    // A frame with a process of its own gets its presses past this document. Until its first frame is drawn they come here,
    // with its element as the target, and nothing in it ever hears of them.
    const belongsToFrame = (event) => {
      // Offsets count in the target's own, untransformed pixels. Where it is zoomed they are not known; and one in a
      // shadow tree is not the target here.
      const frame = event.target;
      if (!/^i?frame$/.test(frame.localName) || (frame.currentCSSZoom || 1) !== 1) return false;
      const style = getComputedStyle(frame);
      const inside = (at, size, before, after) => at >= parseFloat(before) && at < size - parseFloat(after);
      return inside(event.offsetX, frame.clientWidth, style.paddingLeft, style.paddingRight)
        && inside(event.offsetY, frame.clientHeight, style.paddingTop, style.paddingBottom);
    };
    const note = (event) => {
      if (!event.isTrusted) return;
      heard += 1;
      latest = latest.concat(event).slice(-TYPES.length);
      astray = belongsToFrame(event);
    };
    for (const type of TYPES) addEventListener(type, note, { capture: true, passive: true });
    // Up to Chromium 114 at least the counts stand still once the list of slow events is full and nobody observes them.
    new PerformanceObserver(() => undefined).observe({ type: 'event', durationThreshold: 1e6 });
    const counted = () => TYPES.reduce((sum, type) => sum + (performance.eventCounts.get(type) || 0), 0);
    // Plug-ins, and what has no frame that could be asked.
    const opaque = () => document.querySelector('embed, object, fencedframe, portal') !== null;
    const seen = () => {
      latest = [];
      astray = false;
      return { heard, counted: counted() };
    };
    // What became of the press since `before`: null where it was not known when the press was sent.
    const verdict = (before, ms) => new Promise((resolve) => {
      const began = performance.now();
      const look = () => {
        if (before ? heard > before.heard || counted() > before.counted : counted() > 0) {
          const cancelled = latest.some((event) => event.defaultPrevented);
          latest = [];
          resolve(!before ? 'unverified' : astray ? 'astray' : cancelled ? 'cancelled' : 'handled');
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
