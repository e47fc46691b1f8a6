'use strict';
/** Puts a script in front of the pages of every session, and takes it away again. */

const path = require('path');

/** @param {any} electron @param {string} name of a script in this folder */
function createPreload(electron, name) {
  const script = path.join(__dirname, name);
  const { app, session } = electron;
  let active = false;
  /** @type {Set<any>} */
  const known = new Set();
  /** @type {Map<any, () => void>} session to how to undo */
  const placed = new Map();

  /** @param {any} one */
  const others = (one) => one.getPreloads().filter((/** @type {string} */ file) => file !== script);

  /** @param {any} one */
  function place(one) {
    if (!active || placed.has(one)) return;
    try {
      if (typeof one.registerPreloadScript === 'function') {
        const id = one.registerPreloadScript({ type: 'frame', filePath: script });
        placed.set(one, () => one.unregisterPreloadScript(id));
      } else {
        one.setPreloads([script].concat(others(one)));
        placed.set(one, () => one.setPreloads(others(one)));
      }
    } catch (error) {
      // What it would have kept from the pages comes to them.
    }
  }

  /** @param {any} one */
  function meet(one) {
    known.add(one);
    place(one);
  }
  app.on('session-created', meet);

  return {
    start: () => {
      active = true;
      if (app.isReady()) meet(session.defaultSession);
      else app.once('ready', () => meet(session.defaultSession));
      for (const one of known) place(one);
    },
    stop: () => {
      active = false;
      for (const undo of placed.values()) {
        try {
          undo();
        } catch (error) {
          // A session that is gone.
        }
      }
      placed.clear();
    },
  };
}

module.exports = { createPreload };
