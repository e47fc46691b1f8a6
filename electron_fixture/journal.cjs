'use strict';
/** What the main process itself sees: accelerators, keys before the page, windows' focus, renderers that are gone. */

const { performance } = require('perf_hooks');
const { app } = require('electron');

const LIMIT = 20000;

/** @returns {number} Milliseconds since the epoch, on the scale that the pages use. */
function now() {
  return performance.timeOrigin + performance.now();
}

class Journal {
  /** @param {string} instance */
  constructor(instance) {
    this.instance = instance;
    /** @type {string | null} */
    this.nonce = null;
    /** @type {string[]} */
    this.accelerators = [];
    /** @type {(webContentsId: number) => {role: string, guest: number | null}} */
    this.roleOf = () => ({ role: 'other', guest: null });
    /** Number of the newest record of any log, in order of arrival in this process. It is never set back. */
    this.seq = 0;
    this.lastRecordAt = now();
    /** @type {Object<string, number>} */
    this.counters = {};
    /** @type {Object[]} */
    this.acceleratorLog = [];
    /** @type {Object[]} */
    this.beforeInput = [];
    /** @type {Object[]} */
    this.windowLog = [];
    /** @type {Object[]} Records that were written before the last reset and came after it. */
    this.stale = [];
    /** @type {Object[]} Renderers that are gone; a reset does not forget them. */
    this.gone = [];
    /** Number of the newest record that had to make room for newer ones: who asks for older ones cannot have them all. */
    this.forgotten = 0;
  }

  /** Forgets the logs and counters of the trial that ended. */
  clear() {
    this.counters = {};
    for (const accelerator of this.accelerators) this.counters[accelerator] = 0;
    this.acceleratorLog = [];
    this.beforeInput = [];
    this.windowLog = [];
    this.stale = [];
    this.forgotten = 0;
  }

  /**
   * Numbers a record and keeps it.
   *
   * @template {Object} T
   * @param {Object[]} log
   * @param {T} record
   * @returns {T & {seq: number}}
   */
  keep(log, record) {
    this.seq += 1;
    this.lastRecordAt = now();
    const numbered = Object.assign({ seq: this.seq }, record);
    log.push(numbered);
    if (log.length > LIMIT) {
      const oldest = /** @type {any} */ (log.shift());
      this.forgotten = Math.max(this.forgotten, oldest.seq);
    }
    return numbered;
  }

  /** @param {string} accelerator */
  countAccelerator(accelerator) {
    this.counters[accelerator] = (this.counters[accelerator] || 0) + 1;
    this.keep(this.acceleratorLog, { t: now(), accelerator });
  }

  /** @param {Electron.WebContents} contents */
  watchContents(contents) {
    const id = contents.id;
    const who = () => Object.assign({ webContentsId: id }, this.roleOf(id));
    contents.on('before-input-event', (_event, input) => {
      // The fixture's own question whether a page takes input (registry.cjs); not everywhere is it kept from here.
      if (input.key === 'F24') return;
      this.keep(
        this.beforeInput,
        Object.assign(who(), {
          t: now(),
          type: input.type,
          key: input.key,
          code: input.code,
          location: input.location === undefined ? null : input.location,
          repeat: input.isAutoRepeat,
          shift: input.shift,
          control: input.control,
          alt: input.alt,
          meta: input.meta,
        })
      );
    });
    // Not in every version; where they are missing nothing is logged.
    for (const type of ['focus', 'blur']) {
      contents.on(/** @type {any} */ (type), () => {
        this.keep(this.windowLog, Object.assign(who(), { t: now(), type: `contents-${type}`, window: null }));
      });
    }
    const crashed = (/** @type {string} */ reason) => {
      if (this.gone.some((entry) => /** @type {any} */ (entry).webContentsId === id && /** @type {any} */ (entry).open)) return;
      this.keep(this.gone, Object.assign(who(), { t: now(), reason, open: true }));
    };
    contents.on('render-process-gone', (_event, details) => crashed((details && details.reason) || 'unknown'));
    if (Number(process.versions.electron.split('.')[0]) < 10) {
      contents.on(/** @type {any} */ ('crashed'), () => crashed('crashed'));
    }
    contents.on('did-navigate', () => this.replaced(id));
    contents.on('destroyed', () => this.replaced(id));
  }

  /** @param {number} webContentsId A page that has a renderer again, or is no more. */
  replaced(webContentsId) {
    for (const entry of this.gone) {
      if (/** @type {any} */ (entry).webContentsId === webContentsId) /** @type {any} */ (entry).open = false;
    }
  }

  /** @param {Electron.BrowserWindow} window @param {string} name */
  watchWindow(window, name) {
    for (const type of ['focus', 'blur', 'show', 'hide', 'minimize', 'restore']) {
      window.on(/** @type {any} */ (type), () => {
        this.keep(this.windowLog, { t: now(), type, window: name, webContentsId: null, role: 'window', guest: null });
      });
    }
  }

  watchApp() {
    app.on('web-contents-created', (_event, contents) => this.watchContents(contents));
  }
}

module.exports = { Journal, now };
