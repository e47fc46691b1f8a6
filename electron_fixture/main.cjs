'use strict';
const bridge = process.env.FOCUSGUARD_BRIDGE ? require(process.env.FOCUSGUARD_BRIDGE) : null;

const crypto = require('crypto');
const { app } = require('electron');

const { connectControl } = require('./control.cjs');
const { guestContents, supportedEmbeddings } = require('./embeddings.cjs');
const { Journal } = require('./journal.cjs');
const { installMenu } = require('./menu.cjs');
const { createOps } = require('./ops.cjs');
const { Registry } = require('./registry.cjs');
const { startServer } = require('./server.cjs');
const { Stage } = require('./stage.cjs');

// A window of its own is no guest unless the app says so.
if (bridge) bridge.isGuest = (/** @type {any} */ contents) => (guestContents.has(contents) ? true : undefined);

const instance = crypto.randomBytes(8).toString('hex');

async function start() {
  await app.whenReady();
  const site = await startServer();
  const journal = new Journal(instance);
  const registry = new Registry(journal);
  const stage = new Stage(site, journal, registry);
  installMenu(journal);
  journal.watchApp();
  registry.listen();

  const perform = createOps(stage, journal, registry);
  const control = process.env.FOCUSGUARD_FIXTURE_CONTROL;
  if (!control) {
    // Started by hand: something to look at.
    await perform('open', { embedding: process.env.FOCUSGUARD_FIXTURE_EMBEDDING || 'webview', window: 'headful' });
    return;
  }
  const hello = {
    instance,
    pid: process.pid,
    electron: process.versions.electron,
    chromium: process.versions.chrome,
    node: process.versions.node,
    embeddings: supportedEmbeddings(),
  };
  // A fixture without its driver is of no use to anyone: it leaves at once and asks nobody.
  connectControl(control, hello, perform, () => app.exit(0));
}

// Otherwise a modal box would halt the app. Seen with a message of a frame that is gone by then (25.1).
process.on('uncaughtException', (error) => process.stderr.write(`fixture: ${(error && error.stack) || error}\n`));
app.on('window-all-closed', () => {
  if (!process.env.FOCUSGUARD_FIXTURE_CONTROL) app.quit();
});
start().catch((error) => {
  process.stderr.write(`fixture: ${(error && error.stack) || error}\n`);
  app.exit(1);
});
