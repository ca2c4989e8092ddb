import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';

/** The colours of the pages: text has a contrast of at least 4.5, and graphics that mean something of at least 3. */

const styles = join(import.meta.dirname, '..', '..', '..', 'src', 'service', 'pages', 'browser', 'styles');
const text = readFileSync(join(styles, 'colours.css'), 'utf8');
const tokens = new Map(
  [...text.matchAll(/--([a-z-]+): light-dark\((#[0-9a-f]{6}), (#[0-9a-f]{6})\)/g)].map(
    ([, name = '', light = '', dark = '']) => [name, { light, dark }],
  ),
);

/** Relative luminance as WCAG 2 defines it. */
function luminance(colour: string): number {
  const [red = 0, green = 0, blue = 0] = [1, 3, 5].map((at) => {
    const part = parseInt(colour.slice(at, at + 2), 16) / 255;
    return part <= 0.04045 ? part / 12.92 : ((part + 0.055) / 1.055) ** 2.4;
  });
  return 0.2126 * red + 0.7152 * green + 0.0722 * blue;
}
function contrast(name: string, back: string, theme: 'light' | 'dark'): number {
  const [a = 0, b = 0] = [name, back]
    .map((token) => luminance(tokens.get(token)?.[theme] ?? ''))
    .sort((one, other) => other - one);
  return (a + 0.05) / (b + 0.05);
}

const surfaces = ['back', 'card', 'raised', 'hover'];
const statuses = ['passed', 'degraded', 'failed', 'errored', 'idle'];
const pairs = [
  ...['text', 'soft', 'accent', ...statuses].flatMap((name) =>
    surfaces.map((back) => ({ name, back, least: 4.5 })),
  ),
  ...statuses.flatMap((status) =>
    ['text', 'soft', 'accent', status].map((name) => ({ name, back: `${status}-back`, least: 4.5 })),
  ),
  { name: 'on-accent', back: 'accent', least: 4.5 },
  ...surfaces.map((back) => ({ name: 'edge', back, least: 3 })),
];

describe.each(['light', 'dark'] as const)('the %s colours', (theme) => {
  it.each(pairs)('show $name on $back', ({ name, back, least }) => {
    expect(contrast(name, back, theme)).toBeGreaterThanOrEqual(least);
  });
});
