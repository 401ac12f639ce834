// node site_test.mjs SITE_FOLDER [--artifacts DIR]: the site that scripts/docs.sh builds, in a headless Chromium: its front page and
// its demo report at three widths and both color schemes. No text is cut or lies over other text, nothing is wider than the screen, and
// axe-core finds nothing serious. Exit code 1, naming each breach.

import { mkdirSync, readFileSync } from 'node:fs';
import { createServer } from 'node:http';
import { extname, join, normalize, resolve } from 'node:path';
import { parseArgs } from 'node:util';
import { drawAll, launch, openPage } from './page.mjs';
import { checkAccessible, checkGeometry, checkWidth } from './views.mjs';

const kScreens = [[1400, 'light'], [800, 'dark'], [400, 'light'], [400, 'dark']];
const kTypes = { '.html': 'text/html', '.css': 'text/css', '.js': 'text/javascript', '.json': 'application/json', '.svg': 'image/svg+xml', '.png': 'image/png' };

const { values: options, positionals: [site] } = parseArgs({ options: { artifacts: { type: 'string' } }, allowPositionals: true });
if (site === undefined) {
  console.error('usage: node site_test.mjs SITE_FOLDER [--artifacts DIR]');
  process.exit(2);
}
if (options.artifacts) mkdirSync(options.artifacts, { recursive: true });

const breaches = [];

// The search and the preloads of the theme need a server.
const server = createServer((request, response) => {
  const path = normalize(decodeURIComponent(new URL(request.url, 'http://site').pathname));
  try {
    const body = readFileSync(join(resolve(site), path));
    response.writeHead(200, { 'content-type': kTypes[extname(path)] ?? 'application/octet-stream' });
    response.end(body);
  } catch {
    response.writeHead(404);
    response.end();
  }
});
await new Promise((listening) => { server.listen(0, '127.0.0.1', listening); });
const origin = `http://127.0.0.1:${server.address().port}`;

async function checkPage(browser, name, path, isReport) {
  const url = `${origin}/${path}`;
  for (const [width, colorScheme] of kScreens) {
    const title = `${name}, ${width} px, ${colorScheme}`;
    const { context, page } = await openPage(browser, title, url, breaches, { colorScheme, viewport: { width, height: 900 } },
      (asked) => !isReport && asked.startsWith(`${origin}/`));
    if (isReport) await drawAll(page);
    await checkWidth(page, title, breaches);
    await checkGeometry(page, title, breaches, isReport ? 'body' : 'article');  // the theme has menus beside the screen
    await checkAccessible(page, title, breaches);
    if (options.artifacts) await page.screenshot({ path: join(options.artifacts, `site-${name}-${width}-${colorScheme}.png`) });
    await context.close();
  }
}

const browser = await launch();
try {
  await checkPage(browser, 'front', 'index.html', false);
  await checkPage(browser, 'demo', 'demo/report.html', true);
} finally {
  await browser.close();
  server.close();
}
for (const breach of breaches) console.error(`FAILED ${breach}`);
if (breaches.length === 0) console.log('the site: all checks passed');
process.exit(breaches.length === 0 ? 0 : 1);
