'use strict';
/**
 * The live documents: each page and frame says hello from its preload, sends its log here, and answers questions.
 *
 * Every question has a bound. A document that does not answer in time is looked at from outside (is its process
 * gone, or stopped?), so that the error names what is wrong with it and no other document waits for it.
 */

const fs = require('fs');
const { ipcMain } = require('electron');

/**
 * @typedef {Object} Doc
 * @property {string} id
 * @property {number} order Order of arrival.
 * @property {number} webContentsId
 * @property {boolean} top Whether it is its WebContents' main document.
 * @property {string} frame main, same-site, cross-site, nested, none or other.
 * @property {string} url
 * @property {number} pid
 * @property {boolean} ready Whether its load event has fired.
 * @property {number} knocks How often it has seen the key that it is knocked at with.
 * @property {number} moves How often it has seen the mouse move.
 * @property {Object[]} log
 * @property {(channel: string, ...args: any[]) => void} reply
 */

/** A key that no keyboard here has: it asks a page whether it takes input, and is in no log. */
const KNOCK = 'F24';

class DocumentError extends Error {
  /** @param {string} state crashed, stopped or unresponsive @param {string} message */
  constructor(state, message) {
    super(message);
    this.state = state;
  }
}

/**
 * @param {number} pid
 * @returns {'alive' | 'stopped' | 'gone'} As far as the system tells; 'alive' where it does not.
 */
function processState(pid) {
  try {
    process.kill(pid, 0);
  } catch (error) {
    return /** @type {any} */ (error).code === 'ESRCH' ? 'gone' : 'alive';
  }
  try {
    const stat = fs.readFileSync(`/proc/${pid}/stat`, 'latin1');
    const letter = stat.slice(stat.lastIndexOf(')') + 2, stat.lastIndexOf(')') + 3);
    if (letter === 'Z' || letter === 'X') return 'gone';
    if (letter === 'T' || letter === 't') return 'stopped';
  } catch (error) {
    if (/** @type {any} */ (error).code === 'ENOENT' && fs.existsSync('/proc/self/stat')) return 'gone';
  }
  return 'alive';
}

/**
 * @param {Electron.IpcMainEvent} event
 * @returns {(channel: string, ...args: any[]) => void} Sends to the frame that the event came from.
 */
function replier(event) {
  const sender = /** @type {any} */ (event.sender);
  // Where frames are only known by a routing id, ids of different processes collide: then all frames of the
  // page are told, and each picks what carries its own document id.
  if (typeof sender.sendToAll === 'function') {
    return (channel, ...args) => {
      if (!sender.isDestroyed()) sender.sendToAll(channel, ...args);
    };
  }
  return (channel, ...args) => event.reply(channel, ...args);
}

class Registry {
  /** @param {import('./journal.cjs').Journal} journal */
  constructor(journal) {
    this.journal = journal;
    /** @type {Map<string, Doc>} */
    this.docs = new Map();
    /** @type {Set<number>} */
    this.watched = new Set();
    this.arrivals = 0;
    this.questions = 0;
    /** @type {Map<number, {settle: (answer: any) => void}>} */
    this.open = new Map();
    /** @type {Set<() => void>} */
    this.waiters = new Set();
    /** @type {(doc: Doc, record: any) => void} */
    this.onRecord = () => undefined;
  }

  listen() {
    ipcMain.on('fixture:hello', (event, hello) => this.welcome(event, hello));
    ipcMain.on('fixture:ready', (_event, id) => {
      const doc = this.docs.get(id);
      if (doc) doc.ready = true;
      this.changed();
    });
    ipcMain.on('fixture:bye', (_event, id) => {
      this.docs.delete(id);
      this.changed();
    });
    ipcMain.on('fixture:log', (_event, id, record) => this.record(id, record));
    ipcMain.on('fixture:answer', (_event, answer) => {
      const question = this.open.get(answer.question);
      if (question) question.settle(answer);
    });
  }

  /** @param {Electron.IpcMainEvent} event @param {any} hello */
  welcome(event, hello) {
    const webContentsId = event.sender.id;
    if (!this.watched.has(webContentsId)) {
      // A page whose renderer was busy or gone says no goodbye.
      this.watched.add(webContentsId);
      event.sender.once('destroyed', () => {
        this.watched.delete(webContentsId);
        this.forget(webContentsId);
      });
    }
    for (const doc of Array.from(this.docs.values())) {
      // A new main document ends all that were there; a new frame ends the one it replaces.
      if (doc.webContentsId !== webContentsId || doc.id === hello.id) continue;
      if (hello.top || (doc.frame === hello.frame && hello.frame !== 'other')) this.docs.delete(doc.id);
    }
    this.arrivals += 1;
    const frame = /** @type {any} */ (event).senderFrame;
    this.docs.set(hello.id, {
      id: hello.id,
      order: this.arrivals,
      webContentsId,
      top: hello.top,
      frame: hello.frame,
      url: hello.url,
      pid: (frame && frame.osProcessId) || hello.pid,
      ready: hello.ready,
      knocks: 0,
      moves: 0,
      log: [],
      reply: replier(event),
    });
    this.changed();
  }

  /** @param {string} id @param {any} record */
  record(id, record) {
    const doc = this.docs.get(id);
    if (record.type === 'keyup' && record.key === KNOCK) {
      if (doc) doc.knocks += 1;
      this.changed();
      return;
    }
    if (doc && record.type === 'mousemove') doc.moves += 1;
    if (!doc) {
      this.journal.keep(this.journal.stale, Object.assign({ document: id }, record));
      return;
    }
    if (record.nonce !== null && record.nonce !== this.journal.nonce) {
      this.journal.keep(this.journal.stale, Object.assign({ document: id, frame: doc.frame }, record));
      return;
    }
    this.onRecord(doc, this.journal.keep(doc.log, record));
  }

  /** @param {number} webContentsId */
  forget(webContentsId) {
    for (const doc of this.of(webContentsId)) this.docs.delete(doc.id);
    this.changed();
  }

  changed() {
    for (const waiter of Array.from(this.waiters)) waiter();
  }

  /**
   * @param {number} webContentsId
   * @returns {Doc[]} Its documents, the main one first.
   */
  of(webContentsId) {
    return Array.from(this.docs.values())
      .filter((doc) => doc.webContentsId === webContentsId)
      .sort((a, b) => Number(b.top) - Number(a.top) || a.order - b.order);
  }

  /**
   * @param {number} webContentsId
   * @param {string} frame
   * @returns {Doc | undefined}
   */
  find(webContentsId, frame) {
    return this.of(webContentsId).find((doc) => doc.frame === frame);
  }

  /**
   * Waits until a condition on the documents holds.
   *
   * @param {() => boolean} condition
   * @param {number} timeout Milliseconds.
   * @param {string} what Named in the error.
   * @returns {Promise<void>}
   */
  until(condition, timeout, what) {
    return new Promise((resolve, reject) => {
      const done = (/** @type {Error | null} */ error) => {
        clearTimeout(timer);
        this.waiters.delete(check);
        if (error) reject(error);
        else resolve();
      };
      const check = () => {
        if (condition()) done(null);
      };
      const timer = setTimeout(() => done(new Error(`timeout: ${what}`)), timeout);
      this.waiters.add(check);
      check();
    });
  }

  /**
   * Asks one document.
   *
   * @param {Doc} doc
   * @param {string} op
   * @param {Object} [params]
   * @param {number} [timeout] Milliseconds.
   * @returns {Promise<any>} Rejects with a DocumentError that names what is wrong with the document.
   */
  ask(doc, op, params, timeout) {
    const bound = timeout || 1500;
    const name = `document ${doc.frame} of WebContents ${doc.webContentsId} (process ${doc.pid})`;
    if (processState(doc.pid) === 'gone') {
      return Promise.reject(new DocumentError('crashed', `crashed: ${name}: its renderer is gone`));
    }
    this.questions += 1;
    const question = this.questions;
    return new Promise((resolve, reject) => {
      const finish = (/** @type {() => void} */ act) => {
        clearTimeout(timer);
        clearInterval(watch);
        this.open.delete(question);
        act();
      };
      const fail = (/** @type {string} */ state, /** @type {string} */ why) =>
        finish(() => reject(new DocumentError(state, `${state}: ${name}: ${why}`)));
      const look = () => {
        if (processState(doc.pid) === 'gone') fail('crashed', 'its renderer died before it answered');
        else if (!this.docs.has(doc.id)) fail('unresponsive', 'it was unloaded before it answered');
      };
      const watch = setInterval(look, 100);
      const timer = setTimeout(() => {
        if (processState(doc.pid) === 'stopped') fail('stopped', `its renderer is stopped (waited ${bound} ms)`);
        else fail('unresponsive', `no answer to ${op} within ${bound} ms`);
      }, bound);
      this.open.set(question, {
        settle: (answer) =>
          finish(() => {
            if (answer.error !== undefined) reject(new Error(answer.error));
            else resolve(answer.result);
          }),
      });
      try {
        doc.reply('fixture:request', { document: doc.id, question, op, params: params || {} });
      } catch (error) {
        fail('unresponsive', String((error && /** @type {any} */ (error).message) || error));
      }
    });
  }
}

module.exports = { KNOCK, Registry, DocumentError, processState };
