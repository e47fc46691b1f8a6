'use strict';
/**
 * Preload of host pages: the first listeners on the window. It does nothing until the pane asks it to; then the
 * pane is told of each focus event before the page is, and may keep it from the page.
 *
 * The pane comes into a page that has long been running, and Chromium calls the listeners of the window's own
 * `blur` and `focus` in the order of their registration: without this file a page would see those two.
 * The pane lives in another world, so the two talk through events on the same nodes. It is asked about keys too: one
 * that has gone astray comes again, and the page shall hear of it once.
 */
(() => {
  let armed = false;
  window.addEventListener('focusguard:arm', (event) => {
    armed = true;
    event.preventDefault();
  });
  window.addEventListener('focusguard:disarm', () => {
    armed = false;
  });
  /** @param {Event} event */
  function ask(event) {
    const target = event.composedPath()[0] || event.target;
    if (!armed || !target) return;
    // Electron tells a webview's focus with an event of its own making.
    const told = !event.isTrusted && /** @type {any} */ (target).localName === 'webview';
    if (!event.isTrusted && !told) return;
    const how = { bubbles: true, cancelable: true, composed: true };
    const question = told
      ? new CustomEvent('focusguard:told', Object.assign({ detail: event.type }, how))
      : new FocusEvent('focusguard:' + event.type, Object.assign({ relatedTarget: /** @type {FocusEvent} */ (event).relatedTarget || null }, how));
    target.dispatchEvent(question);
    if (question.defaultPrevented) event.stopImmediatePropagation();
  }
  const MODIFIERS = ['Shift', 'Control', 'Alt', 'Meta', 'CapsLock', 'NumLock', 'AltGraph'];
  /** @param {KeyboardEvent} event @returns {boolean} whether it is the press that nobody makes (keymap.cjs); prevented, it would cost the next character */
  function rouses(event) {
    return event.key === 'F24' && event.altKey && event.ctrlKey && event.metaKey && event.shiftKey;
  }
  /** @param {KeyboardEvent} event */
  function askKey(event) {
    const target = event.composedPath()[0] || event.target;
    if (!armed || !event.isTrusted || !target) return;
    if (rouses(event)) {
      event.stopImmediatePropagation();
      return;
    }
    const detail = JSON.stringify({
      type: event.type, key: event.key, code: event.code, location: event.location, isAutoRepeat: event.repeat,
      shift: event.shiftKey, control: event.ctrlKey, alt: event.altKey, meta: event.metaKey,
      modifiers: MODIFIERS.filter((name) => event.getModifierState(name)).map((name) => name.toLowerCase()),
    });
    const question = new CustomEvent('focusguard:key', { detail, bubbles: true, cancelable: true, composed: true });
    target.dispatchEvent(question);
    if (!question.defaultPrevented) return;
    event.stopImmediatePropagation();
    event.preventDefault();
  }
  for (const type of ['keydown', 'keypress', 'keyup']) window.addEventListener(type, /** @type {any} */ (askKey), true);
  for (const type of ['blur', 'focus', 'focusin', 'focusout', 'change']) window.addEventListener(type, ask, true);
})();
