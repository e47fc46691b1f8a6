'use strict';
/**
 * From a key as `before-input-event` reports it to the events that make a page see the same key again.
 *
 * `sendInputEvent` recomputes key, code and location from a US keyboard, so a key is sent that way only when
 * the result is known to be equal; everything else goes out as `Input.dispatchKeyEvent`, which takes each
 * field as it is.
 */

const SHIFTED = {
  Backquote: '`~', Digit1: '1!', Digit2: '2@', Digit3: '3#', Digit4: '4$', Digit5: '5%', Digit6: '6^',
  Digit7: '7&', Digit8: '8*', Digit9: '9(', Digit0: '0)', Minus: '-_', Equal: '=+', BracketLeft: '[{',
  BracketRight: ']}', Backslash: '\\|', Semicolon: ';:', Quote: '\'"', Comma: ',<', Period: '.>', Slash: '/?',
  Space: '  ',
};

/** DOM `code` to [accelerator name, `key`, virtual key code] of keys whose `key` does not depend on a layout. */
const NAMED = {
  Enter: ['Return', 'Enter', 13], Tab: ['Tab', 'Tab', 9], Backspace: ['Backspace', 'Backspace', 8],
  Delete: ['Delete', 'Delete', 46], Insert: ['Insert', 'Insert', 45], Escape: ['Escape', 'Escape', 27],
  ArrowUp: ['Up', 'ArrowUp', 38], ArrowDown: ['Down', 'ArrowDown', 40], ArrowLeft: ['Left', 'ArrowLeft', 37],
  ArrowRight: ['Right', 'ArrowRight', 39], Home: ['Home', 'Home', 36], End: ['End', 'End', 35],
  PageUp: ['PageUp', 'PageUp', 33], PageDown: ['PageDown', 'PageDown', 34],
  ShiftLeft: ['Shift', 'Shift', 16], ControlLeft: ['Control', 'Control', 17], AltLeft: ['Alt', 'Alt', 18],
  CapsLock: ['Capslock', 'CapsLock', 20], PrintScreen: ['PrintScreen', 'PrintScreen', 44],
};
for (let n = 1; n <= 24; n += 1) NAMED['F' + n] = ['F' + n, 'F' + n, 111 + n];

/** Virtual key codes of keys that only CDP can express. */
const OTHER_VK = {
  ShiftRight: 16, ControlRight: 17, AltRight: 18, MetaLeft: 91, MetaRight: 92, ContextMenu: 93, NumLock: 144,
  ScrollLock: 145, Pause: 19, NumpadEnter: 13, NumpadAdd: 107, NumpadSubtract: 109, NumpadMultiply: 106,
  NumpadDivide: 111, NumpadDecimal: 110, IntlBackslash: 226, Semicolon: 186, Equal: 187, Comma: 188, Minus: 189,
  Period: 190, Slash: 191, Backquote: 192, BracketLeft: 219, Backslash: 220, BracketRight: 221, Quote: 222,
  Space: 32,
};
for (let n = 0; n <= 9; n += 1) {
  OTHER_VK['Numpad' + n] = 96 + n;
  OTHER_VK['Digit' + n] = 48 + n;
}

const PASSED_ON = ['shift', 'control', 'alt', 'meta', 'capslock', 'numlock', 'iskeypad', 'isautorepeat', 'left', 'right'];
const ALIASES = { ctrl: 'control', cmd: 'meta', command: 'meta', iskeypad: 'iskeypad', isautorepeat: 'isautorepeat' };

/**
 * @typedef {object} RealKey
 * @property {string} type `keyDown`, `keyUp`, or `char` for a press of which only the character is missing
 * @property {string} key
 * @property {string} code
 * @property {boolean} isAutoRepeat
 * @property {boolean} shift
 * @property {boolean} control
 * @property {boolean} alt
 * @property {boolean} meta
 * @property {number} [location]
 * @property {string[]} [modifiers]
 */

/** @param {RealKey} input @returns {string[]} */
function modifiersOf(input) {
  const found = new Set();
  for (const name of input.modifiers || []) {
    const lower = String(name).toLowerCase();
    const own = ALIASES[/** @type {keyof typeof ALIASES} */ (lower)] || lower;
    if (PASSED_ON.indexOf(own) >= 0) found.add(own);
  }
  if (input.shift) found.add('shift');
  if (input.control) found.add('control');
  if (input.alt) found.add('alt');
  if (input.meta) found.add('meta');
  if (input.isAutoRepeat) found.add('isautorepeat');
  return Array.from(found);
}

/** @param {string} key @returns {boolean} one character rather than a key's name */
function isCharacter(key) {
  return Array.from(key).length === 1;
}

/** @param {RealKey} input @returns {string} text that the key types, or '' */
function textOf(input) {
  const altgr = (input.modifiers || []).some((name) => /^altgr/i.test(String(name)));
  const command = input.control || input.meta || (input.alt && process.platform !== 'darwin');
  if (input.key === 'Enter') return input.alt || input.meta ? '' : '\r';
  if (!isCharacter(input.key)) return '';
  return command && !altgr ? '' : input.key;
}

/**
 * The accelerator name under which `sendInputEvent` reproduces this key exactly, or null.
 * @param {RealKey} input @param {string[]} modifiers
 */
function exactName(input, modifiers) {
  const code = input.code;
  const named = NAMED[/** @type {keyof typeof NAMED} */ (code)];
  if (named) return named[1] === input.key ? named[0] : null;
  const shift = modifiers.indexOf('shift') >= 0;
  const caps = modifiers.indexOf('capslock') >= 0;
  if (/^Key[A-Z]$/.test(code)) {
    const lower = code.slice(3).toLowerCase();
    return input.key === (shift !== caps ? lower.toUpperCase() : lower) ? lower : null;
  }
  const pair = SHIFTED[/** @type {keyof typeof SHIFTED} */ (code)];
  if (pair) return input.key === pair[shift ? 1 : 0] ? (code === 'Space' ? 'Space' : pair[0]) : null;
  return null;
}

/** @param {RealKey} input @returns {string | null} a name on the same physical key, for shortcuts */
function physicalName(input) {
  const code = input.code;
  const named = NAMED[/** @type {keyof typeof NAMED} */ (code)];
  if (named) return named[0];
  if (/^Key[A-Z]$/.test(code)) return code.slice(3).toLowerCase();
  const pair = SHIFTED[/** @type {keyof typeof SHIFTED} */ (code)];
  return pair ? (code === 'Space' ? 'Space' : pair[0]) : null;
}

/** Keypad keys with NumLock off, or with Shift, are other keys. */
const BY_KEY = {
  Insert: 45, Delete: 46, Home: 36, End: 35, PageUp: 33, PageDown: 34, ArrowUp: 38, ArrowDown: 40, ArrowLeft: 37,
  ArrowRight: 39, Clear: 12,
};

/** @param {RealKey} input @returns {number} */
function virtualKey(input) {
  const other = BY_KEY[/** @type {keyof typeof BY_KEY} */ (input.key)];
  if (other && /^Numpad/.test(input.code)) return other;
  if (/^Key[A-Z]$/.test(input.code)) return input.code.charCodeAt(3);
  const named = NAMED[/** @type {keyof typeof NAMED} */ (input.code)];
  if (named) return /** @type {number} */ (named[2]);
  return OTHER_VK[/** @type {keyof typeof OTHER_VK} */ (input.code)] || 0;
}

/**
 * @param {RealKey} input
 * @returns {{ events?: object[], commands?: object[], fallback?: object[] } | null} first the events, then the
 *   commands, or where those cannot be given the fallback; null: it cannot be repeated
 */
function replay(input) {
  const modifiers = modifiersOf(input);
  if (input.type === 'char') {
    const typed = input.key === 'Enter' ? '\r' : isCharacter(input.key) ? input.key : '';
    return { events: typed ? [{ type: 'char', keyCode: typed, modifiers }] : [] };
  }
  if (input.key === 'Process' || input.key === 'Unidentified' || (input.key === 'Dead' && !input.code)) return null;
  const text = input.type === 'keyDown' ? textOf(input) : '';
  const down = input.type === 'keyDown';
  const shortcut = down && !text && (input.control || input.alt || input.meta);
  const exact = exactName(input, modifiers);
  const name = exact || (shortcut ? physicalName(input) : null);
  if (name) {
    const events = [{ type: down ? 'keyDown' : 'keyUp', keyCode: name, modifiers }];
    if (text) events.push({ type: 'char', keyCode: text, modifiers });
    const control = down && input.control && !input.alt && !input.meta && /^Key[A-Z]$/.test(input.code);
    if (!control) return { events };
    // Ctrl with a letter types a control character, which only CDP can express; the shortcut needs the other way.
    const typed = String.fromCharCode(input.code.charCodeAt(3) - 64);
    const char = {
      type: 'char', modifiers: flagsOf(input), key: input.key, code: input.code, text: typed, unmodifiedText: typed,
      windowsVirtualKeyCode: virtualKey(input), autoRepeat: !!input.isAutoRepeat,
    };
    return { events, commands: [char], fallback: [] };
  }
  const location = typeof input.location === 'number' ? input.location : locationOf(input.code);
  const common = {
    modifiers: flagsOf(input),
    key: input.key,
    code: input.code,
    windowsVirtualKeyCode: virtualKey(input),
    location,
    isKeypad: location === 3,
  };
  const command = Object.assign({ type: down ? (text ? 'keyDown' : 'rawKeyDown') : 'keyUp' }, common);
  if (down) command.autoRepeat = !!input.isAutoRepeat;
  if (text) Object.assign(command, { text, unmodifiedText: text });
  const physical = physicalName(input);
  const fallback = physical ? [{ type: down ? 'keyDown' : 'keyUp', keyCode: physical, modifiers }] : [];
  if (text) fallback.push({ type: 'char', keyCode: text, modifiers });
  return { commands: [command], fallback };
}

/** @param {RealKey} input @returns {number} CDP's modifier bits */
function flagsOf(input) {
  return (input.alt ? 1 : 0) | (input.control ? 2 : 0) | (input.meta ? 4 : 0) | (input.shift ? 8 : 0);
}

/** @param {string} code @returns {number} */
function locationOf(code) {
  if (/^Numpad/.test(code)) return 3;
  if (/^(Shift|Control|Alt|Meta)Left$/.test(code)) return 1;
  if (/^(Shift|Control|Alt|Meta)Right$/.test(code)) return 2;
  return 0;
}

/**
 * A press that nobody makes. A widget that was kept from a press drops releases and characters until the next press
 * comes (content/browser/renderer_host/render_widget_host_impl.cc, suppress_events_until_keydown_), and this is one;
 * shield.js and pane.js keep it from the page.
 */
const ROUSING = { type: 'rawKeyDown', keyCode: 'F24', modifiers: ['alt', 'control', 'meta', 'shift'] };

module.exports = { replay, ROUSING };
