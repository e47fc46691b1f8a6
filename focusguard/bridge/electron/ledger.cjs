'use strict';
/**
 * Which of the person's keys are down in the place where they type.
 *
 * When a key press is stopped in `before-input-event`, Chromium also drops every release until the next press,
 * without a word. A release that fell into that gap is found here by other evidence: the key is pressed anew, a
 * later event says that the modifier is not down, or the key does not repeat.
 */

const MODIFIER = { Shift: 'shift', Control: 'control', Alt: 'alt', Meta: 'meta' };
/** X starts to repeat a held key after 660 ms, other systems earlier. */
const SILENT_MS = 900;

/** @param {(input: any) => void} release tells the page of a release that nobody reported */
function createLedger(release) {
  /** @type {Map<string, { input: any, doubtful: boolean }>} */
  const down = new Map();
  /** Presses from now on may have lost their release too. */
  let clouded = false;
  /** @type {NodeJS.Timeout | null} */
  let timer = null;

  /** @param {string} code @param {any} now the event that shows it */
  function missed(code, now) {
    const entry = down.get(code);
    if (!entry) return;
    down.delete(code);
    const input = Object.assign({}, entry.input, { type: 'keyUp', isAutoRepeat: false });
    input.modifiers = (now.modifiers || []).filter((/** @type {string} */ name) => !/repeat/i.test(name));
    for (const name of ['shift', 'control', 'alt', 'meta']) input[name] = !!now[name];
    const own = MODIFIER[/** @type {keyof typeof MODIFIER} */ (input.key)];
    if (own) {
      input[own] = false;
      input.modifiers = input.modifiers.filter((/** @type {string} */ name) => name !== own);
    }
    release(input);
  }

  function arm() {
    if (timer) clearTimeout(timer);
    timer = null;
    if (!Array.from(down.values()).some((entry) => entry.doubtful)) return;
    timer = setTimeout(() => {
      for (const [code, entry] of Array.from(down)) {
        // A held modifier does not repeat; the next event tells about it.
        if (entry.doubtful && !(entry.input.key in MODIFIER)) missed(code, entry.input);
      }
    }, SILENT_MS);
    if (timer.unref) timer.unref();
  }

  return {
    /** @param {any} input a real key that now goes to the page: first come the releases that it shows */
    before: (input) => {
      if (!input.code) return;
      for (const [code, entry] of Array.from(down)) {
        const flag = MODIFIER[/** @type {keyof typeof MODIFIER} */ (entry.input.key)];
        if (entry.doubtful && flag && !input[flag] && code !== input.code) missed(code, input);
      }
      if (input.type === 'keyUp') {
        down.delete(input.code);
      } else {
        const known = down.get(input.code);
        if (known && known.doubtful && !input.isAutoRepeat) missed(input.code, input);
        down.set(input.code, { input, doubtful: clouded && !input.isAutoRepeat });
      }
      arm();
    },
    /** A press has been stopped: releases are dropped from here on. */
    cloud: () => {
      clouded = true;
      for (const entry of down.values()) entry.doubtful = true;
      arm();
    },
    /** A press has gone through: releases are reported again. */
    clear: () => {
      clouded = false;
    },
    forget: () => {
      if (timer) clearTimeout(timer);
      down.clear();
    },
  };
}

module.exports = { createLedger };
