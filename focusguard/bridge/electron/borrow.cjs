'use strict';
/**
 * Borrowing the person's focus for one action of the agent, and bringing it and the person's keys home.
 *
 * Real keys that reach the guest during a lease are stopped there and queued. They go out to the person's place
 * when the pane has the focus back; a key that reaches that place earlier first lets the queue go out. A key that
 * had already passed into the host when the focus was taken is caught by the pane (a stray) and goes first.
 *
 * Keys are not stopped at the host unless it cannot be helped: after a stopped press Chromium drops every
 * release until the next press, without a word (see ledger.cjs).
 */

const { failure, within } = require('./panes.cjs');
const { replay, ROUSING } = require('./keymap.cjs');
const { createLedger } = require('./ledger.cjs');

const TYPING_MS = 200;
const END_MS = 500;
const HOME_MS = 300;
/** What the pane has handed over is nowhere else: a page that is only slow is waited for. */
const STRAYS_MS = 10000;
/** Longest time that the focus is left in a guest for an agent. */
const TAKE_MS = 5000;
const KEYS_MS = 25;
const DEBUGGER_MS = 100;
const GRACE_MS = 100;
const MAX_QUEUE = 2000;

/**
 * @typedef {object} Lease
 * @property {number} id
 * @property {any} guest
 * @property {Place} place
 * @property {boolean} take
 * @property {boolean} watch no input is sent under it (a navigation): a press is the person's own
 * @property {number} keys presses brought home under this lease
 * @property {boolean} pressed a press has come under it: the next one is the person's
 * @property {boolean} ended
 * @property {boolean} reloaded the host page was replaced while the lease was open
 * @property {NodeJS.Timeout | null} bound
 */

/**
 * @typedef {object} Place one host page
 * @property {any} host
 * @property {any} home where the person's keys belong: the host, or another guest
 * @property {Map<number, Lease>} leases
 * @property {any[]} queue
 * @property {boolean} flushing
 * @property {boolean} asking
 * @property {Promise<void> | null} exact keys on their way through the page's debugger
 * @property {NodeJS.Timeout | null} detach
 * @property {boolean} attached the debugger was attached from here
 * @property {boolean} fetching strays are on their way here: no real key may pass before them
 * @property {(() => void) | null} giveUp ends the wait for them: their page is gone
 * @property {number} moving presses of the person in another guest, of which the pane has not heard yet
 * @property {NodeJS.Timeout | null} straying the pane holds strays until the agent's keys are done: the same
 * @property {{ passed: number, seen: number }} counted keys let through, and keys the page had seen by then
 * @property {ReturnType<typeof createLedger>} ledger
 */

/**
 * @param {object} parts
 * @param {ReturnType<typeof import('./targets.cjs').createTargets>} parts.targets
 * @param {ReturnType<typeof import('./panes.cjs').createPanes>} parts.panes
 * @param {() => ReturnType<typeof import('./marks.cjs').createMarks>} parts.marks
 * @param {(name: string, params: object) => void} parts.event
 * @param {(host: any) => void} parts.nudge
 * @param {(host: any, open: boolean, goesOn: boolean) => void} parts.composition goesOn: its end is the beginning of the next
 * @param {(host: any) => void} parts.restarted the input method has lost what stood in the composition
 * @param {(host: any) => boolean} parts.composes whether the person composes word after word
 * @param {(host: any, guest: any, longest: number) => Promise<number>} parts.room resolves when they leave room between two words; ms waited
 * @param {(wc: any) => void} parts.pressed a press that went into a page by whatever way
 */
function createBorrows({ targets, panes, marks, event, nudge, composition, restarted, composes, room, pressed }) {
  /** @type {Map<number, Place>} */
  const places = new Map();
  /** @type {Map<number, Set<Lease>>} guest id to leases whose keys are caught */
  const caught = new Map();
  /** @type {Set<number>} pages in which a press was stopped last: they drop releases and characters until the next */
  const deaf = new Set();
  let serial = 0;
  let lastKeyAt = -Infinity;
  /** @type {Set<() => void>} */
  const keyWaiters = new Set();

  const clock = () => Number(process.hrtime.bigint()) / 1e6;

  /** @param {any} host @returns {Place} */
  function placeOf(host) {
    const known = places.get(host.id);
    if (known) return known;
    const id = host.id;
    /** @type {Place} */
    const place = {
      host, home: host, leases: new Map(), queue: [], flushing: false, asking: false, fetching: false, giveUp: null, moving: 0, straying: null,
      exact: null, detach: null, attached: false,
      counted: { passed: 0, seen: 0 },
      ledger: createLedger((input) => deliver(place, input)),
    };
    place.counted.passed = marks().passed(host);
    places.set(id, place);
    host.on('did-start-navigation', (/** @type {any} */ first, /** @type {any[]} */ ...rest) => {
      // Older versions pass the facts as arguments, newer ones on the event.
      const main = first && first.isMainFrame !== undefined ? first.isMainFrame : rest[2];
      const same = first && first.isSameDocument !== undefined ? first.isSameDocument : rest[1];
      if (!main || same) return;
      place.ledger.forget();
      forgetStraying(place);
      if (place.giveUp) place.giveUp();
      for (const lease of place.leases.values()) lease.reloaded = true;
    });
    return place;
  }

  // ---------------------------------------------------------------- the person's keys

  /**
   * A real key, before the page and the app see it.
   * @param {any} wc @param {any} input @returns {boolean} true: it is kept
   */
  function onRealKey(wc, input) {
    const down = input.type === 'keyDown';
    if (down) {
      lastKeyAt = clock();
      for (const wake of Array.from(keyWaiters)) wake();
    }
    const leases = caught.get(wc.id);
    if (leases && leases.size) {
      const lease = Array.from(leases)[leases.size - 1];
      if (lease.place.home !== wc) {
        keep(lease.place, input, lease);
        if (down) deaf.add(wc.id);
        if (!lease.take || lease.ended) askHome(lease.place);
        return true;
      }
    }
    for (const place of places.values()) {
      if (place.moving && place.host === wc && place.home !== wc) {
        keep(place, input, null);
        if (down) deaf.add(wc.id);
        return true;
      }
      if (place.home !== wc) continue;
      if (place.queue.length && !place.fetching) flush(place);
      if (place.queue.length || place.flushing || place.fetching || place.straying) {
        keep(place, input, null);
        if (down) deaf.add(wc.id);
        return true;
      }
      place.ledger.before(input, true);
    }
    if (down) deaf.delete(wc.id);
    return false;
  }

  /** @param {Place} place @param {any} input @param {Lease | null} lease */
  function keep(place, input, lease) {
    place.queue.push(input);
    if (lease && input.type === 'keyDown') lease.keys += 1;
    if (place.queue.length > MAX_QUEUE) flush(place);
  }

  /** @param {Place} place has the pane give the focus back now, and lets the keys go */
  function askHome(place) {
    if (place.asking) return;
    place.asking = true;
    const done = () => {
      place.asking = false;
      flush(place);
    };
    panes.call(place.host, 'bringHome()', HOME_MS).then(done, done);
  }

  /** @param {Place} place @param {any} input @returns {Promise<void> | null} null: done at once */
  function deliver(place, input) {
    const home = place.home && !place.home.isDestroyed() ? place.home : place.host;
    if (home.isDestroyed()) return null;
    const way = replay(input);
    if (!way) {
      event('key.lost', { hostWebContentsId: home.id, key: input.key, code: input.code, type: input.type });
      return null;
    }
    if (way.events) {
      if (deaf.has(home.id) && home === place.host && input.type !== 'keyDown') marks().send(home, [ROUSING]);
      deaf.delete(home.id);
      sendEvents(home, way.events);
    }
    return way.commands ? deliverExactly(place, home, way) : null;
  }

  /** @param {Place} place sends out what is queued, in order; keys that come meanwhile join the queue */
  async function flush(place) {
    if (place.flushing || place.fetching || place.straying) return;
    place.flushing = true;
    const some = place.queue.length > 0;
    try {
      while (place.queue.length) {
        const input = place.queue.shift();
        if (input.type !== 'char') place.ledger.before(input, false);
        if (place.exact) await place.exact;
        const pending = deliver(place, input);
        if (pending) await pending;
      }
      if (some) place.ledger.doubt();
    } finally {
      place.flushing = false;
    }
  }

  /**
   * One after the other, for they share the page's debugger: it is attached for as long as keys come.
   * @param {Place} place @param {any} home @param {{ commands?: object[], fallback?: object[] }} way
   */
  function deliverExactly(place, home, way) {
    const mine = (place.exact || Promise.resolve()).then(async () => {
      const dbg = home.debugger;
      try {
        if (place.detach) clearTimeout(place.detach);
        if (!dbg.isAttached()) {
          dbg.attach('1.3');
          place.attached = true;
        }
      } catch (error) {
        if (!home.isDestroyed()) sendEvents(home, way.fallback || []);
        return;
      }
      for (const params of way.commands || []) {
        // What comes of it cannot be told from a failure: sending it again could double the key.
        await within(dbg.sendCommand('Input.dispatchKeyEvent', params), HOME_MS, 'key').catch(() => undefined);
      }
      place.detach = setTimeout(() => letGo(place, home), DEBUGGER_MS);
    });
    const done = mine.then(() => {
      if (place.exact === done) place.exact = null;
    });
    place.exact = done;
    return done;
  }

  /** @param {Place} place @param {any} home */
  function letGo(place, home) {
    place.detach = null;
    if (!place.attached) return;
    place.attached = false;
    try {
      if (!home.isDestroyed() && home.debugger.isAttached()) home.debugger.detach();
    } catch (error) {
      // Gone with its page.
    }
  }

  /** @param {any} home @param {object[]} events */
  function sendEvents(home, events) {
    try {
      marks().deliver(home, events);
    } catch (error) {
      event('key.lost', { hostWebContentsId: home.id });
    }
  }

  /** @param {any} host @param {any} message */
  function onPaneMessage(host, message) {
    const place = places.get(host.id);
    if (message.event === 'composition') {
      composition(host, !!message.open, !!message.goesOn);
    } else if (message.event === 'composition-restarted') {
      restarted(host);
    } else if (message.event === 'input-method-silent') {
      event('input-method.silent', { hostWebContentsId: host.id });
      nudge(host);
    } else if (place && message.event === 'returned') {
      flush(place);
      if (deaf.size) place.ledger.doubt();
    } else if (place && message.event === 'straying') {
      if (!place.straying) place.straying = setTimeout(() => fetchStrays(place), TAKE_MS);
    } else if (place && message.event === 'strayed') {
      fetchStrays(place);
    } else if (place && message.event === 'moved-on') {
      event('focus.person', { hostWebContentsId: host.id, where: message.reason });
      askHome(place);
    }
  }

  /** @param {Place} place */
  function forgetStraying(place) {
    if (place.straying) clearTimeout(place.straying);
    place.straying = null;
  }

  /** @param {Place} place keys that the pane caught go out first */
  async function fetchStrays(place) {
    if (place.fetching) return;
    place.fetching = true;
    forgetStraying(place);
    try {
      const passed = marks().passed(place.host);
      const count = place.counted.seen + passed - place.counted.passed;
      const gone = new Promise((resolve) => {
        place.giveUp = () => resolve(null);
      });
      const answer = await Promise.race([panes.call(place.host, `takeStrays(${count}, ${KEYS_MS})`, STRAYS_MS), gone]);
      if (answer) {
        recount(place, answer, passed);
        place.queue = answer.strays.concat(place.queue);
      }
    } catch (error) {
      // The page hangs, and the strays with it.
    } finally {
      place.giveUp = null;
      place.fetching = false;
      flush(place);
    }
  }

  /**
   * @param {number} wanted longest wait, 0: none @param {any} host @param {any} guest who acts
   * @returns {Promise<number>} ms waited for the gap after the person's next key, or between two words
   */
  function pace(wanted, host, guest) {
    if (!(wanted > 0)) return Promise.resolve(0);
    if (composes(host)) return room(host, guest, wanted);
    if (clock() - lastKeyAt > TYPING_MS) return Promise.resolve(0);
    const start = clock();
    return new Promise((resolve) => {
      const done = () => {
        clearTimeout(timer);
        keyWaiters.delete(wake);
        resolve(Math.round((clock() - start) * 10) / 10);
      };
      // The key is on its way to the page only after this handler has returned.
      const wake = () => setImmediate(done);
      const timer = setTimeout(done, wanted);
      keyWaiters.add(wake);
    });
  }

  // ---------------------------------------------------------------- leases

  /** @param {Place} place @param {any} answer @param {number} passed keys let through when it was asked */
  function recount(place, answer, passed) {
    if (typeof answer.seen !== 'number') return;
    place.counted.seen = answer.seen;
    place.counted.passed = passed;
  }

  /** @param {any} params */
  async function begin(params) {
    const guest = targets.get(Number(params.webContentsId));
    if (!guest) throw failure('no-such-target', 'there is no such page');
    const { kind, host } = targets.place(guest);
    // Input never leaves a view or a window of its own; only its navigation moves the focus into a view.
    const view = kind === 'web-contents-view' || kind === 'browser-view';
    if (!host || !(kind === 'webview' || (view && params.navigate))) {
      return { state: 'nothing-to-hold', lease: null, waitedMs: 0 };
    }
    if (view && guest.isFocused()) return { state: 'guest-focused', lease: null, waitedMs: 0 };
    const waitedMs = await pace(Number(params.paceMs) || 0, host, guest);
    if (guest.isDestroyed() || host.isDestroyed()) throw failure('no-such-target', 'the page went away');
    for (const one of [guest, host].concat(targets.guestsOf(host))) marks().watch(one);
    const place = placeOf(host);
    const take = !!params.take && !view;
    /** @type {Lease} */
    const lease = {
      id: (serial += 1), guest, place, take, watch: !!params.navigate,
      keys: 0, pressed: false, ended: false, reloaded: false, bound: null,
    };
    // The pane takes the focus before its answer is here: keys that reach the guest meanwhile are caught already.
    if (take) catchKeys(lease);
    let answer;
    try {
      answer = await note(place, guest, lease.id, params, view);
    } catch (error) {
      panes.call(host, `drop(${lease.id})`, 5000).catch(() => undefined);
      release(lease);
      flush(place);
      throw error;
    }
    if (answer.state !== 'held') {
      release(lease);
      if (lease.keys && answer.state === 'guest-focused') place.home = guest;
      flush(place);
      return { state: answer.state, lease: null, waitedMs };
    }
    if (place.leases.size === 0) {
      const other = answer.homeGuest ? targets.get(answer.homeGuest) : null;
      place.home = other || host;
      if (other) marks().watch(other);
    }
    place.leases.set(lease.id, lease);
    if (take) lease.bound = setTimeout(() => end({ lease: lease.id }), TAKE_MS);
    else catchKeys(lease);
    return { state: 'held', lease: lease.id, waitedMs };
  }

  /** @param {Place} place @param {any} guest @param {number} id @param {any} params @param {boolean} view */
  async function note(place, guest, id, params, view) {
    const { host } = place;
    const readyMs = Number(params.readyMs) || 150;
    const deadline = Date.now() + readyMs;
    const left = () => Math.max(1, deadline - Date.now());
    const passed = marks().passed(host);
    const order = {
      lease: id, guestId: guest.id, take: !!params.take && !view, watch: !!params.navigate, anyGuest: false,
      expires: deadline,
      keys: place.home === host ? place.counted.seen + passed - place.counted.passed : 0,
      keysMs: Math.min(KEYS_MS, readyMs / 2),
    };
    let answer = await panes.call(host, `begin(${JSON.stringify(order)})`, readyMs);
    if (answer.state === 'unknown-guest') {
      await panes.learn(host, left());
      order.anyGuest = true;
      answer = await panes.call(host, `begin(${JSON.stringify(order)})`, left());
    }
    recount(place, answer, passed);
    if (answer.state === 'expired') throw failure('pane-unavailable', 'the host page answered too late');
    if (answer.state === 'no-element' || answer.state === 'not-taken') {
      throw failure('pane-unavailable', `the host page could not move the focus into the guest (${answer.state})`);
    }
    return answer;
  }

  /** @param {Lease} lease real keys that reach its guest are the person's, and go home */
  function catchKeys(lease) {
    const set = caught.get(lease.guest.id) || new Set();
    set.add(lease);
    caught.set(lease.guest.id, set);
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
    if (!place || !lease || lease.ended) return { returned: false, reason: 'no-lease', heldMs: 0, broughtHome: 0 };
    const recheckMs = params.recheckMs === undefined ? 50 : Number(params.recheckMs);
    lease.ended = true;
    if (lease.bound) clearTimeout(lease.bound);
    if (lease.guest !== place.home && isFocusedView(lease.guest)) place.host.focus();
    let result;
    try {
      const order = { lease: lease.id, settleMs: recheckMs + GRACE_MS };
      result = await panes.call(place.host, `end(${JSON.stringify(order)})`, END_MS);
      if (result.reason === 'no-lease' && lease.reloaded) result.reason = 'host-reloaded';
    } catch (error) {
      const gone = place.host.isDestroyed() ? 'host-gone' : lease.reloaded ? 'host-reloaded' : 'pane-unavailable';
      result = { returned: false, reason: gone, heldMs: 0 };
    }
    place.leases.delete(lease.id);
    if (result.reason === 'app-moved-focus' && !lease.guest.isDestroyed()) place.home = lease.guest;
    await flush(place);
    // Where they compose, each touch makes the input method start afresh: only what the sentries tell calls for one.
    if (!place.host.isDestroyed() && !composes(place.host)) nudge(place.host);
    setTimeout(() => settle(place, lease), recheckMs);
    return {
      returned: !!result.returned,
      reason: result.reason,
      heldMs: Math.round((result.heldMs || 0) * 10) / 10,
      broughtHome: lease.keys,
    };
  }

  /** @param {any} guest */
  function isFocusedView(guest) {
    if (guest.isDestroyed()) return false;
    const { kind, window } = targets.place(guest);
    const view = kind === 'web-contents-view' || kind === 'browser-view';
    return view && !!window && !window.isDestroyed() && window.isFocused() && guest.isFocused();
  }

  /** @param {Place} place @param {Lease} lease Chromium's own move may come after the end: look again */
  function settle(place, lease) {
    const done = (/** @type {any} */ answer) => {
      event('borrow.settled', { lease: lease.id, again: !!(answer && answer.again), broughtHome: lease.keys });
      setTimeout(() => {
        release(lease);
        flush(place);
      }, GRACE_MS);
    };
    if (place.host.isDestroyed()) {
      release(lease);
      return;
    }
    panes.call(place.host, 'recheck()', END_MS).then(done, () => done(null));
  }

  /**
   * @param {any} wc @param {any} input a mouse or touch event that a page is being sent: without an open lease it
   *   is the person's, and their choice stands even if the focus was just on its way back
   */
  function onPointer(wc, input) {
    if (!input || !/^(mouseDown|touchStart|gestureTap)$/.test(input.type)) return;
    pressed(wc);
    const mouse = input.type === 'mouseDown';
    const leases = Array.from(caught.get(wc.id) || []);
    const open = leases.filter((one) => !one.ended && !one.watch);
    if (open.length) {
      if (!mouse) return;
      const due = open.find((one) => !one.take && !one.pressed);
      if (due) due.pressed = true;
      else personPressed(wc, open[0].place, true);
    } else if (leases.length) {
      personPressed(wc, leases[0].place, false);
    } else if (mouse) {
      for (const place of places.values()) {
        if (isWatched(place) && targets.guestsOf(place.host).indexOf(wc) >= 0) personPressed(wc, place, true);
      }
    }
  }

  /** @param {Place} place @returns {boolean} whether the pane still gives the focus back to where it was */
  function isWatched(place) {
    return Array.from(caught.values()).some((set) => Array.from(set).some((lease) => lease.place === place));
  }

  /** @param {any} wc @param {Place} place @param {boolean} certain also with a borrow open: it has had its own press */
  function personPressed(wc, place, certain) {
    // The pane may have given the focus back before it hears of the press: until it has put that right, keys go astray.
    place.moving += 1;
    const done = () => {
      place.moving -= 1;
      flush(place);
    };
    panes.call(place.host, `personPressed(${wc.id}, ${certain})`, END_MS).then(done, done);
    place.home = wc;
    for (const one of Array.from(caught.get(wc.id) || [])) release(one);
  }

  /** @param {any} view @param {any} host a view has taken the focus by navigating: it and the keys go back */
  function reclaim(view, host) {
    marks().watch(view);
    marks().watch(host);
    const place = placeOf(host);
    place.home = host;
    /** @type {Lease} */
    const lease = { id: (serial += 1), guest: view, place, take: false, watch: true, keys: 0, pressed: true, ended: true, reloaded: false, bound: null };
    catchKeys(lease);
    /** A person's press into the view releases it. */
    const holds = () => {
      const set = caught.get(view.id);
      return !!set && set.has(lease);
    };
    // Not from inside the event of the very move that is to be undone; and a person's press is told after it.
    setImmediate(() => {
      if (holds() && !view.isDestroyed() && !host.isDestroyed() && isFocusedView(view)) host.focus();
    });
    setTimeout(() => {
      if (holds() && !view.isDestroyed() && !host.isDestroyed() && view.isFocused()) host.focus();
      release(lease);
      flush(place);
      event('focus.reclaimed', { webContentsId: view.id, hostWebContentsId: host.id, broughtHome: lease.keys });
    }, GRACE_MS);
  }

  /** @param {number} id of a page that has been destroyed */
  function forget(id) {
    const place = places.get(id);
    if (!place) return;
    place.ledger.forget();
    forgetStraying(place);
    places.delete(id);
  }

  /** Ends everything at once: the guard is gone. */
  function abandon() {
    for (const wake of Array.from(keyWaiters)) wake();
    for (const place of places.values()) {
      for (const lease of place.leases.values()) {
        lease.ended = true;
        if (lease.bound) clearTimeout(lease.bound);
      }
      place.leases.clear();
      forgetStraying(place);
      askHome(place);
      letGo(place, place.home);
    }
    caught.clear();
  }

  return {
    begin,
    end,
    abandon,
    forget,
    onRealKey,
    onPointer,
    reclaim,
    sinceKey: () => clock() - lastKeyAt,
    onPaneMessage,
    /** @param {any} wc */
    isLeased: (wc) => {
      const set = caught.get(wc.id);
      return !!set && Array.from(set).some((lease) => !lease.ended && !lease.watch);
    },
  };
}

module.exports = { createBorrows };
