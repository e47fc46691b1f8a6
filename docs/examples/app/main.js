'use strict';
const { app, BrowserWindow, webContents } = require('electron');
const bridge = require('focusguard-bridge'); // does nothing unless focusguard has started the app

const TITLE = 'Terminal and page';

app.whenReady().then(async () => {
  const window = new BrowserWindow({
    width: 1000,
    height: 600,
    title: TITLE,
    webPreferences: { webviewTag: true, nodeIntegration: true, contextIsolation: false },
  });
  await window.loadFile('window.html');

  // The person sees when an agent is at work.
  bridge.onAgentActing = (_page, acting) => {
    if (!window.isDestroyed()) window.setTitle(acting ? `${TITLE} (an agent is acting)` : TITLE);
  };
  // An agent's `new page` is one more page in the window.
  bridge.onOpenGuest = async (url) => {
    const id = await window.webContents.executeJavaScript(`openPage(${JSON.stringify(url)})`);
    return webContents.fromId(id);
  };
});
