'use strict';
/** Reading and setting back a document's fields, focus, selection and scroll, from the isolated world. */

/** @returns {Array<Document | ShadowRoot>} The document and the open shadow roots in it. */
function roots() {
  const shadows = Array.from(document.querySelectorAll('[data-shadow]'))
    .map((element) => element.shadowRoot)
    .filter((root) => root !== null);
  return [/** @type {any} */ (document)].concat(shadows);
}

/** @param {string} selector @returns {any[]} */
function all(selector) {
  return roots().reduce((found, root) => found.concat(Array.from(root.querySelectorAll(selector))), /** @type {any[]} */ ([]));
}

/** @param {string} name @returns {any} */
function fieldNamed(name) {
  return all('[data-field]').find((element) => element.dataset.field === name) || null;
}

/** @param {any} target @returns {string} */
function nameOf(target) {
  if (target === window) return 'window';
  if (target === document) return 'document';
  if (!target || !target.tagName) return 'none';
  if (target.dataset && target.dataset.field) return target.dataset.field;
  return target.id || target.tagName.toLowerCase();
}

/** @param {any} element @returns {boolean} */
function isText(element) {
  if (element.tagName === 'TEXTAREA') return true;
  return element.tagName === 'INPUT' && ['text', 'search', 'url', 'tel', 'password'].indexOf(element.type) >= 0;
}

/** @param {any} element @returns {boolean} */
function isField(element) {
  if (!element || !element.tagName) return false;
  return element.isContentEditable || ['INPUT', 'TEXTAREA', 'SELECT'].indexOf(element.tagName) >= 0;
}

/** @param {any} element @returns {string | boolean | number} */
function valueOf(element) {
  if (element.type === 'checkbox') return element.checked;
  if (element.type === 'file') return element.files.length;
  if (element.isContentEditable) return element.textContent;
  return element.value;
}

/** @param {any} element @returns {number | null} Offset of the caret (end of the selection) in a text field. */
function caretOf(element) {
  if (isText(element)) return element.selectionDirection === 'backward' ? element.selectionStart : element.selectionEnd;
  if (element.isContentEditable) {
    const selection = document.getSelection();
    return selection && element.contains(selection.focusNode) ? selection.focusOffset : null;
  }
  return null;
}

/** @returns {string[]} Names from the document's active element down through shadow roots; body as 'body'. */
function activePath() {
  const names = [];
  /** @type {any} */
  let root = document;
  while (root && root.activeElement) {
    names.push(nameOf(root.activeElement));
    // A webview's own shadow root holds nothing but its frame.
    root = root.activeElement.tagName === 'WEBVIEW' ? null : root.activeElement.shadowRoot;
  }
  return names.length ? names : ['none'];
}

/** @returns {any} */
function deepActive() {
  /** @type {any} */
  let active = document.activeElement;
  while (active && active.shadowRoot && active.shadowRoot.activeElement) active = active.shadowRoot.activeElement;
  return active;
}

/** @param {Node | null} node @returns {string} */
function nodeName(node) {
  if (!node) return 'none';
  return nameOf(node.nodeType === Node.TEXT_NODE ? node.parentNode : node);
}

/** @returns {any} */
function selectionNow() {
  const selection = document.getSelection();
  if (!selection || !selection.rangeCount) return null;
  return {
    anchor: nodeName(selection.anchorNode),
    anchorOffset: selection.anchorOffset,
    focus: nodeName(selection.focusNode),
    focusOffset: selection.focusOffset,
    text: selection.toString(),
  };
}

/** @returns {any} */
function snapshot() {
  /** @type {any} */
  const values = {};
  /** @type {any} */
  const selections = {};
  /** @type {any} */
  const scrolls = {};
  for (const element of all('[data-field]')) {
    const name = element.dataset.field;
    values[name] = valueOf(element);
    if (isText(element)) {
      selections[name] = { start: element.selectionStart, end: element.selectionEnd, direction: element.selectionDirection };
    }
  }
  for (const element of all('[data-scroll]')) scrolls[nameOf(element)] = { x: element.scrollLeft, y: element.scrollTop };
  scrolls.window = { x: window.scrollX, y: window.scrollY };
  return {
    url: location.href,
    title: document.title,
    visibility: document.visibilityState,
    hasFocus: document.hasFocus(),
    active: activePath(),
    values,
    selections,
    selection: selectionNow(),
    scrolls,
  };
}

/** @param {any} element @returns {any} */
function rectOf(element) {
  const rect = element.getBoundingClientRect();
  return { x: rect.left, y: rect.top, width: rect.width, height: rect.height };
}

/** @returns {any} Boxes in CSS pixels of this document's viewport. */
function rects() {
  /** @type {any} */
  const elements = {};
  /** @type {any} */
  const frames = {};
  for (const element of all('[id], [data-field]')) elements[nameOf(element)] = rectOf(element);
  for (const element of all('iframe')) {
    const rect = rectOf(element);
    // The content box is what the frame's own coordinates start from.
    frames[element.dataset.frame || nameOf(element)] = {
      x: rect.x + element.clientLeft,
      y: rect.y + element.clientTop,
      width: element.clientWidth,
      height: element.clientHeight,
    };
  }
  return { elements, frames, viewport: { width: window.innerWidth, height: window.innerHeight, scale: window.devicePixelRatio } };
}

/** @param {any} element @param {any} range {start, end, direction} */
function select(element, range) {
  if (isText(element)) {
    element.setSelectionRange(range.start, range.end, range.direction || 'none');
    return;
  }
  if (!element.isContentEditable) return;
  if (!element.firstChild) element.appendChild(document.createTextNode(''));
  const node = element.firstChild;
  const selection = /** @type {Selection} */ (document.getSelection());
  const backward = range.direction === 'backward';
  selection.setBaseAndExtent(node, backward ? range.end : range.start, node, backward ? range.start : range.end);
}

/**
 * Gives a field the document's focus by script, as a page would.
 *
 * @param {{field: string | null, text?: string, selection?: {start: number, end: number, direction?: string}}} params
 * @returns {any}
 */
function focus(params) {
  if (params.field === null) {
    unfocus();
    return { active: activePath(), hasFocus: document.hasFocus() };
  }
  const element = fieldNamed(params.field);
  if (!element) throw new Error(`no field ${params.field} in ${location.href}`);
  if (params.text !== undefined && params.text !== null) {
    if (element.isContentEditable) element.textContent = params.text;
    else element.value = params.text;
  }
  element.focus({ preventScroll: true });
  if (params.selection) select(element, params.selection);
  return { active: activePath(), hasFocus: document.hasFocus() };
}

/** Leaves the document without a focused element, also when a frame in it has the focus. */
function unfocus() {
  if (document.activeElement && document.activeElement.tagName === 'IFRAME') {
    // A frame keeps the focus through blur() of its element; a field of this document takes it away for sure.
    const any = all('[data-field]')[0];
    if (any) any.focus({ preventScroll: true });
  }
  const active = deepActive();
  if (active && active !== document.body) active.blur();
  // What had the focus leaves a caret behind.
  const selection = document.getSelection();
  if (selection) selection.removeAllRanges();
  return { active: activePath() };
}

/**
 * Sets values, selections, focus and scroll back to what the page was loaded with.
 *
 * @returns {Promise<void>}
 */
function restore() {
  unfocus();
  for (const element of all('[data-field]')) {
    if (element.isContentEditable) element.textContent = element.dataset.initial || '';
    else if (element.tagName === 'SELECT') {
      for (const option of element.options) option.selected = option.defaultSelected;
      if (element.selectedIndex < 0) element.selectedIndex = 0;
    } else if (element.type === 'checkbox') element.checked = element.defaultChecked;
    else if (element.type === 'file') element.value = '';
    else element.value = element.defaultValue;
    if (isText(element)) element.setSelectionRange(0, 0, 'none');
  }
  const selection = document.getSelection();
  if (selection) selection.removeAllRanges();
  let scrolled = window.scrollX !== 0 || window.scrollY !== 0;
  for (const element of all('[data-scroll]')) {
    scrolled = scrolled || element.scrollLeft !== 0 || element.scrollTop !== 0;
    element.scrollLeft = 0;
    element.scrollTop = 0;
  }
  window.scrollTo(0, 0);
  return scrolled ? nextFrame() : Promise.resolve();
}

/** @returns {Promise<void>} When scroll events have been given out, which comes with a frame; bounded. */
function nextFrame() {
  return new Promise((resolve) => {
    // A hidden page has no frames, and slow timers.
    if (document.visibilityState === 'hidden') resolve();
    setTimeout(resolve, 500);
    requestAnimationFrame(() => requestAnimationFrame(() => resolve()));
  });
}

module.exports = { nameOf, isField, valueOf, caretOf, activePath, snapshot, rects, focus, unfocus, restore };
