/** Puppeteer, as its documentation has it. */

import puppeteer from 'puppeteer-core';

import { serve } from './protocol.mjs';

let browser;
let page;

// `browser.pages()` wants an answer of every page, and fails with one that hangs.
const targets = () => browser.targets().filter((each) => each.type() === 'page');

const frameIn = async (frame) => (await page.$(frame)).contentFrame();

await serve({
  async connect({ ws, url }) {
    // Otherwise Puppeteer gives every page a size of its own.
    browser = await puppeteer.connect({ browserWSEndpoint: ws, defaultViewport: null });
    const target = targets().find((each) => each.url() === url);
    if (!target) throw new Error('no page at that address');
    page = await target.page();
  },
  pages: () => targets().map((each) => each.url()),
  title: () => page.title(),
  navigate: async ({ url }) => void (await page.goto(url)),
  screenshot: () => page.screenshot({ encoding: 'base64' }),
  click: ({ selector }) => page.click(selector),
  double_click: ({ selector }) => page.click(selector, { count: 2 }),
  type: ({ selector, text }) => page.type(selector, text),
  async press({ selector, key }) {
    await page.focus(selector);
    await page.keyboard.press(key);
  },
  async replace({ selector, text }) {
    await page.click(selector);
    await page.keyboard.down('Control');
    await page.keyboard.press('a');
    await page.keyboard.up('Control');
    await page.keyboard.type(text);
  },
  fill_frame: async ({ frame, selector, text }) => (await frameIn(frame)).locator(selector).fill(text),
  choose: async ({ selector, value }) => void (await page.select(selector, value)),
  upload: async ({ selector, path }) => (await page.$(selector)).uploadFile(path),
  async accept_dialog({ selector }) {
    let said;
    const asked = new Promise((resolve, reject) => {
      page.once('dialog', (dialog) => {
        said = dialog.message();
        dialog.accept().then(resolve, reject);
      });
    });
    await page.click(selector);
    await asked;
    return said;
  },
  async scroll({ selector, down }) {
    await page.hover(selector);
    await page.mouse.wheel({ deltaY: down });
  },
  drag: async ({ source, target }) => (await page.$(target)).drop(await page.$(source)),
  async new_tab({ url }) {
    const opened = await browser.newPage();
    await opened.goto(url);
  },
  close: () => browser.disconnect(),
  quit: () => browser.close(),
});
