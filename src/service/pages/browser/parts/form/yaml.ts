/** Writes JSON values as YAML that people read: one field per line, and scripts as blocks. */

const plain = /^[A-Za-z_][\w.-]*$/;
/** Words that YAML reads as something else than a text. */
const words = /^(y|n|yes|no|true|false|on|off|null|\.nan|[+-]?\.inf)$/i;
const nameOf = (name: string) => (plain.test(name) && !words.test(name) ? name : JSON.stringify(name));

/** Texts of several lines that a block can hold as they are. */
const isBlock = (text: string): boolean =>
  text.includes('\n') &&
  !/^\s/.test(text) &&
  !text.endsWith('\n\n') &&
  // Characters that YAML would change or refuse.
  !/[^\n\t\u0020-\u007e\u00a0-\u2027\u202a-\ud7ff\ue000-\ufefe\uff00-\ufffd]/.test(text) &&
  !/[ \t]$/m.test(text);

function textOf(text: string, indent: string): string {
  if (plain.test(text) && !words.test(text)) return text;
  if (!isBlock(text)) return JSON.stringify(text);
  const lines = text.replace(/\n$/, '').split('\n');
  return [
    text.endsWith('\n') ? '|' : '|-',
    ...lines.map((line) => (line === '' ? '' : `${indent}${line}`)),
  ].join('\n');
}

const isEmpty = (value: object) => Object.keys(value).length === 0;

/** What follows `name:` or `-`: on the same line, or on lines below it. */
function after(value: unknown, indent: string): string {
  if (typeof value === 'string') return ` ${textOf(value, `${indent}  `)}`;
  if (typeof value !== 'object' || value === null) return ` ${JSON.stringify(value ?? null)}`;
  if (isEmpty(value)) return Array.isArray(value) ? ' []' : ' {}';
  return `\n${linesOf(value, `${indent}  `)}`;
}

function linesOf(value: object, indent: string): string {
  if (!Array.isArray(value))
    return Object.entries(value)
      .filter(([, inner]) => inner !== undefined)
      .map(([name, inner]) => `${indent}${nameOf(name)}:${after(inner, indent)}`)
      .join('\n');
  return value
    .map((item: unknown) =>
      typeof item === 'object' && item !== null && !isEmpty(item)
        ? `${indent}- ${linesOf(item, `${indent}  `).trimStart()}`
        : `${indent}-${after(item, indent)}`,
    )
    .join('\n');
}

/** A document with these fields. */
export const toYaml = (value: object): string => (isEmpty(value) ? '{}\n' : `${linesOf(value, '')}\n`);
