'use strict';
/** The line to the driver: JSON lines over a Unix socket, requests in, answers and events out. */

const net = require('net');

/**
 * @typedef {Object} Request
 * @property {number} id
 * @property {string} op
 * @property {Object<string, any>} [params]
 */

/**
 * Connects to the driver and serves its requests until it goes away.
 *
 * @param {string} address Path of the driver's socket.
 * @param {Object} hello The first line that is sent.
 * @param {(op: string, params: Object<string, any>) => Promise<any>} perform
 * @param {() => void} onClose Called once, when the driver is gone.
 */
function connectControl(address, hello, perform, onClose) {
  const socket = net.connect(address);
  let rest = '';

  /** @param {Object} message */
  const send = (message) => {
    if (!socket.destroyed) socket.write(`${JSON.stringify(message)}\n`);
  };

  /** @param {Request} request */
  const serve = (request) => {
    perform(request.op, request.params || {}).then(
      (result) => send({ id: request.id, result: result === undefined ? {} : result }),
      (error) => send({ id: request.id, error: String((error && error.message) || error) })
    );
  };

  socket.setEncoding('utf8');
  socket.on('connect', () => send(Object.assign({ event: 'hello' }, hello)));
  socket.on('data', (chunk) => {
    const lines = (rest + chunk).split('\n');
    rest = lines.pop() || '';
    for (const line of lines) if (line) serve(JSON.parse(line));
  });
  socket.on('error', () => undefined);
  socket.on('close', onClose);
}

module.exports = { connectControl };
