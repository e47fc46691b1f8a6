'use strict';
/* global createPlaces, createLine, createHint */
/**
 * The pane: runs in an isolated world of the host page. It notes where the person's focus is, brings it back
 * as soon as Chromium moves it to a guest on the agent's behalf, and keeps the page from seeing that.
 *
 * When a guest is pressed, the host gets `blur` on its element and on its window while `document.activeElement`
 * still is the old one; the new one is set after the events. Focus given back inside those events is therefore
 * overwritten; given back in the next task it stays, and the press goes on undisturbed.
 */
(() => {
  const NAME = '__focusguardPane';
  const world = /** @type {any} */ (globalThis);
  if (world[NAME]) return;
  const { isGuestElement, deepActive, isBody, noteDetails, putBackDetails } = createPlaces();
  const { tell, next, soon, hangUp } = createLine();

  const FOCUS_EVENTS = ['blur', 'focus', 'focusin', 'focusout'];
  const MODIFIERS = ['Shift', 'Control', 'Alt', 'Meta', 'CapsLock', 'NumLock', 'AltGraph'];
  const COMPOSITION_EVENTS = ['compositionstart', 'compositionupdate', 'compositionend'];
  /** Longest wait for the page's own focus: it does not come when another window has come to the front. */
  const ARRIVAL_MS = 40;
  const now = () => performance.now();

  // ---------------------------------------------------------------- state

  /**
   * @typedef {object} Home the person's place in this page, shared by all leases that are open at once
   * @property {any} element
   * @property {string | null} movedOn why the person's newer choice wins, or null
   * @property {boolean} pageFocus whether the page had the window's focus
   * @property {number} away when the focus left, or 0
   * @property {number} from the guest it was last taken by, 0 if unknown
   * @property {number} heldMs
   * @property {number} returns
   * @property {Set<EventTarget>} left targets whose `blur` was kept from the page and not yet undone
   */

  /** @type {Map<number, { guestId: number, take: boolean, watch: boolean }>} */
  const leases = new Map();
  /** @type {Home | null} */
  let home = null;
  let restoring = false;
  let passing = false;
  let checkPlanned = false;
  let laterPlanned = false;
  let lastKeyAt = -Infinity;
  let lastCode = '';
  /** Until when a home is watched after its last lease, for a late move of the focus. */
  let settleUntil = 0;
  /** @type {{ type: string }[]} */
  const strays = [];
  /** @type {Set<() => void>} called when the focus has arrived at home */
  const arrivals = new Set();
  /** Real keys seen; the main process compares it with what it let through. */
  let keysSeen = 0;
  /** The key whose character has not come yet: it is an event of its own, and the focus must not move between the two. */
  let charDue = '';
  /** @type {Set<() => void>} */
  const keyWaiters = new Set();
  /** @type {WeakMap<any, number>} */
  const guestIds = new WeakMap();
  /** @type {WeakSet<any>} fields whose `change` was kept from the page and is still owed */
  const owedChange = new WeakSet();
  /** @type {Set<any>} */
  const compositionTargets = new Set();

  const taken = () => Array.from(leases.values()).some((lease) => lease.take);
  /** Until when a Tab that an agent sent may still leave its guest. */
  let leaveUntil = 0;
  const leaving = () => taken() || now() <= leaveUntil;
  const watching = () => !!home && !home.movedOn && (leases.size > 0 || now() <= settleUntil);

  const { nudge, putHintBack } = createHint({
    field: () => {
      const field = deepActive().element;
      return field && !isBody(field) && !isGuestElement(field) ? field : null;
    },
    composing,
    typedAgo: () => now() - lastKeyAt,
    soon,
  });

  function composing() {
    for (const one of compositionTargets) if (!one.isConnected) compositionTargets.delete(one);
    return compositionTargets.size > 0;
  }

  /** @param {string} reason */
  function moveOn(reason) {
    if (!home || home.movedOn) return;
    home.movedOn = reason;
    payBlurs(home);
    tell({ event: 'moved-on', reason });
  }

  // ---------------------------------------------------------------- giving back

  /**
   * The page's focus comes back by way of the browser, later than the element's: only then are the two moves
   * that make up a press's theft (page focus, then focused frame) over, and keys can be sent after them.
   * @param {Home} note @returns {boolean}
   */
  function isHome(note) {
    return deepActive().element === note.element && (document.hasFocus() || !note.pageFocus);
  }

  /** @param {Home} note */
  function arrive(note) {
    if (!note.away || !isHome(note)) return;
    note.heldMs += now() - note.away;
    note.away = 0;
    note.returns += 1;
    tell({ event: 'returned', leases: Array.from(leases.keys()), guestId: note.from });
    for (const wake of Array.from(arrivals)) wake();
  }

  /** @param {string} outcome @returns {Promise<string>} the same, once the focus has arrived or the bound is over */
  function afterArrival(outcome) {
    const note = home;
    if ((outcome !== 'returned' && outcome !== 'at-home') || !note || !note.away) return Promise.resolve(outcome);
    return new Promise((resolve) => {
      const done = () => {
        clearTimeout(timer);
        arrivals.delete(done);
        resolve(outcome === 'at-home' && note.returns ? 'returned' : outcome);
      };
      const timer = setTimeout(done, ARRIVAL_MS);
      arrivals.add(done);
    });
  }

  /** @param {any} element a webview is focused by way of the frame that it keeps inside */
  function focusable(element) {
    if (!isGuestElement(element) || !element.shadowRoot) return element;
    return element.shadowRoot.querySelector('iframe,object,embed') || element;
  }

  /** @param {any} element in a frame of this page: Chromium leaves `activeElement` of the pages around it as it is */
  function focusFrames(element) {
    const view = element.ownerDocument.defaultView;
    const around = view && view !== window ? view.frameElement : null;
    if (!around) return;
    focusFrames(around);
    if (around.ownerDocument.activeElement !== around) around.focus({ preventScroll: true });
  }

  /**
   * A press in one guest while the person is in another moves the focus, and this page is not always told: it may
   * see the old one as active all the time. Only a move away and back is sure to reach the browser.
   * @param {any} element
   */
  function refocus(element) {
    const inner = focusable(element);
    restoring = true;
    try {
      inner.blur();
      inner.focus({ preventScroll: true });
    } finally {
      restoring = false;
    }
  }

  /** @returns {string} returned | at-home | not-accepted | why the person's newer choice wins */
  function giveBack() {
    const note = home;
    if (!note) return 'no-note';
    if (note.movedOn) return note.movedOn;
    const { element: active } = deepActive();
    if (active === note.element) {
      arrive(note);
      return 'at-home';
    }
    if (!isGuestElement(active) && !isBody(active) && !leaving()) {
      moveOn('focus-elsewhere');
      return 'focus-elsewhere';
    }
    const gone = note.element && !note.element.isConnected;
    restoring = true;
    try {
      if (gone || isBody(note.element)) {
        if (active && !isBody(active)) active.blur();
      } else {
        // Read now rather than at the borrow's begin: a key that was on its way may have come since.
        const details = noteDetails(note.element);
        focusFrames(note.element);
        focusable(note.element).focus({ preventScroll: true });
        putBackDetails(note.element, details);
      }
    } catch (error) {
      // A page may have broken focus() of its own element; what counts is where the focus is now.
    } finally {
      restoring = false;
    }
    const reached = deepActive().element;
    if (gone) {
      note.movedOn = 'element-gone';
      return 'element-gone';
    }
    if (reached !== note.element) return 'not-accepted';
    if (isGuestElement(active)) note.from = guestIds.get(active) || 0;
    if (!note.away) note.away = now();
    arrive(note);
    return 'returned';
  }

  /** After Chromium's events of a focus move are over: is it one that the agent caused? */
  function check() {
    checkPlanned = false;
    if (!watching() || taken()) return;
    const { element: active } = deepActive();
    if (byScript && home && !leaving()) {
      byScript = false;
      if (isGuestElement(active)) {
        moveOn('app-moved-focus');
        return;
      }
      // The page let go of its field, or took it away: nothing has the focus now, and that is what is kept.
      if (isBody(active)) {
        home.element = active;
        home.away = 0;
        payBlurs(home);
      }
    }
    if (!isGuestElement(active) && !isBody(active) && home && active !== home.element && !leaving()) {
      moveOn('focus-elsewhere');
      return;
    }
    giveBack();
    // Between the two moves nothing can be seen; look again until the second one has come and is undone.
    if (home && home.away && leases.size && !laterPlanned) {
      laterPlanned = true;
      setTimeout(() => {
        laterPlanned = false;
        check();
      }, 2);
    }
  }

  function planCheck() {
    if (checkPlanned) return;
    checkPlanned = true;
    soon(check);
  }

  // ---------------------------------------------------------------- what the page sees

  /** @param {Event} event an event of the page, or the shield's question about one */
  function swallow(event) {
    if (event.type.indexOf('focusguard:') === 0) event.preventDefault();
    else event.stopImmediatePropagation();
  }

  /** @param {any} target @param {Event} event */
  function dispatch(target, event) {
    passing = true;
    try {
      target.dispatchEvent(event);
    } finally {
      passing = false;
    }
  }

  /** @param {Home} note the focus stays away after all: the page gets the events that were kept from it */
  function payBlurs(note) {
    for (const target of Array.from(note.left)) {
      note.left.delete(target);
      const node = /** @type {any} */ (target);
      if (node.nodeType && (!node.isConnected || deepActive().element === node)) continue;
      if (!node.nodeType && document.hasFocus()) continue;
      payChange(node);
      dispatch(node, new FocusEvent('blur', { composed: true }));
      if (node.nodeType) dispatch(node, new FocusEvent('focusout', { bubbles: true, composed: true }));
    }
  }

  /** Webviews that were told of a focus which the page must not know of. @type {WeakSet<any>} */
  const quiet = new WeakSet();
  /**
   * Electron's own `focus` and `blur` of a webview: it compares the active element with what it told last, whenever
   * the focus moves inside the guest. So a borrow may be told with any key in it, and its end seconds later.
   * @param {any} event @param {string} type @param {any} target
   */
  function onTold(event, type, target) {
    if (passing || !isGuestElement(target)) return;
    if (type === 'focus' && watching()) {
      quiet.add(target);
      swallow(event);
    } else if (type === 'blur' && quiet.delete(target)) {
      swallow(event);
    }
  }

  /** @param {any} element */
  function payChange(element) {
    if (!element || !owedChange.has(element)) return;
    owedChange.delete(element);
    dispatch(element, new Event('change', { bubbles: true }));
  }

  /** @param {any} event */
  function targetOf(event) {
    return (event.composedPath ? event.composedPath()[0] : null) || event.target;
  }

  /** @param {any} event */
  function onFocusEvent(event) {
    if (passing) return;
    const type = event.type.replace('focusguard:', '');
    const target = targetOf(event);
    if (!event.isTrusted && type === event.type) {
      onTold(event, type, target);
      return;
    }
    if (!watching() || !home) {
      if (type === 'blur' && target && target.nodeType === 1) payChange(target);
      return;
    }
    if (restoring) {
      swallow(event);
      if (type === 'focus') home.left.delete(target);
      return;
    }
    if (type === 'blur' || type === 'focusout') {
      // A move to another element of this page is nothing that an agent's press can do.
      const to = event.relatedTarget;
      if (to && !isGuestElement(to) && !leaving()) {
        moveOn('focus-elsewhere');
        return;
      }
      swallow(event);
      noticeScript(event, type);
      if (type === 'blur') home.left.add(target);
      if (!home.away && (target === home.element || !target.nodeType)) home.away = now();
      planCheck();
      return;
    }
    if (target.nodeType && target !== home.element && !isGuestElement(target) && !leaving()) {
      moveOn('focus-elsewhere');
      return;
    }
    swallow(event);
    if (type === 'focus') home.left.delete(target);
    planCheck();
  }

  /** @type {{ ran: boolean } | null} */
  let between = null;
  let byScript = false;
  /**
   * A script of the page can move the focus into a guest too, and then it is to stay there. Its events look the
   * same, but no microtask runs between them while the script is on the stack.
   * @param {any} event @param {string} type
   */
  function noticeScript(event, type) {
    if (type === 'blur' && targetOf(event).nodeType) {
      const mark = { ran: false };
      between = mark;
      Promise.resolve().then(() => {
        mark.ran = true;
      });
    } else if (type === 'focusout' && between) {
      byScript = !between.ran && !taken();
      between = null;
    }
  }

  /** @param {Event} event */
  function onPress(event) {
    if (event.isTrusted && (leases.size > 0 || leaving())) moveOn('person-pressed');
  }

  /** @param {any} event */
  function onChange(event) {
    if (passing || (!event.isTrusted && event.type === 'change')) return;
    const target = targetOf(event);
    if (!watching() || !home || target !== home.element) {
      owedChange.delete(target);
      return;
    }
    // Only text fields fire `change` for losing the focus; a list or a box fires it for what the person chose.
    if (!/^(text|search|url|tel|email|password|number|textarea|date|time|month|week|datetime-local)$/.test(target.type)) return;
    owedChange.add(target);
    swallow(event);
  }

  /** @param {any} event */
  function onInput(event) {
    // From here on Chromium itself owes the `change`.
    if (!event.isTrusted) return;
    silentKeys = 0;
    owedChange.delete(targetOf(event));
  }

  let silentKeys = 0;
  /**
   * Letters that an input method takes and answers with nothing, twice: it is talking to another page.
   * @param {any} event
   */
  function watchInputMethod(event) {
    if (event.keyCode !== 229 || !/^Key/.test(event.code)) return;
    silentKeys += 1;
    const count = silentKeys;
    setTimeout(() => {
      if (silentKeys !== count || count < 2) return;
      silentKeys = 0;
      const open = compositionTargets.size > 0;
      compositionTargets.clear();
      if (open) tell({ event: 'composition', open: false });
      tell({ event: 'input-method-silent' });
    }, 150);
  }

  /** What stood in the open composition, after so many keys. */
  let composed = { text: '', keys: 0 };
  /**
   * An input method that was made to start afresh in the middle of a word says nothing of it: the next letter stands
   * there alone, as if it were the first, a vowel of Hangul without its consonant.
   * @param {string} text
   */
  function watchText(text) {
    const alone = /^[a-z]$/.test(text) ? /^[a-z]/.test(composed.text) : /^[\u314f-\u3163]$/.test(text) && composed.text;
    if (alone && keysSeen > composed.keys && /^Key/.test(lastCode)) tell({ event: 'composition-restarted' });
    composed = { text, keys: keysSeen };
  }

  /** @param {any} event */
  function onComposition(event) {
    silentKeys = 0;
    // Chromium's own `compositionend` is not marked as trusted when the input method commits.
    if (!event.isTrusted && event.type !== 'compositionend') return;
    const before = compositionTargets.size > 0;
    if (event.type === 'compositionend') compositionTargets.delete(targetOf(event));
    else compositionTargets.add(targetOf(event));
    const open = compositionTargets.size > 0;
    if (event.type === 'compositionupdate') watchText(String(event.data));
    else composed = { text: '', keys: keysSeen };
    // A letter that ends one begins the next: another syllable, or the next word right behind this one.
    if (open !== before) tell({ event: 'composition', open, goesOn: !open && /^Key/.test(lastCode) });
  }

  /**
   * A key that Chromium had on its way while the focus was taken lands where nobody types. It is kept from the
   * page and goes back to the main process, with all that follow until those have been fetched.
   * @param {any} event
   */
  function onKey(event) {
    if (!event.isTrusted) return;
    // The press that nobody makes (keymap.cjs); prevented, it would cost the next character.
    if (event.key === 'F24' && event.altKey && event.ctrlKey && event.metaKey && event.shiftKey) {
      event.stopImmediatePropagation();
      return;
    }
    noteKey(event);
    if (event.type === 'keydown') {
      expectCharacter(event);
      watchInputMethod(event);
    }
    wakeKeyWaiters();
    // A Tab that reaches this page is the person's own.
    if (event.key === 'Tab' && !taken() && deepActive().element === (home && home.element)) leaveUntil = 0;
    if (!goesAstray()) return;
    event.stopImmediatePropagation();
    event.preventDefault();
    keepStray({
      type: event.type, key: event.key, code: event.code, location: event.location, isAutoRepeat: event.repeat,
      shift: event.shiftKey, control: event.ctrlKey, alt: event.altKey, meta: event.metaKey,
      modifiers: MODIFIERS.filter((name) => event.getModifierState(name)).map((name) => name.toLowerCase()),
    });
  }

  /**
   * The shield asks before any listener of the page hears of a key: one that comes back later must not be heard twice.
   * @param {any} question whose `detail` is the key, as JSON
   */
  function onAskedKey(question) {
    if (!goesAstray()) return;
    question.preventDefault();
    const key = JSON.parse(question.detail);
    noteKey(key);
    wakeKeyWaiters();
    keepStray(key);
  }

  /** @param {{ type: string, code: string }} key a real one has come */
  function noteKey(key) {
    if (key.type === 'keydown') {
      keysSeen += 1;
      lastKeyAt = now();
      lastCode = key.code;
    }
    // Of a press that is to have a character, that is noted next; one that is kept has none here.
    if (key.type !== 'keyup' || key.code === charDue) charDue = '';
  }

  function wakeKeyWaiters() {
    for (const wake of Array.from(keyWaiters)) wake();
  }

  /** A release may be late, so it holds nothing up; what comes after a press or a character may not overtake it. */
  function goesAstray() {
    return strays.some((one) => one.type !== 'keyUp') || isStray();
  }

  /** @param {any} key with the type of its event */
  function keepStray(key) {
    if (key.type === 'keypress' && strays.length && strays[strays.length - 1].type === 'keyDown') return;
    const first = !strays.some((one) => one.type !== 'keyUp');
    const type = key.type === 'keydown' ? 'keyDown' : key.type === 'keyup' ? 'keyUp' : 'char';
    strays.push(Object.assign(key, { type }));
    if (!taken()) tellStrays();
    else if (first && type !== 'keyUp') tell({ event: 'straying' });
  }

  /** While an agent has the focus for its keys they wait: sent out now, they would only stray again. */
  function tellStrays() {
    if (strays.length && !taken()) tell({ event: 'strayed' });
  }

  /** @param {any} event a trusted `keydown` */
  function expectCharacter(event) {
    const plain = event.key.length === 1 && !event.ctrlKey && !event.altKey && !event.metaKey && !event.isComposing;
    charDue = plain ? event.code : '';
    if (!plain) return;
    // A page that has cancelled the key gets no character.
    soon(() => {
      if (!event.defaultPrevented || charDue !== event.code) return;
      charDue = '';
      wakeKeyWaiters();
    });
  }

  /** @returns {boolean} whether a key that reaches this page now was meant for the person's place elsewhere */
  function isStray() {
    if (!watching() || !home) return false;
    const { element: active } = deepActive();
    // With the person in a guest no key belongs here: it fell between the two steps of `refocus`.
    if (isGuestElement(home.element) && !taken()) return active === home.element;
    return !!home.away && active !== home.element;
  }

  /** @param {number} count @param {number} ms hands the strays over; keys pass again from here on */
  async function takeStrays(count, ms) {
    await caughtUp(count, ms);
    const outcome = await afterArrival(giveBack());
    return { strays: strays.splice(0), outcome, seen: keysSeen };
  }

  /** @type {WeakSet<any>} */
  const listened = new WeakSet();
  /** @type {{ view: any, type: string, listener: any }[]} */
  const listeners = [];

  /** @param {any} view */
  function listen(view) {
    if (!view || listened.has(view)) return;
    listened.add(view);
    const on = (/** @type {string} */ type, /** @type {any} */ listener) => {
      view.addEventListener(type, listener, true);
      listeners.push({ view, type, listener });
    };
    const shielded = !view.dispatchEvent(new Event('focusguard:arm', { cancelable: true }));
    const prefix = shielded ? 'focusguard:' : '';
    for (const type of FOCUS_EVENTS) on(prefix + type, onFocusEvent);
    on(prefix + 'change', onChange);
    if (shielded) on('focusguard:key', onAskedKey);
    if (shielded) on('focusguard:told', (/** @type {any} */ event) => onTold(event, event.detail, targetOf(event)));
    on('input', onInput);
    for (const type of ['keydown', 'keypress', 'keyup']) on(type, onKey);
    for (const type of ['mousedown', 'touchstart']) on(type, onPress);
    for (const type of COMPOSITION_EVENTS) on(type, onComposition);
  }

  // ---------------------------------------------------------------- what the main process asks

  /** @param {number} count @param {number} ms waits until so many keys have been seen with the last one's character, one task more, or the bound */
  function caughtUp(count, ms) {
    return new Promise((resolve) => {
      const there = () => keysSeen >= count && !charDue;
      if (there()) {
        soon(() => resolve(undefined));
        return;
      }
      const done = () => {
        keyWaiters.delete(wake);
        clearTimeout(timer);
        soon(() => resolve(undefined));
      };
      const wake = () => {
        if (there()) done();
      };
      const timer = setTimeout(done, ms);
      keyWaiters.add(wake);
    });
  }

  /**
   * @typedef {object} Order
   * @property {number} lease
   * @property {number} guestId
   * @property {boolean} take move the focus into the guest, and leave it there until the end
   * @property {boolean} [watch] nothing is pressed under this lease: a press is the person's
   * @property {boolean} anyGuest go on even if it is not known which element holds which guest
   * @property {number} expires wall-clock time after which an answer would hold the focus for nobody
   * @property {number} keys real keys that must have arrived first
   * @property {number} keysMs longest wait for them
   */

  /** @param {Order} order */
  async function begin(order) {
    if (composing()) return { state: 'composing' };
    await caughtUp(order.keys, order.keysMs);
    if (Date.now() > order.expires) return { state: 'expired' };
    if (composing()) return { state: 'composing' };
    if (leases.size === 0 || !home || home.movedOn) {
      const { element, documents } = deepActive();
      if (isGuestElement(element)) {
        const id = guestIds.get(element);
        if (id === undefined && !order.anyGuest) return { state: 'unknown-guest' };
        if (id === order.guestId) return { state: 'guest-focused', seen: keysSeen };
      }
      for (const one of documents) listen(one.defaultView);
      home = {
        element, movedOn: null, pageFocus: document.hasFocus(), away: 0, from: 0, heldMs: 0, returns: 0, left: new Set(),
      };
    }
    if (order.take) {
      const element = guestElement(order.guestId);
      if (!element && !order.anyGuest) return { state: 'unknown-guest' };
      if (!element) return { state: 'no-element' };
      leases.set(order.lease, { guestId: order.guestId, take: true, watch: false });
      takeFocus(element);
      await departure();
      if (deepActive().element !== element) {
        leases.delete(order.lease);
        giveBack();
        return { state: 'not-taken' };
      }
    }
    leases.set(order.lease, { guestId: order.guestId, take: order.take, watch: !!order.watch });
    const at = home.element;
    return { state: 'held', homeGuest: (isGuestElement(at) && guestIds.get(at)) || 0, seen: keysSeen };
  }

  /**
   * Until the page's focus has left by way of the browser: keys that are sent before still come here (met on 9.4).
   * It does not come where the window does not have the focus.
   */
  function departure() {
    if (!home || !home.pageFocus || !document.hasFocus()) return Promise.resolve(undefined);
    // No event tells of it: the window's `blur` comes with the element's own, before the browser knows.
    const began = now();
    return new Promise((resolve) => {
      const look = () => {
        if (!document.hasFocus() || now() - began > ARRIVAL_MS) resolve(undefined);
        else setTimeout(look, 1);
      };
      look();
    });
  }

  /** @param {any} element */
  function takeFocus(element) {
    if (home && !home.away && !home.movedOn) home.away = now();
    restoring = true;
    try {
      focusable(element).focus({ preventScroll: true });
    } finally {
      restoring = false;
    }
  }

  /** @param {number} id @returns {any} */
  function guestElement(id) {
    for (const one of Array.from(document.querySelectorAll('webview'))) if (guestIds.get(one) === id) return one;
    return null;
  }

  /** @param {{ lease: number, settleMs: number }} order */
  async function end(order) {
    if (!leases.has(order.lease) || !home) return { returned: false, reason: 'no-lease', heldMs: 0, seen: keysSeen };
    const note = home;
    const { take } = /** @type {{ take: boolean }} */ (leases.get(order.lease));
    leases.delete(order.lease);
    // The move comes by way of the browser, when the guest has handled the key.
    if (take) leaveUntil = now() + order.settleMs;
    settleUntil = Math.max(settleUntil, now() + order.settleMs);
    setTimeout(settled, order.settleMs + 5);
    const outcome = taken() ? 'still-taken' : await afterArrival(giveBack());
    if (!note.movedOn && !leases.size && isGuestElement(note.element)) refocus(note.element);
    tellStrays();
    const returned = outcome === 'returned' || (outcome === 'at-home' && note.returns > 0);
    const heldMs = note.heldMs + (note.away ? now() - note.away : 0);
    note.heldMs = 0;
    return { returned, reason: returned ? 'returned' : outcome, heldMs, seen: keysSeen };
  }

  /** Looks once more, after the last lease, whether Chromium moved the focus late. */
  function recheck() {
    if (!home || leases.size || arrivals.size) return { again: false };
    const before = home.returns;
    settleUntil = Math.max(settleUntil, now() + 1);
    check();
    return { again: home.returns > before || (home.away > 0 && !home.movedOn) };
  }

  /** The watch is over. The person may have gone to another window meanwhile: the page is owed the event of that. */
  function settled() {
    if (home && !leases.size && now() > settleUntil && !home.movedOn) payBlurs(home);
  }

  /**
   * @param {number} guestId the person themselves pressed into a guest, and may have had the focus taken back
   * @param {boolean} certain it cannot be a press that an agent has borrowed the focus for
   */
  function personPressed(guestId, certain) {
    if (!home || home.movedOn) return false;
    if (!certain && Array.from(leases.values()).some((lease) => !lease.watch)) return false;
    moveOn('person-pressed');
    const element = guestElement(guestId);
    if (element && deepActive().element !== element) takeFocus(element);
    return true;
  }

  /** Gives the focus back now, if an agent has it for a press, and says how that went. */
  async function bringHome() {
    return { outcome: taken() ? 'taken' : await afterArrival(giveBack()), seen: keysSeen };
  }

  /** @param {number} lease forgets a lease whose answer came too late for the main process */
  function drop(lease) {
    if (leases.delete(lease) && !taken()) giveBack();
    tellStrays();
    return true;
  }

  /** @param {string} type hears from the page's own world which element holds which guest */
  function learnGuests(type) {
    const hear = (/** @type {any} */ event) => {
      event.stopImmediatePropagation();
      const target = targetOf(event);
      if (isGuestElement(target) && typeof event.detail === 'number') guestIds.set(target, event.detail);
    };
    window.addEventListener(type, hear, true);
    setTimeout(() => window.removeEventListener(type, hear, true), 2000);
    return true;
  }

  function stop() {
    giveBack();
    putHintBack();
    leases.clear();
    settleUntil = 0;
    home = null;
    window.dispatchEvent(new Event('focusguard:disarm'));
    for (const { view, type, listener } of listeners.splice(0)) {
      try {
        view.removeEventListener(type, listener, true);
      } catch (error) {
        // The frame is gone, and its listeners with it.
      }
    }
    hangUp();
    delete world[NAME];
    return true;
  }

  listen(window);
  world[NAME] = {
    begin, end, recheck, bringHome, takeStrays, personPressed, drop, nudge, learnGuests, stop, next, composition: () => ({ open: composing() }),
  };
})();
