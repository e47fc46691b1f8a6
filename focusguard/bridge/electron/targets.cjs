'use strict';
/** What a WebContents is: the kind of embedding, its host, and whether agents may drive it. */

const { within } = require('./panes.cjs');

/** @param {any} electron @param {{ isGuest: ((wc: any) => boolean | undefined) | null }} app */
function createTargets(electron, app) {
  const { webContents, BrowserWindow } = electron;
  /** @type {Map<string, number>} */
  const ids = new Map();

  /** @param {number} id */
  function get(id) {
    if (!Number.isInteger(id)) return null;
    const wc = webContents.fromId(id);
    return wc && !wc.isDestroyed() ? wc : null;
  }

  /** @param {any} view @param {any} wc @returns {boolean} */
  function holds(view, wc) {
    if (!view) return false;
    if (view.webContents === wc) return true;
    return Array.isArray(view.children) && view.children.some((/** @type {any} */ child) => holds(child, wc));
  }

  /** @param {any} wc @returns {any} the window that a view lies in */
  function windowOfView(wc) {
    const Base = electron.BaseWindow;
    const windows = Base && Base.getAllWindows ? Base.getAllWindows() : BrowserWindow.getAllWindows();
    for (const win of windows) {
      if (win.isDestroyed()) continue;
      try {
        if (win.webContents === wc) continue;
        if (win.getBrowserViews && win.getBrowserViews().some((/** @type {any} */ v) => v.webContents === wc)) return win;
        if (win.contentView && holds(win.contentView, wc)) return win;
      } catch (error) {
        // A window that is being closed.
      }
    }
    return null;
  }

  /** @param {any} wc @returns {{ kind: string, host: any, window: any }} */
  function place(wc) {
    const type = wc.getType ? wc.getType() : '';
    if (type === 'webview') {
      const host = wc.hostWebContents && !wc.hostWebContents.isDestroyed() ? wc.hostWebContents : null;
      return { kind: 'webview', host, window: host ? BrowserWindow.fromWebContents(host) : null };
    }
    if (type === 'offscreen' || (wc.isOffscreen && wc.isOffscreen())) {
      return { kind: 'offscreen', host: null, window: BrowserWindow.fromWebContents(wc) };
    }
    const own = BrowserWindow.getAllWindows().find((/** @type {any} */ w) => !w.isDestroyed() && w.webContents === wc);
    if (own) return { kind: 'window', host: null, window: own };
    const win = windowOfView(wc);
    if (type === 'browserView' || win) {
      const page = win && win.webContents && !win.webContents.isDestroyed() ? win.webContents : null;
      const classic = !!(win && win.getBrowserViews && win.getBrowserViews().some((/** @type {any} */ v) => v.webContents === wc));
      return { kind: classic ? 'browser-view' : 'web-contents-view', host: page, window: win };
    }
    return { kind: 'other', host: null, window: null };
  }

  /** @param {any} wc @returns {boolean | null} the app's word on whether agents may drive it */
  function saidOf(wc) {
    if (typeof app.isGuest !== 'function') return null;
    try {
      const said = app.isGuest(wc);
      return typeof said === 'boolean' ? said : null;
    } catch (error) {
      return null; // an app whose rule throws gets the default rule
    }
  }

  /** @param {any} wc @param {string} kind @param {any} host */
  function isGuest(wc, kind, host) {
    const said = saidOf(wc);
    if (said !== null) return said;
    if (/^(devtools|chrome|chrome-extension):/.test(wc.getURL())) return false;
    if (kind === 'webview' || kind === 'offscreen') return true;
    if (kind === 'browser-view' || kind === 'web-contents-view') return !!(host && host.getURL());
    return false;
  }

  /** @param {any} wc @returns {Promise<string | null>} for versions that cannot look a target up */
  function askTargetId(wc) {
    const dbg = wc.debugger;
    const mine = !dbg.isAttached();
    try {
      if (mine) dbg.attach();
    } catch (error) {
      return Promise.resolve(null);
    }
    const leave = () => {
      try {
        if (mine && !wc.isDestroyed() && dbg.isAttached()) dbg.detach();
      } catch (error) {
        // Already gone with its page.
      }
    };
    return within(Promise.resolve(dbg.sendCommand('Target.getTargetInfo')), 1000, 'target').then(
      (answer) => {
        leave();
        return answer && answer.targetInfo ? String(answer.targetInfo.targetId) : null;
      },
      () => {
        leave();
        return null;
      },
    );
  }

  /** @param {string} targetId @returns {Promise<any>} */
  async function find(targetId) {
    if (typeof webContents.fromDevToolsTargetId === 'function') {
      return webContents.fromDevToolsTargetId(targetId) || null;
    }
    const known = ids.get(targetId);
    if (known !== undefined && get(known)) return get(known);
    const taken = new Set(Array.from(ids.values()));
    for (const wc of webContents.getAllWebContents()) {
      if (wc.isDestroyed() || taken.has(wc.id)) continue;
      const id = await askTargetId(wc);
      if (id) ids.set(id, wc.id);
      if (id === targetId) return get(wc.id);
    }
    return null;
  }

  /** @param {any} wc */
  function visible(wc, /** @type {any} */ win) {
    if (!win || win.isDestroyed()) return false;
    return win.isVisible() && !win.isMinimized();
  }

  /** @param {string} targetId */
  async function describe(targetId) {
    const wc = await find(targetId);
    if (!wc || wc.isDestroyed()) return { found: false };
    return describeContents(wc);
  }

  /** @param {any} wc */
  function describeContents(wc) {
    const { kind, host, window } = place(wc);
    return {
      found: true,
      webContentsId: wc.id,
      kind,
      hostWebContentsId: host ? host.id : null,
      guest: isGuest(wc, kind, host),
      url: wc.getURL(),
      title: wc.getTitle(),
      visible: visible(wc, window),
    };
  }

  /** @param {any} host @returns {any[]} the webviews in a page */
  function guestsOf(host) {
    return webContents.getAllWebContents().filter((/** @type {any} */ wc) => {
      return !wc.isDestroyed() && wc.getType() === 'webview' && wc.hostWebContents === host;
    });
  }

  /** @param {any} host @returns {any[]} its webviews, and the views that lie in its window */
  function pagesIn(host) {
    return webContents.getAllWebContents().filter((/** @type {any} */ wc) => {
      if (wc.isDestroyed() || wc === host) return false;
      const found = place(wc);
      return found.host === host && found.kind !== 'other';
    });
  }

  return { get, place, saidOf, describe, describeContents, guestsOf, pagesIn };
}

module.exports = { createTargets };
