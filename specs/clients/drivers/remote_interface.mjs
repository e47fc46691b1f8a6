/** chrome-remote-interface: CDP as it is, over a connection to one page. */

import CDP from 'chrome-remote-interface';

import { serve } from './protocol.mjs';

let where;
let client;

const evaluate = async (expression) => {
  const { result, exceptionDetails } = await client.Runtime.evaluate({ expression, returnByValue: true });
  if (exceptionDetails) throw new Error(exceptionDetails.exception.description);
  return result.value;
};

const nodeOf = async (selector) => {
  const { root } = await client.DOM.getDocument();
  return (await client.DOM.querySelector({ nodeId: root.nodeId, selector })).nodeId;
};

const centreOf = (selector) =>
  evaluate(`(() => {
    const box = document.querySelector('${selector}').getBoundingClientRect();
    return { x: box.x + box.width / 2, y: box.y + box.height / 2 };
  })()`);

const mouse = (type, place, more = {}) => client.Input.dispatchMouseEvent({ type, ...place, ...more });
const LEFT = { button: 'left', clickCount: 1 };

const clickAt = async (place, clickCount = 1) => {
  await mouse('mousePressed', place, { button: 'left', clickCount });
  await mouse('mouseReleased', place, { button: 'left', clickCount });
};

const press = async (key) => {
  await client.Input.dispatchKeyEvent({ type: 'keyDown', ...key });
  await client.Input.dispatchKeyEvent({ type: 'keyUp', ...key, text: undefined });
};

const write = async (text) => {
  for (const letter of text) {
    const capital = letter.toUpperCase();
    const code = { ' ': 'Space', 0: 'Digit0', 1: 'Digit1' }[letter] || `Key${capital}`;
    await press({ key: letter, text: letter, code, windowsVirtualKeyCode: capital.charCodeAt(0) });
  }
};

const KEYS = { Enter: { key: 'Enter', code: 'Enter', windowsVirtualKeyCode: 13, text: '\r' } };
const SELECT_ALL = { key: 'a', code: 'KeyA', windowsVirtualKeyCode: 65, modifiers: 2 };

await serve({
  async connect({ http, url }) {
    const { hostname, port, pathname } = new URL(http);
    // The guard's endpoint has a path, which its own addresses have already.
    const base = pathname.replace(/\/$/, '');
    where = { host: hostname, port, alterPath: (path) => (path.startsWith(`${base}/`) ? path : base + path) };
    if (!base) delete where.alterPath;
    client = await CDP({ ...where, target: (targets) => targets.find((each) => each.url === url) });
    await Promise.all([client.Page.enable(), client.DOM.enable()]);
  },
  pages: async () => (await CDP.List(where)).filter((each) => each.type === 'page').map((each) => each.url),
  title: () => evaluate('document.title'),
  async navigate({ url }) {
    const loaded = client.Page.loadEventFired();
    await client.Page.navigate({ url });
    await loaded;
  },
  screenshot: async () => (await client.Page.captureScreenshot()).data,
  click: async ({ selector }) => clickAt(await centreOf(selector)),
  async double_click({ selector }) {
    const place = await centreOf(selector);
    await clickAt(place);
    await clickAt(place, 2);
  },
  async type({ selector, text }) {
    await client.DOM.focus({ nodeId: await nodeOf(selector) });
    await write(text);
  },
  async press({ selector, key }) {
    await client.DOM.focus({ nodeId: await nodeOf(selector) });
    await press(KEYS[key]);
  },
  async replace({ selector, text }) {
    await clickAt(await centreOf(selector));
    await press(SELECT_ALL);
    await write(text);
  },
  async fill_frame({ frame, selector, text }) {
    const { node } = await client.DOM.describeNode({ nodeId: await nodeOf(frame), pierce: true });
    let session;
    let root = node.contentDocument;
    if (!root) {
      // A frame of another process is a target of its own.
      const attached = new Promise((resolve) => {
        client.Target.attachedToTarget((child) => {
          if (child.targetInfo.targetId === node.frameId) resolve(child.sessionId);
        });
      });
      await client.Target.setAutoAttach({ autoAttach: true, waitForDebuggerOnStart: false, flatten: true });
      session = await attached;
      ({ root } = await client.send('DOM.getDocument', {}, session));
    }
    const { object } = await client.send('DOM.resolveNode', { backendNodeId: root.backendNodeId }, session);
    const focus = `function () { this.querySelector('${selector}').focus(); }`;
    const { objectId } = object;
    await client.send('Runtime.callFunctionOn', { objectId, functionDeclaration: focus }, session);
    await client.send('Input.insertText', { text }, session);
  },
  async choose({ selector, value }) {
    await client.DOM.focus({ nodeId: await nodeOf(selector) });
    await write(value[0]);
  },
  upload: async ({ selector, path }) => client.DOM.setFileInputFiles({ nodeId: await nodeOf(selector), files: [path] }),
  async accept_dialog({ selector }) {
    const opening = client.Page.javascriptDialogOpening();
    const clicked = clickAt(await centreOf(selector));
    const { message } = await opening;
    await client.Page.handleJavaScriptDialog({ accept: true });
    await clicked;
    return message;
  },
  scroll: async ({ selector, down }) => mouse('mouseWheel', await centreOf(selector), { deltaX: 0, deltaY: down }),
  async drag({ source, target }) {
    const [from, to] = [await centreOf(source), await centreOf(target)];
    await client.Input.setInterceptDrags({ enabled: true });
    const begun = client.Input.dragIntercepted();
    await mouse('mousePressed', from, LEFT);
    await mouse('mouseMoved', to, { button: 'left' });
    const { data } = await begun;
    for (const type of ['dragEnter', 'dragOver', 'drop']) await client.Input.dispatchDragEvent({ type, ...to, data });
    await mouse('mouseReleased', to, LEFT);
    await client.Input.setInterceptDrags({ enabled: false });
  },
  new_tab: ({ url }) => CDP.New({ ...where, url }),
  close: () => client.close(),
  quit: () => client.Browser.close(),
});
