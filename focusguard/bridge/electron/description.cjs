'use strict';
/**
 * The app's own description of CDP, which Chromium serves as `/json/protocol` where it has a debugging port. It is a
 * resource of the build (content/browser/devtools/devtools_http_handler.cc), and its number differs from build to
 * build: it is known by its content. Found on 9.4, 22.3, 25.1 and 33.2.
 */

const fs = require('fs');
const path = require('path');
const zlib = require('zlib');

const FILE = 'resources.pak';
/** ui/base/resource/data_pack.cc: version, and from version 5 on 8 bytes of encoding and counts. */
const HEADERS = /** @type {{ [version: number]: { count: (data: Buffer) => number, entries: number } }} */ ({
  4: { count: (data) => data.readUInt32LE(4), entries: 9 },
  5: { count: (data) => data.readUInt16LE(8), entries: 12 },
});
const ENTRY_BYTES = 6;
/** ui/base/resource/resource_bundle.h: `kBrotliConst` and the size, 8 bytes in all. */
const BROTLI = [0x1e, 0x9b];
const BROTLI_HEADER_BYTES = 8;
/** The smallest description found has 64 kB; most resources are smaller and need not be opened. */
const LEAST_BYTES = 16384;

/** @param {Buffer} data @returns {Buffer[]} what is in a pack, compressed with Brotli and large */
function candidates(data) {
  const header = HEADERS[data.readUInt32LE(0)];
  if (!header) return [];
  const found = [];
  for (let number = 0; number < header.count(data); number += 1) {
    const at = header.entries + ENTRY_BYTES * number;
    const start = data.readUInt32LE(at + 2);
    const end = data.readUInt32LE(at + ENTRY_BYTES + 2);
    if (end - start >= LEAST_BYTES && data[start] === BROTLI[0] && data[start + 1] === BROTLI[1]) {
      found.push(data.slice(start + BROTLI_HEADER_BYTES, end));
    }
  }
  return found;
}

/** @template T @param {(done: (error: Error | null, result: T) => void) => void} start @returns {Promise<T>} */
const promised = (start) => new Promise((resolve, reject) => {
  start((error, result) => (error ? reject(error) : resolve(result)));
});

/** @param {Buffer} text */
const describes = (text) => /^\s*\{\s*"(version|domains)"/.test(text.slice(0, 64).toString()) &&
  text.indexOf('"domain": "Runtime"') >= 0;

/**
 * Nothing of this is done on the main thread, which belongs to the app, but looking through the pack's index.
 * @returns {Promise<{ found: boolean, gzip?: string }>}
 */
async function describeProtocol() {
  // Beside the executable; on macOS among the framework's resources.
  for (const folder of [path.dirname(process.execPath), path.join(process.resourcesPath, '..')]) {
    const data = await promised((done) => fs.readFile(path.join(folder, FILE), done)).catch(() => null);
    for (const packed of data ? candidates(data) : []) {
      const text = await promised((done) => zlib.brotliDecompress(packed, done)).catch(() => null);
      if (text && describes(text)) {
        const gzip = await promised((done) => zlib.gzip(text, done));
        return { found: true, gzip: gzip.toString('base64') };
      }
    }
  }
  return { found: false };
}

module.exports = { describeProtocol };
