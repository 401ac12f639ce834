// A page out of the template and a document, as `mgtune report` makes it, and a browser to open it in.

import { readFileSync } from 'node:fs';
import { fileURLToPath } from 'node:url';
import { chromium } from 'playwright-core';

export const kTemplate = fileURLToPath(new URL('../../reports/web/dist/report.html', import.meta.url));

const kFlags = [
  '--headless', '--no-sandbox', '--disable-gpu', '--disable-quic', '--no-first-run',
  '--disable-background-networking', '--disable-component-update', '--disable-sync',
];

export function launch() {
  return chromium.launch({ executablePath: process.env.CHROMIUM ?? '/usr/bin/chromium', args: kFlags });
}

function replaceOnce(html, placeholder, replacement) {
  const parts = html.split(placeholder);
  if (parts.length !== 2) throw new Error(`the template has ${placeholder} ${parts.length - 1} times`);
  return parts.join(replacement);
}

export function makePage(document) {
  const json = JSON.stringify(document).replace(/[<>&\u2028\u2029]/g, (character) =>
    `\\u${character.charCodeAt(0).toString(16).padStart(4, '0')}`);
  const opening = '<script type="application/json" id="report-data">';
  const html = replaceOnce(readFileSync(kTemplate, 'utf8'), `${opening}</script>`, `${opening}${json}</script>`);
  return replaceOnce(html, '<main id="static"></main>', '<main id="static"><h2>Verdict</h2><p>Static.</p></main>');
}

// Keeps of every canvas the texts that it shows, with their boxes in its pixels: window.canvasTexts.
function recordCanvasText() {
  window.canvasTexts = new Map();
  const { fillText, clearRect } = CanvasRenderingContext2D.prototype;
  CanvasRenderingContext2D.prototype.clearRect = function clear(x, y, width, height) {
    if (width >= this.canvas.clientWidth && height >= this.canvas.clientHeight) window.canvasTexts.delete(this.canvas);
    return clearRect.call(this, x, y, width, height);
  };
  CanvasRenderingContext2D.prototype.fillText = function fill(text, x, y, ...rest) {
    const measured = this.measureText(text);
    const matrix = this.getTransform();
    const corners = [
      [x - measured.actualBoundingBoxLeft, y - measured.actualBoundingBoxAscent], [x + measured.actualBoundingBoxRight, y - measured.actualBoundingBoxAscent],
      [x - measured.actualBoundingBoxLeft, y + measured.actualBoundingBoxDescent], [x + measured.actualBoundingBoxRight, y + measured.actualBoundingBoxDescent],
    ].map(([a, b]) => matrix.transformPoint({ x: a, y: b }));
    const box = {
      text, turned: Math.abs(matrix.b) > 0.01,
      left: Math.min(...corners.map((each) => each.x)), right: Math.max(...corners.map((each) => each.x)),
      top: Math.min(...corners.map((each) => each.y)), bottom: Math.max(...corners.map((each) => each.y)),
    };
    if (text.trim() !== '') window.canvasTexts.set(this.canvas, [...(window.canvasTexts.get(this.canvas) ?? []), box]);
    return fillText.call(this, text, x, y, ...rest);
  };
}

// A page of its own context; every error, violation, dialog and request but for `url` and what `mayAsk` allows goes to `breaches`.
export async function openPage(browser, name, url, breaches, contextOptions = {}, mayAsk = () => false) {
  const context = await browser.newContext({ viewport: { width: 1280, height: 900 }, ...contextOptions });
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
    const asked = request.url();
    if (asked.split('#')[0] !== url && asked !== 'data:,' && !mayAsk(asked)) breaches.push(`${name}: asked for ${asked}`);
  });
  // Violations that happen before the listener could be added show up on the console.
  await page.addInitScript(() => {
    document.addEventListener('securitypolicyviolation', (event) =>
      console.error(`content security policy: ${event.violatedDirective} ${event.blockedURI}`));
  });
  await page.addInitScript(recordCanvasText);
  await page.goto(url, { waitUntil: 'load' });
  return { context, page };
}

// All that was asked for is on the screen.
export function settled(page) {
  return page.evaluate(() => new Promise((done) => requestAnimationFrame(() => requestAnimationFrame(done))));
}

// Scrolls through the page, so that every chart draws itself.
export async function drawAll(page) {
  for (const stage of await page.locator('.stage').all()) {
    if (!(await stage.isVisible())) continue;
    await stage.scrollIntoViewIfNeeded();
    await settled(page);
  }
  await page.evaluate(() => window.scrollTo(0, 0));
  await settled(page);
}
