// node live_test.mjs
//
// A page that is served while a sweep runs: it takes each document that the server sends, keeps the problem, what
// is chosen and the variant looked at, and says when the sweep has ended or the server is gone. Exit code 1, naming
// each breach.

import { createServer } from 'node:http';
import { emptyDocument, smallDocument } from './documents.mjs';
import { launch, makePage, openPage, settled } from './page.mjs';

const breaches = [];
function expect(condition, breach) {
  if (!condition) breaches.push(breach);
}

const clients = new Set();
const page = makePage({ ...emptyDocument(), live: true });
const server = createServer((request, response) => {
  if (request.url === '/token/events') {
    response.writeHead(200, { 'Content-Type': 'text/event-stream', 'Cache-Control': 'no-store' });
    response.write(': hello\n\n');
    clients.add(response);
    response.on('close', () => clients.delete(response));
  } else {
    response.writeHead(200, { 'Content-Type': 'text/html; charset=utf-8' });
    response.end(page);
  }
});
await new Promise((done) => server.listen(0, '127.0.0.1', done));
const url = `http://127.0.0.1:${server.address().port}/token/`;

function send(event, document) {
  for (const client of clients) client.write(`event: ${event}\ndata: ${JSON.stringify(document)}\n\n`);
}

async function until(what, condition) {
  for (let i = 0; i < 200; ++i) {
    if (await condition()) return;
    await new Promise((done) => setTimeout(done, 50));
  }
  breaches.push(what);
}

const browser = await launch();
try {
  const { page: tab } = await openPage(browser, 'live', url, breaches);
  await until('the page does not listen', () => clients.size === 1);
  expect((await tab.locator('.live').textContent()).startsWith('The sweep is running.'), 'the page does not say that the sweep runs');

  const first = { ...smallDocument(), live: true, generated_at: 'first' };
  send('report', first);
  await until('the first document is not shown', () => tab.locator('#picks tbody tr').count().then((rows) => rows === first.picks.length));
  const last = await tab.locator('.problem option').last().getAttribute('value');
  expect((await tab.locator('.problem select').inputValue()) === last, 'the page does not show what the sweep works on');
  await tab.locator('.problem select').selectOption('2');
  await tab.locator('#variants input[type=search]').fill('VEC=8');
  await until('nothing is chosen', () => tab.locator('.chips strong').count().then((count) => count === 1));
  await tab.locator('#variants tbody .link').first().click();
  const chosen = await tab.locator('.chips strong').textContent();
  const variant = await tab.locator('#variants .detail .variant').textContent();
  await tab.locator('.problem select').focus();

  send('report', { ...first, generated_at: 'second' });
  await until('the second document is not shown', () =>
    tab.locator('header').textContent().then((text) => text.includes('second')));
  await settled(tab);
  expect((await tab.locator('.problem select').inputValue()) === '2', 'another problem is shown after an update');
  expect((await tab.locator('.chips strong').textContent()) === chosen, 'something else is chosen after an update');
  expect((await tab.locator('#variants .detail .variant').textContent()) === variant, 'another variant is looked at after an update');
  expect(await tab.locator('.problem select').evaluate((select) => select === document.activeElement), 'an update moves the focus');

  send('end', {});
  await until('the page does not say that the sweep has ended', () =>
    tab.locator('.live').textContent().then((text) => text.startsWith('The sweep has ended.')));
  await until('the page still listens', () => clients.size === 0);
} finally {
  await browser.close();
  server.close();
}

const found = breaches.filter((each) => each !== `live: asked for ${url}events`);
for (const breach of found) console.error(`FAILED ${breach}`);
if (found.length === 0) console.log('the live page: all checks passed');
process.exit(found.length === 0 ? 0 : 1);
