'use strict';
/**
 * The person's input method. It is talking to the page whose text input state changed last, focused or not.
 * So after each change in a guest the host's field is nudged, which makes it the last one again; and while a
 * composition is open, when nothing can repair the loss, guests are kept from changing anything.
 */

const { pause } = require('./panes.cjs');

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
/** A word has ended: a composition that does not go on within this time leaves room for a while. */
const ENDED_MS = 6;
/** Input has so long after the end of a word to begin. */
const ROOM_MS = 20;
/** Somebody who has pressed no key for so long has paused. */
const PAUSE_MS = 700;
/** What breaks so soon after a guest has changed, or a touch, has been broken by it. */
const BLAME_MS = 300;
/** Two letters of one word are no further apart. */
const WORD_MS = 1000;
const STEP_MS = 4;
/** For a page that can be told at all. */
const RELEASE_MS = 25;
/** Longest that a page which has just begun waits for room to take the focus. */
const NEWBORN_MS = 2000;

/**
 * @typedef {object} HostState
 * @property {boolean} open
 * @property {boolean} owed a nudge that could not be given during a composition
 * @property {number} at when a composition was last seen
 * @property {number} began
 * @property {boolean} whole the last one was ended by the person, by another key than the one that it began with, and no other begins with that key
 * @property {number} stirred when the input method was last made to start afresh, or a guest may have made it so
 * @property {number} bypassed when a letter of somebody who has not just composed went past the input method
 * @property {boolean} nudging
 * @property {Promise<any> | null} planned
 * @property {boolean} again
 * @property {NodeJS.Timeout | null} calm
 * @property {NodeJS.Timeout | null} later
 * @property {NodeJS.Timeout | null} rest
 * @property {Set<any>} watched guests that are kept quiet for as long as the person composes word after word
 * @property {Set<number>} born guests whose page was made inert when it began, and has not been let go since
 * @property {boolean} hushed they have been told to be quiet now
 */

/**
 * @param {object} parts
 * @param {ReturnType<typeof import('./panes.cjs').createPanes>} parts.panes
 * @param {ReturnType<typeof import('./panes.cjs').createPanes>} parts.sentries
 * @param {(host: any) => any[]} parts.pagesIn the webviews and views in a host's window
 * @param {() => number} parts.sinceKey milliseconds since the person's last key press
 * @param {(host: any, open: boolean, active: boolean) => void} parts.tell of each change, and when they compose no more
 * @param {(host: any, how: string) => void} parts.broken a word of theirs has been broken all the same
 */
function createComposing({ panes, sentries, pagesIn, sinceKey, tell, broken }) {
  /** @type {Map<number, HostState>} */
  const hosts = new Map();

  /** @param {any} host */
  function stateOf(host) {
    let state = hosts.get(host.id);
    if (!state) {
      state = { open: false, owed: false, at: -Infinity, began: -Infinity, whole: false, stirred: -Infinity, bypassed: -Infinity, nudging: false, planned: null, again: false, calm: null, later: null, rest: null, watched: new Set(), born: new Set(), hushed: false };
      hosts.set(host.id, state);
    }
    return state;
  }

  /** @param {any} host @returns {boolean} whether the person composes, or has just done so */
  function isActive(host) {
    const state = host && hosts.get(host.id);
    return !!state && (state.open || Date.now() - state.at < ACTIVE_MS);
  }

  /**
   * @param {HostState} state whether a guest may change now, and be repaired before the next key is likely
   * @param {number} until ms after the end of a word
   */
  function hasRoom(state, until) {
    const ended = Date.now() - state.at;
    const between = state.whole && ended >= ENDED_MS && ended <= until && sinceKey() > ended;
    return !state.open && (between || sinceKey() > PAUSE_MS);
  }

  /**
   * A key is on its way to the input method and back for longer than anybody can tell, and whatever changes in a guest
   * meanwhile loses it. So while the person composes word after word, agents act between two words.
   * @param {any} host @param {any} guest who acts @param {number} longest ms @param {number} [until] ms after the end
   *   of a word, for what takes less time than input
   * @returns {Promise<number>} ms waited
   */
  async function room(host, guest, longest, until) {
    const began = Date.now();
    const state = host && hosts.get(host.id);
    while (state && isActive(host) && !hasRoom(state, until || ROOM_MS) && Date.now() - began < longest) {
      await pause(STEP_MS);
    }
    if (state) state.stirred = Date.now();
    if (state && !state.open) await release(state, guest);
    return Date.now() - began;
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
    if (due ? sinceKey() > KEY_MS : !isActive(host)) return nudgeNow(host, state);
    if (!state.planned) {
      const wait = Math.max(due ? 0 : BURST_MS, KEY_MS - sinceKey());
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
      state.stirred = Date.now();
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
      if (sinceKey() > (isActive(host) ? PAUSE_MS : QUIET_MS)) nudge(host);
      if (step + 1 < LATER_MS.length) nudgeLater(host, state, step + 1);
    }, LATER_MS[step]);
    if (state.later.unref) state.later.unref();
  }

  /** @param {HostState} state */
  const isStirred = (state) => wasStirred(state, Date.now());
  /** @param {HostState} state @param {number} at */
  const wasStirred = (state, at) => state.nudging || at - state.stirred < BLAME_MS;

  /**
   * Lets the guests take focus again.
   * @param {HostState} state @param {any} [first] the one that is waited for: any of them may be on its way to another page
   * @returns {Promise<boolean>} whether they had been kept from it
   */
  function release(state, first) {
    const were = state.hushed;
    state.hushed = false;
    let done = Promise.resolve();
    for (const guest of state.watched) {
      const born = state.born.delete(guest.id);
      const told = tellSentry(guest, born ? 'letGo()' : 'quiet(false)');
      // What an agent does in a page that is still inert fails.
      if (guest === first) done = born ? told : Promise.race([told, pause(RELEASE_MS)]);
    }
    return done.then(() => were);
  }

  /** @param {any} host the person has composed nothing for a while */
  function atRest(host) {
    if (host.isDestroyed()) return;
    const state = stateOf(host);
    for (const guest of state.watched) tellSentry(guest, 'rest()');
    state.watched.clear();
    tell(host, false, false);
  }

  /** @param {any} guest @param {string} call */
  function tellSentry(guest, call) {
    if (guest.isDestroyed()) return Promise.resolve();
    return sentries.call(guest, call, NUDGE_MS).catch(() => undefined);
  }

  /** @param {any} host */
  async function calmDown(host) {
    const state = stateOf(host);
    state.calm = null;
    const changed = await release(state);
    if (!state.owed && !changed) return;
    state.owed = false;
    nudge(host);
  }

  return {
    nudge,
    isActive,
    room,
    /** @param {any} host */
    isOpen: (host) => {
      const state = host && hosts.get(host.id);
      return !!state && state.open;
    },
    /** @param {any} host @param {boolean} open @param {boolean} [goesOn] the key that ended it begins the next */
    changed: (host, open, goesOn) => {
      const state = stateOf(host);
      const byKey = Date.now() - sinceKey() > state.began;
      if (open && !state.open) state.began = Date.now();
      else if (!open && state.open) state.whole = byKey && !goesOn;
      if (!open && state.open && !byKey && isStirred(state)) broken(host, 'ended-early');
      state.open = open;
      state.at = Date.now();
      tell(host, open, true);
      if (state.rest) clearTimeout(state.rest);
      state.rest = null;
      if (state.calm) clearTimeout(state.calm);
      state.calm = null;
      if (!open) {
        state.rest = setTimeout(() => atRest(host), ACTIVE_MS);
        if (state.rest.unref) state.rest.unref();
        // At once what the next word needs; the guests only when the person has really stopped.
        if (state.owed && !goesOn) {
          state.owed = false;
          nudge(host);
        }
        state.calm = setTimeout(() => calmDown(host), CALM_MS);
        return;
      }
      if (state.hushed) return;
      state.hushed = true;
      for (const guest of pagesIn(host)) {
        state.watched.add(guest);
        tellSentry(guest, 'quiet(true)');
      }
    },
    /** @param {any} host @param {any} guest its page begins, inert @returns {() => Promise<any>} for when that is the window's own */
    begins: (host, guest) => {
      const state = stateOf(host);
      state.born.add(guest.id);
      state.watched.add(guest);
      return () => (state.open ? tellSentry(guest, 'newborn()') : room(host, guest, NEWBORN_MS));
    },
    /** @param {any} host @param {any} guest it has another page now */
    arrived: (host, guest) => {
      const state = host && hosts.get(host.id);
      if (!state || !state.hushed) return;
      state.watched.add(guest);
      tellSentry(guest, 'quiet(true)');
    },
    /** Whether anybody composes, or has just done so. */
    anywhere: () => Array.from(hosts.values()).some((state) => state.open || Date.now() - state.at < ACTIVE_MS),
    /** @param {any} host */
    restarted: (host) => {
      const state = stateOf(host);
      if (wasStirred(state, state.began)) broken(host, 'restarted');
    },
    /** @param {any} host @param {any} input a key that goes to the page: one that the input method should have had? */
    passing: (host, input) => {
      const state = hosts.get(host.id);
      if (!state || input.type !== 'keyDown' || /^(Shift|CapsLock)$/.test(input.key)) return;
      const letter = /^Key/.test(input.code) && !input.control && !input.alt && !input.meta;
      if (letter && input.key === 'Process') {
        // The input method has the rest of the word.
        if (Date.now() - state.bypassed < WORD_MS) broken(host, 'bypassed');
        state.bypassed = -Infinity;
        return;
      }
      if (!letter || !isStirred(state)) state.bypassed = -Infinity;
      else if (isActive(host)) broken(host, 'bypassed');
      else state.bypassed = Date.now();
    },
    /**
     * A guest's text input state has changed.
     * @param {any} host @param {boolean} writable whether its page has the input method now, instead of the host
     */
    guestChanged: (host, writable) => {
      if (!host || host.isDestroyed()) return;
      stateOf(host).stirred = Date.now();
      if (isActive(host) && !writable) return;
      nudgeLater(host, stateOf(host), 0);
      nudge(host);
    },
    /** @param {number} id of a page that has been destroyed */
    forget: (id) => hosts.delete(id),
    /** The guard is gone. */
    stop: () => {
      for (const [, state] of hosts) {
        if (state.calm) clearTimeout(state.calm);
        if (state.later) clearTimeout(state.later);
        if (state.rest) clearTimeout(state.rest);
        for (const guest of state.watched) tellSentry(guest, 'rest()');
      }
      hosts.clear();
    },
  };
}

module.exports = { createComposing };
