'use strict';
/**
 * Downloads that a page begins on an agent's account. Electron asks where to save each one, in a box over the person's
 * work, unless a path has been set in `will-download`: so such a download is saved where the agent's client has said, or
 * is cancelled. One that the person's own press began is asked about as ever, and so is what the app itself takes care of.
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
 * @param {ReturnType<typeof import('./persons.cjs').createPersons>} parts.persons
 * @param {(name: string, params: object) => void} parts.event
 */
function createDownloads({ persons, event }) {
  /** @type {Map<number, Rule>} pages that agents drive */
  const rules = new Map();
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

  /** @param {any} trigger @param {any} item @param {any} wc */
  function onDownload(trigger, item, wc) {
    const rule = wc && !wc.isDestroyed() && rules.get(wc.id);
    if (!rule || persons.ask(wc) || trigger.defaultPrevented || item.getSavePath()) return;
    const guid = crypto.randomUUID ? crypto.randomUUID() : crypto.randomBytes(16).toString('hex');
    const facts = { webContentsId: wc.id, guid, url: item.getURL(), filename: item.getFilename() };
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
    item.setSavePath(place);
    item.on('updated', (/** @type {any} */ _event, /** @type {string} */ state) => {
      // Nobody is there to resume it.
      if (state === 'interrupted') item.cancel();
      else told('inProgress');
    });
    item.once('done', (/** @type {any} */ _event, /** @type {string} */ state) => {
      taken.delete(place);
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
        rules.set(wc.id, last);
        const timer = setTimeout(() => {
          if (rules.get(id) === last) rules.delete(id);
        }, LEFT_MS);
        if (timer.unref) timer.unref();
        return;
      }
      hear(wc.session);
      if (!rules.has(id)) {
        wc.once('destroyed', () => rules.delete(id));
      }
      rules.set(wc.id, rule);
    },
    stop: () => {
      rules.clear();
      for (const [session, listener] of heard) session.removeListener('will-download', listener);
      heard.clear();
    },
  };
}

module.exports = { createDownloads };
