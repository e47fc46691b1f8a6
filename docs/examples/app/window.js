'use strict';
const fs = require('fs');
const { Terminal } = require('@xterm/xterm');

const style = document.createElement('link');
style.rel = 'stylesheet';
style.href = `file://${require.resolve('@xterm/xterm/css/xterm.css')}`;
document.head.append(style);

// A terminal that shows what is typed; a real one would hand it to a shell.
const terminal = new Terminal();
terminal.open(document.getElementById('terminal'));
terminal.onData((data) => {
  terminal.write(data);
  if (process.env.TERMINAL_LOG) fs.appendFileSync(process.env.TERMINAL_LOG, data);
});
terminal.focus();

/** @param {string} url @returns {Promise<number>} Electron's id of the page */
function openPage(url) {
  const view = document.createElement('webview');
  view.src = url;
  document.getElementById('pages').append(view);
  return new Promise((opened) => {
    view.addEventListener('dom-ready', () => opened(view.getWebContentsId()), { once: true });
  });
}
openPage(new URL('form.html', location.href).href);
