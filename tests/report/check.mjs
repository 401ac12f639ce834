// node check.mjs REPORT.html...
//
// Opens reports as mgtune wrote them from disk in a headless Chromium ($CHROMIUM, else /usr/bin/chromium), with
// and without JavaScript. Exit code 1, naming each breach, when the console shows an error, the page breaks its
// own content security policy, asks the network for anything, shows less than its data has, or shows a time of
// the cpu device without its label.

import { existsSync, statSync } from 'node:fs';
import { resolve } from 'node:path';
import { pathToFileURL } from 'node:url';
import { drawAll, launch, openPage } from './page.mjs';

const files = process.argv.slice(2).map((file) => resolve(file));
if (files.length === 0 || !files.every((file) => existsSync(file))) {
  console.error('usage: node check.mjs REPORT.html...');
  process.exit(2);
}

const breaches = [];
function expect(condition, breach) {
  if (!condition) breaches.push(breach);
}

// What the data has against what the tables show.
async function checkData(page, name) {
  const data = JSON.parse(await page.locator('#report-data').textContent());
  expect((await page.title()) === data.title, `${name}: title is ${await page.title()}`);
  const sentences = await page.locator('#verdict .sentence').allTextContents();
  expect(JSON.stringify(sentences) === JSON.stringify(data.verdict), `${name}: the verdict is ${sentences.join(' ')}`);
  const picks = await page.locator('#picks tbody tr').count();
  expect(picks === data.picks.length, `${name}: ${data.picks.length} picks but ${picks} rows`);
  const problems = data.problems.length;
  const choices = await page.locator('.problem option').count();
  expect(choices >= problems, `${name}: ${problems} problems but ${choices} to choose from`);
  const missing = Object.values(data.missing).filter((each) => each !== null && each.command !== '').map((each) => each.command);
  const commands = await page.locator('.empty .command code').allTextContents();
  expect(commands.every((each) => missing.includes(each)), `${name}: a part says ${commands.join(', ')}`);
}

// Every number with a unit of time in a table has the label in its cell, its column or its caption.
async function checkEmulation(page, name) {
  const bare = await page.evaluate(() => {
    const time = /\d (ns|us|ms|s)\b/;
    const labelled = (element) => /emulation/.test(element?.textContent ?? '');
    return [...document.querySelectorAll('#picks table, main#static table')].flatMap((table) => {
      const heads = [...table.querySelectorAll('thead th')];
      return [...table.querySelectorAll('td')].filter((cell) => time.test(cell.textContent)
        && !labelled(cell) && !labelled(heads[cell.cellIndex]) && !labelled(table.caption)
        && !labelled(cell.parentElement));
    }).map((cell) => cell.textContent);
  });
  expect(bare.length === 0, `${name}: times of the cpu device without their label: ${bare.slice(0, 5).join(', ')}`);
}

async function checkStatic(page, name) {
  const headings = await page.locator('#static h2').allTextContents();
  expect(headings.length >= 5, `${name}: without JavaScript the parts are ${headings.join(', ')}`);
  expect(await page.locator('#static').isVisible(), `${name}: without JavaScript there is nothing to read`);
  const bare = await page.locator('#static table:not(:has(caption))').count();
  expect(bare === 0, `${name}: ${bare} tables without a caption`);
}

const browser = await launch();
try {
  for (const file of files) {
    const url = pathToFileURL(file).href;
    const { context, page } = await openPage(browser, file, url, breaches, { offline: true });
    await drawAll(page);
    expect(await page.locator('#static').isHidden(), `${file}: the static tables are still shown`);
    await checkData(page, file);
    const isEmulated = JSON.parse(await page.locator('#report-data').textContent()).gpus.every((gpu) => gpu.emulation);
    if (isEmulated) await checkEmulation(page, file);
    await context.close();

    const plain = await openPage(browser, file, url, breaches, { offline: true, javaScriptEnabled: false });
    await checkStatic(plain.page, file);
    if (isEmulated) await checkEmulation(plain.page, file);
    await plain.context.close();
  }
} finally {
  await browser.close();
}

for (const breach of breaches) console.error(`FAILED ${breach}`);
if (breaches.length === 0) {
  for (const file of files) console.log(`${file}: ${statSync(file).size} bytes, all checks passed`);
}
process.exit(breaches.length === 0 ? 0 : 1);
