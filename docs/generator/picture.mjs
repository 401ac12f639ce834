// node picture.mjs REPORT.html OUT.png: the first screen of a report, as a reader sees it on a laptop.
import { resolve } from 'node:path';
import { pathToFileURL } from 'node:url';
import { drawAll, launch } from '../../tests/report/page.mjs';

const [, , report, out] = process.argv;
if (out === undefined) {
  console.error('usage: node picture.mjs REPORT.html OUT.png');
  process.exit(2);
}
const browser = await launch();
try {
  const page = await browser.newPage({ viewport: { width: 1400, height: 920 }, colorScheme: 'light' });
  await page.goto(pathToFileURL(resolve(report)).href, { waitUntil: 'load' });
  await drawAll(page);
  await page.screenshot({ path: out });
} finally {
  await browser.close();
}
