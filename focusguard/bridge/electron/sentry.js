'use strict';
/**
 * The sentry: runs in an isolated world of a guest's page, which cannot see it.
 *
 * Whatever changes the text input state of a guest (a field gets the page's focus, its value or caret changes)
 * makes Chromium talk to the person's input method on the guest's behalf, although the person is elsewhere. It
 * is silent there: the next word that they compose is lost. The sentry tells of each such change, so that the
 * host can be made to speak up again; and while the person composes, it keeps the page from taking any focus.
 */
(() => {
  const NAME = '__focusguardSentry';
  const world = /** @type {any} */ (globalThis);
  if (world[NAME]) return;

  let changed = false;
  /** Whether something in the page took text at any of the changes that have not been told yet. */
  let writable = false;
  /** @type {((batch: object[]) => void) | null} */
  let waiting = null;
  let inert = false;

  function tell() {
    changed = true;
    writable = writable || takesText();
    if (!waiting) return;
    const wake = waiting;
    waiting = null;
    wake(news());
  }

  function news() {
    const batch = changed ? [{ event: 'text-state', writable }] : [];
    changed = false;
    writable = false;
    return batch;
  }

  const NO_TEXT = /^(button|checkbox|color|file|hidden|image|radio|range|reset|submit)$/;
  /** Whether the focus is somewhere that may take text: what a frame of another process holds cannot be known. */
  function takesText() {
    /** @type {any} */
    let active = document.activeElement;
    for (;;) {
      const inside = active && active.localName === 'iframe' ? innerWindow(active) : null;
      const below = inside ? inside.document.activeElement : active && active.shadowRoot && active.shadowRoot.activeElement;
      if (!below) break;
      active = below;
    }
    return takesTextItself(active);
  }

  /** @param {any} node */
  function takesTextItself(node) {
    if (!node || node.nodeType !== 1 || (node.localName === 'input' && NO_TEXT.test(node.type))) return false;
    return node.isContentEditable || /^(input|textarea|iframe|embed|object)$/.test(node.localName)
      || node.ownerDocument.designMode === 'on' || !!node.editContext;
  }

  /** @param {any} event */
  const targetOf = (event) => (event.composedPath ? event.composedPath()[0] : null) || event.target;

  let planned = false;
  /** Chromium reports the state with the next frame: a word about it is of use only after that. */
  function plan() {
    if (planned) return;
    planned = true;
    const done = () => {
      if (!planned) return;
      planned = false;
      tell();
    };
    requestAnimationFrame(() => setTimeout(done, 0));
    // No frames come where nothing is painted.
    setTimeout(done, 120);
  }

  function next() {
    if (waiting) waiting([]);
    if (changed) return Promise.resolve(news());
    return new Promise((resolve) => {
      waiting = resolve;
    });
  }

  /** @param {any} frame */
  function innerWindow(frame) {
    try {
      return frame.contentDocument ? frame.contentWindow : null;
    } catch (error) {
      return null;
    }
  }

  // After some input Chromium reports the state again although nothing has changed.
  const TYPES = ['focusin', 'focusout', 'input', 'selectionchange', 'mousedown', 'mouseup', 'touchend', 'keyup'];
  /** @type {WeakSet<any>} */
  const heard = new WeakSet();
  /** @param {any} view */
  function hear(view) {
    if (!view || heard.has(view)) return;
    heard.add(view);
    for (const type of TYPES) view.addEventListener(type, onChange, beforePage(type));
  }
  /**
   * An `input` is heard after the page: a page's microtasks run after each listener, so an editor that watches its own
   * document (ProseMirror) would have been at work before the page's first listener.
   * @param {string} type @returns {boolean}
   */
  function beforePage(type) {
    return type !== 'input';
  }
  /** @param {any} [event] */
  function onChange(event) {
    // A text field that the focus leaves counts too: the input method has been told of it, and then that there is none.
    writable = writable || takesText() || (!!event && takesTextItself(targetOf(event)));
    plan();
    if (event && event.isTrusted) noticeRestlessness(event.type);
    const active = document.activeElement;
    if (active && active.localName === 'iframe') hear(innerWindow(active));
  }
  // A frame that takes the focus shows itself only by the blur of what had it.
  window.addEventListener('blur', () => setTimeout(onChange, 0), true);
  hear(window);

  /** So many changes without any input, in so many milliseconds, are the page's own doing, and more will come. */
  const RESTLESS = 3;
  const WITHIN_MS = 500;
  /** What an input leads to comes within this time. */
  const INPUT_MS = 40;
  /** For so long a page that was restless is taken to be so still. */
  const REMEMBER_MS = 5000;
  /** What an agent does takes less, and the next word begins later. */
  const LEAVE_MS = 50;
  let vigilant = false;
  let inputAt = -Infinity;
  let restlessAt = -Infinity;
  /** @type {number[]} */
  let ownChanges = [];
  /** What had the focus when the page was stopped. @type {any} */
  let stopped = null;

  /** @param {string} type */
  function noticeRestlessness(type) {
    const now = performance.now();
    if (type !== 'focusin' && type !== 'selectionchange') {
      if (type !== 'focusout') inputAt = now;
      return;
    }
    if (!vigilant || now - inputAt < INPUT_MS) return;
    ownChanges = ownChanges.filter((at) => now - at < WITHIN_MS).concat(now);
    if (ownChanges.length < RESTLESS) return;
    restlessAt = now;
    stopPage();
  }

  /** Between two words this does no harm: the page loses its focus, and gets it back when an agent comes, or with calm. */
  function stopPage() {
    const root = document.documentElement;
    if (!vigilant || inert || !root || root.inert || performance.now() - restlessAt > REMEMBER_MS) return;
    stopped = document.activeElement;
    inert = true;
    root.inert = true;
  }

  let born = false;
  /** A page that has only just begun may be told before there is anything in it. */
  let early = false;
  if (!document.documentElement) {
    new MutationObserver((_all, observer) => {
      observer.disconnect();
      if (early) quiet(true);
      else if (born) letGo();
    }).observe(document, { childList: true });
  }
  /** Whether the page was stopped while it loaded: Chromium then passes its `autofocus` over. */
  let missed = false;

  /** The page has been made inert before its first script (see newborn.js). */
  function newborn() {
    born = true;
    missed = true;
    return quiet(true);
  }

  function letGo() {
    newborn();
    return quiet(false);
  }

  /** The person composes no more. */
  function rest() {
    vigilant = false;
    ownChanges = [];
    return quiet(false);
  }

  /**
   * While the person composes nothing may take the page's focus. Where something has it already, or where a
   * caret is left from before, making the page inert would itself end the composition: such a page stays as it is.
   * @param {boolean} on
   */
  function quiet(on) {
    const root = document.documentElement;
    vigilant = vigilant || on;
    early = on && !root;
    if (!root) return { inert: false }; // and of a newborn it stays noted
    if (on && born && root.inert) inert = true;
    if (on && !inert && !root.inert) {
      const active = document.activeElement;
      const selection = document.getSelection();
      const untouched = (!active || active === document.body || active === root) && selection && selection.type === 'None';
      if (!untouched) return { inert: false };
      missed = missed || document.readyState !== 'complete';
      inert = true;
      root.inert = true;
    } else if (!on && inert) {
      inert = false;
      root.inert = false;
      const nothing = !document.activeElement || document.activeElement === document.body;
      const first = missed && document.querySelector('[autofocus]');
      if (stopped && stopped.isConnected && stopped !== document.body && nothing) stopped.focus({ preventScroll: true });
      else if (first && nothing) /** @type {HTMLElement} */ (first).focus();
      stopped = null;
      missed = false;
      born = false;
      if (vigilant) setTimeout(stopPage, LEAVE_MS);
    }
    return { inert };
  }

  world[NAME] = {
    next,
    newborn,
    letGo,
    quiet,
    rest,
    stop: () => {
      rest();
      for (const type of TYPES) window.removeEventListener(type, onChange, beforePage(type));
      if (waiting) waiting([]);
      delete world[NAME];
      return true;
    },
    here: () => true,
  };
})();
