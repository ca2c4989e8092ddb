import type { Child, Tools } from '../base/element.ts';
import { bytes } from '../base/words.ts';
import { list, object, plain, text } from '../base/outside.ts';

/** Building blocks of all parts of a result. */
export type Lines = ReturnType<typeof linesWith>;

export function linesWith({ element, milliseconds, download }: Tools) {
  const soft = (words: string) => element('span', { class: 'soft' }, words);

  /** A status dot (none if `status` is empty), a title, a figure, and more. */
  const line = (status: string, title: Child, figure: string, ...more: readonly Child[]): HTMLElement =>
    element(
      'div',
      { class: 'line' },
      status === '' ? null : element('span', { class: `status ${status}` }, ''),
      element('span', {}, title),
      element('span', { class: 'num soft' }, figure),
      ...more,
    );

  const error = (message: unknown): HTMLElement => element('pre', { class: 'reason' }, plain(message));

  /** A titled section; null if it would be empty. */
  const section = (title: string, nodes: readonly Child[]): HTMLElement | null =>
    nodes.length === 0 ? null : element('div', { class: 'part' }, element('h3', {}, title), ...nodes);

  /** A preformatted text as a list of nodes; empty if the text is empty. */
  const block = (content: string): HTMLElement[] => (content === '' ? [] : [element('pre', {}, content)]);

  /** An artifact, whose name downloads it if it is stored. */
  function file(artifact: unknown): HTMLElement {
    const { name, size, type, state, url } = object(artifact);
    const shown = text(name, 200);
    if (state !== 'stored' || typeof url !== 'string' || url === '') {
      return line('', shown, bytes(size), soft(text(state, 40)));
    }
    const button = element('button', { class: 'name', attributes: { type: 'button' } }, shown);
    button.addEventListener('click', () => void download(url, text(name)));
    return line('', button, bytes(size), soft(text(type, 40)));
  }

  let stepsLeft = 500;
  /** Steps with their nested steps, to a depth of 6 and 500 in total. */
  function steps(items: unknown, depth = 0): HTMLElement[] {
    return list(items).flatMap((item) => {
      if (stepsLeft === 0) return [];
      stepsLeft -= 1;
      const { title, durationMs, error: message, steps: inner } = object(item);
      const own = element(
        'li',
        {},
        line(message ? 'failed' : '', text(title, 300), milliseconds(durationMs)),
        message ? error(message) : null,
      );
      const below = depth < 6 ? steps(inner, depth + 1) : [];
      if (below.length > 0) own.append(element('ul', {}, ...below));
      return [own];
    });
  }

  return { line, soft, error, section, block, file, steps };
}
