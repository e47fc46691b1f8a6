'use strict';
/**
 * Views (`WebContentsView`, `BrowserView`) are trees of their own: input of an agent stays inside. What can move
 * the person's focus into a view is the view's own navigation, whoever started it; Electron then focuses it.
 *
 * A view that gets the focus while it navigates, although nobody pressed into it and the app did not focus it, gives
 * it back to the window's page (Electron 33 focuses a `WebContentsView` some milliseconds after
 * `did-start-navigation`). Keys that arrive meanwhile are kept and follow (see borrow.cjs). Focus at any other time is
 * a person's or the app's: the press that moved it is told after it, and one in a frame of another process never.
 */

/** A press or a call of the app's is taken for the reason of a focus this long after it. */
const PRESS_MS = 400;
/** How long after its start, and after its commit, a navigation is. */
const START_MS = 500;
const COMMIT_MS = 200;

/**
 * @param {object} parts
 * @param {ReturnType<typeof import('./targets.cjs').createTargets>} parts.targets
 * @param {ReturnType<typeof import('./persons.cjs').createPersons>} parts.persons
 * @param {(view: any, host: any) => void} parts.taken called when a view has taken the focus from its host
 */
function createViews({ targets, persons, taken }) {
  /** @type {Map<number, { view: any, calledAt: number, navigates: number, undo: () => void }>} */
  const views = new Map();
  let active = false;

  /** @param {any} view */
  function watch(view) {
    if (views.has(view.id) || view.isDestroyed()) return;
    const original = view.focus;
    const own = Object.prototype.hasOwnProperty.call(view, 'focus'); // so it is on Electron 22
    const state = {
      view,
      calledAt: 0,
      navigates: 0,
      undo: () => {
        view.removeListener('focus', onFocus);
        view.removeListener('did-start-navigation', onStart);
        view.removeListener('did-navigate', onCommit);
        if (view.focus !== called) return;
        if (own) view.focus = original;
        else delete view.focus;
      },
    };
    /** @this {any} the app's own call is its choice on the person's behalf */
    function called() {
      state.calledAt = Date.now();
      return original.apply(this, arguments);
    }
    const onFocus = () => {
      const now = Date.now();
      if (!active || now > state.navigates) return;
      if (persons.since(view) < PRESS_MS || now - state.calledAt < PRESS_MS) return;
      const { kind, host, window } = targets.place(view);
      if ((kind !== 'web-contents-view' && kind !== 'browser-view') || !host || host.isDestroyed()) return;
      // Another app in front: then it was not the person's focus that was taken.
      if (!window || window.isDestroyed() || !window.isFocused()) return;
      taken(view, host);
    };
    const onStart = (/** @type {any} */ first, /** @type {any[]} */ ...rest) => {
      // Older versions pass the facts as arguments, newer ones on the event.
      const main = first && first.isMainFrame !== undefined ? first.isMainFrame : rest[2];
      const same = first && first.isSameDocument !== undefined ? first.isSameDocument : rest[1];
      if (main && !same) state.navigates = Date.now() + START_MS;
    };
    const onCommit = () => {
      state.navigates = Date.now() + COMMIT_MS;
    };
    view.focus = called;
    view.on('focus', onFocus);
    view.on('did-start-navigation', onStart);
    view.on('did-navigate', onCommit);
    views.set(view.id, state);
  }

  return {
    watch,
    /** @param {number} id of a page that has been destroyed */
    forget: (id) => views.delete(id),
    start: () => {
      active = true;
    },
    stop: () => {
      active = false;
      for (const state of views.values()) if (!state.view.isDestroyed()) state.undo();
      views.clear();
    },
  };
}

module.exports = { createViews };
