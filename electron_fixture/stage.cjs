'use strict';
/** What stands on the screen: the host window, its guests, the sentinel window. One owner of all of them. */

const { BrowserWindow } = require('electron');

const { MAKERS, WEB_PREFERENCES, load, supportedEmbeddings } = require('./embeddings.cjs');
const { KNOCK } = require('./registry.cjs');
const { guestUrl } = require('./server.cjs');

const WIDTH = 1256;
/** The host's own fields need this much; guests that are no windows of their own are below them. */
const FIELDS_HEIGHT = 172;
const WHOLE_HEIGHT = 712;
/** Fixed places in the host window's content, in CSS pixels. A guest's own window stands at the same place on the
 * screen, below a host window that ends above it: neither ever covers the other. */
const BOXES = [
  { x: 4, y: 184, width: 616, height: 520 },
  { x: 636, y: 184, width: 616, height: 520 },
];
const SENTINEL = { x: 900, y: 778, width: 320, height: 110 };
const FRAMES = ['main', 'same-site', 'cross-site', 'nested'];
/** Those with a process of their own, each in the one before. */
const APART = ['cross-site', 'nested'];
const LOAD_TIMEOUT = 15000;
/** A page that is covered or off the screen may never take input. */
const INPUT_TIMEOUT = 2000;

/** @param {number} ms @returns {Promise<void>} */
function pause(ms) {
  return new Promise((resolve) => setTimeout(resolve, ms));
}

/** @param {() => boolean} condition @param {number} timeout @returns {Promise<boolean>} */
async function poll(condition, timeout) {
  const end = Date.now() + timeout;
  while (!condition()) {
    if (Date.now() > end) return false;
    await pause(15);
  }
  return true;
}

/** @param {string} url @returns {string} */
function withoutHash(url) {
  return url.split('#')[0];
}

class Stage {
  /**
   * @param {import('./server.cjs').Site} site
   * @param {import('./journal.cjs').Journal} journal
   * @param {import('./registry.cjs').Registry} registry
   */
  constructor(site, journal, registry) {
    this.site = site;
    this.journal = journal;
    this.registry = registry;
    /** @type {Electron.BrowserWindow | null} */
    this.hostWindow = null;
    /** @type {Electron.BrowserWindow | null} */
    this.sentinel = null;
    /** @type {Map<number, import('./embeddings.cjs').Guest>} */
    this.guests = new Map();
    this.embedding = '';
    this.headful = false;
    this.restoreMode = 'none';
    journal.roleOf = (id) => this.roleOf(id);
    registry.onRecord = (doc, record) => this.recorded(doc, record);
  }

  /** @returns {Electron.BrowserWindow} */
  get host() {
    if (!this.hostWindow || this.hostWindow.isDestroyed()) throw new Error('not-open: no host window; use open first');
    return this.hostWindow;
  }

  /** @param {number} index @returns {import('./embeddings.cjs').Guest} */
  guest(index) {
    const guest = this.guests.get(index);
    if (!guest || guest.contents.isDestroyed()) throw new Error(`no-guest: there is no guest ${index}`);
    return guest;
  }

  /** @param {number} webContentsId @returns {{role: string, guest: number | null}} */
  roleOf(webContentsId) {
    for (const guest of Array.from(this.guests.values())) {
      if (guest.contentsId === webContentsId) return { role: 'guest', guest: guest.index };
    }
    const is = (/** @type {Electron.BrowserWindow | null} */ window) =>
      Boolean(window && !window.isDestroyed() && window.webContents.id === webContentsId);
    if (is(this.hostWindow)) return { role: 'host', guest: null };
    if (is(this.sentinel)) return { role: 'sentinel', guest: null };
    return { role: 'other', guest: null };
  }

  /** @returns {import('./registry.cjs').Doc} */
  hostDoc() {
    const doc = this.registry.find(this.host.webContents.id, 'main');
    if (!doc) throw new Error('no-document: the host page has no live document');
    return doc;
  }

  /**
   * @param {{embedding: string, window: string, guests?: number}} params
   * @returns {Promise<void>}
   */
  async open(params) {
    if (supportedEmbeddings().indexOf(params.embedding) < 0) {
      throw new Error(`unsupported: Electron ${process.versions.electron} has no embedding ${params.embedding}`);
    }
    await this.close();
    this.embedding = params.embedding;
    this.headful = params.window === 'headful';
    const window = new BrowserWindow({
      show: false,
      x: 0,
      y: 0,
      width: WIDTH,
      height: params.embedding === 'window' || params.embedding === 'offscreen' ? FIELDS_HEIGHT : WHOLE_HEIGHT,
      useContentSize: true,
      title: 'fixture host',
      webPreferences: Object.assign({ webviewTag: true }, WEB_PREFERENCES),
    });
    this.hostWindow = window;
    this.journal.watchWindow(window, 'host');
    window.webContents.on('will-attach-webview', (_event, preferences) => {
      Object.assign(preferences, WEB_PREFERENCES);
    });
    const id = window.webContents.id;
    load(window.webContents, `${this.site.host}/host/index.html`);
    await this.loaded(id, ['main', 'host-frame'], 0, 'the host page');
    if (this.headful) {
      window.show();
      await this.takeFocus();
      await this.holdFocus(window);
    }
    const wanted = params.guests === undefined ? 1 : params.guests;
    const count = Math.max(0, Math.min(BOXES.length, wanted));
    for (let index = 0; index < count; index += 1) await this.addGuest();
    if (this.headful) await this.takeFocus();
  }

  /**
   * Waits for documents to have loaded.
   *
   * @param {number} id WebContents id.
   * @param {string[]} frames
   * @param {number} after Only documents that came after this arrival count.
   * @param {string} what
   */
  async loaded(id, frames, after, what) {
    const there = (/** @type {string} */ frame) => {
      const doc = this.registry.find(id, frame);
      return Boolean(doc && doc.ready && doc.order > after);
    };
    await this.registry.until(() => frames.every(there), LOAD_TIMEOUT, `${what} did not load`);
  }

  /**
   * Waits until a page takes input: Chromium drops all of it for up to half a second after a page was loaded or shown,
   * and what is pressed in a frame of it until that frame was painted.
   *
   * @param {Electron.WebContents} contents
   */
  async takesInput(contents) {
    const doc = this.registry.find(contents.id, 'main');
    // What is not shown at all may never take any.
    if (!doc || (await this.registry.ask(doc, 'active')).hidden) return;
    const docs = FRAMES.map((frame) => this.registry.find(contents.id, frame)).filter((each) => each !== undefined);
    await Promise.all(docs.map((each) => this.registry.ask(each, 'painted').catch(() => false)));
    const before = doc.knocks;
    const end = Date.now() + INPUT_TIMEOUT;
    while (doc.knocks === before && Date.now() < end) {
      contents.sendInputEvent(/** @type {any} */ ({ type: 'keyUp', keyCode: KNOCK, skipIfUnhandled: true }));
      await pause(25);
    }
  }

  /**
   * Waits until a guest's frames take presses: until one that has a process of its own is drawn together with the page
   * around it, Chromium gives the page what is pressed in it. A mouse that moves by way of the browser process tells.
   *
   * @param {number} index
   * @returns {Promise<boolean>}
   */
  async framesTakeInput(index) {
    const { contents } = this.guest(index);
    const dbg = contents.debugger;
    const corner = { x: 2, y: 2 };
    dbg.attach('1.3');
    try {
      let around = this.registry.find(contents.id, 'main');
      for (const frame of APART) {
        const doc = this.registry.find(contents.id, frame);
        const box = around && (await this.registry.ask(around, 'rects')).frames[frame];
        if (!doc || !box) return false;
        corner.x += box.x;
        corner.y += box.y;
        const before = doc.moves;
        const end = Date.now() + INPUT_TIMEOUT;
        while (doc.moves === before) {
          if (Date.now() > end) return false;
          await Promise.race([dbg.sendCommand('Input.dispatchMouseEvent', Object.assign({ type: 'mouseMoved' }, corner)), pause(200)]);
          await pause(10);
        }
        around = doc;
      }
      return true;
    } finally {
      if (!contents.isDestroyed() && dbg.isAttached()) dbg.detach();
    }
  }

  /** @returns {Promise<import('./embeddings.cjs').Guest>} In the first free place. */
  async addGuest() {
    const index = [0, 1].find((candidate) => !this.guests.has(candidate));
    if (index === undefined) throw new Error('no-room: the window has room for two guests');
    const url = guestUrl(this.site, index);
    const guest = await MAKERS[this.embedding]({
      hostWindow: this.host,
      headful: this.headful,
      index,
      url,
      box: BOXES[index],
      hostPage: (method, args) => this.registry.ask(this.hostDoc(), 'page', { method, args }),
      elementBox: async () => (await this.registry.ask(this.hostDoc(), 'rects')).elements[`guest-${index}`],
    });
    this.guests.set(index, guest);
    if (guest.window) this.journal.watchWindow(guest.window, `guest-${index}`);
    const id = guest.contentsId;
    guest.contents.once('destroyed', () => {
      if (this.guests.get(index) === guest) this.guests.delete(index);
      this.registry.forget(id);
    });
    await this.loaded(id, FRAMES, 0, `guest ${index}`);
    await this.takesInput(guest.contents);
    return guest;
  }

  /** @param {number} index */
  async destroyGuest(index) {
    const guest = this.guest(index);
    await guest.destroy();
    // Not every version says when a page without a renderer has been destroyed.
    await poll(() => !this.guests.has(index), 1000);
    this.guests.delete(index);
    this.journal.replaced(guest.contentsId);
    this.registry.forget(guest.contentsId);
  }

  /**
   * Navigates a guest and waits for the new page.
   *
   * @param {number} index
   * @param {string | null} url null to reload.
   * @param {boolean} wait
   */
  async navigate(index, url, wait) {
    const guest = this.guest(index);
    const before = this.registry.arrivals;
    if (url === null) guest.contents.reload();
    else load(guest.contents, url);
    const home = url === null || withoutHash(url) === withoutHash(guest.home);
    if (!wait) return;
    await this.loaded(guest.contentsId, home ? FRAMES : ['main'], before, `guest ${index}`);
    await this.takesInput(guest.contents);
  }

  /**
   * Brings a guest back to its own page where it has left it or lost one of its renderers.
   *
   * @param {import('./embeddings.cjs').Guest} guest
   * @param {(pid: number) => boolean} isGone
   */
  async bringHome(guest, isGone) {
    const docs = FRAMES.map((frame) => this.registry.find(guest.contentsId, frame));
    const whole = docs.every((doc) => doc !== undefined && !isGone(doc.pid));
    const main = docs[0];
    const crashed = guest.contents.isCrashed && guest.contents.isCrashed();
    if (crashed || (main && isGone(main.pid))) {
      // Not by navigating it: Electron 33 ends the whole app when a webview without a renderer is loaded again.
      await this.destroyGuest(guest.index);
      await this.addGuest();
      return;
    }
    if (whole && main && withoutHash(main.url) === withoutHash(guest.home)) {
      await this.loaded(guest.contentsId, FRAMES, 0, `guest ${guest.index}`);
      return;
    }
    await this.navigate(guest.index, guest.home, true);
  }

  /** Gives the host window (where it is shown) and its page the focus, as a person who clicks on it would. */
  async takeFocus() {
    const window = this.host;
    if (this.headful) {
      if (window.isMinimized()) window.restore();
      if (!window.isVisible()) window.show();
      if (!window.isFocused()) window.focus();
      await poll(() => window.isFocused(), 2000);
    }
    window.webContents.focus();
  }

  /**
   * Waits until a window and its page have the focus, and keep it: a window that was just shown may lose it once more
   * while the window manager makes up its mind.
   *
   * @param {Electron.BrowserWindow} window
   */
  async holdFocus(window) {
    if (!this.headful) return;
    const end = Date.now() + 3000;
    let seen = 0;
    while (seen < 2) {
      const doc = this.registry.find(window.webContents.id, 'main');
      const focused = window.isFocused() && doc !== undefined && (await this.registry.ask(doc, 'active')).hasFocus;
      seen = focused ? seen + 1 : 0;
      if (Date.now() > end) throw new Error(`no-focus: the window "${window.getTitle()}" did not get the focus in 3 s`);
      if (seen < 2) await pause(15);
    }
  }

  /** @param {{open: boolean, focus?: boolean}} params */
  async setSentinel(params) {
    const present = Boolean(this.sentinel && !this.sentinel.isDestroyed());
    if (!params.open) {
      if (this.sentinel && present) {
        const id = this.sentinel.webContents.id;
        this.sentinel.destroy();
        this.registry.forget(id);
      }
      this.sentinel = null;
      return;
    }
    if (!present) {
      const window = new BrowserWindow(
        Object.assign({ show: false, frame: false, title: 'fixture sentinel', webPreferences: WEB_PREFERENCES }, SENTINEL)
      );
      this.sentinel = window;
      this.journal.watchWindow(window, 'sentinel');
      load(window.webContents, `${this.site.sentinel}/host/sentinel.html`);
      await this.loaded(window.webContents.id, ['main'], 0, 'the sentinel');
    }
    const window = /** @type {Electron.BrowserWindow} */ (this.sentinel);
    if (this.headful && params.focus) {
      window.show();
      window.focus();
    } else if (this.headful) {
      window.showInactive();
    }
    if (!params.focus) return;
    window.webContents.focus();
    await this.holdFocus(window);
    await this.takesInput(window.webContents);
  }

  /** @param {import('./registry.cjs').Doc} doc @param {any} record */
  recorded(doc, record) {
    if (this.restoreMode !== 'at-end' || record.type !== 'mouseup') return;
    if (this.roleOf(doc.webContentsId).role !== 'guest') return;
    this.registry.ask(this.hostDoc(), 'page', { method: 'giveBack' }).catch(() => undefined);
  }

  /** @returns {any[]} */
  windows() {
    /** @type {Array<[string, Electron.BrowserWindow | null]>} */
    const named = [
      ['host', this.hostWindow],
      ['sentinel', this.sentinel],
    ];
    for (const guest of Array.from(this.guests.values())) named.push([`guest-${guest.index}`, guest.window]);
    const described = [];
    for (const [name, window] of named) {
      if (!window || window.isDestroyed()) continue;
      described.push({
        name,
        id: window.id,
        webContentsId: window.webContents.id,
        visible: window.isVisible(),
        focused: window.isFocused(),
        minimized: window.isMinimized(),
        bounds: window.getBounds(),
        content: window.getContentBounds(),
      });
    }
    return described;
  }

  async close() {
    await this.setSentinel({ open: false });
    for (const guest of Array.from(this.guests.values())) {
      if (guest.window && !guest.window.isDestroyed()) guest.window.destroy();
    }
    if (this.hostWindow && !this.hostWindow.isDestroyed()) {
      const views = Array.from(this.guests.values());
      // Views are no part of the page: a window that goes does not take them along in every version.
      for (const guest of views) {
        if (this.embedding !== 'webview' && !guest.window) await guest.destroy();
      }
      this.hostWindow.destroy();
    }
    this.hostWindow = null;
    this.guests.clear();
    this.restoreMode = 'none';
    this.registry.docs.clear();
  }
}

module.exports = { Stage, pause, poll };
