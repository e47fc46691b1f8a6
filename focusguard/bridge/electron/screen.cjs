'use strict';
/**
 * The whole screen, asked for on an agent's account. Electron tells a page nothing of a refusal: the page, and with it
 * a webview's host, would go on waiting, and the person's own next request behind it. So the page is let in while its
 * window cannot follow, and is out again in the same turn: no window changes, and every promise is kept.
 *
 * A webview's host goes in and out with it. Where it draws just between the two, everything but the webview is inert in
 * that frame, and the person's field loses the focus: so it is held as for a press, and given back when the host is out.
 */

const { evaluate, pause } = require('./panes.cjs');

const ENTER = 'enter-html-full-screen';
const LEAVE = 'leave-html-full-screen';
const MAJOR = Number(process.versions.electron.split('.')[0]);
/**
 * Before, a webview would fill its host's page: on Electron 22 for some frames, until a script has let it out, and on 25
 * for good, where one request follows upon another.
 */
const AT_ONCE = 30;
const SCRIPT_MS = 2000;
/** A page that is still busy with the last change of its screen would not be told of the next two. */
const APART_MS = 500;
const HEARD_MS = 60;
/** Longest wait for the person's next key, or the end of their word, before their field may lose the focus. */
const PACE_MS = 150;
const COMPOSING_MS = 100;
const PATIENCE_MS = 10000;
/** The host was out of it 3 to 17 ms after the page (33.2.1). */
const OUT_MS = 150;

/** @param {any[]} emitters the page, and what else would tell the app of a screen that nobody sees */
function hush(emitters) {
  const state = { left: false, escaping: false };
  const undone = emitters.map((one) => {
    const own = Object.prototype.hasOwnProperty.call(one, 'emit');
    const { emit } = one;
    const hushed = function (/** @type {string} */ name, /** @type {any} */ event) {
      if (name === ENTER || name === LEAVE) {
        state.left = state.left || (name === LEAVE && one === emitters[0]);
        return false;
      }
      if (name === 'before-input-event' && state.escaping) {
        event.preventDefault();
        return true;
      }
      return emit.apply(one, /** @type {any} */ (arguments));
    };
    one.emit = hushed;
    return () => {
      if (one.emit !== hushed) return;
      if (own) one.emit = emit;
      else delete one.emit;
    };
  });
  return Object.assign(state, { undo: () => undone.forEach((each) => each()) });
}

/**
 * @param {object} parts
 * @param {any} parts.app
 * @param {ReturnType<typeof import('./targets.cjs').createTargets>} parts.targets
 * @param {(promise: Promise<any>, ms: number, what: string) => Promise<any>} parts.within
 * @param {{ begin: (params: any) => Promise<any>, end: (params: any) => Promise<any> }} parts.borrows
 */
function createScreen({ app, targets, within, borrows }) {
  /** @type {WeakSet<any>} pages that have the whole screen, and the hosts of those that are webviews */
  const whole = new WeakSet();
  /** @type {WeakMap<any, number>} */
  const turnedAt = new WeakMap();
  app.on('web-contents-created', (/** @type {any} */ _event, /** @type {any} */ wc) => {
    wc.on(ENTER, () => whole.add(wc));
    wc.on(LEAVE, () => whole.delete(wc));
  });

  /** @param {any} wc by a script: a page that is still in, or has not heard of its end */
  function leave(wc) {
    const code = 'document.fullscreenElement ? document.exitFullscreen().catch(() => 0) : 0';
    return within(evaluate(wc, code), SCRIPT_MS, 'page');
  }

  /** @param {any} wc @returns {boolean} whether it cannot be let in unseen */
  function isSeen(wc) {
    const { kind, host, window } = targets.place(wc);
    const taken = whole.has(wc) || (host && whole.has(host)); // it would be the person who is sent out
    const fills = kind === 'webview' && MAJOR < AT_ONCE;
    // On macOS a window goes to the whole screen whatever it has been told.
    return !window || window.isDestroyed() || taken || fills || process.platform === 'darwin';
  }

  /** @param {any} wc @returns {Promise<number | null>} a lease on the person's focus, if there is anything to hold */
  async function hold(wc) {
    for (const began = Date.now(); ; await pause(COMPOSING_MS)) {
      const params = { webContentsId: wc.id, navigate: true, paceMs: PACE_MS };
      const { state, lease } = await borrows.begin(params).catch(() => ({ state: 'unavailable', lease: null }));
      if (state !== 'composing' || Date.now() - began > PATIENCE_MS) return lease;
    }
  }

  /** @param {any} wc @param {(granted: boolean) => void} answer */
  async function turn(wc, answer) {
    if (isSeen(wc)) {
      answer(false);
      return;
    }
    const lease = await hold(wc);
    if (!wc.isDestroyed()) {
      if (isSeen(wc)) answer(false);
      else letInAndOut(wc, answer);
    }
    if (lease !== null) setTimeout(() => borrows.end({ lease }), OUT_MS);
  }

  /** @param {any} wc @param {(granted: boolean) => void} answer */
  function letInAndOut(wc, answer) {
    const { kind, host, window } = targets.place(wc);
    const able = window.isFullScreenable();
    const quiet = hush(kind === 'webview' ? [wc, window, host] : [wc, window]);
    window.setFullScreenable(false);
    answer(true);
    // Chromium takes this key for the end of the whole screen before a page or handler hears it; where it does not,
    // nobody hears it all the same.
    quiet.escaping = true;
    wc.sendInputEvent({ type: 'keyDown', keyCode: 'Escape' });
    quiet.escaping = false;
    window.setFullScreenable(able);
    if (!quiet.left) {
      leave(wc).then(quiet.undo, quiet.undo);
      return;
    }
    quiet.undo();
    setTimeout(() => {
      if (!wc.isDestroyed() && !whole.has(wc)) leave(wc).catch(() => undefined);
    }, HEARD_MS);
  }

  return {
    /** @param {any} wc a page that has asked @param {(granted: boolean) => void} answer */
    turnAway: (wc, answer) => {
      const wait = (turnedAt.get(wc) || 0) + APART_MS - Date.now();
      turnedAt.set(wc, Date.now() + Math.max(wait, 0));
      if (wait <= 0) turn(wc, answer);
      else setTimeout(() => !wc.isDestroyed() && turn(wc, answer), wait);
    },
  };
}

module.exports = { createScreen };
