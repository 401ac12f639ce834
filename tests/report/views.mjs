// What tests ask of an open page: what its views show, what is chosen, whether everybody can read it.

import { readFileSync } from 'node:fs';
import { createRequire } from 'node:module';
import { settled } from './page.mjs';

export const kTimeAxis = 104;  // px from the right edge of the parallel coordinates

// How many pixels of a chart are not its ground: 0 means that nothing was drawn.
export async function marks(page, part) {
  return page.evaluate((id) => {
    const drawn = [...document.querySelectorAll(`#${id} .canvas`)].filter((each) => each.clientWidth > 0).map((each) => {
      const canvas = each.querySelector('canvas');
      if (canvas === null) return 0;
      const { data } = canvas.getContext('2d').getImageData(0, 0, canvas.width, canvas.height);
      let pixels = 0;
      for (let i = 3; i < data.length; i += 4) pixels += data[i] > 0 ? 1 : 0;
      return pixels;
    });
    return drawn.length === 0 ? 0 : Math.min(...drawn);
  }, part);
}

// Parts of the page that have a chart today. chartParts() finds all of them, also newer ones.
export const kCharts = ['roofline', 'matters', 'heat', 'parallel', 'progress', 'finals', 'sizes', 'counters'];
export const chartParts = (page) =>
  page.locator('section:has(.canvas)').evaluateAll((sections) => sections.map((each) => each.id));

export const chosen = async (page) => (await page.locator('.chips strong').count()) === 0 ? null
  : Number((await page.locator('.chips strong').textContent()).split(' of ')[0].replaceAll(',', ''));
export const shownRows = async (page) =>
  Number((await page.locator('#variants caption .muted').textContent()).replace(/\D/g, ''));

export async function checkAccessible(page, name, breaches) {
  const source = readFileSync(createRequire(import.meta.url).resolve('axe-core/axe.min.js'), 'utf8');
  await page.evaluate(source);
  const found = await page.evaluate(() => globalThis.axe.run(document, { resultTypes: ['violations'] }));
  for (const violation of found.violations) {
    const line = `${name}: axe: ${violation.impact}: ${violation.id}: ${violation.nodes[0].html.slice(0, 120)}`;
    if (['serious', 'critical'].includes(violation.impact)) breaches.push(line);
    else console.log(line);
  }
}

// The page scrolls down, never sideways: wide tables scroll in their own box.
export async function checkWidth(page, name, breaches) {
  const overflow = await page.evaluate(() => document.documentElement.scrollWidth - document.documentElement.clientWidth);
  if (overflow > 0) breaches.push(`${name}: the page is ${overflow} px wider than the screen`);
}

// Drags along the axis of the time, over the fastest variants.
export async function brushAxis(page) {
  const canvas = page.locator('#parallel .canvas');
  await canvas.scrollIntoViewIfNeeded();
  await settled(page);
  const box = await canvas.boundingBox();
  const x = box.x + box.width - kTimeAxis;
  await page.mouse.move(x, box.y + box.height - 30);
  await page.mouse.down();
  await page.mouse.move(x, box.y + box.height - 120, { steps: 5 });
  await page.mouse.up();
}

// Text that is cut by its box or its canvas, leaves the screen, or lies over other text. What scrolls in its own box may
// end at the edge of that box. `within`: only text in elements of this selector.
export async function checkGeometry(page, name, breaches, within = 'body') {
  const found = await page.evaluate((root) => {
    const kSlack = 2;  // px
    const wrong = [];
    const overlaps = (boxes, where) => {
      const sorted = [...boxes].sort((a, b) => a.top - b.top);
      sorted.forEach((a, i) => {
        for (let j = i + 1; j < sorted.length && sorted[j].top < a.bottom - kSlack; ++j) {
          const b = sorted[j];
          if (Math.min(a.right, b.right) - Math.max(a.left, b.left) > kSlack && Math.min(a.bottom, b.bottom) - b.top > kSlack) {
            wrong.push(`${where}: "${a.text}" and "${b.text}" overlap`);
          }
        }
      });
    };
    const place = (element) => element.closest('section')?.id ?? element.closest('aside, .bar')?.className ?? 'page';

    // The texts of elements, each line of them as its own box.
    const boxes = [];
    const walker = document.createTreeWalker(document.body, NodeFilter.SHOW_TEXT);
    for (let node = walker.nextNode(); node !== null; node = walker.nextNode()) {
      const element = node.parentElement;
      if (node.textContent.trim() === '' || element.closest('.offscreen, .skip, script, style, option') !== null || element.closest(root) === null || !element.checkVisibility()) continue;
      const range = document.createRange();
      range.selectNodeContents(node);
      const text = node.textContent.trim().slice(0, 40);
      for (const rect of range.getClientRects()) {
        let box = { text, left: rect.left, right: rect.right, top: rect.top, bottom: rect.bottom };
        for (let outer = element; outer !== null && outer !== document.body; outer = outer.parentElement) {
          const style = getComputedStyle(outer);
          if (style.overflowX === 'visible') continue;
          const edge = outer.getBoundingClientRect();
          const scrolls = ['auto', 'scroll'].includes(style.overflowX);
          if (edge.left < 0 && edge.right < 0) box = null;  // the headings that only screen readers read
          else if (!scrolls && (box.right > edge.right + 1 || box.left < edge.left - 1)) wrong.push(`${place(element)}: "${text}" is cut`);
          if (box === null) break;
          box = {
            text, left: Math.max(box.left, edge.left), right: Math.min(box.right, edge.right), top: Math.max(box.top, edge.top),
            bottom: Math.min(box.bottom, edge.bottom),
          };
          if (box.left >= box.right || box.top >= box.bottom) box = null;
          if (box === null) break;
        }
        if (box === null) continue;
        if (box.left < -1 || box.right > window.innerWidth + 1) wrong.push(`${place(element)}: "${text}" leaves the screen`);
        boxes.push(box);
      }
    }
    overlaps(boxes, 'text');
    for (const [canvas, texts] of window.canvasTexts) {
      if (!canvas.isConnected || canvas.clientWidth === 0) continue;
      for (const each of texts) {
        const out = each.left < -kSlack || each.right > canvas.clientWidth + kSlack || each.top < -kSlack || each.bottom > canvas.clientHeight + kSlack;
        if (out) wrong.push(`${place(canvas)}: the chart cuts "${each.text}"`);
      }
      overlaps(texts.filter((each) => !each.turned), `the chart of ${place(canvas)}`);
    }
    return [...new Set(wrong)];
  }, within);
  for (const each of found.slice(0, 12)) breaches.push(`${name}: ${each}`);
  if (found.length > 12) breaches.push(`${name}: ${found.length - 12} more such places`);
}
