'use strict';
/**
 * Boxes that a page raises (`alert`, `confirm`). Those of a page that agents drive do not open over the person's work:
 * they are answered over CDP. Those that the person's own press raised open as ever.
 *
 * Electron 29 and later ask for the box by an event of the WebContents, whose listener shows it; before, it is shown
 * where no script can reach.
 */

const ASKED = '-run-dialog';
/** A box is the person's this long after they have pressed something in that page. */
const PERSON_MS = 1500;
/** A press that an agent has announced comes within this time, or has come just before. */
const AGENT_MS = 300;
const BEFORE_MS = 50;

/**
 * @param {object} parts
 * @param {ReturnType<typeof import('./targets.cjs').createTargets>} parts.targets
 * @param {(wc: any) => boolean} parts.isAgent whether the input that is being handled is an agent's
 * @param {(name: string, params: object) => void} parts.event
 */
function createDialogs({ targets, isAgent, event }) {
  /** @type {Map<number, { undo: () => void, waiting: Set<(accept: boolean, text: string) => void> }>} */
  const held = new Map();
  /** @type {Map<number, number>} when the person last pressed something in a page */
  const pressedAt = new Map();
  /** @type {Map<number, number>} when an agent last announced a press in a view */
  const agentAt = new Map();

  /** @param {any} wc a view of its own that has the focus has it from the person: an agent's press gives it none */
  function isPersons(wc) {
    if (Date.now() - (pressedAt.get(wc.id) || 0) < PERSON_MS) return true;
    return targets.place(wc).kind !== 'webview' && wc.isFocused();
  }

  /** @param {any} wc @returns {boolean} whether boxes of this page can be kept from opening */
  function hold(wc) {
    if (held.has(wc.id)) return true;
    const theirs = wc.listeners(ASKED);
    if (!theirs.length) return false;
    /** @type {Set<(accept: boolean, text: string) => void>} */
    const waiting = new Set();
    const mine = (/** @type {any} */ info, /** @type {(accept: boolean, text: string) => void} */ answer) => {
      if (isPersons(wc)) {
        for (const show of theirs) show.call(wc, info, answer);
        return;
      }
      waiting.add(answer);
    };
    wc.removeAllListeners(ASKED);
    wc.on(ASKED, mine);
    held.set(wc.id, {
      waiting,
      undo: () => {
        if (wc.isDestroyed()) return;
        wc.removeListener(ASKED, mine);
        for (const show of theirs) wc.on(ASKED, show);
      },
    });
    wc.once('destroyed', () => {
      held.delete(wc.id);
      pressedAt.delete(wc.id);
      agentAt.delete(wc.id);
    });
    return true;
  }

  /** @param {number} id what nobody has answered is dismissed; to answer what was answered does nothing */
  function release(id) {
    const state = held.get(id);
    if (!state) return;
    held.delete(id);
    state.undo();
    for (const answer of state.waiting) answer(false, '');
  }

  return {
    /** @param {any} wc @param {boolean} on */
    hold: (wc, on) => {
      if (!on) release(wc.id);
      return { held: on ? hold(wc) : false };
    },
    /** @param {any} wc a press, a touch or a key that came from a device */
    pressed: (wc) => {
      const now = Date.now();
      if (isAgent(wc) || now - (agentAt.get(wc.id) || 0) < AGENT_MS) return;
      pressedAt.set(wc.id, now);
      event('person.acted', { webContentsId: wc.id });
    },
    /** @param {any} wc a view in which an agent is about to press, or has just done so by a quicker way */
    expect: (wc) => {
      const now = Date.now();
      agentAt.set(wc.id, now);
      if (now - (pressedAt.get(wc.id) || 0) < BEFORE_MS) pressedAt.delete(wc.id);
    },
    /** @param {any} wc an agent's input in a webview: from now on it is no longer the person's press */
    agentActs: (wc) => pressedAt.delete(wc.id),
    stop: () => {
      for (const id of Array.from(held.keys())) release(id);
      pressedAt.clear();
      agentAt.clear();
    },
  };
}

module.exports = { createDialogs };
