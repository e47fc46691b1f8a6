'use strict';
/**
 * The stage of the fidelity corpus: one page, shown either as a plain window that has the focus, or as a guest in a
 * host window whose own field has it. FIDELITY_STAGE says which: `plain`, `webview-hidden`, `webview-headful`.
 */
const { app, BrowserWindow, clipboard, Menu } = require('electron');
const fs = require('fs');
const http = require('http');
const path = require('path');

/** The page's viewport is the same on every stage. */
const WIDTH = 900;
const PAGE_HEIGHT = 700;
const HOST_HEIGHT = 760;
const STAGE = process.env.FIDELITY_STAGE || 'plain';
const TYPES = { '.html': 'text/html; charset=utf-8', '.js': 'text/javascript; charset=utf-8' };

/** @type {Electron.BrowserWindow | null} */
let hostWindow = null;

/** @param {http.IncomingMessage} request @param {http.ServerResponse} response */
function serve(request, response) {
  if (request.url === '/leaks') {
    const asked = hostWindow ? hostWindow.webContents.executeJavaScript('leaks') : Promise.resolve([]);
    asked.then((/** @type {string[]} */ leaks) => response.end(JSON.stringify(leaks)));
    return;
  }
  const name = new URL(request.url || '/', 'http://localhost').pathname.slice(1);
  const file = name === 'editor.js' ? process.env.FIDELITY_EDITOR || '' : path.join(__dirname, path.basename(name));
  fs.readFile(file, (error, body) => {
    response.writeHead(error ? 404 : 200, { 'content-type': TYPES[path.extname(name)] || 'text/plain' });
    response.end(error ? 'no such page' : body);
  });
}

app.on('web-contents-created', (_event, contents) => {
  // Shift+Enter on a link would open a window, and with it take the focus.
  if (contents.setWindowOpenHandler) contents.setWindowOpenHandler(() => ({ action: 'deny' }));
  else contents.on('new-window', (event) => event.preventDefault());
});

async function start() {
  // A smooth scroll would still be on its way when the page is asked.
  app.commandLine.appendSwitch('disable-smooth-scrolling');
  await app.whenReady();
  Menu.setApplicationMenu(null);
  clipboard.writeText('clip');
  const server = http.createServer(serve);
  await new Promise((resolve) => server.listen(0, '127.0.0.1', () => resolve(null)));
  const { port } = /** @type {import('net').AddressInfo} */ (server.address());
  const page = `http://127.0.0.1:${port}/page.html`;
  const guest = STAGE !== 'plain';
  const window = new BrowserWindow({
    show: false, x: 0, y: 0, width: WIDTH, height: guest ? HOST_HEIGHT : PAGE_HEIGHT, useContentSize: true,
    webPreferences: { webviewTag: guest, backgroundThrottling: false },
  });
  await window.loadURL(guest ? `http://app.localhost:${port}/host.html?page=${encodeURIComponent(page)}` : page);
  if (STAGE !== 'webview-hidden') {
    window.show();
    window.focus();
  }
  if (!guest) return;
  await window.webContents.executeJavaScript('document.getElementById("person").focus(); leaks.length = 0');
  hostWindow = window;
}

app.on('window-all-closed', () => app.quit());
start().catch((error) => {
  process.stderr.write(`stage: ${(error && error.stack) || error}\n`);
  app.exit(1);
});
