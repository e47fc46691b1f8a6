// Fills in the form while somebody types into the terminal beside it: `node agent.mjs ELECTRON`.
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { createInterface } from 'node:readline';
import { fileURLToPath } from 'node:url';
import puppeteer from 'puppeteer-core';

const app = fileURLToPath(new URL('../app', import.meta.url));
const guard = spawn('focusguard', ['run', '--json', '--', process.argv[2], app], {
  stdio: ['ignore', 'pipe', 'inherit'],
});
const [first] = await once(createInterface({ input: guard.stdout }), 'line');
const browser = await puppeteer.connect({ browserWSEndpoint: JSON.parse(first).wsEndpoint, defaultViewport: null });
const target = await browser.waitForTarget((each) => each.type() === 'page');
const page = await target.page();

await page.click('[name=name]');
await page.keyboard.type('Ada Lovelace', { delay: 100 });
await page.keyboard.press('Tab');
await page.keyboard.type('the engine weaves patterns', { delay: 100 });
await page.click('[name=urgent]');
await page.click('button');
console.log(await page.$eval('output', (output) => output.textContent));

await browser.disconnect();
guard.kill('SIGINT'); // ends the app, too
await once(guard, 'exit');
