'use strict';
/** One maker for each way in which Electron puts a page beside or into an app's own. */

const path = require('path');
const electron = require('electron');

const MAJOR = Number(process.versions.electron.split('.')[0]);

/** What every document of the fixture is given. The preload also runs in frames, so that these are seen into. */
const WEB_PREFERENCES = {
  preload: path.join(__dirname, 'preload.cjs'),
  contextIsolation: true,
  nodeIntegration: false,
  nodeIntegrationInSubFrames: true,
  sandbox: false,
  spellcheck: false,
};

/**
 * @typedef {Object} Box
 * @property {number} x
 * @property {number} y
 * @property {number} width
 * @property {number} height
 *
 * @typedef {Object} Guest
 * @property {number} index
 * @property {string} home The address of its page.
 * @property {Electron.WebContents} contents
 * @property {number} contentsId
 * @property {() => Promise<Box | null>} box In the host window's content, or null where it is a window of its own.
 * @property {Electron.BrowserWindow | null} window Its own window.
 * @property {() => Promise<void>} destroy
 *
 * @typedef {Object} Place
 * @property {Electron.BrowserWindow} hostWindow
 * @property {boolean} headful
 * @property {number} index
 * @property {string} url
 * @property {Box} box
 * @property {(method: string, args: any[]) => Promise<any>} hostPage Calls a method of the host page's script.
 * @property {() => Promise<Box>} elementBox Where the host page has the guest's element.
 */

/** Pages in windows of their own that are guests all the same. @type {WeakSet<Electron.WebContents>} */
const guestContents = new WeakSet();

/** @returns {string[]} The embeddings that this version of Electron has. */
function supportedEmbeddings() {
  const found = ['webview'];
  if (typeof electron.BrowserView === 'function') found.push('browser-view');
  // Older versions have a class of this name that only the framework itself can use.
  if (MAJOR >= 30 && typeof electron.WebContentsView === 'function') found.push('web-contents-view');
  return found.concat(['window', 'offscreen']);
}

/** @param {Electron.WebContents} contents @param {string} url */
function load(contents, url) {
  // Whether the page came is seen from its documents; a navigation that replaces this one is no fault.
  contents.loadURL(url).catch(() => undefined);
}

/** @param {Electron.WebContents} contents */
function closeContents(contents) {
  const any = /** @type {any} */ (contents);
  if (contents.isDestroyed()) return;
  if (typeof any.close === 'function') any.close();
  // Electron 22 has the first one too, and a view's page survives it.
  if (MAJOR < 25 && !contents.isDestroyed() && typeof any.destroy === 'function') any.destroy();
}

/** @param {Place} place @returns {Promise<Guest>} */
async function makeWebview(place) {
  const host = place.hostWindow.webContents;
  /** @type {Promise<Electron.WebContents>} */
  const attached = new Promise((resolve, reject) => {
    const timer = setTimeout(() => reject(new Error('timeout: the webview was not attached')), 10000);
    host.once('did-attach-webview', (_event, contents) => {
      clearTimeout(timer);
      resolve(contents);
    });
  });
  await Promise.all([attached, place.hostPage('addGuest', [place.index, place.url, place.box])]);
  const contents = await attached;
  return {
    index: place.index,
    home: place.url,
    contents,
    contentsId: contents.id,
    box: place.elementBox,
    window: null,
    destroy: () => place.hostPage('removeGuest', [place.index]),
  };
}

/** @param {Place} place @returns {Promise<Guest>} */
async function makeBrowserView(place) {
  const view = new electron.BrowserView({ webPreferences: WEB_PREFERENCES });
  place.hostWindow.addBrowserView(view);
  view.setBounds(place.box);
  const contents = view.webContents;
  load(contents, place.url);
  return {
    index: place.index,
    home: place.url,
    contents,
    contentsId: contents.id,
    box: async () => view.getBounds(),
    window: null,
    destroy: async () => {
      place.hostWindow.removeBrowserView(view);
      closeContents(contents);
    },
  };
}

/** @param {Place} place @returns {Promise<Guest>} */
async function makeWebContentsView(place) {
  const view = new electron.WebContentsView({ webPreferences: WEB_PREFERENCES });
  place.hostWindow.contentView.addChildView(view);
  view.setBounds(place.box);
  const contents = view.webContents;
  load(contents, place.url);
  return {
    index: place.index,
    home: place.url,
    contents,
    contentsId: contents.id,
    box: async () => view.getBounds(),
    window: null,
    destroy: async () => {
      place.hostWindow.contentView.removeChildView(view);
      closeContents(contents);
    },
  };
}

/** @param {Place} place @param {boolean} offscreen @returns {Promise<Guest>} */
async function makeWindow(place, offscreen) {
  const content = place.hostWindow.getContentBounds();
  const window = new electron.BrowserWindow({
    show: false,
    frame: false,
    x: content.x + place.box.x,
    y: content.y + place.box.y,
    width: place.box.width,
    height: place.box.height,
    webPreferences: Object.assign({}, WEB_PREFERENCES, offscreen ? { offscreen: true } : {}),
  });
  const contents = window.webContents;
  const contentsId = contents.id;
  guestContents.add(contents);
  load(contents, place.url);
  if (place.headful && !offscreen) window.showInactive();
  return {
    index: place.index,
    home: place.url,
    contents,
    contentsId,
    box: async () => null,
    window,
    destroy: async () => window.destroy(),
  };
}

/** @type {Object<string, (place: Place) => Promise<Guest>>} */
const MAKERS = {
  webview: makeWebview,
  'browser-view': makeBrowserView,
  'web-contents-view': makeWebContentsView,
  window: (place) => makeWindow(place, false),
  offscreen: (place) => makeWindow(place, true),
};

module.exports = { MAKERS, guestContents, WEB_PREFERENCES, load, supportedEmbeddings };
