// node recorded_test.mjs REPORT.html... [--artifacts DIR]
//
// Opens reports of sweeps that were recorded on a GPU, from disk, in a headless Chromium ($CHROMIUM, else
// /usr/bin/chromium), in both color schemes: no error, violation or request; every view has marks or says
// what fills it; brushing an axis filters the table; nothing serious in axe-core. Exit code 1, naming each
// breach. Screenshots go to DIR.

import { mkdirSync } from 'node:fs';
import { basename, join, resolve } from 'node:path';
import { parseArgs } from 'node:util';
import { pathToFileURL } from 'node:url';
import { drawAll, launch, openPage, settled } from './page.mjs';
import { brushAxis, chartParts, checkAccessible, checkGeometry, checkWidth, chosen, marks, shownRows } from './views.mjs';

const { values: options, positionals: files } = parseArgs({ options: { artifacts: { type: 'string' } }, allowPositionals: true });
if (files.length === 0) {
  console.error('usage: node recorded_test.mjs REPORT.html... [--artifacts DIR]');
  process.exit(2);
}
if (options.artifacts) mkdirSync(options.artifacts, { recursive: true });

const kPicksOfAPage = 6;

const breaches = [];
function expect(condition, breach) {
  if (!condition) breaches.push(breach);
}

// A chart of every part, or a sentence in its place; the names of those with a chart.
async function checkViews(page, name) {
  const drawn = [];
  for (const part of await chartParts(page)) {
    const says = (await page.locator(`#${part} .empty:visible`).count()) > 0;
    if (says) continue;
    drawn.push(part);
    expect((await marks(page, part)) > 200, `${name}: ${part} has no marks and does not say why`);
  }
  expect(drawn.includes('parallel') && drawn.includes('matters'), `${name}: drawn are only ${drawn.join(', ')}`);
  return drawn;
}

async function checkBrush(page, name) {
  const total = await shownRows(page);
  await brushAxis(page);
  await page.waitForTimeout(150);
  await settled(page);
  const count = await chosen(page);
  expect(count !== null && count > 0 && count < total, `${name}: the brush chose ${count} of ${total}`);
  expect((await shownRows(page)) === count, `${name}: the brush chose ${count}, the table has ${await shownRows(page)} rows`);
}

async function checkReport(browser, file, colorScheme) {
  const name = `${basename(file, '.html')}-${colorScheme}`;
  const url = pathToFileURL(resolve(file)).href;
  const { context, page } = await openPage(browser, name, url, breaches, { colorScheme, offline: true });
  await drawAll(page);
  const drawn = await checkViews(page, name);
  await checkWidth(page, name, breaches);
  await checkGeometry(page, name, breaches);
  await checkAccessible(page, name, breaches);
  // Verdict and picks on one page, the pick in sight and its charts on the other.
  if (colorScheme === 'light' && (await page.locator('#picks tbody tr').count()) <= kPicksOfAPage) {
    const pdf = await page.pdf({ preferCSSPageSize: true });
    const pages = pdf.toString('latin1').match(/\/Type\s*\/Page\b/g)?.length;
    expect(pages === 2, `${name}: the print has ${pages} pages`);
  }
  if (options.artifacts) await page.screenshot({ path: join(options.artifacts, `${name}.png`), fullPage: true });
  await checkBrush(page, name);
  console.log(`${name}: ${await shownRows(page)} variants brushed; drawn: ${drawn.join(', ')}`);
  await context.close();
}

const browser = await launch();
try {
  for (const file of files) {
    for (const colorScheme of ['light', 'dark']) await checkReport(browser, file, colorScheme);
  }
} finally {
  await browser.close();
}

for (const breach of breaches) console.error(`FAILED ${breach}`);
process.exit(breaches.length === 0 ? 0 : 1);
