'use strict';
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
  if (globalThis[NAME]) return;

  const FOCUS_EVENTS = ['blur', 'focus', 'focusin', 'focusout'];
  const now = () => performance.now();

  /** What the pane tells the main process: taken one batch at a time by `next`. */
  const outbox = [];
  /** @type {((batch: object[]) => void) | null} */
  let waiting = null;
  /** @param {object} message */
  function tell(message) {
    outbox.push(message);
    if (outbox.length > 256) outbox.shift();
    if (waiting) {
      const wake = waiting;
      waiting = null;
      wake(outbox.splice(0));
    }
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

  // ---------------------------------------------------------------- where the focus is

  /** @param {Element | null} element */
  function isGuestElement(element) {
    return !!element && element.localName === 'webview';
  }

  /** @param {Element} frame @returns {Document | null} */
  function innerDocument(frame) {
    try {
      return frame.contentDocument || null;
    } catch (error) {
      return null;
    }
  }

  /** The deepest active element, through open shadow roots and same-origin frames, and the documents passed. */
  function deepActive() {
    const documents = [document];
    let element = document.activeElement;
    for (;;) {
      if (!element || isGuestElement(element)) break;
      if (element.shadowRoot && element.shadowRoot.activeElement) {
        element = element.shadowRoot.activeElement;
        continue;
      }
      const tag = element.localName;
      const inner = tag === 'iframe' || tag === 'frame' ? innerDocument(element) : null;
      if (!inner) break;
      documents.push(inner);
      element = inner.activeElement;
    }
    return { element, documents };
  }

  /** @param {Element | null} element */
  function isBody(element) {
    return !element || element === element.ownerDocument.body || element === element.ownerDocument.documentElement;
  }

  /** @param {any} element */
  function fieldSelection(element) {
    try {
      if (typeof element.selectionStart !== 'number') return null;
      return { start: element.selectionStart, end: element.selectionEnd, direction: element.selectionDirection };
    } catch (error) {
      return null;
    }
  }

  /** @param {Element} element */
  function rangeSelection(element) {
    const root = element.getRootNode();
    // Chromium keeps a selection inside a shadow tree on the shadow root.
    const selection = root !== element.ownerDocument && /** @type {any} */ (root).getSelection
      ? /** @type {any} */ (root).getSelection()
      : element.ownerDocument.getSelection();
    if (!selection || !selection.anchorNode) return null;
    return {
      selection,
      anchorNode: selection.anchorNode,
      anchorOffset: selection.anchorOffset,
      focusNode: selection.focusNode,
      focusOffset: selection.focusOffset,
    };
  }

  /** @param {Element} element @returns {{ element: Element, left: number, top: number }[]} */
  function scrolls(element) {
    const found = [];
    /** @type {any} */
    let at = element;
    while (at) {
      if (at.nodeType === 1 && (at.scrollTop || at.scrollLeft || at === element)) {
        found.push({ element: at, left: at.scrollLeft, top: at.scrollTop });
      }
      at = at.parentNode || at.host || (at.nodeType === 9 && at.defaultView ? at.defaultView.frameElement : null);
    }
    const root = document.scrollingElement;
    if (root && !found.some((one) => one.element === root)) {
      found.push({ element: root, left: root.scrollLeft, top: root.scrollTop });
    }
    return found;
  }

  // ---------------------------------------------------------------- state

  /**
   * @typedef {object} Home the person's place in this page, shared by all leases that are open at once
   * @property {Element | null} element
   * @property {Document} document
   * @property {any} field
   * @property {any} range
   * @property {any[]} scroll
   * @property {Document[]} documents
   * @property {string | null} movedOn why the person's newer choice wins, or null
   * @property {number} away when the focus left, or 0
   * @property {number} heldMs
   * @property {number} returns
   * @property {{ event: Event, target: EventTarget }[]} swallowed events kept from the page
   * @property {boolean} windowBlurred the window's blur was swallowed, and no focus since
   */

  /** @type {Map<string, { guestId: number }>} */
  const leases = new Map();
  /** @type {Home | null} */
  let home = null;
  let restoring = false;
  let checkPlanned = false;
  /** How long after its leases a home still is watched for a late move of the focus. */
  let settleUntil = 0;
  /** @type {WeakMap<Element, number>} */
  const guestIds = new WeakMap();
  /** @type {WeakSet<Element>} fields whose `change` event was kept from the page and is still owed */
  const owedChange = new WeakSet();
  let composing = 0;
  const compositionTargets = new Set();

  // ---------------------------------------------------------------- giving back

  /** @param {Home} note @returns {boolean} */
  function isHome(note) {
    const { element } = deepActive();
    return element === note.element || (isBody(element) && isBody(note.element) && element === note.element);
  }

  /** @param {Home} note puts caret, range and scroll back where they were, if anything moved them */
  function putBackSelection(note) {
    const element = /** @type {any} */ (note.element);
    if (note.field) {
      const at = fieldSelection(element);
      const want = note.field;
      if (at && (at.start !== want.start || at.end !== want.end || at.direction !== want.direction)) {
        element.setSelectionRange(want.start, want.end, want.direction);
      }
    } else if (note.range) {
      const { selection, anchorNode, anchorOffset, focusNode, focusOffset } = note.range;
      const same = selection.anchorNode === anchorNode && selection.anchorOffset === anchorOffset
        && selection.focusNode === focusNode && selection.focusOffset === focusOffset;
      if (!same && anchorNode.isConnected && focusNode && focusNode.isConnected) {
        selection.setBaseAndExtent(anchorNode, anchorOffset, focusNode, focusOffset);
      }
    }
    for (const one of note.scroll) {
      if (one.element.scrollTop !== one.top) one.element.scrollTop = one.top;
      if (one.element.scrollLeft !== one.left) one.element.scrollLeft = one.left;
    }
  }

  /** @param {Home} note notes caret, range and scroll as they are; the person may have typed since the lease */
  function notePlace(note) {
    const { element } = note;
    note.field = element ? fieldSelection(element) : null;
    note.range = element && !note.field ? rangeSelection(element) : null;
    note.scroll = element ? scrolls(element) : [];
  }

  /** @returns {string} what came of it: returned | at-home | moved-on reason | gone */
  function giveBack() {
    const note = home;
    if (!note) return 'no-note';
    if (note.movedOn) return note.movedOn;
    const { element: active } = deepActive();
    if (isHome(note)) {
      if (note.away) arrive(note);
      return 'at-home';
    }
    const guest = isGuestElement(active);
    if (!guest && !isBody(active)) {
      note.movedOn = 'focus-elsewhere';
      return note.movedOn;
    }
    if (note.element && !note.element.isConnected) {
      note.movedOn = 'element-gone';
      if (!guest) return note.movedOn;
    }
    restoring = true;
    try {
      if (!note.element || isBody(note.element) || !note.element.isConnected) {
        if (active) /** @type {any} */ (active).blur();
      } else {
        /** @type {any} */ (note.element).focus({ preventScroll: true });
        putBackSelection(note);
      }
    } catch (error) {
      // A page may have replaced focus(); what counts is where the focus is now.
    } finally {
      restoring = false;
    }
    if (note.movedOn) return note.movedOn;
    if (!isHome(note)) return 'not-accepted';
    arrive(note);
    return 'returned';
  }

  /** @param {Home} note */
  function arrive(note) {
    if (note.away) {
      note.heldMs += now() - note.away;
      note.away = 0;
    }
    note.returns += 1;
    tell({ event: 'returned', heldMs: note.heldMs, returns: note.returns });
  }

  /** After Chromium's events of a focus move are over: is it one that the agent caused? */
  function check() {
    checkPlanned = false;
    if (!home || home.movedOn) return;
    if (leases.size === 0 && now() > settleUntil) return;
    const { element: active } = deepActive();
    if (isHome(home)) {
      if (home.away) arrive(home);
      return;
    }
    if (isGuestElement(active) || isBody(active)) giveBack();
    else {
      home.movedOn = 'focus-elsewhere';
      replaySwallowed();
    }
  }

  function planCheck() {
    if (checkPlanned) return;
    checkPlanned = true;
    soon(check);
  }

  // ---------------------------------------------------------------- what the page sees

  /** @param {Event} event */
  function swallow(event) {
    event.stopImmediatePropagation();
  }

  /** The person or the app really moved on: the page gets the events that were kept from it. */
  function replaySwallowed() {
    if (!home) return;
    const list = home.swallowed.splice(0);
    const left = new Set();
    for (const { event, target } of list) {
      const key = event.type;
      if (key === 'blur' || key === 'focusout') left.add(target);
    }
    for (const target of left) {
      if (/** @type {any} */ (target).isConnected && home.element === target && isHome(home)) continue;
      const view = /** @type {any} */ (target).ownerDocument ? /** @type {any} */ (target).ownerDocument.defaultView : target;
      const Focus = (view && view.FocusEvent) || FocusEvent;
      payChange(/** @type {any} */ (target));
      restoring = false;
      passing = true;
      try {
        target.dispatchEvent(new Focus('blur', { composed: true }));
        if (/** @type {any} */ (target).nodeType) target.dispatchEvent(new Focus('focusout', { bubbles: true, composed: true }));
      } finally {
        passing = false;
      }
    }
  }
  let passing = false;

  /** @param {any} element */
  function payChange(element) {
    if (!element || !owedChange.has(element)) return;
    owedChange.delete(element);
    passing = true;
    try {
      element.dispatchEvent(new Event('change', { bubbles: true }));
    } finally {
      passing = false;
    }
  }

  /** @param {FocusEvent} event */
  function onFocusEvent(event) {
    if (passing) return;
    const target = /** @type {any} */ (event.composedPath ? event.composedPath()[0] : event.target);
    const watching = home && !home.movedOn && (leases.size > 0 || now() <= settleUntil);
    if (!watching || !home) {
      if (event.type === 'blur' && target && target.nodeType === 1) payChange(target);
      return;
    }
    if (restoring) {
      swallow(event);
      return;
    }
    const related = /** @type {any} */ (event.relatedTarget);
    if (event.type === 'blur' || event.type === 'focusout') {
      // A move between two elements of this page names the other one; a move to a guest names none.
      if (related && !isGuestElement(related)) return;
      if (home.swallowed.length < 64) home.swallowed.push({ event, target });
      swallow(event);
      if (!home.away && (target === home.element || !target.nodeType || isBody(home.element))) {
        home.away = now();
        notePlace(home);
      }
      planCheck();
      return;
    }
    if (isGuestElement(target)) {
      swallow(event);
      noticeScripted(() => {
        if (home && !home.movedOn) home.movedOn = 'app-moved-focus';
      });
      planCheck();
      return;
    }
    if (!target.nodeType) {
      swallow(event);
      planCheck();
      return;
    }
    if (target !== home.element) {
      home.movedOn = 'focus-elsewhere';
      replaySwallowed();
    } else {
      swallow(event);
      planCheck();
    }
  }

  /**
   * Calls back if the event being handled comes from a script of the page. Between two listeners of a native
   * event the microtasks run; while a script is on the stack they cannot.
   * @param {() => void} yes
   */
  function noticeScripted(yes) {
    let ran = false;
    Promise.resolve().then(() => {
      ran = true;
    });
    afterListener.push(() => {
      if (!ran) yes();
    });
  }
  /** @type {(() => void)[]} */
  const afterListener = [];
  function runAfterListener() {
    for (const one of afterListener.splice(0)) one();
  }

  /** @param {Event} event */
  function onPersonPress(event) {
    if (!event.isTrusted || !home || leases.size === 0) return;
    if (!home.movedOn) {
      home.movedOn = 'person-pressed';
      replaySwallowed();
    }
  }

  /** @param {Event} event */
  function onChange(event) {
    if (passing || !event.isTrusted) return;
    const target = /** @type {any} */ (event.composedPath ? event.composedPath()[0] : event.target);
    if (!home || home.movedOn || target !== home.element || !(leases.size > 0 || now() <= settleUntil)) {
      owedChange.delete(target);
      return;
    }
    // Only text fields fire `change` because they lose the focus.
    if (!fieldSelection(target) && !/^(number|email|date|time|month|week|datetime-local)$/.test(target.type || '')) return;
    owedChange.add(target);
    swallow(event);
  }

  /** @param {Event} event */
  function onInput(event) {
    const target = /** @type {any} */ (event.composedPath ? event.composedPath()[0] : event.target);
    // Chromium will fire `change` by itself again for what is typed from here on.
    if (target && event.isTrusted && owedChange.has(target)) owedChange.delete(target);
  }

  /** @param {Event} event */
  function onComposition(event) {
    if (!event.isTrusted) return;
    const open = event.type !== 'compositionend';
    const target = event.composedPath ? event.composedPath()[0] : event.target;
    if (open === compositionTargets.has(target)) return;
    if (open) compositionTargets.add(target);
    else compositionTargets.delete(target);
    const count = compositionTargets.size;
    if (!!count !== !!composing) tell({ event: 'composition', open: !!count });
    composing = count;
  }

  /** @type {WeakSet<Window>} */
  const listened = new WeakSet();
  /** @type {{ view: Window, type: string, listener: any }[]} */
  const listeners = [];

  /** @param {Document} doc */
  function listen(doc) {
    const view = doc.defaultView;
    if (!view || listened.has(view)) return;
    listened.add(view);
    const on = (/** @type {string} */ type, /** @type {any} */ listener) => {
      view.addEventListener(type, listener, true);
      listeners.push({ view, type, listener });
    };
    for (const type of FOCUS_EVENTS) on(type, onFocusEvent);
    for (const type of ['focus', 'focusin']) on(type, runAfterListener);
    on('change', onChange);
    on('input', onInput);
    for (const type of ['mousedown', 'touchstart']) on(type, onPersonPress);
    for (const type of ['compositionstart', 'compositionupdate', 'compositionend']) on(type, onComposition);
  }

  // ---------------------------------------------------------------- what the main process asks

  /**
   * @param {{ lease: string, guestId: number, expires: number, anyGuest?: boolean }} order `expires` is wall-clock time: an answer
   *   after it would hold the focus for nobody.
   */
  function begin(order) {
    if (Date.now() > order.expires) return { state: 'expired' };
    if (compositionTargets.size) {
      for (const one of compositionTargets) if (!one.isConnected) compositionTargets.delete(one);
      composing = compositionTargets.size;
    }
    if (composing) return { state: 'composing' };
    if (leases.size === 0 || !home || home.movedOn) {
      const { element, documents } = deepActive();
      if (isGuestElement(element)) {
        const id = guestIds.get(element);
        if (id === undefined && !order.anyGuest) return { state: 'unknown-guest' };
        if (id === order.guestId) return { state: 'guest-focused' };
      }
      documents.forEach(listen);
      home = {
        element,
        document: element ? element.ownerDocument : document,
        field: null,
        range: null,
        scroll: [],
        documents,
        movedOn: null,
        away: 0,
        heldMs: 0,
        returns: 0,
        swallowed: [],
        windowBlurred: false,
      };
      notePlace(home);
    }
    leases.set(order.lease, { guestId: order.guestId });
    const at = home.element;
    return {
      state: 'held',
      windowFocused: document.hasFocus(),
      homeGuest: isGuestElement(at) ? guestIds.get(/** @type {Element} */ (at)) : 0,
    };
  }

  /** @param {{ lease: string, settleMs: number }} order */
  function end(order) {
    if (!leases.has(order.lease) || !home) return { returned: false, reason: 'no-lease', heldMs: 0, returns: 0 };
    const outcome = giveBack();
    const note = home;
    leases.delete(order.lease);
    if (leases.size === 0) settleUntil = now() + order.settleMs;
    if (note.movedOn) replaySwallowed();
    const back = outcome === 'returned' || (outcome === 'at-home' && note.returns > 0);
    const heldMs = note.heldMs + (note.away ? now() - note.away : 0);
    return { returned: back, reason: outcome === 'at-home' && back ? 'returned' : outcome, heldMs, returns: note.returns };
  }

  /** Gives the focus back now, if an agent has it, and says how that went. */
  function bringHome() {
    return { outcome: giveBack() };
  }

  /** @param {string} lease forgets a lease whose answer came too late for the main process */
  function drop(lease) {
    giveBack();
    leases.delete(lease);
    return true;
  }

  /** Looks once more, after the last lease, whether Chromium moved the focus late. */
  function recheck() {
    const before = home ? home.returns : 0;
    if (!home) return { again: false };
    if (leases.size === 0) settleUntil = Math.max(settleUntil, now() + 1);
    check();
    const again = home.returns > before;
    if (leases.size === 0) {
      settleUntil = 0;
      home.swallowed.length = 0;
    }
    return { again, movedOn: home.movedOn };
  }

  /** The invisible touch of the person's field after which the input method talks to it again. */
  function nudge() {
    const { element } = deepActive();
    const field = /** @type {any} */ (element);
    if (!field || isBody(field) || isGuestElement(field) || composing) return Promise.resolve({ nudged: false });
    const had = field.getAttribute('enterkeyhint');
    const other = had === 'next' ? 'done' : 'next';
    return new Promise((resolve) => {
      field.setAttribute('enterkeyhint', other);
      const back = () => {
        if (had === null) field.removeAttribute('enterkeyhint');
        else field.setAttribute('enterkeyhint', had);
        resolve({ nudged: true });
      };
      requestAnimationFrame(() => soon(back));
    });
  }

  /** @param {string} type @param {(element: Element, id: number) => void} [then] */
  function learnGuests(type) {
    const hear = (/** @type {any} */ event) => {
      event.stopImmediatePropagation();
      const target = event.composedPath ? event.composedPath()[0] : event.target;
      if (isGuestElement(target) && typeof event.detail === 'number') guestIds.set(target, event.detail);
    };
    window.addEventListener(type, hear, true);
    setTimeout(() => window.removeEventListener(type, hear, true), 2000);
    return true;
  }

  function stop() {
    giveBack();
    leases.clear();
    settleUntil = 0;
    home = null;
    for (const { view, type, listener } of listeners.splice(0)) {
      try {
        view.removeEventListener(type, listener, true);
      } catch (error) {
        // The frame is gone, and its listeners with it.
      }
    }
    if (waiting) waiting([]);
    delete globalThis[NAME];
    return true;
  }

  /** @returns {Promise<object[]>} */
  function next() {
    if (outbox.length) return Promise.resolve(outbox.splice(0));
    if (waiting) waiting([]);
    return new Promise((resolve) => {
      waiting = resolve;
    });
  }

  listen(document);
  globalThis[NAME] = {
    begin, end, bringHome, drop, recheck, nudge, learnGuests, stop, next,
    composition: () => ({ open: composing > 0 }),
  };
})();
