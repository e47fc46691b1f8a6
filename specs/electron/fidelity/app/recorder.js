'use strict';
/*
 * Records what a page can observe of input: every event at the window's capture phase, and the state afterwards.
 * Events that come with the next frame (`select`, `selectionchange`, `scroll`) are left out: their order among the
 * others is nobody's promise. What they tell is in the state.
 * `stage.next(spec)` gives the record of the row before and prepares the next one, in every frame.
 */
(() => {
  const TYPES = ['keydown', 'keypress', 'keyup', 'beforeinput', 'input', 'textInput', 'compositionstart',
    'compositionupdate', 'compositionend', 'click', 'mousedown', 'mouseup', 'pointerdown', 'pointerup', 'contextmenu',
    'change', 'submit', 'reset', 'copy', 'cut', 'paste', 'focusin', 'focusout', 'focus', 'blur',
    'beforecopy', 'beforepaste', 'dragstart', 'touchstart', 'wheel'];
  const FOCUS = ['focusin', 'focusout', 'change', 'focus', 'blur'];
  const LOCKS = ['CapsLock', 'NumLock', 'ScrollLock', 'AltGraph', 'Fn', 'Hyper', 'Super', 'Symbol'];
  const BUSY_AFTER_MS = 30;
  const INITIAL = {
    first: 'first', area: 'one two\nthree four\nfive six', line: 'one two three', secret: 'Secret', number: '42',
    rich: 'one <b>two</b> three', name: 'name', last: 'last',
  };
  const frame = new URLSearchParams(location.search).get('frame') || 'main';
  const byId = (id) => document.getElementById(id);

  // -- frames: the page's own site, another site, and a third one inside that --
  const under = (id, host, name) => {
    const element = byId(id) || document.body.appendChild(document.createElement('iframe'));
    element.id = id;
    element.src = `http://${host}:${location.port}/frame.html?frame=${name}`;
  };
  if (frame === 'main') {
    under('same', '127.0.0.1', 'same');
    under('cross', 'localhost', 'cross');
  }
  if (frame === 'cross') under('nested', 'third.localhost', 'nested');
  const ROUTES = { main: [], same: ['same'], cross: ['cross'], nested: ['cross', 'nested'] };

  // -- what is recorded --
  let log = [];
  let plan = {};
  // A key that Electron cannot express takes the focus through the main frame to the one that has it. The guard keeps
  // that from the page, except for the windows' own events: their listeners are called in the order of registration.
  let windows = true;
  const named = (node) => {
    if (!node) return null;
    if (node === window) return 'window';
    if (node === document) return 'document';
    const element = node.nodeType === Node.ELEMENT_NODE ? node : node.parentElement;
    if (!element) return node.nodeName;
    const owner = element.closest('[id]');
    return owner && owner !== element ? `${owner.id} ${element.localName}` : element.id || element.localName;
  };
  const place = (node, offset) => {
    const steps = [];
    let at = node;
    while (at && at !== document.body && at.parentNode) {
      steps.unshift(Array.prototype.indexOf.call(at.parentNode.childNodes, at));
      if (at.id) {
        steps[0] = at.id;
        break;
      }
      at = at.parentNode;
    }
    return `${steps.join('/')}:${offset}`;
  };
  const caret = () => {
    const element = document.activeElement;
    if (element && 'selectionStart' in element && element.selectionStart !== null) {
      return `${element.selectionStart}-${element.selectionEnd} ${element.selectionDirection}`;
    }
    const selection = getSelection();
    if (!selection.anchorNode) return null;
    return `${place(selection.anchorNode, selection.anchorOffset)} ${place(selection.focusNode, selection.focusOffset)}`;
  };
  const valueOf = (element) => {
    if (!element || element === window || element === document) return null;
    if (element.type === 'checkbox') return element.checked;
    if (typeof element.value === 'string') return element.value;
    const host = element.closest ? element.closest('[contenteditable]') : null;
    return host ? host.innerHTML : null;
  };

  const inEditor = (node) => Boolean(node && node.closest && node.closest('#editor'));

  const record = (event) => {
    if (event.type === 'focus' || event.type === 'blur') {
      if (event.target !== window || !windows) return; // focusin and focusout say it for elements
    }
    const entry = { type: event.type, target: named(event.target), trusted: event.isTrusted };
    if ('key' in event) {
      Object.assign(entry, {
        key: event.key, code: event.code, location: event.location, repeat: event.repeat,
        composing: event.isComposing, keyCode: event.keyCode, charCode: event.charCode, which: event.which,
        locks: LOCKS.filter((lock) => event.getModifierState(lock)).join('+'),
      });
    }
    if ('ctrlKey' in event) {
      entry.modifiers = ['shift', 'ctrl', 'alt', 'meta'].filter((name) => event[`${name}Key`]).join('+');
    }
    if ('inputType' in event) {
      entry.inputType = event.inputType;
      entry.composing = event.isComposing;
      entry.ranges = event.getTargetRanges().map((range) => place(range.startContainer, range.startOffset) + ' ' +
        place(range.endContainer, range.endOffset));
      entry.transfer = event.dataTransfer ? event.dataTransfer.getData('text/plain') : null;
    }
    if ('data' in event) entry.data = event.data;
    if ('detail' in event) entry.detail = event.detail;
    if ('relatedTarget' in event) entry.related = named(event.relatedTarget);
    if (event.clipboardData) entry.clipboard = event.clipboardData.getData('text/plain');
    entry.cancelable = event.cancelable;
    entry.value = valueOf(event.target);
    // The editor reads the selection in its own time.
    if (!inEditor(event.target)) entry.caret = caret();
    entry.active = named(document.activeElement);
    entry.focused = document.hasFocus();
    log.push(entry);
    if (plan.cancel && plan.cancel.indexOf(event.type) >= 0) event.preventDefault();
    if (plan.stop && plan.stop.indexOf(event.type) >= 0) event.stopImmediatePropagation();
    if (plan.focusOn && plan.focusOn.type === event.type) byId(plan.focusOn.id).focus();
    if (plan.removeOn === event.type && event.target.remove) event.target.remove();
  };
  // What the page's handlers and its editor have made of an event shows at the end of its way.
  const afterwards = (event) => {
    if (!event.defaultPrevented) return;
    for (let at = log.length - 1; at >= 0; at -= 1) {
      if (log[at].type === event.type && log[at].cancelled === undefined) {
        log[at].cancelled = true;
        return;
      }
    }
  };
  // Focus as pages listen for it: not in front of everything, where the guard's own listener is not yet.
  for (const type of TYPES.filter((one) => FOCUS.indexOf(one) < 0)) addEventListener(type, record, true);
  for (const type of ['focusin', 'focusout', 'change']) document.addEventListener(type, record, true);
  for (const type of ['focus', 'blur']) addEventListener(type, record);
  for (const type of TYPES) addEventListener(type, afterwards, false);
  if (byId('form')) byId('form').addEventListener('submit', (event) => event.preventDefault());
  if (byId('link')) byId('link').addEventListener('click', (event) => event.preventDefault());

  // -- one row --
  const take = () => {
    const taken = {
      log: log.slice(), caret: inEditor(document.activeElement) ? null : caret(), active: named(document.activeElement), focused: document.hasFocus(),
      scroll: [Math.round(scrollX), Math.round(scrollY)], size: [innerWidth, innerHeight], values: {}, editor: window.editor ? window.editor.read() : null,
    };
    for (const id of Object.keys(INITIAL).concat(['check', 'choice'])) {
      const element = byId(id);
      if (element && element.id !== 'area') taken.values[id] = valueOf(element);
      if (element && element.id === 'area') taken.values[id] = [element.value, element.scrollTop];
    }
    return taken;
  };
  const reset = () => {
    plan = {};
    for (const [id, value] of Object.entries(INITIAL)) {
      const element = byId(id);
      if (!element) continue;
      if (id === 'rich') {
        if (element.innerHTML !== value) element.innerHTML = value;
      } else if (element.value !== value) {
        element.value = value;
      }
      element.scrollTop = 0;
      if (element.selectionStart) element.setSelectionRange(0, 0);
    }
    if (window.editor) window.editor.reset();
    if (byId('check')) byId('check').checked = false;
    if (byId('choice')) byId('choice').selectedIndex = 1;
    if (document.activeElement && document.activeElement !== document.body) document.activeElement.blur();
    getSelection().removeAllRanges();
    scrollTo(0, 0);
  };
  const setCaret = (element, at) => {
    const [start, end] = at || [4, 4];
    if (element.setSelectionRange && element.selectionStart !== null) element.setSelectionRange(start, end);
    if (element.isContentEditable && element.id === 'rich') {
      const text = element.firstChild;
      getSelection().setBaseAndExtent(text, Math.min(start, text.length), text, Math.min(end, text.length));
    }
  };
  const prepare = (spec) => {
    if (spec.field === 'body') return;
    if (spec.field === 'editor') {
      window.editor.focus(spec.caret || [5, 5]);
    } else {
      const element = byId(spec.field);
      element.focus({ preventScroll: true });
      setCaret(element, spec.caret);
    }
  };
  const start = (spec) => {
    plan = spec;
    if (spec.busyMs) {
      setTimeout(() => {
        const end = performance.now() + spec.busyMs;
        while (performance.now() < end); // a page at work
      }, BUSY_AFTER_MS);
    }
  };

  /** @type {Map<number, (answer: any) => void>} */
  const asked = new Map();
  let serial = 0;
  const ask = (id, order) => new Promise((resolve) => {
    serial += 1;
    asked.set(serial, resolve);
    byId(id).contentWindow.postMessage({ order, serial }, '*');
  });
  const children = () => Array.from(document.querySelectorAll('iframe'), (element) => element.id);
  const channel = new MessageChannel();
  const nextTask = () => new Promise((resolve) => {
    channel.port1.onmessage = resolve;
    channel.port2.postMessage(0);
  });

  // Down the frames: first everything is taken and reset, then the focus goes to its place, then the record begins.
  const perform = async (order) => {
    const everywhere = async (own) => {
      const result = { [frame]: own };
      for (const id of order.deep ? children() : []) Object.assign(result, await ask(id, order));
      return result;
    };
    if (order.what === 'take') return everywhere(take());
    if (order.what === 'reset') return everywhere(reset());
    if (order.what === 'clear') {
      log = [];
      windows = order.windows;
      return everywhere(null);
    }
    const [id, ...rest] = order.route;
    if (id) {
      if (order.what === 'prepare') byId(id).focus();
      return ask(id, { what: order.what, spec: order.spec, route: rest });
    }
    if (order.what === 'prepare') prepare(order.spec);
    else start(order.spec);
    await nextTask(); // what the preparation itself caused is not the row's
    return null;
  };

  addEventListener('message', async (event) => {
    const { order, serial: number, answer } = event.data;
    if (order) event.source.postMessage({ serial: number, answer: await perform(order) }, '*');
    else if (asked.has(number)) {
      asked.get(number)(answer);
      asked.delete(number);
    }
  });

  let deepBefore = false;
  window.stage = {
    /** @param {any} spec field, frame, caret, cancel, stop, focusOn, removeOn, busyMs; null: only take */
    async next(spec) {
      const deep = Boolean(spec && (spec.frame || spec.deep));
      const taken = await perform({ what: 'take', deep: deepBefore });
      if (spec) {
        const route = ROUTES[spec.frame || 'main'];
        await perform({ what: 'reset', deep: deep || deepBefore });
        await perform({ what: 'prepare', spec, route });
        await perform({ what: 'clear', deep: deep || deepBefore, windows: !spec.frame });
        await perform({ what: 'start', spec, route });
      }
      deepBefore = deep;
      return taken;
    },
    // A frame that has not loaded yet answers nothing.
    ready: () => Promise.race([
      perform({ what: 'take', deep: true }).then((all) => Object.keys(all).length === 4),
      new Promise((resolve) => setTimeout(resolve, 500, false)),
    ]),
  };
})();
