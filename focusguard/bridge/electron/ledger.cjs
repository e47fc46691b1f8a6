'use strict';
/**
 * Which of the person's keys are down in the place where they type.
 *
 * When a key press is stopped in `before-input-event`, Chromium drops every release that reaches the same page
 * until its next press, without a word. A release that fell into that gap is found here by other evidence: the
 * key is pressed anew, a later event says that the modifier is not down, or the key neither repeats nor ends.
 */

const MODIFIER = { Shift: 'shift', Control: 'control', Alt: 'alt', Meta: 'meta' };
/** A key that is really held repeats by now, unless another key was pressed after it. */
const SILENT_MS = 900;
/** Longer than a key stays down in typing. */
const STROKE_MS = 250;

/**
 * @typedef {object} Entry
 * @property {any} input
 * @property {boolean} doubtful its release may have been dropped
 * @property {number} at
 */

/** @param {(input: any) => void} send tells the page of a release that nobody reported */
function createLedger(send) {
  /** @type {Map<string, Entry>} */
  const down = new Map();
  /** @type {NodeJS.Timeout | null} */
  let timer = null;

  /** @param {Entry} entry */
  function flagOf(entry) {
    return MODIFIER[/** @type {keyof typeof MODIFIER} */ (entry.input.key)];
  }

  /**
   * @param {string} code @param {any} evidence the event that shows it
   * @param {boolean} gated Chromium is in the middle of a press, and drops releases until it has seen another one
   */
  function missed(code, evidence, gated) {
    const entry = down.get(code);
    if (!entry) return;
    down.delete(code);
    const input = Object.assign({}, entry.input, { type: 'keyUp', isAutoRepeat: false });
    input.modifiers = (evidence.modifiers || []).filter((/** @type {string} */ name) => !/repeat/i.test(name));
    for (const name of ['shift', 'control', 'alt', 'meta']) input[name] = !!evidence[name];
    const own = flagOf(entry);
    if (own) {
      input[own] = false;
      input.modifiers = input.modifiers.filter((/** @type {string} */ name) => name !== own);
    }
    // A held modifier repeats anyway, so one repetition more is nothing new to a page.
    if (gated) send(Object.assign({}, entry.input, { isAutoRepeat: true }));
    send(input);
  }

  function arm() {
    if (timer) clearTimeout(timer);
    timer = null;
    if (!Array.from(down.values()).some((entry) => entry.doubtful && !flagOf(entry))) return;
    timer = setTimeout(() => {
      timer = null;
      for (const [code, entry] of Array.from(down)) {
        if (entry.doubtful && !flagOf(entry)) missed(code, entry.input, false);
      }
    }, SILENT_MS);
    if (timer.unref) timer.unref();
  }

  return {
    /**
     * A key goes to the page: first come the releases that it shows.
     * @param {any} input @param {boolean} live it is being handled by Chromium right now, not sent from the queue
     */
    before: (input, live) => {
      if (!input.code) return;
      const press = input.type === 'keyDown';
      const at = Date.now();
      for (const [code, entry] of Array.from(down)) {
        if (!entry.doubtful || code === input.code) continue;
        const flag = flagOf(entry);
        if (flag ? !input[flag] : !(live && press) && at - entry.at > STROKE_MS) missed(code, input, live && press);
      }
      if (!press) {
        down.delete(input.code);
      } else {
        const known = down.get(input.code);
        if (known && known.doubtful && !input.isAutoRepeat && !live) missed(input.code, input, false);
        down.set(input.code, { input, doubtful: !!(known && known.doubtful && input.isAutoRepeat), at });
      }
      if (timer || down.size) arm();
    },
    /** Releases may have been dropped just now: of every key that is down. */
    doubt: () => {
      for (const entry of down.values()) entry.doubtful = true;
      arm();
    },
    forget: () => {
      if (timer) clearTimeout(timer);
      timer = null;
      down.clear();
    },
  };
}

module.exports = { createLedger };
