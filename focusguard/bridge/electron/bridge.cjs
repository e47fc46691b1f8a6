'use strict';
/**
 * focusguard's companion in Electron's main process. Loaded by `NODE_OPTIONS=--require`, by the app's own
 * `require(process.env.FOCUSGUARD_BRIDGE)`, or by both: there is one instance either way.
 *
 * It does nothing without a guard: no token in the environment, no connection, no change to the app.
 */

const KEY = Symbol.for('focusguard.bridge');
/** How often a page that is in no window is looked for. */
const APART_MS = 250;
/** A page that asks before its first script is the window's own so long after. */
const COMMIT_MS = 20;
const store = /** @type {any} */ (process);

if (!store[KEY]) {
  const api = {
    /** @type {((url: string) => any) | null} opens a page for an agent; returns its WebContents */
    onOpenGuest: null,
    /** @type {((wc: any) => any) | null} closes a page that an agent asked to close */
    onCloseGuest: null,
    /** @type {((wc: any) => any) | null} brings a discarded page back to life, without focus */
    onWakeGuest: null,
    /** @type {((wc: any) => boolean | undefined) | null} the app's word on what agents may drive */
    isGuest: null,
    /** @type {() => void} has the app's word asked again for every page */
    reconsider: () => {},
    /** @type {((wc: any, acting: boolean) => any) | null} an agent begins to press or type in a page, or is quiet again */
    onAgentActing: null,
    /** @type {(wc: any) => boolean} */
    isAgentInput: () => false,
    version: 1,
  };
  Object.defineProperty(store, KEY, { value: api });
  try {
    start(api);
  } catch (error) {
    // The app must run as if this file had not been loaded.
  }
}
module.exports = store[KEY];

/** @param {any} api */
function start(api) {
  const socket = process.env.FOCUSGUARD_SOCKET;
  const token = process.env.FOCUSGUARD_TOKEN;
  delete process.env.FOCUSGUARD_SOCKET;
  delete process.env.FOCUSGUARD_TOKEN;
  // Children of the app must not load this file again.
  const options = process.env.NODE_OPTIONS;
  if (options && options.indexOf(__filename) >= 0) {
    const escaped = __filename.replace(/[.*+?^${}()|[\]\\]/g, '\\$&');
    const rest = options.replace(new RegExp(`\\s*(--require|-r)[ =]"?${escaped}"?`, 'g'), '').trim();
    if (rest) process.env.NODE_OPTIONS = rest;
    else delete process.env.NODE_OPTIONS;
  }
  if (!socket || !token || !process.versions.electron || process.env.ELECTRON_RUN_AS_NODE) return;
  whenElectron((electron) => run(api, electron, socket, token));
}

/** @param {(electron: any) => void} then Electron's module is not there yet while `--require` files load */
function whenElectron(then) {
  let tries = 0;
  const attempt = () => {
    let electron = null;
    try {
      electron = require('electron');
    } catch (error) {
      electron = null;
    }
    if (electron && electron.app && electron.webContents) {
      try {
        then(electron);
      } catch (error) {
        // See above: never the app's problem.
      }
      return;
    }
    tries += 1;
    if (tries < 2000) setImmediate(attempt);
  };
  attempt();
}

/** @param {any} api @param {any} electron @param {string} path @param {string} token */
function run(api, electron, path, token) {
  const { app, webContents } = electron;
  const { createLink } = require('./link.cjs');
  const { createMarks } = require('./marks.cjs');
  const { createPanes, failure, within, PANE, SENTRY } = require('./panes.cjs');
  const { createActing } = require('./acting.cjs');
  const { createTargets } = require('./targets.cjs');
  const { createBorrows } = require('./borrow.cjs');
  const { createPreload } = require('./preloads.cjs');
  const { createComposing } = require('./composing.cjs');
  const { createViews } = require('./views.cjs');
  const { createDialogs } = require('./dialogs.cjs');
  const { createDownloads } = require('./downloads.cjs');
  const { createPermissions } = require('./permissions.cjs');
  const { createPopups } = require('./popups.cjs');
  const { createPersons } = require('./persons.cjs');
  const { createScreen } = require('./screen.cjs');
  const { describeProtocol } = require('./description.cjs');

  const targets = createTargets(electron, api);
  const acting = createActing(api);
  const event = (/** @type {string} */ name, /** @type {object} */ params) => link.event(name, params);
  const shields = createPreload(electron, 'shield.js');
  const newborns = createPreload(electron, 'newborn.js');
  const panes = createPanes(PANE, (host, message) => borrows.onPaneMessage(host, message));
  const sentries = createPanes(SENTRY, (guest, message) => {
    // A view talks to the input method by itself: what changes in it does no harm, except during a composition.
    const { kind, host } = targets.place(guest);
    if (kind === 'webview') composing.guestChanged(host, !!message.writable);
  });
  const composing = createComposing({
    panes, sentries, pagesIn: targets.pagesIn, sinceKey: () => borrows.sinceKey(),
    broken: (host, how) => event('composition.broken', { hostWebContentsId: host.id, how }),
    tell: (host, open, active) => {
      if (active) newborns.start();
      else if (!composing.anywhere()) newborns.stop();
      event('composition', { hostWebContentsId: host.id, open, active });
    },
  });
  electron.ipcMain.on('focusguard:newborn', (/** @type {any} */ question) => {
    const wc = question.sender;
    const { host } = targets.place(wc);
    const due = link.ready() && composing.isActive(host) && targets.pagesIn(host).indexOf(wc) >= 0;
    question.returnValue = due;
    if (due) setTimeout(composing.begins(host, wc), COMMIT_MS);
  });
  const borrows = createBorrows({
    targets, panes, marks: () => marks, event, nudge: composing.nudge, composition: composing.changed, restarted: composing.restarted,
    composes: composing.isActive, room: composing.room, pressed: (wc) => pressed(wc),
  });
  const persons = createPersons((wc) => api.isAgentInput(wc));
  const pressed = (/** @type {any} */ wc) => {
    if (persons.pressed(wc)) event('person.acted', { webContentsId: wc.id });
  };
  const views = createViews({ targets, persons, taken: (view, host) => borrows.reclaim(view, host) });
  const marks = createMarks({
    onRealKey: (wc, input) => {
      const kept = borrows.onRealKey(wc, input);
      if (!kept) composing.passing(wc, input);
      // An agent's keys in a view pass here too, and look no different.
      if (!kept && input.type === 'keyDown') {
        if (targets.place(wc).kind === 'webview') pressed(wc);
        else if (downloads.isOpened(wc)) persons.pressed(wc);
      }
      return kept;
    },
    onPointer: borrows.onPointer,
  });
  /** @param {any} wc a page of its own that has the focus has it from the person: an agent's press gives it none */
  const isPersons = (wc) => persons.ask(wc) || (targets.place(wc).kind !== 'webview' && wc.isFocused());
  const dialogs = createDialogs(isPersons);
  const popups = createPopups(isPersons);
  const downloads = createDownloads({ electron, persons, event });
  const permissions = createPermissions({ electron, targets, persons, screen: createScreen({ app, targets, within, borrows }) });
  api.isAgentInput = (/** @type {any} */ wc) => !!wc && marks.isAgentInput(wc, borrows.isLeased(wc));
  // Not at once: the app may call it where it is being asked.
  let reconsidering = false;
  api.reconsider = () => {
    if (reconsidering) return;
    reconsidering = true;
    setImmediate(() => {
      reconsidering = false;
      webContents.getAllWebContents().forEach(tellChanged);
    });
  };

  /** @param {any} params */
  const page = (params) => {
    const wc = targets.get(Number(params.webContentsId));
    if (!wc) throw failure('no-such-target', 'there is no such page');
    return wc;
  };
  /** @param {any} params a page that may be typed into now: what changes in it would end the person's composition */
  const undisturbed = (params) => {
    const wc = page(params);
    if (composing.isOpen(targets.place(wc).host)) throw failure('composing', 'the person is composing text');
    return wc;
  };
  /** @param {any} params */
  const hostOf = (params) => {
    const wc = page(params);
    return targets.place(wc).host || wc;
  };

  /** @type {{ [method: string]: (params: any) => any }} */
  const methods = {
    ping: () => ({}),
    'app.protocol': () => within(describeProtocol(), 8000, 'disk'),
    'target.describe': (params) => targets.describe(String(params.targetId)),
    'keys.send': (params) => {
      const wc = undisturbed(params);
      persons.agentActs(wc);
      acting.acts(wc);
      return { sent: marks.send(wc, params.events || []) };
    },
    'dialogs.hold': (params) => {
      permissions.hold(page(params), !!params.on);
      popups.hold(page(params), !!params.on);
      return dialogs.hold(page(params), !!params.on);
    },
    'downloads.rule': (params) => {
      const folder = String(params.folder || '');
      downloads.rule(page(params), params.behavior ? { behavior: params.behavior, folder } : null);
      return {};
    },
    'downloads.cancel': (params) => ({ found: downloads.cancel(String(params.guid)) }),
    'text.insert': (params) => {
      const wc = undisturbed(params);
      marks.mark(wc);
      acting.acts(wc);
      return within(Promise.resolve(wc.insertText(String(params.text))), 2000, 'guest').then(() => ({}));
    },
    'press.expect': (params) => {
      persons.expect(page(params));
      acting.acts(page(params));
      return {};
    },
    'borrow.begin': (params) => {
      persons.agentActs(page(params));
      acting.acts(page(params));
      return borrows.begin(params);
    },
    'borrow.end': borrows.end,
    'host.room': async (params) => {
      const guest = page(params);
      const waitedMs = await composing.room(targets.place(guest).host, guest, Number(params.longestMs) || 0, Number(params.untilMs) || 0);
      undisturbed(params);
      return { waitedMs };
    },
    'host.repair': (params) => composing.nudge(hostOf(params)),
    'host.composition': (params) => panes.call(hostOf(params), 'composition()', 150),
    'guest.open': async (params) => {
      if (typeof api.onOpenGuest !== 'function') throw failure('unsupported', 'the app has no onOpenGuest');
      const opened = await within(Promise.resolve(api.onOpenGuest(String(params.url))), 10000, 'app');
      return opened && opened.id && opened.getURL ? targets.describeContents(opened) : { found: false };
    },
    'guest.close': async (params) => {
      const wc = page(params);
      if (typeof api.onCloseGuest !== 'function') throw failure('unsupported', 'the app has no onCloseGuest');
      await within(Promise.resolve(api.onCloseGuest(wc)), 10000, 'app');
      return {};
    },
    'guest.reload': (params) => {
      const wc = page(params);
      if (params.ignoreCache) wc.reloadIgnoringCache();
      else wc.reload();
      return {};
    },
    'guest.wake': async (params) => {
      const wc = page(params);
      if (typeof api.onWakeGuest !== 'function') throw failure('unsupported', 'the app has no onWakeGuest');
      await within(Promise.resolve(api.onWakeGuest(wc)), 10000, 'app');
      return {};
    },
  };

  /** @param {any} wc what it is may be another thing now; where the app keeps agents out of it, they go */
  function tellChanged(wc) {
    if (!link.ready() || wc.isDestroyed()) return;
    const { id } = wc;
    if (targets.saidOf(wc) !== false) {
      refused.delete(id);
    } else if (!refused.has(id)) {
      refused.add(id);
      for (const part of [dialogs, permissions, popups]) part.hold(wc, false);
      event('target.refused', { webContentsId: id });
    }
    event('target.changed', { webContentsId: id });
  }
  /** @type {Set<number>} pages of which the app has said that agents may not drive them */
  const refused = new Set();

  /** @param {any} wc from the first moment on, so that keys typed before the first borrow are known */
  function adopt(wc) {
    if (!link.ready() || wc.isDestroyed()) return;
    marks.watch(wc);
    const { kind, host } = targets.place(wc);
    if (kind === 'webview' && host) {
      marks.watch(host);
      panes.ensure(host);
      sentries.ensure(wc);
    } else if (kind === 'web-contents-view' || kind === 'browser-view' || kind === 'other') {
      // A view is put into its window, and sent to its first page, in one turn: watched only then it were too late.
      views.watch(wc);
      if (host) {
        marks.watch(host);
        panes.ensure(host);
        sentries.ensure(wc);
      }
    }
    if (isApart(wc)) lookAgain(wc);
  }

  /** Pages that no window holds yet: a view may be put into one long after it has loaded, and no event tells. */
  /** @type {Set<any>} */
  const apart = new Set();
  /** @type {NodeJS.Timeout | null} */
  let looking = null;

  /** @param {any} wc */
  function isApart(wc) {
    const { kind, host } = targets.place(wc);
    return kind === 'other' || (!host && kind !== 'window' && kind !== 'offscreen');
  }

  /** @param {any} wc */
  function lookAgain(wc) {
    apart.add(wc);
    if (looking) return;
    looking = setInterval(() => {
      for (const one of Array.from(apart)) {
        if (!one.isDestroyed() && link.ready() && isApart(one)) continue;
        apart.delete(one);
        if (one.isDestroyed() || !link.ready()) continue;
        adopt(one);
        tellChanged(one);
      }
      if (!apart.size && looking) {
        clearInterval(looking);
        looking = null;
      }
    }, APART_MS);
    if (looking.unref) looking.unref();
  }

  /** @param {any} wc */
  function follow(wc) {
    if (followed.has(wc.id)) return;
    const id = wc.id;
    /** @type {any} */
    let hostOfWebview = null;
    followed.add(id);
    adopt(wc);
    wc.once('destroyed', () => {
      followed.delete(id);
      refused.delete(id);
      // The only listener of its kind on a page of the app, whoever has come and left meanwhile.
      for (const part of [acting, marks, panes, sentries, composing, borrows, views, dialogs, downloads, permissions, popups]) part.forget(id);
      event('target.gone', { webContentsId: id });
      if (link.ready()) composing.guestChanged(hostOfWebview, true);
    });
    const changed = () => tellChanged(wc);
    /** The input method loses the page that it looked at, and no sentry is in the new one yet. */
    const repair = () => {
      const { kind, host } = targets.place(wc);
      hostOfWebview = kind === 'webview' ? host : null;
      if (link.ready()) composing.guestChanged(hostOfWebview, true);
    };
    wc.on('dom-ready', () => {
      adopt(wc);
      changed();
      repair();
      if (link.ready() && panes.pages().indexOf(id) >= 0) panes.ensure(wc);
    });
    // A page that goes in the middle of a composition does not tell of its end.
    const composed = () => {
      if (!composing.isOpen(wc)) return;
      composing.changed(wc, false);
    };
    wc.on('did-navigate', () => {
      composed();
      panes.renewed(id);
      sentries.renewed(id);
      // Its scripts run now, and may take the focus long before all of the page is there.
      adopt(wc);
      if (link.ready()) composing.arrived(targets.place(wc).host, wc);
      changed();
      repair();
    });
    // An app that decides by the address decides anew.
    wc.on('did-navigate-in-page', () => typeof api.isGuest === 'function' && changed());
    wc.on('render-process-gone', composed);
    wc.on('crashed', composed);
    wc.on('did-create-window', (/** @type {any} */ win) => downloads.opened(win.webContents, wc));
    wc.on('did-attach-webview', (/** @type {any} */ _event, /** @type {any} */ guest) => guest && adopt(guest));
  }
  /** @type {Set<number>} */
  const followed = new Set();

  const link = createLink({
    path,
    token,
    hello: () => ({
      pid: process.pid,
      electron: process.versions.electron,
      chromium: process.versions.chrome,
      node: process.versions.node,
      capabilities: Object.keys(methods),
    }),
    onRequest: (method, params) => {
      const handler = methods[method];
      if (!handler || !Object.prototype.hasOwnProperty.call(methods, method)) {
        throw failure('unknown-method', `${method} is not part of this protocol`);
      }
      return handler(params);
    },
    onReady: () => {
      refused.clear();
      marks.start();
      shields.start();
      views.start();
      for (const wc of webContents.getAllWebContents()) {
        follow(wc);
        adopt(wc);
      }
    },
    onRefused: () => shields.stop(),
    onLost: () => {
      acting.stop();
      borrows.abandon();
      composing.stop();
      dialogs.stop();
      downloads.stop();
      permissions.stop();
      popups.stop();
      views.stop();
      shields.stop();
      newborns.stop();
      marks.stop();
      for (const scripts of [panes, sentries]) {
        for (const id of scripts.pages()) {
          const wc = targets.get(id);
          if (wc) scripts.remove(wc);
        }
      }
    },
  });
  // Before the first page, whether or not the guard is there yet: the shield sleeps until a pane wakes it.
  shields.start();
  app.on('web-contents-created', (/** @type {any} */ _event, /** @type {any} */ wc) => follow(wc));
  app.on('will-quit', () => link.close());
}
