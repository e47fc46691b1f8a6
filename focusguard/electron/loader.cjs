'use strict';
/**
 * Stands in `resources/app` of an installed runtime and runs the app whose path is on the command line, the way
 * `electron PATH` does. (A packaged Electron has no default app of its own.) Works from Electron 9 (Node 12) on.
 */
const fs = require('fs');
const Module = require('module');
const path = require('path');
const { app } = require('electron');

/** @returns {string | undefined} the first argument that is no switch */
function appArgument() {
  for (let index = 1; index < process.argv.length; index += 1) {
    if (!process.argv[index].startsWith('-')) {
      // An app finds its own path in argv[1] and its arguments after it; switches before it are Chromium's.
      process.argv.splice(1, index - 1);
      return process.argv[1];
    }
  }
  return undefined;
}

/** @param {string} folder @returns {Record<string, unknown>} the folder's package.json, empty where there is none */
function readManifest(folder) {
  try {
    return JSON.parse(fs.readFileSync(path.join(folder, 'package.json'), 'utf8'));
  } catch (error) {
    if (error.code === 'ENOENT' || error.code === 'ENOTDIR') return {};
    throw error;
  }
}

/** @param {string} target absolute path of an app folder or of its main file */
function load(target) {
  const isFolder = fs.statSync(target).isDirectory();
  const folder = isFolder ? target : path.dirname(target);
  const manifest = readManifest(folder);
  const name = manifest.productName || manifest.name;
  if (typeof name === 'string') app.setName(name);
  if (typeof manifest.version === 'string' && app.setVersion) app.setVersion(manifest.version);
  if (typeof manifest.desktopName === 'string' && app.setDesktopName) app.setDesktopName(manifest.desktopName);
  app.setAppPath(folder);
  // Electron derived this folder from the loader's name; an explicit switch stays the last word.
  const userData = app.commandLine.getSwitchValue('user-data-dir');
  app.setPath('userData', userData ? path.resolve(userData) : path.join(app.getPath('appData'), app.getName()));
  const main = Module._resolveFilename(target, null, true);
  if (main.endsWith('.mjs') || (main.endsWith('.js') && manifest.type === 'module')) {
    return import(require('url').pathToFileURL(main).href);
  }
  Module._load(main, Module, true);
  return Promise.resolve();
}

/** @param {unknown} error */
function fail(error) {
  process.stderr.write(`${error && error.stack ? error.stack : error}\n`);
  app.exit(1);
}

process.defaultApp = true;
const argument = appArgument();
if (argument === undefined) {
  fail('no app: give the path of an app folder or of its main file');
} else {
  try {
    load(path.resolve(argument)).catch(fail);
  } catch (error) {
    fail(error);
  }
}
