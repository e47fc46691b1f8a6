'use strict';
/**
 * Runs before the page in every document: host, sentinel, guests and their frames.
 *
 * It lives in the isolated world, so the page (and whatever else is put into the page) does not see it and cannot
 * change what it reads. Its listeners are the first on the window.
 */

const { ipcRenderer, webFrame } = require('electron');

const fields = require('./fields.cjs');

const EVENTS = [
  'keydown keypress keyup beforeinput input change compositionstart compositionupdate compositionend',
  'focus blur focusin focusout select reset submit copy cut paste',
  'pointerdown pointerup pointercancel mousedown mouseup mousemove click dblclick auxclick contextmenu wheel',
  'touchstart touchmove touchend touchcancel dragstart dragenter dragleave drop dragend scroll toggle',
]
  .join(' ')
  .split(' ');

const id = `${process.pid}-${Math.random().toString(36).slice(2)}`;
const top = window === window.top;
/** The trial that records belong to; none until the first reset. @type {string | null} */
/** Longest wait for a frame, ms: in a window that was never shown there is one in a second. */
const PAINT_TIMEOUT = 1500;
let nonce = null;

/** @param {any} record */
function log(record) {
  ipcRenderer.send('fixture:log', id, Object.assign({ nonce, t: performance.timeOrigin + performance.now() }, record));
}

/** @param {any} event */
function observe(event) {
  const target = event.composedPath ? event.composedPath()[0] : event.target;
  /** @type {any} */
  const record = { type: event.type, trusted: event.isTrusted, target: fields.nameOf(target) };
  if (event instanceof KeyboardEvent) {
    Object.assign(record, {
      key: event.key,
      code: event.code,
      keyCode: event.keyCode,
      location: event.location,
      repeat: event.repeat,
      composing: event.isComposing,
    });
  }
  if (event instanceof InputEvent) {
    Object.assign(record, { data: event.data, inputType: event.inputType, composing: event.isComposing });
  }
  if (event instanceof CompositionEvent) record.data = event.data;
  if (event instanceof MouseEvent) {
    Object.assign(record, { x: event.clientX, y: event.clientY, button: event.button, buttons: event.buttons, detail: event.detail });
  }
  if (event.touches && event.changedTouches.length) {
    Object.assign(record, { x: event.changedTouches[0].clientX, y: event.changedTouches[0].clientY });
  }
  if ('shiftKey' in event) {
    Object.assign(record, { shift: event.shiftKey, ctrl: event.ctrlKey, alt: event.altKey, meta: event.metaKey });
  }
  const field = fields.isField(target) ? target : null;
  if (field) Object.assign(record, { value: fields.valueOf(field), caret: fields.caretOf(field) });
  log(record);
}

for (const type of EVENTS) window.addEventListener(type, observe, { capture: true, passive: true });
document.addEventListener('selectionchange', () => {
  log({ type: 'selectionchange', trusted: true, target: 'document', active: fields.activePath() });
});
document.addEventListener('visibilitychange', () => {
  log({ type: 'visibilitychange', trusted: true, target: 'document', data: document.visibilityState });
});

/**
 * Calls a method of the page's own script, where the page has one.
 *
 * @param {string} method @param {...any} args
 * @returns {Promise<any>} null where the page has none.
 */
function page(method, ...args) {
  const call = `window.fixturePage ? window.fixturePage.${method}(...${JSON.stringify(args)}) : null`;
  return webFrame.executeJavaScript(call);
}

/** @type {Object<string, (params: any) => any>} */
const OPS = {
  snapshot: async () => Object.assign(fields.snapshot(), { page: await page('snapshot') }),
  rects: () => fields.rects(),
  focus: (params) => fields.focus(params),
  restore: async () => {
    await page('reset');
    await fields.restore();
    return { active: fields.activePath() };
  },
  begin: async (params) => {
    nonce = params.nonce;
    await page('begin');
    return { active: fields.activePath(), url: location.href };
  },
  active: () => ({
    active: fields.activePath(),
    hasFocus: document.hasFocus(),
    hidden: document.visibilityState === 'hidden',
  }),
  /** Whether a frame comes; where nothing is painted none ever does. */
  painted: () =>
    new Promise((resolve) => {
      requestAnimationFrame(() => setTimeout(resolve, 0, true));
      setTimeout(resolve, PAINT_TIMEOUT, false);
    }),
  unfocus: () => fields.unfocus(),
  page: (params) => page(params.method, ...(params.args || [])),
  execute: (params) => webFrame.executeJavaScript(params.code),
};

ipcRenderer.on('fixture:request', async (_event, request) => {
  if (request.document !== id) return;
  /** @type {any} */
  const answer = { question: request.question };
  try {
    const result = await OPS[request.op](request.params);
    // What cannot be cloned must not turn into silence.
    answer.result = result === undefined ? null : JSON.parse(JSON.stringify(result));
  } catch (error) {
    answer.error = String((error && /** @type {any} */ (error).message) || error);
  }
  ipcRenderer.send('fixture:answer', answer);
});

function hello() {
  const frame = new URLSearchParams(location.search).get('frame');
  ipcRenderer.send('fixture:hello', {
    id,
    top,
    frame: frame || (top ? 'main' : 'other'),
    url: location.href,
    pid: process.pid,
    ready: document.readyState === 'complete',
  });
}

if (top || location.protocol !== 'about:') {
  hello();
  window.addEventListener('load', () => ipcRenderer.send('fixture:ready', id));
  window.addEventListener('pagehide', () => ipcRenderer.send('fixture:bye', id));
  window.addEventListener('pageshow', (event) => {
    if (event.persisted) hello();
  });
}
