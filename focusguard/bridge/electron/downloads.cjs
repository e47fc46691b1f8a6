'use strict';
/**
 * Downloads that a page begins on an agent's account. Electron asks where to save each one, in a box over the person's
 * work, unless a path has been set in `will-download`: so such a download is saved where the agent's client has said, or
 * is cancelled. One that the person's own press began is asked about as ever, and so is what the app itself takes care of.
 * A window that such a page has opened is on the same account.
 */

const fs = require('fs');
const path = require('path');
const crypto = require('crypto');

const NAMES = 1000;
/** What an agent has begun may still be on its way when the last one leaves. */
const LEFT_MS = 10000;

/**
 * @typedef {object} Rule
 * @property {'default' | 'deny' | 'allow' | 'allowAndName'} behavior
 * @property {string} folder
 */

/**
 * @param {object} parts
 * @param {any} parts.electron
 * @param {ReturnType<typeof import('./persons.cjs').createPersons>} parts.persons
 * @param {(name: string, params: object) => void} parts.event
 */
function createDownloads({ electron, persons, event }) {
  const { webContents } = electron;
  /** @type {Map<number, Rule>} pages that agents drive */
  const rules = new Map();
  /** Who has opened which page, as Electron tells. @type {Map<number, any>} */
  const openers = new Map();
  /** What is being saved. @type {Map<string, any>} */
  const items = new Map();
  /** Paths of downloads that are not done: there is no file yet. @type {Set<string>} */
  const taken = new Set();
  /** @type {Map<any, (event: any, item: any, wc: any) => void>} session to listener */
  const heard = new Map();

  /** @param {string} folder @param {string} name @returns {string} a path at which there is nothing yet */
  function freePath(folder, name) {
    const { name: stem, ext } = path.parse(path.basename(name) || 'download');
    for (let number = 0; number < NAMES; number += 1) {
      const candidate = path.join(folder, number ? `${stem} (${number})${ext}` : `${stem}${ext}`);
      if (!taken.has(candidate) && !fs.existsSync(candidate)) return candidate;
    }
    return path.join(folder, crypto.randomBytes(8).toString('hex'));
  }

  /** @param {any} wc @returns {any} who has opened it, where the app has made the window itself: then nothing is told */
  function openerOf(wc) {
    return wc.opener && webContents.fromFrame ? webContents.fromFrame(wc.opener) : null;
  }

  /** @param {any} wc @returns {any} itself or who has opened it: the page under a rule; null: nobody's */
  function driven(wc) {
    for (let page = wc; page && !page.isDestroyed(); page = openers.get(page.id) || openerOf(page)) {
      if (rules.has(page.id)) return page;
    }
    return null;
  }

  /** @param {any} trigger @param {any} item @param {any} wc */
  function onDownload(trigger, item, wc) {
    const page = driven(wc);
    const rule = page && rules.get(page.id);
    if (!rule || persons.ask(wc) || persons.ask(page) || trigger.defaultPrevented || item.getSavePath()) return;
    const guid = crypto.randomUUID ? crypto.randomUUID() : crypto.randomBytes(16).toString('hex');
    const facts = { webContentsId: page.id, guid, url: item.getURL(), filename: item.getFilename() };
    const saved = rule.behavior === 'allow' || rule.behavior === 'allowAndName';
    event('download.begun', Object.assign({ saved }, facts));
    const told = (/** @type {string} */ state) => event('download.changed', {
      webContentsId: facts.webContentsId, guid, state, totalBytes: item.getTotalBytes(), receivedBytes: item.getReceivedBytes(),
    });
    if (!saved) {
      told('canceled');
      trigger.preventDefault();
      return;
    }
    const place = rule.behavior === 'allow' ? freePath(rule.folder, facts.filename) : path.join(rule.folder, guid);
    taken.add(place);
    items.set(guid, item);
    item.setSavePath(place);
    item.on('updated', (/** @type {any} */ _event, /** @type {string} */ state) => {
      // Nobody is there to resume it.
      if (state === 'interrupted') item.cancel();
      else told('inProgress');
    });
    item.once('done', (/** @type {any} */ _event, /** @type {string} */ state) => {
      taken.delete(place);
      items.delete(guid);
      told(state === 'completed' ? 'completed' : 'canceled');
    });
  }

  /** @param {any} session */
  function hear(session) {
    if (heard.has(session)) return;
    const listener = (/** @type {any} */ trigger, /** @type {any} */ item, /** @type {any} */ wc) => onDownload(trigger, item, wc);
    session.on('will-download', listener);
    heard.set(session, listener);
  }

  return {
    /** @param {any} wc @param {Rule | null} rule null: no agent drives it any more */
    rule: (wc, rule) => {
      const { id } = wc;
      if (!rule) {
        /** @type {Rule} */
        const last = { behavior: 'default', folder: '' };
        rules.set(id, last);
        const timer = setTimeout(() => {
          if (rules.get(id) === last) rules.delete(id);
        }, LEFT_MS);
        if (timer.unref) timer.unref();
        return;
      }
      hear(wc.session);
      rules.set(id, rule);
    },
    /** @param {any} wc a window's page @param {any} opener */
    opened: (wc, opener) => {
      openers.set(wc.id, opener);
      if (driven(wc)) hear(wc.session); // which may be one of its own
    },
    /** @param {any} wc @returns {boolean} whether it is on the account of the page that has opened it */
    isOpened: (wc) => !rules.has(wc.id) && !!driven(wc),
    /** @param {string} guid @returns {boolean} whether there is such a download */
    cancel: (guid) => {
      const item = items.get(guid);
      if (item) item.cancel();
      return !!item;
    },
    /** @param {number} id of a page that has been destroyed */
    forget: (id) => {
      rules.delete(id);
      openers.delete(id);
    },
    stop: () => {
      rules.clear();
      for (const [session, listener] of heard) session.removeListener('will-download', listener);
      heard.clear();
    },
  };
}

module.exports = { createDownloads };
