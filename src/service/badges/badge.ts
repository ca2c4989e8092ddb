/** Renders badges: small SVG images with a name and a state. Pure; every text is escaped. */

export const badgeStyles = ['flat', 'flat-square', 'plastic', 'for-the-badge', 'social'] as const;
export type BadgeStyle = (typeof badgeStyles)[number];
export const badgeThemes = ['default', 'light', 'dark'] as const;
export type BadgeTheme = (typeof badgeThemes)[number];

export type BadgeState = 'passing' | 'degraded' | 'failing' | 'inactive' | 'no data';

export type Badge = {
  name: string;
  state: BadgeState;
  /** Shown in place of the state. */
  word?: string;
  /** Milliseconds of the last run; null = not shown, or no run. */
  responseTime: number | null;
  /** Percentage of the runs of the last 24 hours, or of the days that a status page shows; null = not shown, or no runs. */
  availability: number | null;
};

const colours: { readonly [state in BadgeState]: string } = {
  passing: '#2a7d3c',
  degraded: '#9a6700',
  failing: '#c0262d',
  inactive: '#5d6670',
  'no data': '#5d6670',
};
const labels: { readonly [theme in BadgeTheme]: { background: string; text: string } } = {
  default: { background: '#555555', text: '#ffffff' },
  light: { background: '#e6e8eb', text: '#1f2328' },
  dark: { background: '#1f2328', text: '#ffffff' },
};
const styles: { readonly [style in BadgeStyle]: { radius: number; height: number; upper: boolean } } = {
  flat: { radius: 3, height: 20, upper: false },
  'flat-square': { radius: 0, height: 20, upper: false },
  plastic: { radius: 4, height: 18, upper: false },
  'for-the-badge': { radius: 0, height: 28, upper: true },
  social: { radius: 8, height: 20, upper: false },
};
const maxNameLength = 60;
const padding = 7;
/** Width of a character in pixels. `textLength` gives the text that width in every font. */
const characterWidth = 6.6;

const escapes: { readonly [character: string]: string } = {
  '&': '&amp;',
  '<': '&lt;',
  '>': '&gt;',
  '"': '&quot;',
  "'": '&#39;',
};

// XML allows neither control characters nor half of a surrogate pair.
// oxlint-disable-next-line no-control-regex -- those characters are the subject
const unprintable = /[\u0000-\u001f\u007f-\u009f\ufffe\uffff]|\p{Surrogate}/gu;
const escaped = (text: string) =>
  text.replace(unprintable, ' ').replace(/[&<>"']/g, (character) => escapes[character] ?? '');

function shortened(name: string): string {
  const characters = Array.from(name);
  return characters.length <= maxNameLength ? name : `${characters.slice(0, maxNameLength - 1).join('')}…`;
}

function valueOf({ state, word, responseTime, availability }: Badge): string {
  return [
    word ?? state,
    ...(availability === null ? [] : [`${availability} %`]),
    ...(responseTime === null ? [] : [`${Math.round(responseTime)} ms`]),
  ].join(' · ');
}

export function badgeSvg(badge: Badge, { style, theme }: { style: BadgeStyle; theme: BadgeTheme }): string {
  const { radius, height, upper } = styles[style];
  const cased = (text: string) => (upper ? text.toUpperCase() : text);
  const name = cased(shortened(badge.name));
  const value = cased(valueOf(badge));
  const widthOf = (text: string) => Math.ceil(Array.from(text).length * characterWidth) + 2 * padding;
  const left = widthOf(name);
  const right = widthOf(value);
  const label = labels[theme];
  const text = (content: string, x: number, width: number, fill: string) =>
    `<text x="${x + width / 2}" y="${height / 2 + 4}" fill="${fill}" text-anchor="middle" ` +
    `textLength="${width - 2 * padding}" lengthAdjust="spacingAndGlyphs">${escaped(content)}</text>`;
  const title = escaped(`${name}: ${value}`);
  return [
    `<svg xmlns="http://www.w3.org/2000/svg" width="${left + right}" height="${height}" role="img" aria-label="${title}">`,
    `<title>${title}</title>`,
    `<clipPath id="r"><rect width="${left + right}" height="${height}" rx="${radius}"/></clipPath>`,
    '<g clip-path="url(#r)">',
    `<rect width="${left}" height="${height}" fill="${label.background}"/>`,
    `<rect x="${left}" width="${right}" height="${height}" fill="${colours[badge.state]}"/>`,
    '</g>',
    '<g font-family="Verdana,DejaVu Sans,sans-serif" font-size="11">',
    text(name, 0, left, label.text),
    text(value, left, right, '#ffffff'),
    '</g>',
    '</svg>',
    '',
  ].join('\n');
}

/** The state of a check, or of a group by its worst check. A deactivated check or group is shown as unknown. */
export function stateOf(checks: readonly { activated: boolean; status: string | null }[]): BadgeState {
  const active = checks.filter(({ activated }) => activated);
  if (active.length === 0) return checks.length === 0 ? 'no data' : 'inactive';
  const has = (...statuses: string[]) =>
    active.some(({ status }) => status !== null && statuses.includes(status));
  if (has('failed', 'errored')) return 'failing';
  if (has('degraded')) return 'degraded';
  return has('passed') ? 'passing' : 'no data';
}
