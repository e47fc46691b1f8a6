'use strict';
/**
 * When the person last pressed something in a page. Presses of agents in views come by CDP and look the same there, so
 * the guard announces each of them.
 */

/** A press that an agent has announced comes within this time, or has come just before. */
const AGENT_MS = 300;
const BEFORE_MS = 50;
/** What a page asks for is the person's this long after they have pressed something in it. */
const PERSON_MS = 1500;

/** @param {(wc: any) => boolean} isAgent whether the input that is being handled is an agent's */
function createPersons(isAgent) {
  /** @type {WeakMap<any, number>} when the person last pressed something in a page */
  const pressedAt = new WeakMap();
  /** @type {WeakMap<any, number>} until when a press in a page is an agent's */
  const agentUntil = new WeakMap();
  const since = (/** @type {any} */ wc) => Date.now() - (pressedAt.get(wc) || 0);

  return {
    /** @param {any} wc a press, a touch or a key came from a device @returns {boolean} whether it is the person's */
    pressed: (wc) => {
      if (isAgent(wc) || Date.now() < (agentUntil.get(wc) || 0)) return false;
      pressedAt.set(wc, Date.now());
      return true;
    },
    /** @param {any} wc a page in which an agent is about to press, or has just done so by a quicker way */
    expect: (wc) => {
      agentUntil.set(wc, Date.now() + AGENT_MS);
      if (since(wc) < BEFORE_MS) pressedAt.delete(wc);
    },
    /** @param {any} wc what comes next is on the account of an agent, whatever the person has pressed before */
    agentActs: (wc) => pressedAt.delete(wc),
    /** @param {any} wc @returns {boolean} whether what that page asks for now is asked on the person's account */
    ask: (wc) => since(wc) < PERSON_MS,
    /** @returns {number} milliseconds since the person's last press in that page */
    since,
  };
}

module.exports = { createPersons };
