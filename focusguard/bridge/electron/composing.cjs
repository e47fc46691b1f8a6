'use strict';
/**
 * The person's input method. It is talking to the page whose text input state changed last, focused or not.
 * So after each change in a guest the host's field is nudged, which makes it the last one again; and while a
 * composition is open, when nothing can repair the loss, guests are kept from changing anything.
 */

const NUDGE_MS = 300;
/** Again, for a guest whose frame came late; not right after a key of the person: a nudge between keys does harm. */
const LATER_MS = [100];
const QUIET_MS = 150;
/** Hangul opens and closes a composition with every syllable. */
const CALM_MS = 400;
/** For so long after a composition the person is taken for somebody who will compose the next word. */
const ACTIVE_MS = 3000;
/** Changes of a guest's text state come in bursts, and every nudge makes the input method start afresh: one for all. */
const BURST_MS = 12;
/** For so long a key may be on its way to the input method and back. */
const KEY_MS = 20;

/**
 * @typedef {object} HostState
 * @property {boolean} open
 * @property {boolean} owed a nudge that could not be given during a composition
 * @property {number} at when a composition was last seen
 * @property {boolean} nudging
 * @property {Promise<any> | null} planned
 * @property {boolean} again
 * @property {NodeJS.Timeout | null} calm
 * @property {NodeJS.Timeout | null} later
 * @property {Set<any>} quiet guests that were made inert
 */

/**
 * @param {object} parts
 * @param {ReturnType<typeof import('./panes.cjs').createPanes>} parts.panes
 * @param {ReturnType<typeof import('./panes.cjs').createPanes>} parts.sentries
 * @param {(host: any) => any[]} parts.pagesIn the webviews and views in a host's window
 * @param {() => number} parts.sinceKey milliseconds since the person's last key press
 */
function createComposing({ panes, sentries, pagesIn, sinceKey }) {
  /** @type {Map<number, HostState>} */
  const hosts = new Map();

  /** @param {any} host */
  function stateOf(host) {
    let state = hosts.get(host.id);
    if (!state) {
      state = { open: false, owed: false, at: -Infinity, nudging: false, planned: null, again: false, calm: null, later: null, quiet: new Set() };
      hosts.set(host.id, state);
      const id = host.id;
      host.once('destroyed', () => hosts.delete(id));
    }
    return state;
  }

  /** @param {any} host @returns {boolean} whether the person composes, or has just done so */
  function isActive(host) {
    const state = host && hosts.get(host.id);
    return !!state && (state.open || Date.now() - state.at < ACTIVE_MS);
  }

  /**
   * Makes the host's field the input method's own again; one at a time, and once more if asked meanwhile.
   * @param {any} host @param {boolean} [due] it has been planned before
   * @returns {Promise<any>}
   */
  function nudge(host, due) {
    const state = stateOf(host);
    if (host.isDestroyed()) return Promise.resolve({ nudged: false });
    if (state.open) {
      state.owed = true;
      return Promise.resolve({ nudged: false });
    }
    if (due || !isActive(host)) return nudgeNow(host, state);
    if (!state.planned) {
      const wait = Math.max(BURST_MS, KEY_MS - sinceKey());
      state.planned = new Promise((resolve) => setTimeout(resolve, wait)).then(() => {
        state.planned = null;
        return nudge(host, true);
      });
    }
    return state.planned;
  }

  /** @param {any} host @param {HostState} state */
  function nudgeNow(host, state) {
    if (state.nudging) {
      state.again = true;
      return Promise.resolve({ nudged: false });
    }
    state.nudging = true;
    const done = (/** @type {any} */ answer) => {
      state.nudging = false;
      if (state.again) {
        state.again = false;
        nudge(host);
      }
      return answer;
    };
    return panes.call(host, 'nudge()', NUDGE_MS).then(done, () => done({ nudged: false }));
  }

  /** @param {any} host @param {HostState} state @param {number} step */
  function nudgeLater(host, state, step) {
    if (state.later) clearTimeout(state.later);
    state.later = setTimeout(() => {
      state.later = null;
      if (host.isDestroyed()) return;
      if (sinceKey() > QUIET_MS) nudge(host);
      if (step + 1 < LATER_MS.length) nudgeLater(host, state, step + 1);
    }, LATER_MS[step]);
    if (state.later.unref) state.later.unref();
  }

  /** @param {any} host */
  function calmDown(host) {
    const state = stateOf(host);
    state.calm = null;
    const quiet = Array.from(state.quiet).filter((guest) => !guest.isDestroyed());
    state.quiet.clear();
    const undone = quiet.map((guest) => sentries.call(guest, 'quiet(false)', NUDGE_MS).catch(() => undefined));
    return Promise.all(undone).then(() => {
      if (state.owed || quiet.length) {
        state.owed = false;
        nudge(host);
      }
    });
  }

  return {
    nudge,
    isActive,
    /** @param {any} host */
    isOpen: (host) => {
      const state = host && hosts.get(host.id);
      return !!state && state.open;
    },
    /** @param {any} host @param {boolean} open */
    changed: (host, open) => {
      const state = stateOf(host);
      state.open = open;
      state.at = Date.now();
      if (state.calm) clearTimeout(state.calm);
      state.calm = null;
      if (!open) {
        // At once what the next word needs; the guests only when the person has really stopped.
        if (state.owed) {
          state.owed = false;
          nudge(host);
        }
        state.calm = setTimeout(() => calmDown(host), CALM_MS);
        return;
      }
      for (const guest of pagesIn(host)) {
        if (state.quiet.has(guest)) continue;
        state.quiet.add(guest);
        sentries.call(guest, 'quiet(true)', NUDGE_MS).catch(() => undefined);
      }
    },
    /** @param {any} guest @param {any} host a guest's text input state has changed */
    guestChanged: (guest, host) => {
      if (!host || host.isDestroyed()) return;
      const state = stateOf(host);
      nudgeLater(host, state, 0);
      nudge(host);
    },
    /** The guard is gone. */
    stop: () => {
      for (const [, state] of hosts) {
        if (state.calm) clearTimeout(state.calm);
        if (state.later) clearTimeout(state.later);
        for (const guest of state.quiet) {
          if (!guest.isDestroyed()) sentries.call(guest, 'quiet(false)', NUDGE_MS).catch(() => undefined);
        }
      }
      hosts.clear();
    },
  };
}

module.exports = { createComposing };
