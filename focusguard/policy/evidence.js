// Runs in an isolated world of each document that gets agent input: the page can neither see nor change it.
// Events are counted at the window's capture phase; `performance.eventCounts` (Chromium 85 and later) is the
// second witness for documents whose own capture listeners were there first and stop propagation.
(() => {
  'use strict';
  if (globalThis.focusguard) return;
  const TYPES = ['keydown', 'keypress', 'keyup', 'beforeinput', 'input', 'mousedown', 'mouseup', 'pointerdown',
    'touchstart', 'compositionstart', 'compositionupdate'];
  // How often the second witness is asked, and how long a `char` is waited for: Chromium drops the one whose press the
  // page has handled, and no event tells of that.
  const LOOK_MS = 16;
  const CHAR_MS = 250;
  const counts = {};
  let waiting = [];
  let last = null;
  const note = (event) => {
    if (!event.isTrusted) return;
    // The guard's own press, which wakes a widget that drops releases: no page shall see it.
    if (event.key === 'F24' && event.altKey && event.ctrlKey && event.metaKey && event.shiftKey) {
      event.stopImmediatePropagation();
      return;
    }
    counts[event.type] = (counts[event.type] || 0) + 1;
    last = event;
    waiting = waiting.filter((look) => !look(event));
  };
  for (const type of TYPES) addEventListener(type, note, { capture: true, passive: true });

  // Up to Chromium 114 at least, the second witness stops counting once the list of slow events is full, unless somebody
  // observes them: 150 of them, and in a hidden window, painted once in a second, every event is slow.
  if (performance.eventCounts && PerformanceObserver.supportedEntryTypes.includes('event')) {
    new PerformanceObserver(() => undefined).observe({ type: 'event', durationThreshold: 1e6 });
  }

  const witnessed = (type) => {
    const map = performance.eventCounts;
    return map ? map.get(type) || 0 : 0;
  };

  const deepActive = () => {
    let element = document.activeElement;
    while (element && element.shadowRoot && element.shadowRoot.activeElement) element = element.shadowRoot.activeElement;
    return element;
  };

  const NOT_TEXT = ['button', 'checkbox', 'color', 'file', 'hidden', 'image', 'radio', 'range', 'reset', 'submit'];
  const editable = (element) => {
    if (document.designMode === 'on') return true;
    if (!element) return false;
    if (element.isContentEditable || element.editContext) return true;
    if (element.localName === 'textarea') return !element.readOnly && !element.disabled;
    if (element.localName !== 'input') return false;
    return !element.readOnly && !element.disabled && !NOT_TEXT.includes(element.type);
  };

  let kept = null;
  const owedChange = new WeakSet();
  const nextTask = () => new Promise((resolve) => {
    const channel = new MessageChannel();
    channel.port1.onmessage = () => resolve(channel.port1.close());
    channel.port2.postMessage(0);
  });
  const departure = (ms) => new Promise((resolve) => {
    kept.wake = resolve;
    setTimeout(resolve, kept.left ? 0 : ms);
  });
  const hide = (event) => {
    const target = event.composedPath()[0];
    if (!kept) {
      // What the page was not told of when the focus was taken, it is told now that it really goes.
      if (event.type === 'change') owedChange.delete(target);
      else if (event.type === 'blur' && owedChange.delete(target)) target.dispatchEvent(new Event('change', { bubbles: true }));
      return;
    }
    if (!event.isTrusted) return;
    if (event.type === 'change') owedChange.add(target);
    // Of a frame element this tells more than `:focus`, which only matches in the frame that has the focus.
    if (event.type === 'focusin' && target === kept.element) kept.focused = true;
    if (event.type === 'blur' && target === window) {
      kept.left += 1;
      kept.wake();
    }
    event.stopImmediatePropagation();
  };
  for (const type of ['blur', 'focus', 'focusin', 'focusout', 'change']) addEventListener(type, hide, true);
  addEventListener('input', (event) => event.isTrusted && owedChange.delete(event.composedPath()[0]), true);

  const pickInField = (field, text, caret) => {
    const from = field.selectionStart - caret;
    if (field.selectionStart !== field.selectionEnd || field.value.slice(from, from + text.length) !== text) return;
    field.setSelectionRange(from, from + text.length);
  };
  const pickInPage = (text, behind) => {
    const selection = getSelection();
    if (!selection.isCollapsed || !selection.rangeCount) return;
    const { startContainer: node, startOffset: offset } = selection.getRangeAt(0);
    for (let i = 0; i < behind; i += 1) selection.modify('move', 'forward', 'character');
    for (let i = 0; i < text.length && selection.toString().length < text.length; i += 1) selection.modify('extend', 'backward', 'character');
    if (selection.toString() !== text) selection.collapse(node, offset);
  };

  const FRAMES = ['iframe', 'frame', 'object', 'embed', 'fencedframe'];

  globalThis.focusguard = {
    // The frame element that holds the focus, or what is known about the focused element and the counts so far.
    look(types) {
      const element = deepActive();
      if (element && FRAMES.includes(element.localName)) return element;
      const seen = {};
      for (const type of types) seen[type] = [counts[type] || 0, witnessed(type)];
      const visible = document.visibilityState === 'visible';
      return JSON.stringify({ editable: editable(element), focused: document.hasFocus(), visible, seen });
    },

    // Whether the document gets a frame within so many milliseconds; `visibilityState` does not tell (a webview that is
    // `display: none` says 'visible').
    painted(ms) {
      return new Promise((resolve) => {
        requestAnimationFrame(() => resolve(true));
        setTimeout(resolve, ms, false);
      });
    },

    // The focus is about to be taken into the guest: Chromium then moves it from the frame that holds it to the main
    // frame (FrameTree::SetFocusedFrame). What that causes, and what gives it back, is kept from the page until `done`.
    hold() {
      const element = deepActive();
      kept = { element, focused: Boolean(element && element.matches(':focus')), left: 0, wake: () => undefined };
    },
    left: (ms) => departure(ms),
    // Selects the text that stands around the caret, where it does.
    pick(text, caret) {
      const element = deepActive();
      if (element && 'setSelectionRange' in element) pickInField(element, text, caret);
      else pickInPage(text, text.length - caret);
    },
    back() {
      const { element, focused } = kept;
      if (!element || !focused) return;
      element.blur();
      element.focus({ preventScroll: true });
    },
    async done() {
      await nextTask();
      kept = null;
    },

    // Resolves 'handled', 'cancelled' or 'missed' when one of `types` was dispatched after `seen`; where the event is a
    // keydown that makes a character and nobody cancelled it, when its keypress was dispatched too.
    wait(types, seen, character, ms) {
      return new Promise((resolve) => {
        let timer = 0;
        const finish = (verdict) => {
          clearTimeout(timer);
          resolve(verdict);
        };
        // A task later, the event has run through all listeners and its default action is done.
        const settled = (event) => {
          const channel = new MessageChannel();
          channel.port1.onmessage = () => {
            channel.port1.close();
            const cancelled = event.defaultPrevented;
            if (!character || cancelled || (counts.keypress || 0) > seen.keypress[0] ||
                witnessed('keypress') > seen.keypress[1]) {
              finish(cancelled ? 'cancelled' : 'handled');
            } else {
              waiting.push((next) => next.type === 'keypress' && (settledPress(), true));
              clearTimeout(timer);
              timer = setTimeout(finish, CHAR_MS, 'handled');
            }
          };
          channel.port2.postMessage(0);
        };
        const settledPress = () => {
          const channel = new MessageChannel();
          channel.port1.onmessage = () => {
            channel.port1.close();
            finish('handled');
          };
          channel.port2.postMessage(0);
        };
        const done = types.some((type) => (counts[type] || 0) > seen[type][0]);
        if (done && last && types.includes(last.type)) settled(last);
        else if (done) finish('handled');
        else waiting.push((event) => types.includes(event.type) && (settled(event), true));
        // A page whose listener was there first may have stopped it: then the other witness has seen it all the same.
        const elsewhere = () => types.some((type) => witnessed(type) > seen[type][1] && !(counts[type] > seen[type][0]));
        const began = performance.now();
        let looks = 0;
        const only = types.length === 1 && types[0] === 'keypress';
        const look = () => {
          const late = performance.now() - began >= (only ? Math.min(ms, CHAR_MS) : ms);
          looks += elsewhere() ? 1 : 0;
          if (looks > 1) finish('handled');
          else if (late && types.some((type) => (counts[type] || 0) > seen[type][0])) finish('handled');
          else if (late) finish(only || !performance.eventCounts ? 'unverified' : 'missed');
          else timer = setTimeout(look, LOOK_MS);
        };
        timer = setTimeout(look, LOOK_MS);
      });
    },
  };
})();
