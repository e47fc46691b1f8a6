'use strict';
/**
 * Serves the pages of the fixture on the loopback interface.
 *
 * One port, several host names: each name is a site of its own to the browser, so that frames of different names
 * get different renderer processes. All of them resolve to the loopback interface inside Chromium.
 */

const fs = require('fs');
const http = require('http');
const path = require('path');

const TYPES = {
  '.html': 'text/html; charset=utf-8',
  '.js': 'text/javascript; charset=utf-8',
  '.css': 'text/css; charset=utf-8',
};

/** Host names by guest and frame. The second guest has sites of its own, so that its renderers are not shared. */
const GUEST_SITES = [
  { main: '127.0.0.1', cross: 'localhost', nested: 'third.localhost' },
  { main: 'two.localhost', cross: 'two-cross.localhost', nested: 'two-nested.localhost' },
];

/**
 * @typedef {Object} Site
 * @property {string} host Origin of the host page.
 * @property {string} sentinel Origin of the sentinel page.
 * @property {Array<{main: string, sameSite: string, cross: string, nested: string}>} guests Origins by guest.
 */

/**
 * @param {http.IncomingMessage} request
 * @param {http.ServerResponse} response
 */
function serve(request, response) {
  const pathname = new URL(request.url || '/', 'http://localhost').pathname;
  if (pathname === '/slow') {
    // For a navigation that stays pending: the answer comes late on purpose.
    setTimeout(() => response.end('slow'), 3000);
    return;
  }
  const match = /^\/(host|guest)\/([a-z-]+\.(?:html|js|css))$/.exec(pathname);
  const file = match ? path.join(__dirname, match[1], match[2]) : '';
  fs.readFile(file, (error, body) => {
    if (error) {
      response.writeHead(404, { 'content-type': 'text/plain' });
      response.end('no such page');
      return;
    }
    response.writeHead(200, { 'content-type': TYPES[path.extname(file)], 'cache-control': 'no-store' });
    response.end(body);
  });
}

/**
 * Starts the server on a free port of 127.0.0.1.
 *
 * @returns {Promise<Site>}
 */
function startServer() {
  return new Promise((resolve, reject) => {
    const server = http.createServer(serve);
    server.on('error', reject);
    server.listen(0, '127.0.0.1', () => {
      const address = /** @type {import('net').AddressInfo} */ (server.address());
      const origin = (/** @type {string} */ name) => `http://${name}:${address.port}`;
      resolve({
        host: origin('app.localhost'),
        sentinel: origin('sentinel.localhost'),
        guests: GUEST_SITES.map((site) => ({
          main: origin(site.main),
          sameSite: origin(site.main),
          cross: origin(site.cross),
          nested: origin(site.nested),
        })),
      });
    });
  });
}

/**
 * @param {Site} site
 * @param {number} index
 * @returns {string} The address of a guest's page, which names the guest and the sites of its frames.
 */
function guestUrl(site, index) {
  const origins = site.guests[index];
  const query = new URLSearchParams({ guest: String(index), cross: origins.cross, nested: origins.nested });
  return `${origins.main}/guest/index.html?${query}`;
}

module.exports = { startServer, guestUrl };
