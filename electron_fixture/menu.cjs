'use strict';
/** The application menu: every accelerator only counts, so that a leak is seen and does no harm. */

const { Menu } = require('electron');

const ACCELERATORS = ['Ctrl+W', 'Ctrl+R', 'Ctrl+Q', 'Ctrl+=', 'Ctrl+-', 'F5', 'F11', 'Ctrl+Shift+I'];

/** @param {import('./journal.cjs').Journal} journal */
function installMenu(journal) {
  journal.accelerators = ACCELERATORS;
  journal.clear();
  Menu.setApplicationMenu(
    Menu.buildFromTemplate([
      {
        label: 'Count',
        submenu: ACCELERATORS.map((accelerator) => ({
          label: accelerator,
          accelerator,
          click: () => journal.countAccelerator(accelerator),
        })),
      },
    ])
  );
}

module.exports = { installMenu };
