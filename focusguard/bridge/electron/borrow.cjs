'use strict';
/**
 * Borrowing the person's focus for one action of the agent, and bringing it and the person's keys home.
 *
 * While a lease is open every real key that reaches the borrowed guest is stopped there and queued. It goes out
 * to the person's place as soon as the pane has the focus back, and keys that reach that place in the meantime
 * queue up behind it, so that nothing is lost and nothing overtakes.
 */

const { failure } = require('./panes.cjs');
const { replay } = require('./keymap.cjs');

const TYPING_MS = 200;
const END_MS = 500;
const HOME_MS = 300;
const GRACE_MS = 40;
const MAX_QUEUE = 2000;

/**
 * @typedef {object} Lease
 * @property {string} id
 * @property {any} guest
 * @property {Place} place
 * @property {number} keys keys brought home under this lease
 * @property {boolean} ended
 * @property {boolean} reloaded the host page was replaced while the lease was open
 */

/**
 * @typedef {object} Place one host page in which leases are open or settling
 * @property {any} host
 * @property {any} home where the person's keys belong: the host, or another guest
 * @property {Map<string, Lease>} leases
 * @property {any[]} queue
 * @property {boolean} flushing
 * @property {boolean} asking
 */

/**
 * @param {object} parts
 * @param {ReturnType<typeof import('./targets.cjs').createTargets>} parts.targets
 * @param {ReturnType<typeof import('./panes.cjs').createPanes>} parts.panes
 * @param {() => ReturnType<typeof import('./marks.cjs').createMarks>} parts.marks
 * @param {(name: string, params: object) => void} parts.event
 */
function createBorrows({ targets, panes, marks, event }) {
  /** @type {Map<number, Place>} */
  const places = new Map();
  /** @type {Map<number, Set<Lease>>} guest id to leases whose keys are caught */
  const caught = new Map();
  let serial = 0;
  let lastKeyAt = -Infinity;
  /** @type {Set<() => void>} */
  const keyWaiters = new Set();

  const clock = () => Number(process.hrtime.bigint()) / 1e6;

  /** @param {any} host @returns {Place} */
  function placeOf(host) {
    let place = places.get(host.id);
    if (!place) {
      place = { host, home: host, leases: new Map(), queue: [], flushing: false, asking: false };
      places.set(host.id, place);
      const id = host.id;
      host.once('destroyed', () => places.delete(id));
      host.on('did-start-navigation', (/** @type {any} */ first, /** @type {any} */ ...rest) => {
        // Older versions pass the facts as arguments, newer ones on the event.
        const main = first && first.isMainFrame !== undefined ? first.isMainFrame : rest[2];
        const same = first && first.isSameDocument !== undefined ? first.isSameDocument : rest[1];
        const now = places.get(id);
        if (now && main && !same) for (const lease of now.leases.values()) lease.reloaded = true;
      });
    }
    return place;
  }

  /**
   * A real key, before the page and the app see it.
   * @param {any} wc @param {any} input @returns {boolean} true: it is kept
   */
  function onRealKey(wc, input) {
    const leases = caught.get(wc.id);
    if (leases && leases.size) {
      const lease = Array.from(leases)[leases.size - 1];
      if (lease.place.home !== wc) {
        keep(lease.place, input, lease);
        return true;
      }
    }
    for (const place of places.values()) {
      if (place.home === wc && (place.queue.length || place.flushing)) {
        keep(place, input, null);
        return true;
      }
    }
    if (input.type === 'keyDown') {
      lastKeyAt = clock();
      for (const wake of Array.from(keyWaiters)) wake();
    }
    return false;
  }

  /** @param {Place} place @param {any} input @param {Lease | null} lease */
  function keep(place, input, lease) {
    if (input.type === 'keyDown') lastKeyAt = clock();
    if (lease && input.type === 'keyDown') lease.keys += 1;
    place.queue.push(input);
    if (place.queue.length > MAX_QUEUE) flush(place);
    if (!place.asking) {
      place.asking = true;
      const done = () => {
        place.asking = false;
        flush(place);
      };
      panes.call(place.host, 'bringHome()', HOME_MS).then(done, done);
    }
  }

  /** @param {Place} place sends out what is queued, in order; keys that come meanwhile join the queue */
  async function flush(place) {
    if (place.flushing) return;
    place.flushing = true;
    try {
      while (place.queue.length) {
        const input = place.queue.shift();
        const home = place.home && !place.home.isDestroyed() ? place.home : place.host;
        if (home.isDestroyed()) return;
        const way = replay(input);
        if (!way) {
          event('key.lost', { hostWebContentsId: home.id, key: input.key, code: input.code, type: input.type });
        } else if (way.events) {
          marks().deliver(home, way.events);
        } else {
          await deliverExactly(home, way);
        }
      }
    } finally {
      place.flushing = false;
    }
  }

  /** @param {any} home @param {{ commands?: object[], fallback?: object[] }} way */
  async function deliverExactly(home, way) {
    const dbg = home.debugger;
    let mine = false;
    try {
      if (!dbg.isAttached()) {
        dbg.attach('1.3');
        mine = true;
      }
      for (const params of way.commands || []) {
        await Promise.race([dbg.sendCommand('Input.dispatchKeyEvent', params), new Promise((_, no) => setTimeout(no, HOME_MS))]);
      }
    } catch (error) {
      if (!home.isDestroyed()) marks().deliver(home, way.fallback || []);
    } finally {
      try {
        if (mine && !home.isDestroyed() && dbg.isAttached()) dbg.detach();
      } catch (error) {
        // Gone with its page.
      }
    }
  }

  /** @param {any} host @param {any} message */
  function onPaneMessage(host, message) {
    if (message.event === 'returned') {
      const place = places.get(host.id);
      if (place) flush(place);
    } else if (message.event === 'composition') {
      event('composition', { hostWebContentsId: host.id, open: !!message.open });
    }
  }

  /** @param {number} longest @returns {Promise<number>} ms waited for the gap after the person's next key */
  function pace(longest) {
    if (!(longest > 0) || clock() - lastKeyAt > TYPING_MS) return Promise.resolve(0);
    const start = clock();
    return new Promise((resolve) => {
      const done = () => {
        clearTimeout(timer);
        keyWaiters.delete(wake);
        resolve(Math.round((clock() - start) * 10) / 10);
      };
      // The key is on its way to the page only after this handler has returned.
      const wake = () => setImmediate(done);
      const timer = setTimeout(done, longest);
      keyWaiters.add(wake);
    });
  }

  /** @param {any} params */
  async function begin(params) {
    const guest = targets.get(params.webContentsId);
    if (!guest) throw failure('no-such-target', 'there is no such page');
    const { kind, host } = targets.place(guest);
    if (kind !== 'webview' || !host) return { state: 'nothing-to-hold', lease: null, waitedMs: 0 };
    const waitedMs = await pace(Number(params.paceMs) || 0);
    if (guest.isDestroyed() || host.isDestroyed()) throw failure('no-such-target', 'the page went away');
    marks().watch(guest);
    marks().watch(host);
    const readyMs = Number(params.readyMs) || 150;
    const deadline = Date.now() + readyMs;
    const id = 'L' + (serial += 1);
    const order = { lease: id, guestId: guest.id, expires: deadline, anyGuest: false };
    let answer;
    try {
      answer = await panes.call(host, `begin(${JSON.stringify(order)})`, readyMs);
      if (answer.state === 'unknown-guest') {
        await panes.learn(host, Math.max(1, deadline - Date.now()));
        order.anyGuest = true;
        answer = await panes.call(host, `begin(${JSON.stringify(order)})`, Math.max(1, deadline - Date.now()));
      }
    } catch (error) {
      panes.call(host, `drop('${id}')`, 5000).catch(() => undefined);
      throw error;
    }
    if (answer.state === 'expired') throw failure('pane-unavailable', 'the host page answered too late');
    if (answer.state !== 'held') return { state: answer.state, lease: null, waitedMs };
    const place = placeOf(host);
    if (place.leases.size === 0) {
      const other = answer.homeGuest ? targets.get(answer.homeGuest) : null;
      place.home = other || host;
      if (other) marks().watch(other);
    }
    /** @type {Lease} */
    const lease = { id, guest, place, keys: 0, ended: false, reloaded: false };
    place.leases.set(id, lease);
    const set = caught.get(guest.id) || new Set();
    set.add(lease);
    caught.set(guest.id, set);
    return { state: 'held', lease: id, waitedMs };
  }

  /** @param {Lease} lease */
  function release(lease) {
    const set = caught.get(lease.guest.id);
    if (!set) return;
    set.delete(lease);
    if (!set.size) caught.delete(lease.guest.id);
  }

  /** @param {any} params */
  async function end(params) {
    const place = Array.from(places.values()).find((one) => one.leases.has(params.lease));
    const lease = place && place.leases.get(params.lease);
    if (!place || !lease) return { returned: false, reason: 'no-lease', heldMs: 0, broughtHome: 0 };
    const recheckMs = params.recheckMs === undefined ? 50 : Number(params.recheckMs);
    const settleMs = recheckMs + GRACE_MS;
    lease.ended = true;
    let result;
    try {
      result = await panes.call(place.host, `end(${JSON.stringify({ lease: lease.id, settleMs })})`, END_MS);
      if (result.reason === 'no-lease') result.reason = lease.reloaded ? 'host-reloaded' : 'no-lease';
    } catch (error) {
      const reason = place.host.isDestroyed() ? 'host-gone' : 'pane-unavailable';
      result = { returned: false, reason, heldMs: 0 };
    }
    place.leases.delete(lease.id);
    if (result.reason === 'app-moved-focus' && !lease.guest.isDestroyed()) place.home = lease.guest;
    await flush(place);
    setTimeout(() => settle(place, lease), recheckMs);
    return {
      returned: !!result.returned,
      reason: result.reason,
      heldMs: Math.round((result.heldMs || 0) * 10) / 10,
      broughtHome: lease.keys,
    };
  }

  /** @param {Place} place @param {Lease} lease Chromium's own move may come after the end: look again */
  function settle(place, lease) {
    const done = (/** @type {any} */ answer) => {
      setTimeout(() => {
        release(lease);
        flush(place);
      }, GRACE_MS);
      event('borrow.settled', { lease: lease.id, again: !!(answer && answer.again), broughtHome: lease.keys });
    };
    if (place.host.isDestroyed()) {
      release(lease);
      return;
    }
    panes.call(place.host, 'recheck()', END_MS).then(done, () => done(null));
  }

  /** Ends everything at once: the guard is gone. */
  function abandon() {
    for (const place of places.values()) {
      for (const lease of Array.from(place.leases.values())) {
        lease.ended = true;
        panes.call(place.host, `end(${JSON.stringify({ lease: lease.id, settleMs: 0 })})`, END_MS).catch(() => undefined);
      }
      place.leases.clear();
      flush(place);
    }
    caught.clear();
    for (const wake of Array.from(keyWaiters)) wake();
  }

  return {
    begin,
    end,
    abandon,
    onRealKey,
    onPaneMessage,
    /** @param {any} wc */
    isLeased: (wc) => {
      const set = caught.get(wc.id);
      return !!set && Array.from(set).some((lease) => !lease.ended);
    },
  };
}

module.exports = { createBorrows };
