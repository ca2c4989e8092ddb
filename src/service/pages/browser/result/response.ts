import type { Tools } from '../base/element.ts';
import { list, object, text } from '../base/outside.ts';

/** Status line, headers and body size of a URL or API check's response; empty if there was none. */
export function responseText(details: unknown): string {
  const { response } = object(details);
  const { status, statusText, httpVersion, headers, size } = object(response);
  if (status === undefined) return '';
  const version = httpVersion ? `HTTP/${text(httpVersion, 10)}` : '';
  const first = [version, text(status, 10), text(statusText, 100)].filter(Boolean).join(' ');
  const lines = Object.entries(object(headers))
    .slice(0, 100)
    .flatMap(([name, value]) =>
      (Array.isArray(value) ? list(value).slice(0, 20) : [value]).map(
        (each) => `${text(name, 100)}: ${text(each, 500)}`,
      ),
    );
  return [first, ...lines, ...(typeof size === 'number' ? ['', `body: ${size} bytes`] : [])].join('\n');
}

/** The phases of an attempt, in the order of the result; phases of zero duration are omitted. */
export function timingChips({ element, milliseconds }: Tools, timings: unknown): HTMLElement[] {
  return Object.entries(object(timings))
    .filter(([, value]) => typeof value === 'number' && value > 0)
    .slice(0, 20)
    .map(([name, value]) =>
      element('span', { class: 'chip' }, `${phaseNames.get(name) ?? text(name, 40)} ${milliseconds(value)}`),
    );
}

const phaseNames: ReadonlyMap<string, string> = new Map([
  ['dns', 'DNS'],
  ['tls', 'TLS'],
  ['firstByte', 'first byte'],
]);
