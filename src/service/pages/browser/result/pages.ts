import type { Tools } from '../base/element.ts';
import type { Lines } from './lines.ts';
import { list, object, text } from '../base/outside.ts';

/** The pages that a script opened, with their web vitals and errors. */
export function pageNodes({ element, milliseconds }: Tools, lines: Lines, details: unknown): HTMLElement[] {
  const vital = ([name, value]: readonly [string, unknown]) => {
    const { score, value: measured } = object(value);
    const shown =
      name === 'CLS' && typeof measured === 'number' ? measured.toFixed(3) : milliseconds(measured);
    return element('span', { class: 'chip', title: text(score, 40) }, `${name} ${shown}`);
  };
  return list(object(details)['pages'])
    .slice(0, 100)
    .map((page) => {
      const { url, pageTimings, webVitals, consoleErrors, networkErrors } = object(page);
      const errors = [...list(consoleErrors), ...list(networkErrors)].slice(0, 20);
      return element(
        'div',
        {},
        lines.line('', text(url, 300), milliseconds(object(pageTimings)['onLoad'])),
        element('div', {}, ...Object.entries(object(webVitals)).slice(0, 10).map(vital)),
        ...errors.map(lines.error),
      );
    });
}

/** The API calls of a script, with their assertions. */
export function callNodes({ element, milliseconds }: Tools, lines: Lines, details: unknown): HTMLElement[] {
  return list(object(details)['apiCalls'])
    .slice(0, 200)
    .map((call) => {
      const { request, response, error, durationMs, assertions } = object(call);
      const { method, url } = object(request);
      const answer = response ? text(object(response)['status'], 40) : 'no answer';
      const held = list(assertions).slice(0, 50).map(object);
      const hasFailed = Boolean(error) || held.some(({ passed }) => passed === false);
      return element(
        'div',
        {},
        lines.line(
          hasFailed ? 'failed' : 'passed',
          `${text(method, 20)} ${text(url, 300)}`,
          milliseconds(durationMs),
          lines.soft(answer),
        ),
        error ? lines.error(error) : null,
        ...held.map(({ passed, title }) =>
          lines.line(passed === false ? 'failed' : 'passed', text(title, 300), ''),
        ),
      );
    });
}
