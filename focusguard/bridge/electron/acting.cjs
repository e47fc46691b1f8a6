'use strict';
/** The app's sign to the person that an agent is acting in a page: on with its first input, off when it is quiet. */

/** An agent that has sent no input for so long is not acting. */
const QUIET_MS = 1000;

/** @param {{ onAgentActing: ((wc: any, acting: boolean) => any) | null }} app */
function createActing(app) {
  /** @type {Map<any, NodeJS.Timeout>} the pages in which an agent acts, with the end of its quiet */
  const acting = new Map();

  /** @param {any} wc @param {boolean} now */
  function tell(wc, now) {
    if (typeof app.onAgentActing !== 'function') return;
    try {
      Promise.resolve(app.onAgentActing(wc, now)).catch(() => {});
    } catch (error) {
      // The app's sign is its own affair; the agent's input goes on.
    }
  }

  /** @param {any} wc */
  function quiet(wc) {
    clearTimeout(/** @type {NodeJS.Timeout} */ (acting.get(wc)));
    acting.delete(wc);
    tell(wc, false);
  }

  return {
    /** @param {any} wc an agent sends input to that page */
    acts: (wc) => {
      const before = acting.get(wc);
      if (before) clearTimeout(before);
      const timer = setTimeout(quiet, QUIET_MS, wc);
      if (timer.unref) timer.unref();
      acting.set(wc, timer);
      if (!before) tell(wc, true);
    },
    /** @param {number} id of a page that has been destroyed */
    forget: (id) => Array.from(acting.keys()).filter((wc) => wc.id === id).forEach(quiet),
    stop: () => Array.from(acting.keys()).forEach(quiet),
  };
}

module.exports = { createActing };
