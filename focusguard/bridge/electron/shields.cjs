'use strict';
/** Puts the shield (see shield.js) in front of the pages of every session, and takes it away again. */

const path = require('path');

const FILE = path.join(__dirname, 'shield.js');

/** @param {any} electron */
function createShields(electron) {
  const { app, session } = electron;
  let active = false;
  let hooked = false;
  /** @type {Map<any, () => void>} session to how to undo */
  const placed = new Map();

  /** @param {any} one */
  function place(one) {
    if (!active || placed.has(one)) return;
    try {
      if (typeof one.registerPreloadScript === 'function') {
        const id = one.registerPreloadScript({ type: 'frame', filePath: FILE });
        placed.set(one, () => one.unregisterPreloadScript(id));
      } else {
        one.setPreloads([FILE].concat(one.getPreloads().filter((/** @type {string} */ file) => file !== FILE)));
        placed.set(one, () => one.setPreloads(one.getPreloads().filter((/** @type {string} */ file) => file !== FILE)));
      }
    } catch (error) {
      // Without it the pane still works; a page then sees the window's own blur and focus.
    }
  }

  return {
    start: () => {
      active = true;
      if (!hooked) {
        hooked = true;
        app.on('session-created', place);
      }
      if (app.isReady()) place(session.defaultSession);
      else app.once('ready', () => place(session.defaultSession));
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

module.exports = { createShields };
