'use strict';
/**
 * What a page may take from the person's whole desk: the screen, the pointer, the keyboard, another program. A page that
 * agents drive gets none of it on their account; after a press of the person's in it, the app decides as ever.
 *
 * Electron lets one handler decide for a session, and nobody can read which one it is. So the app's is noted from the
 * beginning, and where the bridge has come too late for that, nothing is changed.
 */

const KEPT = ['fullscreen', 'pointerLock', 'keyboardLock', 'openExternal'];

/**
 * @typedef {object} Watched
 * @property {any} handler the app's own
 * @property {boolean} mine the bridge decides first
 * @property {(handler: any) => void} set Electron's own setter
 */

/**
 * @param {object} parts
 * @param {any} parts.electron
 * @param {ReturnType<typeof import('./targets.cjs').createTargets>} parts.targets
 * @param {ReturnType<typeof import('./persons.cjs').createPersons>} parts.persons
 * @param {ReturnType<typeof import('./screen.cjs').createScreen>} parts.screen
 */
function createPermissions({ electron, targets, persons, screen }) {
  const { app, session } = electron;
  /** @type {Map<any, Watched>} */
  const sessions = new Map();
  /** @type {Set<number>} pages that agents drive */
  const held = new Set();

  /** @param {any} one a session of which the app has not had yet */
  function watch(one) {
    if (sessions.has(one)) return;
    const original = one.setPermissionRequestHandler;
    /** @type {Watched} */
    const state = { handler: null, mine: false, set: (handler) => original.call(one, handler) };
    one.setPermissionRequestHandler = (/** @type {any} */ handler) => {
      state.handler = handler;
      if (!state.mine) state.set(handler);
    };
    sessions.set(one, state);
  }

  /**
   * The page whose agents have asked; of a webview's screen, Electron says that its host asks for it.
   * @param {any} wc @param {string} url of the frame that asks
   */
  function drivenPage(wc, url) {
    if (!wc || held.has(wc.id)) return wc;
    return targets.guestsOf(wc).find((guest) => held.has(guest.id) && framesOf(guest).indexOf(url) >= 0) || null;
  }

  /** @param {any} guest @returns {string[]} addresses; of Electron before 12 only the page's own is known */
  function framesOf(guest) {
    const main = guest.mainFrame;
    return main && main.framesInSubtree ? main.framesInSubtree.map((/** @type {any} */ frame) => frame.url) : [guest.getURL()];
  }

  /** @param {Watched} state */
  function decideFirst(state) {
    if (state.mine) return;
    state.mine = true;
    state.set((/** @type {any} */ wc, /** @type {string} */ permission, /** @type {(granted: boolean) => void} */ answer, /** @type {any} */ details) => {
      const asking = KEPT.indexOf(permission) >= 0 ? drivenPage(wc, String((details && details.requestingUrl) || '')) : null;
      if (asking && !persons.ask(asking)) {
        if (permission === 'fullscreen') screen.turnAway(asking, answer);
        else answer(false);
      } else if (state.handler) state.handler(wc, permission, answer, details);
      else answer(true);
    });
  }

  app.on('session-created', watch);
  if (!app.isReady()) app.once('ready', () => watch(session.defaultSession));

  return {
    /** @param {any} wc @param {boolean} on */
    hold: (wc, on) => {
      const state = sessions.get(wc.session);
      if (!on) held.delete(wc.id);
      if (!on || !state || held.has(wc.id)) return;
      held.add(wc.id);
      decideFirst(state);
    },
    /** @param {number} id of a page that has been destroyed */
    forget: (id) => held.delete(id),
    stop: () => {
      held.clear();
      for (const state of sessions.values()) {
        if (!state.mine) continue;
        state.mine = false;
        state.set(state.handler);
      }
    },
  };
}

module.exports = { createPermissions };
