'use strict';
const fs = require('fs');
const path = require('path');
const { pathToFileURL } = require('url');
const { app, BrowserWindow, BrowserView } = require('electron');

const given = (name) => (process.argv.find((each) => each.startsWith(`--${name}=`)) || '').slice(name.length + 3);
const page = given('page') || pathToFileURL(path.join(__dirname, 'guest.html')).href;

// What both pages say that they were typed: the spec's own view of it.
app.on('web-contents-created', (_event, contents) => {
  contents.on('console-message', (event, _level, message) => {
    const said = message === undefined ? event.message : message;
    if (given('journal') && /^(host|guest) /.test(said)) fs.appendFileSync(given('journal'), `${process.pid} ${said}\n`);
  });
});
app.whenReady().then(() => {
  const window = new BrowserWindow({ width: 900, height: 600, webPreferences: { webviewTag: true } });
  if (process.argv.includes('--view')) {
    const view = new BrowserView();
    window.setBrowserView(view);
    view.setBounds({ x: 450, y: 0, width: 430, height: 500 });
    view.webContents.loadURL(page);
    window.loadFile('index.html');
  } else {
    window.loadFile('index.html', { query: { page } });
  }
});
app.on('window-all-closed', () => app.quit());
