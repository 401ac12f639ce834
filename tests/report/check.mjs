// node check.mjs REPORT.html [--screenshot FILE.png] [--dark] [--print FILE.pdf]
//
// Opens a report from disk in a headless Chromium ($CHROMIUM, else /usr/bin/chromium), with and without
// JavaScript, light and dark, and on a narrow screen. Exit code 1, naming each breach, when the console
// shows an error, the page breaks its own content security policy, asks the network for anything, lacks
// a part, or shows a time of the cpu device without its label.

import { existsSync, statSync } from 'node:fs';
import { resolve } from 'node:path';
import { parseArgs } from 'node:util';
import { pathToFileURL } from 'node:url';
import { chromium } from 'playwright-core';

const kHeadings = [
  'Verdict', 'Picks against the default', 'All variants', 'Failures', 'Environment',
  'How it was measured',
];
const kFlags = [
  '--headless', '--no-sandbox', '--disable-gpu', '--disable-quic', '--no-first-run',
  '--disable-background-networking', '--disable-component-update', '--disable-sync',
];

const { values: options, positionals } = parseArgs({
  allowPositionals: true,
  options: {
    screenshot: { type: 'string' },
    dark: { type: 'boolean', default: false },
    print: { type: 'string' },
  },
});
if (positionals.length !== 1 || !existsSync(positionals[0])) {
  console.error('usage: node check.mjs REPORT.html [--screenshot FILE.png] [--dark] [--print FILE.pdf]');
  process.exit(2);
}
const file = resolve(positionals[0]);
const url = pathToFileURL(file).href;

const breaches = [];
function expect(condition, breach) {
  if (!condition) breaches.push(breach);
}

// A page of its own context whose every error, violation and request is a breach.
async function openPage(browser, name, contextOptions) {
  const context = await browser.newContext(contextOptions);
  const page = await context.newPage();
  page.on('console', (message) => {
    if (['error', 'warning'].includes(message.type())) breaches.push(`${name}: console: ${message.text()}`);
  });
  page.on('pageerror', (error) => breaches.push(`${name}: ${error.message}`));
  page.on('dialog', async (dialog) => {
    breaches.push(`${name}: a dialog opened: ${dialog.message()}`);
    await dialog.dismiss();
  });
  page.on('request', (request) => {
    if (request.url() !== url) breaches.push(`${name}: asked for ${request.url()}`);
  });
  // Violations that happen before the listener could be added show up on the console.
  await page.addInitScript(() => {
    document.addEventListener('securitypolicyviolation', (event) =>
      console.error(`content security policy: ${event.violatedDirective} ${event.blockedURI}`));
  });
  const start = performance.now();
  await page.goto(url, { waitUntil: 'load' });
  console.log(`${name}: opened in ${Math.round(performance.now() - start)} ms`);
  return { context, page };
}

async function checkParts(page, name) {
  const headings = await page.locator('h2').allTextContents();
  expect(JSON.stringify(headings) === JSON.stringify(kHeadings), `${name}: parts are ${headings.join(', ')}`);
  expect((await page.title()).startsWith('mgtune report'), `${name}: title is ${await page.title()}`);
  expect((await page.locator('#verdict p').count()) > 0, `${name}: no verdict`);
  const tables = page.locator('table');
  for (let i = 0; i < (await tables.count()); ++i) {
    const caption = (await tables.nth(i).locator('caption').textContent()).trim();
    expect(caption !== '', `${name}: table ${i} has no caption`);
  }
  expect((await page.locator('script:not([type="application/json"])').count()) === 0, `${name}: a script`);
  expect((await page.locator('img, iframe, object, link').count()) === 0, `${name}: an element that loads`);
}

// What the data block says against what the tables show.
async function checkData(page) {
  const data = JSON.parse(await page.locator('#mgtune-data').textContent());
  expect(data.format === 1, `data: format is ${data.format}`);
  const variants = data.problems.reduce((sum, problem) => sum + problem.variants.length, 0);
  const rows = await page.locator('#variants tbody tr').count();
  expect(rows === variants, `data: ${variants} variants but ${rows} rows`);
  const picks = await page.locator('#picks tbody tr').count();
  expect(picks === data.picks.length, `data: ${data.picks.length} picks but ${picks} rows`);
  const empty = await page.locator('.empty').count();
  expect(variants > 0 || empty > 0, 'data: no variants, and nothing says what would fill the report');
}

// Every number with a unit of time in a part about the cpu device has the badge in its cell.
async function checkEmulationLabels(page) {
  const bare = await page.evaluate(() => {
    const time = /\d (ns|us|ms|s)\b/;
    const isEmulation = (element) => element?.querySelector('.badge.emulation') != null;
    return [...document.querySelectorAll('table')]
      .filter((table) => isEmulation(table.caption))
      .flatMap((table) => [...table.querySelectorAll('td')])
      .filter((cell) => time.test(cell.textContent) && cell.closest('#failures') == null)
      .filter((cell) => !isEmulation(cell))
      .map((cell) => cell.textContent);
  });
  expect(bare.length === 0, `times of the cpu device without their label: ${bare.slice(0, 5).join(', ')}`);
}

// The page scrolls down, never sideways: wide tables scroll in their own box.
async function checkNarrow(page, name) {
  const overflow = await page.evaluate(() =>
    document.documentElement.scrollWidth - document.documentElement.clientWidth);
  expect(overflow <= 0, `${name}: the page is ${overflow} px wider than the screen`);
}

// The largest problem's table opens at once, with and without a mouse.
async function checkDetails(page) {
  const details = page.locator('#variants > details');
  if ((await details.count()) === 0) return;
  const first = details.first();
  const wasOpen = await first.evaluate((element) => element.open);
  await first.locator('summary').first().focus();
  const start = performance.now();
  await page.keyboard.press('Enter');
  await page.evaluate(() => new Promise((done) => requestAnimationFrame(() => requestAnimationFrame(done))));
  console.log(`variants: toggled in ${Math.round(performance.now() - start)} ms`);
  expect((await first.evaluate((element) => element.open)) !== wasOpen, 'variants: Enter does not open them');
}

const browser = await chromium.launch({
  executablePath: process.env.CHROMIUM ?? '/usr/bin/chromium',
  args: kFlags,
});
try {
  const desktop = { viewport: { width: 1280, height: 900 }, offline: true };
  for (const colorScheme of ['light', 'dark']) {
    const { context, page } = await openPage(browser, colorScheme, { ...desktop, colorScheme });
    await checkParts(page, colorScheme);
    await checkData(page);
    await checkEmulationLabels(page);
    if (options.screenshot && options.dark === (colorScheme === 'dark')) {
      await page.screenshot({ path: options.screenshot, fullPage: true });
    }
    if (options.print && colorScheme === 'light') await page.pdf({ path: options.print });
    await checkDetails(page);
    await context.close();
  }
  const plain = await openPage(browser, 'no JavaScript', { ...desktop, javaScriptEnabled: false });
  await checkParts(plain.page, 'no JavaScript');
  await plain.context.close();

  const narrow = await openPage(browser, 'narrow', { viewport: { width: 390, height: 800 }, offline: true });
  await checkNarrow(narrow.page, 'narrow');
  await narrow.context.close();
} finally {
  await browser.close();
}

for (const breach of breaches) console.error(`FAILED ${breach}`);
if (breaches.length === 0) console.log(`${file}: ${statSync(file).size} bytes, all checks passed`);
process.exit(breaches.length === 0 ? 0 : 1);
