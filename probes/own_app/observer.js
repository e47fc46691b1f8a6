'use strict';
/**
 * Stands in an isolated world of each document of a measured app: notes every event of input and focus before the page
 * sees it, and finds the fields. The page cannot see it, and it keeps nothing from the page.
 */
(() => {
  const world = /** @type {any} */ (globalThis);
  if (world.focusguardObserver) return;

  const TYPES = ['keydown', 'keypress', 'keyup', 'beforeinput', 'input', 'textInput', 'compositionstart',
    'compositionupdate', 'compositionend', 'pointerdown', 'pointerup', 'pointercancel', 'mousedown', 'mouseup', 'click',
    'auxclick', 'dblclick', 'contextmenu', 'wheel', 'touchstart', 'touchmove', 'touchend', 'touchcancel', 'focus', 'blur',
    'focusin', 'focusout', 'visibilitychange'];
  // Never a password's field, and none whose value is no plain text.
  const TEXTS = ['text', 'search', 'url', 'tel', 'email'];

  /** @type {any[]} */
  let log = [];
  /** @type {any} */
  let field = null;
  let label = 'field';
  /** @type {string | null} */
  let kept = null;

  /** @param {string} selector @returns {any[]} In the document and its open shadow roots. */
  function all(selector) {
    /** @type {any[]} */
    const found = [];
    /** @param {Document | ShadowRoot} root */
    function search(root) {
      found.push(...Array.from(root.querySelectorAll(selector)));
      for (const element of Array.from(root.querySelectorAll('*'))) {
        if (element.shadowRoot && element.tagName !== 'WEBVIEW') search(element.shadowRoot);
      }
    }
    search(document);
    return found;
  }

  /** @param {any} element @returns {string} Such as `textarea#notes`. */
  function describe(element) {
    const tag = element.tagName.toLowerCase();
    if (element.id) return `${tag}#${element.id}`;
    if (element.getAttribute('name')) return `${tag}[name=${JSON.stringify(element.getAttribute('name'))}]`;
    return element.classList.length ? `${tag}.${element.classList[0]}` : tag;
  }

  /** @param {any} target @returns {string} */
  function nameOf(target) {
    if (target === window) return 'window';
    if (target === document) return 'document';
    if (!target || !target.tagName) return 'none';
    return target === field ? label : describe(target);
  }

  /** @param {any} element @returns {boolean} */
  function takesText(element) {
    if (element.disabled || element.readOnly) return false;
    if (element.tagName === 'INPUT') return TEXTS.includes(element.type);
    // Only where editing begins: what is inside is the same field.
    return element.tagName === 'TEXTAREA'
      || (element.isContentEditable && !(element.parentElement && element.parentElement.isContentEditable));
  }

  /** @param {any} element @returns {boolean} */
  function isShown(element) {
    const box = element.getBoundingClientRect();
    return box.width > 3 && box.height > 3 && box.right > 0 && box.bottom > 0 && box.left < innerWidth
      && box.top < innerHeight && getComputedStyle(element).visibility === 'visible';
  }

  /** @returns {any[]} */
  function fields() {
    return all('input, textarea, [contenteditable], body').filter((element) => takesText(element) && isShown(element));
  }

  /** @param {any} element @returns {string | null} */
  function valueOf(element) {
    if (!element) return null;
    return element.isContentEditable ? element.textContent : typeof element.value === 'string' ? element.value : null;
  }

  /** @returns {string} The element with the document's focus, through open shadow roots; empty for the body. */
  function activeName() {
    /** @type {any} */
    let active = document.activeElement;
    while (active && active.tagName !== 'WEBVIEW' && active.shadowRoot && active.shadowRoot.activeElement) {
      active = active.shadowRoot.activeElement;
    }
    return !active || (active === document.body && active !== field) ? '' : nameOf(active);
  }

  for (const type of TYPES) {
    window.addEventListener(type, (event) => {
      const given = /** @type {any} */ (event);
      log.push({
        type,
        t: performance.timeOrigin + event.timeStamp,
        trusted: event.isTrusted,
        target: nameOf(event.composedPath()[0] || event.target),
        key: typeof given.key === 'string' ? given.key : '',
        data: typeof given.data === 'string' ? given.data : '',
      });
    }, { capture: true, passive: true });
  }

  world.focusguardObserver = {
    isLoaded: () => document.readyState === 'complete',

    /** @returns {string[]} The fields that take text and are on the screen. */
    candidates: () => fields().map(describe),

    /**
     * Chooses the field that the others are about.
     *
     * @param {string | null} selector the first that is shown where there is none
     * @param {string} name what it is called in the log
     * @returns {{count: number, name: string, takesText: boolean}} how many elements there are, and the chosen one
     */
    choose(selector, name) {
      const found = selector === null ? fields().slice(0, 1) : all(selector);
      field = found.length === 1 ? found[0] : null;
      label = name;
      if (field && !isShown(field)) field.scrollIntoView({ block: 'center' });
      return { count: found.length, name: field ? describe(field) : '', takesText: Boolean(field) && takesText(field) };
    },

    /** Gives the field its document's focus. */
    enter() {
      if (field) field.focus({ preventScroll: true });
    },

    /** Takes it away from the field. */
    leave() {
      if (field) field.blur();
    },

    /** Begins a new log, and keeps the field's text for `restore`. */
    begin() {
      log = [];
      kept = valueOf(field);
    },

    look: () => ({ active: activeName(), hasFocus: document.hasFocus(), value: valueOf(field) || '', log }),

    /** @returns {{x: number, y: number, width: number, height: number, inner: number[], scale: number}} */
    place() {
      const box = field.getBoundingClientRect();
      return { x: box.left, y: box.top, width: box.width, height: box.height, inner: [innerWidth, innerHeight],
        scale: devicePixelRatio };
    },

    /** Puts the text back that `begin` has kept; what is no form field keeps what was typed. */
    restore() {
      if (kept === null || !field || field.isContentEditable || field.value === kept) return;
      field.value = kept;
      field.dispatchEvent(new Event('input', { bubbles: true }));
    },
  };
})();
