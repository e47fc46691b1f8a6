'use strict';
/* exported createLine */
/** Part of the pane: what it tells the main process, which asks for it again and again, and its own next tasks. */
// eslint-disable-next-line no-unused-vars
function createLine() {
  /** @type {object[]} */
  const outbox = [];
  /** @type {((batch: object[]) => void) | null} */
  let waiting = null;
  /** @param {object} message */
  function tell(message) {
    outbox.push(message);
    if (outbox.length > 256) outbox.shift();
    if (!waiting) return;
    const wake = waiting;
    waiting = null;
    wake(outbox.splice(0));
  }

  /** @returns {Promise<object[]>} */
  function next() {
    if (outbox.length) return Promise.resolve(outbox.splice(0));
    if (waiting) waiting([]);
    return new Promise((resolve) => {
      waiting = resolve;
    });
  }

  /** Runs a function in the next task, without the clamping of timers. */
  const channel = new MessageChannel();
  /** @type {(() => void)[]} */
  const tasks = [];
  channel.port1.onmessage = () => {
    const task = tasks.shift();
    if (task) task();
  };
  /** @param {() => void} task */
  function soon(task) {
    tasks.push(task);
    channel.port2.postMessage(0);
  }

  function hangUp() {
    if (waiting) waiting([]);
  }

  return { tell, next, soon, hangUp };
}
