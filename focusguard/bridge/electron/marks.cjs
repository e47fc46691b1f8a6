'use strict';
/**
 * Whose input is it? The agent's own events are sent from here and are marked while they are on their way;
 * a real key is known by `before-input-event`, which the agent's events skip.
 *
 * The hook replaces `emit` on the WebContents instead of adding a listener: a key that is held for later must
 * not reach the app's own handlers twice, and Electron asks for `emit` by name each time.
 */

const { evaluate, pause } = require('./panes.cjs');

const MARK_MS = 1500;
const MIN_MARK_MS = 30;

/**
 * @typedef {object} Watched
 * @property {any} wc
 * @property {number} sending depth of synchronous sending of the agent's events
 * @property {number} delivering depth of synchronous delivery of the person's own keys
 * @property {number} personal depth of handlers running for a real key
 * @property {number} marks open marks
 * @property {number} generation counts marks, so that a late release does not end a newer one
 * @property {boolean} menuHeld
 * @property {number} passed real key presses that went on to the page
 * @property {() => void} undo
 */

/**
 * @typedef {object} MarkHooks
 * @property {(wc: any, input: any) => boolean} onRealKey true: keep the key from the page and from the app
 * @property {(wc: any, input: any) => void} onPointer any other input of which this file is not the sender
 */

/** @param {MarkHooks} hooks */
function createMarks(hooks) {
  /** @type {Map<number, Watched>} */
  const all = new Map();
  let active = false;

  /** @param {any} wc */
  function watch(wc) {
    const known = all.get(wc.id);
    if (known || wc.isDestroyed()) return known;
    const original = wc.emit;
    const own = Object.prototype.hasOwnProperty.call(wc, 'emit');
    /** @type {Watched} */
    const state = {
      wc, sending: 0, delivering: 0, personal: 0, marks: 0, generation: 0, menuHeld: false, passed: 0,
      undo: () => {
        if (wc.emit !== hooked) return;
        if (own) wc.emit = original;
        else delete wc.emit;
      },
    };
    /** @this {any} */
    function hooked(/** @type {string} */ name, /** @type {any} */ event, /** @type {any} */ input) {
      if (name === 'input-event' && active && state.sending === 0) hooks.onPointer(wc, input);
      if (name !== 'before-input-event' || !active || state.sending > 0) return original.apply(this, arguments);
      if (state.delivering === 0) {
        let keep = false;
        try {
          keep = hooks.onRealKey(wc, input);
        } catch (error) {
          keep = false;
        }
        if (keep) {
          event.preventDefault();
          return true;
        }
        releaseMenu(state);
      }
      state.personal += 1;
      try {
        return original.apply(this, arguments);
      } finally {
        state.personal -= 1;
        if (input && input.type === 'keyDown' && !event.defaultPrevented) state.passed += 1;
      }
    }
    wc.emit = hooked;
    all.set(wc.id, state);
    return state;
  }

  /** @param {Watched} state */
  function releaseMenu(state) {
    if (!state.menuHeld) return;
    state.menuHeld = false;
    try {
      if (!state.wc.isDestroyed()) state.wc.setIgnoreMenuShortcuts(false);
    } catch (error) {
      // Destroyed between the question and the call.
    }
  }

  /** @param {Watched} state a mark ends when the page has been seen to run after the input, or after its bound */
  function mark(state) {
    const { wc } = state;
    state.marks += 1;
    const generation = (state.generation += 1);
    if (!state.menuHeld) {
      state.menuHeld = true;
      wc.setIgnoreMenuShortcuts(true);
    }
    let open = true;
    const end = () => {
      if (!open) return;
      open = false;
      clearTimeout(bound);
      state.marks -= 1;
      if (state.marks === 0 && generation === state.generation) releaseMenu(state);
    };
    const bound = setTimeout(end, MARK_MS);
    Promise.all([evaluate(wc, '0'), pause(MIN_MARK_MS)]).then(end, end);
  }

  /**
   * Sends the agent's events to one page, past the app's menu and the app's own key handlers.
   * @param {any} wc @param {any[]} events @returns {number}
   */
  function send(wc, events) {
    const state = watch(wc);
    if (!state) return 0;
    mark(state);
    state.sending += 1;
    try {
      for (const event of events) {
        const key = /^(keyDown|keyUp|char|rawKeyDown)$/.test(event.type);
        // The second name is the one that old versions read.
        wc.sendInputEvent(key ? Object.assign({}, event, { skipIfUnhandled: true, skipInBrowser: true }) : event);
      }
    } finally {
      state.sending -= 1;
    }
    return events.length;
  }

  /** @param {any} wc @param {any[]} events the person's own key, on its way home: the app may see it */
  function deliver(wc, events) {
    const state = watch(wc);
    if (!state) return;
    state.delivering += 1;
    try {
      for (const event of events) wc.sendInputEvent(event);
    } finally {
      state.delivering -= 1;
    }
  }

  return {
    watch,
    send,
    deliver,
    mark: (/** @type {any} */ wc) => {
      const state = watch(wc);
      if (state) mark(state);
    },
    /** @param {any} wc @returns {number} */
    passed: (wc) => {
      const state = all.get(wc.id);
      return state ? state.passed : 0;
    },
    /** @param {any} wc @param {boolean} leased */
    isAgentInput: (wc, leased) => {
      const state = wc && all.get(wc.id);
      if (!state) return false;
      if (state.sending > 0) return true;
      if (state.personal > 0 || state.delivering > 0) return false;
      return state.marks > 0 || leased;
    },
    /** @param {number} id of a page that has been destroyed */
    forget: (id) => all.delete(id),
    start: () => {
      active = true;
    },
    stop: () => {
      active = false;
      for (const state of all.values()) {
        releaseMenu(state);
        state.undo();
      }
      all.clear();
    },
  };
}

module.exports = { createMarks };
