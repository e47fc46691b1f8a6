'use strict';
/**
 * Windows that a page opens: `window.open`, a link with a target. Electron shows them in front and gives them the focus.
 * Those that a page opens on an agent's account are shown without it. What the person opens, and what the app makes of
 * the wish itself, stays as it is.
 *
 * Works with `setWindowOpenHandler`, which is there from Electron 12 on.
 */

/** Goes with the options of a window that is to be shown without the focus. */
const QUIET = Symbol('focusguard.quiet');
/** A page that has drawn nothing for so long is shown all the same: somebody has to be able to close its window. */
const LATE_MS = 3000;

/** @param {(wc: any) => boolean} isPersons whether what that page does now is the person's */
function createPopups(isPersons) {
  /** @type {Map<number, () => void>} */
  const held = new Map();

  /** @param {any} wc @param {() => boolean} theirs whether what that page does now is the person's */
  function hold(wc, theirs) {
    if (held.has(wc.id) || wc._windowOpenHandler === undefined) return;
    const { id } = wc;
    /** @type {Set<number>} */
    const children = new Set();
    const undoHandler = decide(wc, theirs);
    const onWindow = (/** @type {any} */ win, /** @type {any} */ details) => {
      if (!win || win.isDestroyed()) return;
      const child = win.webContents;
      children.add(child.id);
      hold(child, () => theirs() || isPersons(child));
      if (details && details.options && details.options[QUIET]) show(win);
    };
    wc.on('did-create-window', onWindow);
    held.set(id, () => {
      held.delete(id);
      for (const each of children) release(each);
      if (wc.isDestroyed()) return;
      wc.removeListener('did-create-window', onWindow);
      undoHandler();
    });
  }

  /** @param {number} id */
  function release(id) {
    const undo = held.get(id);
    if (undo) undo();
  }

  return {
    /** @param {any} wc @param {boolean} on */
    hold: (wc, on) => (on ? hold(wc, () => isPersons(wc)) : release(wc.id)),
    /** @param {number} id of a page that has been destroyed */
    forget: release,
    stop: () => {
      for (const id of Array.from(held.keys())) release(id);
    },
  };
}

/** @param {any} win its page takes the focus when it begins to load: if it were seen by then, from the person */
function show(win) {
  const once = () => {
    clearTimeout(late);
    if (!win.isDestroyed() && !win.isVisible()) win.showInactive();
  };
  const late = setTimeout(once, LATE_MS);
  win.once('ready-to-show', once);
}

/** @param {any} wc @param {() => boolean} theirs the app decides first, whether or not it changes its mind */
function decide(wc, theirs) {
  let app = wc._windowOpenHandler;
  const mine = (/** @type {any} */ details) => {
    const said = app ? app(details) : { action: 'allow' };
    if (!said || said.action !== 'allow' || said.createWindow || theirs()) return said;
    const options = said.overrideBrowserWindowOptions || {};
    if (options.show === false) return said; // the app shows it when it likes
    const quiet = Object.assign({ fullscreen: false, kiosk: false }, options, { show: false, [QUIET]: true });
    return Object.assign({}, said, { overrideBrowserWindowOptions: quiet });
  };
  wc.setWindowOpenHandler(mine);
  const set = (/** @type {any} */ handler) => {
    app = handler;
  };
  wc.setWindowOpenHandler = set;
  return () => {
    if (wc.setWindowOpenHandler === set) delete wc.setWindowOpenHandler;
    if (wc._windowOpenHandler === mine) wc.setWindowOpenHandler(app);
  };
}

module.exports = { createPopups };
