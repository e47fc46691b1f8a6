'use strict';
/** What the driver can ask for: one function for each op, all of them bounded in time. */

const electron = require('electron');

const { supportedEmbeddings } = require('./embeddings.cjs');
const { DocumentError, processState } = require('./registry.cjs');
const { pause, poll } = require('./stage.cjs');
const { now } = require('./journal.cjs');

const OP_TIMEOUT = 25000;
/** A document may wait for a frame, in ms. */
const RESTORE_TIMEOUT = 3000;
/** How long the logs have to be quiet after what a reset does itself, before they are emptied, in ms. */
const RESET_SETTLE = 40;

/** @template T @param {Promise<T>} promise @param {number} timeout @param {string} what @returns {Promise<T>} */
function bounded(promise, timeout, what) {
  return new Promise((resolve, reject) => {
    const timer = setTimeout(() => reject(new Error(`timeout: ${what} (${timeout} ms)`)), timeout);
    promise.then(
      (value) => {
        clearTimeout(timer);
        resolve(value);
      },
      (error) => {
        clearTimeout(timer);
        reject(error);
      }
    );
  });
}

/**
 * @param {import('./stage.cjs').Stage} stage
 * @param {import('./journal.cjs').Journal} journal
 * @param {import('./registry.cjs').Registry} registry
 * @returns {(op: string, params: any) => Promise<any>}
 */
function createOps(stage, journal, registry) {
  /** @typedef {import('./registry.cjs').Doc} Doc */

  /** @param {Doc} doc */
  const label = (doc) => Object.assign({ id: doc.id, frame: doc.frame, webContentsId: doc.webContentsId }, stage.roleOf(doc.webContentsId));

  /** @returns {Doc[]} Every live document in an order that does not change: host, guests, sentinel. */
  const documents = () => {
    const rank = ['host', 'guest', 'sentinel', 'other'];
    const key = (/** @type {Doc} */ doc) => {
      const { role, guest } = stage.roleOf(doc.webContentsId);
      return rank.indexOf(role) * 10 + (guest || 0);
    };
    return Array.from(registry.docs.values()).sort((a, b) => key(a) - key(b) || a.order - b.order);
  };

  /**
   * @param {string} name 'host', 'host-frame', 'sentinel', 'guest:0', 'guest:0/cross-site' or a document's id.
   * @returns {Doc}
   */
  const documentNamed = (name) => {
    const direct = registry.docs.get(name);
    if (direct) return direct;
    const match = /^guest:(\d)(?:\/([a-z-]+))?$/.exec(name);
    /** @type {Doc | undefined} */
    let doc;
    if (name === 'host') doc = stage.hostDoc();
    else if (name === 'host-frame') doc = registry.find(stage.host.webContents.id, 'host-frame');
    else if (name === 'sentinel' && stage.sentinel) doc = registry.find(stage.sentinel.webContents.id, 'main');
    else if (match) doc = registry.find(stage.guest(Number(match[1])).contentsId, match[2] || 'main');
    if (!doc) throw new Error(`no-document: there is no live document ${name}`);
    return doc;
  };

  /** @param {number} id @returns {Electron.WebContents} */
  const contentsOf = (id) => {
    const contents = electron.webContents.fromId(id);
    if (!contents || contents.isDestroyed()) throw new Error(`no-contents: there is no WebContents ${id}`);
    return contents;
  };

  /** @param {any} guest */
  const describeGuest = async (guest) => {
    const contents = guest.contents;
    const debugId = /** @type {any} */ (electron.webContents).fromDevToolsTargetId;
    return {
      index: guest.index,
      webContentsId: guest.contentsId,
      url: contents.getURL(),
      type: contents.getType(),
      rect: await guest.box(),
      lookupByTarget: typeof debugId === 'function',
      hostWebContentsId: contents.hostWebContents ? contents.hostWebContents.id : null,
    };
  };

  const described = async () => {
    const host = stage.host;
    return {
      embedding: stage.embedding,
      window: stage.headful ? 'headful' : 'hidden',
      host: {
        webContentsId: host.webContents.id,
        url: host.webContents.getURL(),
        type: host.webContents.getType(),
        focused: host.isFocused(),
      },
      guests: await Promise.all(Array.from(stage.guests.values()).map(describeGuest)),
      windowId: host.id,
      origins: stage.site,
    };
  };

  /** @param {Doc} doc @param {boolean} withLog @param {number} since */
  const describeDocument = async (doc, withLog, since) => {
    const base = Object.assign(label(doc), { url: doc.url, pid: doc.pid, ready: doc.ready });
    const log = withLog ? doc.log.filter((record) => /** @type {any} */ (record).seq > since) : [];
    try {
      const snapshot = await registry.ask(doc, 'snapshot');
      // Read after the answer: what the document had logged before it is in.
      const fresh = withLog ? doc.log.filter((record) => /** @type {any} */ (record).seq > since) : [];
      return Object.assign(base, snapshot, { status: 'alive', error: null, log: fresh });
    } catch (error) {
      const status = error instanceof DocumentError ? error.state : 'error';
      return Object.assign(base, { status, error: /** @type {Error} */ (error).message, log });
    }
  };

  /** @returns {any[]} Documents whose renderer is gone or stopped. */
  const sick = () =>
    documents()
      .map((doc) => Object.assign(label(doc), { pid: doc.pid, state: processState(doc.pid) }))
      .filter((entry) => entry.state !== 'alive');

  /**
   * Sees to it that no document of the guests has a focused element. A frame that lets go of the focus tells the page
   * around it by way of the browser process, and that may come after the page has let go itself: hence again.
   *
   * @param {Doc[]} docs
   * @returns {Promise<boolean>} Whether one had.
   */
  const withoutFocus = async (docs) => {
    const end = now() + 2000;
    for (let round = 0; ; round += 1) {
      const answers = await Promise.all(docs.map((doc) => registry.ask(doc, 'active')));
      const holders = docs.filter((_doc, index) => answers[index].active[0] !== 'body');
      if (!holders.length || now() > end) return round > 0;
      // Inner ones first: the page takes the focus away from its frames, not the other way round.
      const inner = holders.filter((doc) => !doc.top);
      await Promise.all((inner.length ? inner : holders).map((doc) => registry.ask(doc, 'unfocus')));
      await pause(15);
    }
  };

  const reset = async (/** @type {any} */ params) => {
    if (!params.nonce) throw new Error('reset needs a nonce');
    stage.restoreMode = 'none';
    await stage.setSentinel({ open: false });
    const gone = (/** @type {number} */ pid) => processState(pid) === 'gone';
    for (const guest of Array.from(stage.guests.values())) await stage.bringHome(guest, gone);

    // Frames before their page, guests before the host: the host's field has the last word about the focus.
    const guestDocs = documents().filter((doc) => stage.roleOf(doc.webContentsId).role === 'guest');
    await Promise.all(guestDocs.filter((doc) => !doc.top).map((doc) => registry.ask(doc, 'restore', {}, RESTORE_TIMEOUT)));
    await Promise.all(guestDocs.filter((doc) => doc.top).map((doc) => registry.ask(doc, 'restore', {}, RESTORE_TIMEOUT)));
    await withoutFocus(guestDocs);
    await stage.takeFocus();
    const hostFrame = registry.find(stage.host.webContents.id, 'host-frame');
    if (hostFrame) await registry.ask(hostFrame, 'restore', {}, RESTORE_TIMEOUT);
    await registry.ask(stage.hostDoc(), 'restore', {}, RESTORE_TIMEOUT);
    await registry.ask(stage.hostDoc(), 'focus', { field: 'textarea' });
    await stage.holdFocus(stage.host);
    do await poll(() => now() - journal.lastRecordAt >= RESET_SETTLE, 1500);
    while (await withoutFocus(guestDocs));

    journal.clear();
    journal.nonce = params.nonce;
    const begun = await Promise.all(
      documents().map(async (doc) => {
        const answer = await registry.ask(doc, 'begin', { nonce: params.nonce });
        doc.log = [];
        return Object.assign(label(doc), { active: answer.active });
      })
    );
    for (const entry of begun) {
      const wanted = entry.role === 'host' && entry.frame === 'main' ? 'textarea' : 'body';
      if (entry.active[0] !== wanted) {
        throw new Error(`reset-incomplete: ${entry.role} ${entry.frame} has ${entry.active.join('/')} focused, not ${wanted}`);
      }
    }
    return { nonce: params.nonce, instance: journal.instance, pid: process.pid, seq: journal.seq, documents: begun };
  };

  /** @param {{field: string, text?: string, selection?: any}} params */
  const focusHost = async (params) => {
    await stage.takeFocus();
    if (params.field === 'frame') {
      const frame = documentNamed('host-frame');
      const answer = await registry.ask(frame, 'focus', params);
      await stage.holdFocus(stage.host);
      return Object.assign(answer, { active: ['host-frame'].concat(answer.active) });
    }
    await registry.ask(stage.hostDoc(), 'focus', params);
    await stage.holdFocus(stage.host);
    return registry.ask(stage.hostDoc(), 'active');
  };

  /**
   * Gives a field in a guest the guest's own focus and leaves the person's where it is.
   *
   * @param {{guest: number, frame: string, field: string | null}} params
   */
  const focusGuest = async (params) => {
    const guest = stage.guest(params.guest);
    const frame = params.frame === 'none' ? 'main' : params.frame;
    const doc = documentNamed(`guest:${params.guest}/${frame}`);
    const hostDoc = stage.hostDoc();
    const before = await registry.ask(hostDoc, 'active');
    await registry.ask(doc, 'focus', { field: params.frame === 'none' ? null : params.field, text: /** @type {any} */ (params).text });
    // The chain of frame elements follows in other processes.
    const top = documentNamed(`guest:${guest.index}`);
    const expected = { main: params.field, none: 'body', 'same-site': 'same-site', 'cross-site': 'cross-site', nested: 'cross-site' };
    const wanted = /** @type {any} */ (expected)[params.frame];
    let active = (await registry.ask(top, 'active')).active;
    const end = Date.now() + 1000;
    while (active[0] !== wanted && Date.now() < end) {
      await pause(10);
      active = (await registry.ask(top, 'active')).active;
    }
    const after = await registry.ask(hostDoc, 'active');
    const inFrame = await registry.ask(doc, 'active');
    if (active[0] !== wanted) throw new Error(`focus-failed: guest ${guest.index} has ${active.join('/')} focused, not ${wanted}`);
    return {
      host: after,
      hostMoved: after.active.join('/') !== before.active.join('/'),
      guest: active,
      document: inFrame,
    };
  };

  /** @param {number} index */
  const rects = async (index) => {
    const host = await registry.ask(stage.hostDoc(), 'rects');
    const guest = stage.guest(index);
    const docs = registry.of(guest.contentsId);
    /** @type {any} */
    const answers = {};
    await Promise.all(
      docs.map(async (doc) => {
        try {
          answers[doc.frame] = await registry.ask(doc, 'rects');
        } catch (error) {
          if (doc.top) throw error;
        }
      })
    );
    /** @type {any} */
    const frames = {};
    const place = (/** @type {string} */ name, /** @type {number} */ dx, /** @type {number} */ dy, /** @type {any} */ box) => {
      const answer = answers[name];
      if (!answer) return;
      /** @type {any} */
      const moved = {};
      for (const id of Object.keys(answer.elements)) {
        const rect = answer.elements[id];
        moved[id] = { x: rect.x + dx, y: rect.y + dy, width: rect.width, height: rect.height };
      }
      frames[name] = { box, elements: moved };
      for (const inner of Object.keys(answer.frames)) {
        const rect = answer.frames[inner];
        place(inner, dx + rect.x, dy + rect.y, { x: dx + rect.x, y: dy + rect.y, width: rect.width, height: rect.height });
      }
    };
    const viewport = answers.main.viewport;
    place('main', 0, 0, { x: 0, y: 0, width: viewport.width, height: viewport.height });
    const content = stage.host.getContentBounds();
    const box = await guest.box();
    const own = guest.window ? guest.window.getContentBounds() : null;
    return {
      viewport,
      frames,
      guest: box,
      guestOnScreen: own || (box && { x: content.x + box.x, y: content.y + box.y, width: box.width, height: box.height }),
      window: content,
      host: host.elements,
    };
  };

  const state = async (/** @type {any} */ params) => {
    const withLog = params.logs !== false;
    const found = await Promise.all(documents().map((doc) => describeDocument(doc, withLog, params.since || 0)));
    const after = (/** @type {any[]} */ log) => log.filter((record) => record.seq > (params.since || 0));
    return {
      nonce: journal.nonce,
      instance: journal.instance,
      pid: process.pid,
      seq: journal.seq,
      t: now(),
      documents: found,
      accelerators: journal.counters,
      acceleratorLog: after(journal.acceleratorLog),
      beforeInput: after(journal.beforeInput),
      windowLog: after(journal.windowLog),
      stale: after(journal.stale),
      gone: journal.gone,
      sick: sick(),
      windows: stage.windows(),
      forgotten: journal.forgotten,
    };
  };

  /** Waits until no log has grown for a while. */
  const settle = async (/** @type {any} */ params) => {
    const quiet = params.quiet === undefined ? 60 : params.quiet;
    // A question to each document first: what was on the way to a page has then been handled or is in its log.
    await Promise.all(documents().map((doc) => registry.ask(doc, 'active', {}, 500).catch(() => null)));
    const begin = now();
    const settled = await poll(() => now() - Math.max(journal.lastRecordAt, begin) >= quiet, params.timeout || 3000);
    return { settled, seq: journal.seq };
  };

  /** @type {Object<string, (params: any) => any>} */
  const ops = {
    open: async (params) => {
      await stage.open(params);
      return described();
    },
    close: () => stage.close(),
    describe: () => described(),
    reset,
    focus_host: focusHost,
    focus_guest: focusGuest,
    state,
    settle,
    rects: (params) => rects(params.guest || 0),
    frames_take_input: (params) => stage.framesTakeInput(params.guest || 0),
    send_input_event: (params) => {
      const contents = contentsOf(params.webContentsId);
      for (const event of params.events) contents.sendInputEvent(event);
      return { sent: params.events.length };
    },
    web_contents_insert_text: async (params) => {
      await bounded(contentsOf(params.webContentsId).insertText(params.text), 3000, 'insertText');
      return {};
    },
    webview_attribute: (params) =>
      registry.ask(stage.hostDoc(), 'page', { method: 'attribute', args: [params.guest || 0, params.name, params.value] }),
    restore_on_focus: async (params) => {
      await registry.ask(stage.hostDoc(), 'page', { method: 'setRestore', args: [params.mode] });
      stage.restoreMode = params.mode;
      return {};
    },
    give_back: async () => ({ returned: await registry.ask(stage.hostDoc(), 'page', { method: 'giveBack' }) }),
    navigate: (params) => stage.navigate(params.guest, params.url, params.wait !== false),
    reload: (params) => stage.navigate(params.guest, null, params.wait !== false),
    add_guest: async () => describeGuest(await stage.addGuest()),
    destroy_guest: (params) => stage.destroyGuest(params.guest),
    crash_state: () => ({ gone: journal.gone, sick: sick() }),
    sentinel: (params) => stage.setSentinel(params),
    window: (params) => {
      const actions = ['show', 'hide', 'minimize', 'restore', 'focus', 'blur', 'showInactive'];
      if (actions.indexOf(params.action) < 0) throw new Error(`no such action: ${params.action}`);
      /** @type {any} */ (stage.host)[params.action]();
      return {};
    },
    target_lookup: (params) => {
      const lookup = /** @type {any} */ (electron.webContents).fromDevToolsTargetId;
      if (typeof lookup !== 'function') return { supported: false, webContentsId: null };
      const contents = lookup.call(electron.webContents, params.targetId);
      return { supported: true, webContentsId: contents ? contents.id : null };
    },
    execute: async (params) => {
      if (params.document !== 'main-process') return { value: await registry.ask(documentNamed(params.document), 'execute', { code: params.code }, 5000) };
      const run = new Function('electron', 'stage', 'require', `return (async () => { ${params.code} })()`);
      const value = await run(electron, stage, require);
      return { value: value === undefined ? null : value };
    },
    embeddings: () => ({ embeddings: supportedEmbeddings() }),
    quit: () => {
      setTimeout(() => electron.app.exit(0), 20);
    },
  };

  return async (op, params) => {
    if (!Object.prototype.hasOwnProperty.call(ops, op)) throw new Error(`no such op: ${op}`);
    return bounded(Promise.resolve().then(() => ops[op](params)), OP_TIMEOUT, op);
  };
}

module.exports = { createOps };
