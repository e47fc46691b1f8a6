'use strict';
/* exported createPlaces */
/** Part of the pane: where a focus is, and what belongs to it (caret, range, scroll). */
// eslint-disable-next-line no-unused-vars
function createPlaces() {
  /** @param {any} element */
  function isGuestElement(element) {
    return !!element && element.localName === 'webview';
  }

  /** @param {any} frame @returns {Document | null} */
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
    /** @type {any} */
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

  /** @param {any} element */
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

  /** @param {any} element */
  function rangeSelection(element) {
    const root = element.getRootNode();
    // Chromium keeps a selection inside a shadow tree on the shadow root.
    const selection = root.getSelection ? root.getSelection() : element.ownerDocument.getSelection();
    if (!selection || !selection.anchorNode) return null;
    const { anchorNode, anchorOffset, focusNode, focusOffset } = selection;
    return { selection, anchorNode, anchorOffset, focusNode, focusOffset };
  }

  /** @param {any} element @returns {{ element: any, left: number, top: number }[]} */
  function scrolls(element) {
    const found = [];
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

  /** @param {any} element what has to be the same afterwards, read now */
  function noteDetails(element) {
    const field = element ? fieldSelection(element) : null;
    return {
      field,
      range: element && !field ? rangeSelection(element) : null,
      scroll: element ? scrolls(element) : [],
    };
  }

  /** @param {any} element @param {ReturnType<typeof noteDetails>} details sets what differs, and only that */
  function putBackDetails(element, details) {
    if (details.field) {
      const at = fieldSelection(element);
      const want = details.field;
      if (at && (at.start !== want.start || at.end !== want.end || at.direction !== want.direction)) {
        element.setSelectionRange(want.start, want.end, want.direction);
      }
    } else if (details.range) {
      const { selection, anchorNode, anchorOffset, focusNode, focusOffset } = details.range;
      const same = selection.anchorNode === anchorNode && selection.anchorOffset === anchorOffset
        && selection.focusNode === focusNode && selection.focusOffset === focusOffset;
      if (!same && anchorNode.isConnected && focusNode && focusNode.isConnected) {
        selection.setBaseAndExtent(anchorNode, anchorOffset, focusNode, focusOffset);
      }
    }
    for (const one of details.scroll) {
      if (one.element.scrollTop !== one.top) one.element.scrollTop = one.top;
      if (one.element.scrollLeft !== one.left) one.element.scrollLeft = one.left;
    }
  }

  return { isGuestElement, deepActive, isBody, noteDetails, putBackDetails };
}
