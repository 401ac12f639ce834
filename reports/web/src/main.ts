// Opens the report: takes the document out of the page, or waits for the first of a sweep that runs. A document
// that cannot be read is said so, and the static tables stay.

import './page.css';
import { el } from './dom';
import { watchSweep } from './live';
import { Page } from './page';
import { decodeReport, type Report } from './report';

const kRunning = 'The sweep is running. The page follows it until you choose a problem or variants.';

const root = document.getElementById('app') as HTMLElement;
const page = new Page(root);

const notice = el('p', { class: 'notice', role: 'alert', hidden: true });
root.before(notice);

function complain(text: string): void {
  notice.textContent = text;
  notice.hidden = text === '';
}

function show(json: string): Report | null {
  try {
    const report = decodeReport(json);
    root.hidden = false;
    page.show(report);
    document.getElementById('static')?.setAttribute('hidden', '');
    complain('');
    return report;
  } catch (error) {
    const reason = error instanceof Error ? error.message : String(error);
    complain(`The data of this report could not be shown: ${reason}`);
    return null;
  }
}

const data = document.getElementById('report-data')?.textContent ?? '';
const isServed = location.protocol === 'http:';
const report = data.trim() === '' ? null : show(data);

if (isServed && (data.trim() === '' || report?.live === true)) {
  page.say(kRunning);
  watchSweep({
    document: (json) => {
      show(json);
      page.say(kRunning);
    },
    ended: () => page.say('The sweep has ended. The page stays until it is closed; mgtune report writes one to keep.'),
    lost: () => page.say('The sweep does not answer.'),
  });
} else if (data.trim() === '') {
  complain('This report has no data. Make one with: mgtune report -o report.html');
}
