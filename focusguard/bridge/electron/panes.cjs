'use strict';
/** Calls into a script in a page's isolated world: puts it there, asks it with a bound, hears what it tells. */

const fs = require('fs');
const path = require('path');

const WORLD = 73117;
const ABSENT = '__absent__';
/** A page that goes to another while a script is put into it never answers. */
const PLACE_MS = 5000;

/** @param {string} name */
function read(name) {
  return fs.readFileSync(path.join(__dirname, name), 'utf8');
}

/** @param {string} code @param {string} message */
function failure(code, message) {
  return Object.assign(new Error(message), { code });
}

/** @param {number} ms @returns {Promise<void>} */
const pause = (ms) => new Promise((resolve) => setTimeout(resolve, ms));

/**
 * @template T
 * @param {Promise<T>} promise @param {number} ms @param {string} what
 * @returns {Promise<T>}
 */
function within(promise, ms, what) {
  return new Promise((resolve, reject) => {
    const timer = setTimeout(() => reject(failure('pane-unavailable', `${what}: no answer within ${ms} ms`)), ms);
    promise.then(
      (value) => {
        clearTimeout(timer);
        resolve(value);
      },
      (error) => {
        clearTimeout(timer);
        reject(error && error.code ? error : failure('pane-unavailable', `${what}: ${error && error.message}`));
      },
    );
  });
}

/**
 * Runs something in a page that may still be loading. Electron by itself waits until everything that the page loads is
 * there, which may never be (lib/browser/api/web-contents.ts); a document is enough here.
 *
 * @param {any} wc @param {string} code @param {{ own: boolean }} [world] own: the page's world instead of the bridge's
 * @returns {Promise<any>}
 */
function evaluate(wc, code, world) {
  const before = Object.getOwnPropertyDescriptor(wc, 'isLoadingMainFrame');
  wc.isLoadingMainFrame = () => false;
  try {
    return Promise.resolve(world && world.own ? wc.executeJavaScript(code) : wc.executeJavaScriptInIsolatedWorld(WORLD, [{ code }]));
  } catch (error) {
    return Promise.reject(error);
  } finally {
    if (before) Object.defineProperty(wc, 'isLoadingMainFrame', before);
    else delete wc.isLoadingMainFrame;
  }
}

/**
 * @param {{ name: string, files: string[], probe: string }} script its global, its source, and a harmless call
 * @param {(page: any, message: any) => void} onMessage what it tells without being asked
 */
function createPanes(script, onMessage) {
  const NAME = `globalThis.${script.name}`;
  /** @type {string | null} */
  let source = null;
  /** @type {Map<number, { listening: number, injecting: Promise<any> | null }>} */
  const hosts = new Map();
  let serial = 0;

  /** @param {any} host @param {string} code */
  function run(host, code) {
    if (host.isDestroyed() || (host.isCrashed && host.isCrashed())) {
      return Promise.reject(failure('pane-unavailable', 'the host page is gone'));
    }
    return evaluate(host, code);
  }

  /** @param {any} host */
  function entry(host) {
    let state = hosts.get(host.id);
    if (!state) {
      state = { listening: 0, injecting: null };
      hosts.set(host.id, state);
    }
    return state;
  }

  /** @param {any} host */
  function inject(host) {
    const state = entry(host);
    if (!state.injecting) {
      if (source === null) source = script.files.map(read).join('\n');
      const placing = within(run(host, `(() => {${source}\n})();0`), PLACE_MS, 'page').then(
        (value) => {
          listen(host);
          return value;
        },
      );
      const done = () => {
        if (state.injecting === placing) state.injecting = null;
      };
      state.injecting = placing;
      placing.then(done, done);
    }
    return state.injecting;
  }

  /** @param {any} host keeps one question open that the pane answers when it has something to tell */
  function listen(host) {
    const state = entry(host);
    const mine = (serial += 1);
    state.listening = mine;
    const again = () => {
      if (state.listening !== mine) return;
      run(host, `${NAME} ? ${NAME}.next() : '${ABSENT}'`).then(
        (batch) => {
          if (state.listening !== mine || !Array.isArray(batch)) return;
          for (const message of batch) onMessage(host, message);
          again();
        },
        () => {},
      );
    };
    again();
  }

  /** @param {any} host @param {string} call @returns {Promise<any>} */
  function ask(host, call) {
    const code = `${NAME} ? ${NAME}.${call} : '${ABSENT}'`;
    return run(host, code).then((value) => {
      if (value !== ABSENT) return value;
      return inject(host).then(() => run(host, code)).then((second) => {
        if (second === ABSENT) throw failure('pane-unavailable', 'the pane could not be placed in the host page');
        return second;
      });
    });
  }

  return {
    /** @param {any} host @param {string} call @param {number} ms */
    call: (host, call, ms) => within(ask(host, call), ms, 'host page'),
    /** @param {any} host */
    ensure: (host) => {
      const heard = () => {
        // It may have been put there just before the main process heard of the document.
        if (!host.isDestroyed() && !entry(host).listening) listen(host);
      };
      return within(ask(host, script.probe), PLACE_MS, 'page').then(heard, () => undefined);
    },
    /**
     * Lets the pane learn which element holds which guest: only the page's own world knows the number.
     * @param {any} host @param {number} ms
     */
    learn: (host, ms) => {
      const type = 'focusguard-' + Math.random().toString(36).slice(2);
      const tellAll = `(() => {
        const seen = new Set(document.querySelectorAll('webview'));
        let at = document.activeElement;
        while (at && at.shadowRoot && at.shadowRoot.activeElement) at = at.shadowRoot.activeElement;
        if (at && at.localName === 'webview') seen.add(at);
        for (const one of seen) {
          try {
            const detail = one.getWebContentsId();
            one.dispatchEvent(new CustomEvent('${type}', { detail, bubbles: true, composed: true }));
          } catch (error) {}
        }
        return 0;
      })()`;
      return within(ask(host, `learnGuests('${type}')`).then(() => evaluate(host, tellAll, { own: true })), ms, 'host page');
    },
    /** @param {any} host */
    remove: (host) => {
      const state = hosts.get(host.id);
      if (state) state.listening = 0;
      return run(host, `${NAME} ? ${NAME}.stop() : 0`).catch(() => undefined);
    },
    /** @param {number} id of a page that has been destroyed */
    forget: (id) => hosts.delete(id),
    /** @param {number} id of a page that has another document now: nothing of the old one will answer */
    renewed: (id) => {
      const state = hosts.get(id);
      if (!state) return;
      state.injecting = null;
      state.listening = 0;
    },
    pages: () => Array.from(hosts.keys()),
  };
}

const PANE = { name: '__focusguardPane', files: ['pane-place.js', 'pane-line.js', 'pane-hint.js', 'pane.js'], probe: 'composition()' };
const SENTRY = { name: '__focusguardSentry', files: ['sentry.js'], probe: 'here()' };

module.exports = { createPanes, evaluate, failure, pause, within, PANE, SENTRY };
