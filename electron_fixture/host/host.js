'use strict';
/* The host page's own behaviour, in the page's own world: a terminal, a form, guests, and what the page sees. */
(() => {
  const byId = (id) => document.getElementById(id);
  const root = byId('shadow-box').attachShadow({ mode: 'open' });
  root.innerHTML =
    '<input id="shadow-input" data-field="shadow" type="text" spellcheck="false"' +
    ' style="box-sizing:border-box;width:300px;height:30px;font:13px monospace">';

  // -- what a listener of the page sees (the preload's log shows what came to the window) --
  const SEEN = ['focus', 'blur', 'focusin', 'focusout', 'keydown', 'beforeinput', 'input', 'keyup', 'compositionstart', 'compositionend'];
  let seen = [];
  const see = (event) => {
    const target = event.composedPath()[0];
    const name = target === window ? 'window' : (target.dataset && target.dataset.field) || target.id || target.nodeName.toLowerCase();
    seen.push({ t: performance.timeOrigin + performance.now(), type: event.type, target: name, key: event.key || event.data || null });
  };
  for (const type of SEEN) document.addEventListener(type, see, true);
  window.addEventListener('focus', see);
  window.addEventListener('blur', see);

  // -- the terminal: keys go to a hidden textarea, focus is reported to the program in it --
  const terminal = { screen: byId('terminal-screen'), input: byId('terminal-input'), composing: false, reports: [] };
  const CODES = { Enter: '\r', Backspace: '\x7f', Escape: '\x1b', Tab: '\t', ArrowUp: '\x1b[A', ArrowDown: '\x1b[B', ArrowRight: '\x1b[C', ArrowLeft: '\x1b[D' };
  const type = (data) => {
    terminal.screen.textContent += data;
  };
  terminal.input.addEventListener('keydown', (event) => {
    if (event.isComposing || event.keyCode === 229 || !CODES[event.key]) return;
    event.preventDefault();
    type(CODES[event.key]);
  });
  terminal.input.addEventListener('keypress', (event) => {
    if (event.key.length !== 1 || event.ctrlKey || event.metaKey) return;
    event.preventDefault();
    type(event.key);
  });
  terminal.input.addEventListener('compositionstart', () => {
    terminal.composing = true;
  });
  terminal.input.addEventListener('compositionend', (event) => {
    terminal.composing = false;
    type(event.data);
    terminal.input.value = '';
  });
  terminal.input.addEventListener('input', () => {
    if (terminal.composing) return;
    type(terminal.input.value);
    terminal.input.value = '';
  });
  terminal.input.addEventListener('focus', () => terminal.reports.push('\x1b[I'));
  terminal.input.addEventListener('blur', () => terminal.reports.push('\x1b[O'));
  byId('terminal').addEventListener('mousedown', (event) => {
    event.preventDefault();
    terminal.input.focus({ preventScroll: true });
  });

  // -- the form: a submit is counted with the draft that it carried --
  const counters = { submits: 0 };
  let submitted = [];
  byId('form').addEventListener('submit', (event) => {
    event.preventDefault();
    counters.submits += 1;
    submitted.push(byId('form-draft').value);
  });

  // -- giving the focus back the way apps do it: an oracle for what the guard has to do better --
  const restoring = { mode: 'none', last: null };
  const deepActive = () => {
    let active = document.activeElement;
    // A webview counts as a whole: it keeps a frame of its own in its shadow root.
    while (active && !isGuest(active) && active.shadowRoot && active.shadowRoot.activeElement) active = active.shadowRoot.activeElement;
    return active;
  };
  const isGuest = (element) => Boolean(element && element.tagName === 'WEBVIEW');
  // Not focusin: a page that has just lost the window's focus sees only focus.
  document.addEventListener('focus', (event) => {
    const target = event.composedPath()[0];
    if (!isGuest(target)) {
      restoring.last = target;
    } else if (restoring.mode === 'on-focus') {
      giveBack();
    }
  }, true);
  // Electron 9 gives the webview no focus event; there the window's blur is all that an app sees.
  window.addEventListener('blur', () => {
    if (restoring.mode === 'on-focus') setTimeout(giveBack, 0);
  });
  const giveBack = () => {
    if (!restoring.last || !isGuest(deepActive())) return false;
    restoring.last.focus({ preventScroll: true });
    return true;
  };

  const guests = {};
  window.fixturePage = {
    /** Makes a webview; the embedding that needs an element of the page. */
    addGuest(index, url, box) {
      const element = document.createElement('webview');
      element.id = `guest-${index}`;
      element.setAttribute('src', url);
      element.style.cssText = `left:${box.x}px;top:${box.y}px;width:${box.width}px;height:${box.height}px`;
      guests[index] = element;
      byId('guests').appendChild(element);
      return true;
    },
    removeGuest(index) {
      if (guests[index]) guests[index].remove();
      delete guests[index];
      return true;
    },
    attribute(index, name, value) {
      if (!guests[index]) throw new Error(`guest ${index} is not a webview`);
      if (value === null) guests[index].removeAttribute(name);
      else guests[index].setAttribute(name, value);
      return true;
    },
    setRestore(mode) {
      const active = deepActive();
      restoring.mode = mode;
      if (!isGuest(active)) restoring.last = active;
      return true;
    },
    giveBack,
    reset() {
      for (const index of Object.keys(guests)) {
        guests[index].removeAttribute('inert');
        guests[index].removeAttribute('tabindex');
      }
      restoring.mode = 'none';
      restoring.last = null;
      terminal.screen.textContent = '';
      terminal.composing = false;
      return true;
    },
    /** The trial starts: what the reset itself caused is forgotten. */
    begin() {
      counters.submits = 0;
      submitted = [];
      terminal.reports = [];
      seen = [];
      return true;
    },
    snapshot() {
      return {
        counters,
        submitted,
        terminal: { data: terminal.screen.textContent, reports: terminal.reports },
        seen,
        hasFocus: document.hasFocus(),
        active: document.activeElement ? document.activeElement.id || document.activeElement.tagName.toLowerCase() : null,
      };
    },
  };
})();
