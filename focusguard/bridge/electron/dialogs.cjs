'use strict';
/**
 * Boxes that a page raises (`alert`, `confirm`). Those of a page that agents drive do not open over the person's work:
 * they are answered over CDP. Those that the person's own press raised open as ever.
 *
 * Electron 29 and later ask for the box by an event of the WebContents, whose listener shows it; before, it is shown
 * where no script can reach.
 */

const ASKED = '-run-dialog';

/** @param {(wc: any) => boolean} isPersons whether what that page does now is the person's */
function createDialogs(isPersons) {
  /** @type {Map<number, { undo: () => void, waiting: Set<(accept: boolean, text: string) => void> }>} */
  const held = new Map();

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
    /** @param {number} id of a page that has been destroyed */
    forget: (id) => held.delete(id),
    stop: () => {
      for (const id of Array.from(held.keys())) release(id);
    },
  };
}

module.exports = { createDialogs };
