'use strict';
/**
 * The bridge's end of the link: a stream socket to the guard, one JSON document per line.
 * The bridge connects out, proves itself with the token, and tries again with a growing pause.
 */

const net = require('net');

const VERSION = 1;
const MAX_LINE = 8 * 1024 * 1024;
const MAX_BACKLOG = 16 * 1024 * 1024;
const RETRY_MS = [50, 100, 200, 400, 800, 1600, 3000];

/**
 * @typedef {object} LinkOptions
 * @property {string} path socket the guard listens on
 * @property {string} token 64 hexadecimal digits
 * @property {() => object} hello facts about this process for the first line
 * @property {(method: string, params: any) => Promise<any>} onRequest
 * @property {() => void} onReady called when the guard has welcomed this process
 * @property {() => void} onRefused called when no later try can succeed
 * @property {() => void} onLost called when a welcomed link is gone
 */

/**
 * @param {LinkOptions} options
 * @returns {{ event: (name: string, params: object) => void, ready: () => boolean, close: () => void }}
 */
function createLink(options) {
  /** @type {import('net').Socket | null} */
  let socket = null;
  let ready = false;
  let closed = false;
  let attempt = 0;
  /** @type {NodeJS.Timeout | null} */
  let timer = null;

  /** @param {object} message */
  function write(message) {
    if (!socket || socket.destroyed) return;
    if (socket.writableLength > MAX_BACKLOG) {
      socket.destroy();
      return;
    }
    try {
      socket.write(JSON.stringify(message) + '\n');
    } catch (error) {
      socket.destroy();
    }
  }

  /** @param {import('net').Socket} from @param {any} message */
  function answer(from, message) {
    const id = message.id;
    const reply = (/** @type {object} */ body) => {
      if (socket === from) write(Object.assign({ id }, body));
    };
    Promise.resolve()
      .then(() => options.onRequest(String(message.method), message.params || {}))
      .then((result) => reply({ result: result === undefined ? {} : result }))
      .catch((error) => {
        const code = error && typeof error.code === 'string' ? error.code : 'failed';
        reply({ error: { code, message: String((error && error.message) || error) } });
      });
  }

  /** @param {import('net').Socket} from @param {string} line */
  function take(from, line) {
    if (!line) return;
    let message;
    try {
      message = JSON.parse(line);
    } catch (error) {
      from.destroy();
      return;
    }
    if (!ready) {
      if (message && message.type === 'welcome' && message.version === VERSION) {
        ready = true;
        attempt = 0;
        options.onReady();
      } else {
        // A refusal of the token or the version is final: trying again cannot change it.
        closed = !!(message && message.type === 'refused' && !message.retry);
        if (closed) options.onRefused();
        from.destroy();
      }
      return;
    }
    if (message && typeof message.method === 'string' && message.id !== undefined) answer(from, message);
  }

  function connect() {
    timer = null;
    if (closed) return;
    const current = net.connect(options.path);
    socket = current;
    /** @type {Buffer[]} */
    let parts = [];
    let size = 0;
    current.on('connect', () => {
      write(Object.assign({ type: 'hello', version: VERSION, token: options.token }, options.hello()));
    });
    current.on('data', (chunk) => {
      let start = 0;
      for (;;) {
        const end = chunk.indexOf(10, start);
        if (end < 0) break;
        parts.push(chunk.slice(start, end));
        const line = Buffer.concat(parts).toString('utf8');
        parts = [];
        size = 0;
        start = end + 1;
        take(current, line);
        if (current.destroyed) return;
      }
      if (start < chunk.length) {
        parts.push(chunk.slice(start));
        size += chunk.length - start;
        if (size > MAX_LINE) current.destroy();
      }
    });
    current.on('error', () => {});
    current.on('close', () => {
      if (socket !== current) return;
      socket = null;
      const was = ready;
      ready = false;
      if (was) options.onLost();
      if (closed) return;
      const pause = RETRY_MS[Math.min(attempt, RETRY_MS.length - 1)];
      attempt += 1;
      timer = setTimeout(connect, pause);
      // A guard that never comes back must not keep the app's process alive.
      if (timer.unref) timer.unref();
    });
    if (current.unref) current.unref();
  }

  connect();
  return {
    event: (name, params) => {
      if (ready) write({ event: name, params });
    },
    ready: () => ready,
    close: () => {
      closed = true;
      if (timer) clearTimeout(timer);
      if (socket) socket.destroy();
    },
  };
}

module.exports = { createLink, VERSION };
