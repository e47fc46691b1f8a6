'use strict';
/* exported createHint */
/**
 * Part of the pane: the invisible touch of the person's field after which the input method talks to it again.
 * @param {object} parts
 * @param {() => any} parts.field the person's field, null where there is none that can be touched now
 * @param {() => boolean} parts.composing
 * @param {() => number} parts.typedAgo milliseconds since the person's last key
 * @param {(task: () => void) => void} parts.soon
 */
// eslint-disable-next-line no-unused-vars
function createHint({ field: fieldNow, composing, typedAgo, soon }) {
  /** Longer than anybody leaves between two keys of a word. */
  const IDLE_MS = 1500;
  /** @type {{ field: any, had: string | null, timer: NodeJS.Timeout } | null} the field whose hint is not the page's */
  let hinted = null;
  /** The input method starts afresh with each touch, so the page's own hint is put back only when nobody types. */
  function nudge() {
    const field = fieldNow();
    if (!field || composing()) return Promise.resolve({ nudged: false });
    if (hinted && hinted.field !== field) putHintBack();
    const hint = field.getAttribute('enterkeyhint');
    if (hinted) clearTimeout(hinted.timer);
    hinted = { field, had: hinted ? hinted.had : hint, timer: setTimeout(whenIdle, IDLE_MS) };
    field.setAttribute('enterkeyhint', hint === 'next' ? 'done' : 'next');
    return frame().then(() => ({ nudged: true }));
  }

  function whenIdle() {
    if (!hinted) return;
    if (!composing() && typedAgo() > IDLE_MS) putHintBack();
    else hinted.timer = setTimeout(whenIdle, IDLE_MS);
  }

  function putHintBack() {
    if (!hinted) return;
    const { field, had, timer } = hinted;
    hinted = null;
    clearTimeout(timer);
    if (had === null) field.removeAttribute('enterkeyhint');
    else field.setAttribute('enterkeyhint', had);
  }

  /** A frame that begins after this moment, for the state is reported with one; a hidden page has none. */
  function frame() {
    return new Promise((resolve) => {
      const done = () => soon(() => resolve(undefined));
      if (document.hidden) done();
      else requestAnimationFrame(done);
      setTimeout(done, 200);
    });
  }

  return { nudge, putHintBack };
}
