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
