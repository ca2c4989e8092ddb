/** Formats log lines: JSON for machines, text for people. */

const hidden: ReadonlySet<string> = new Set(['level', 'time', 'msg', 'pid', 'hostname', 'v']);
const maxField = 300;

export type LogStyle = {
  readonly format: 'json' | 'text';
  /** Colour the levels of text lines. */
  readonly colour: boolean;
};

/** For machines: the default. */
export const jsonStyle: LogStyle = { format: 'json', colour: false };

/** Colours of terminals; other levels have none. */
const colours: { readonly [level: string]: number } = { DEBUG: 90, LOG: 90, WARN: 33, ERROR: 31, FATAL: 31 };

/**
 * `{"level":"INFO","time":"…T12:00:01.234Z","msg":"ready","port":1}` → `12:00:01 INFO  agent    ready port=1`. Returns
 * other text unchanged. `part` names the process; empty = no such column.
 */
export function readableLine(line: string, part: string, colour = false): string {
  const entry = parsedLine(line);
  const column = part === '' ? '' : part.padEnd(9);
  if (entry === null) return `${' '.repeat(9)}${'-'.padEnd(6)}${column}${line}`;
  const { level, time, msg } = entry;
  const fields = Object.entries(entry)
    .filter(([name]) => !hidden.has(name))
    .map(([name, value]) => `${name}=${shown(value)}`);
  const clock = typeof time === 'string' ? time.slice(11, 19) : '';
  const name = String(level ?? '');
  const code = colour ? colours[name] : undefined;
  const painted = code === undefined ? name.padEnd(6) : `\u001b[${code}m${name.padEnd(6)}\u001b[0m`;
  const start = `${clock.padEnd(9)}${painted}${column}`;
  return start + [String(msg ?? ''), ...fields].filter((text) => text !== '').join(' ');
}

/** A line in this style that did not come from the log, such as the last one before an exit. Ends with a newline. */
export function styledLine(
  { format, colour }: LogStyle,
  { level, msg, ...fields }: { level: 'INFO' | 'WARN' | 'FATAL'; msg: string; [field: string]: unknown },
): string {
  const json = JSON.stringify({ level, time: new Date().toISOString(), ...fields, msg });
  return `${format === 'json' ? json : readableLine(json, '', colour)}\n`;
}

/** The fields of a line of the log; null = other text. */
export function parsedLine(line: string): { [name: string]: unknown } | null {
  try {
    const value: unknown = JSON.parse(line);
    // An object that is not a list has named fields.
    return typeof value === 'object' && value !== null && !Array.isArray(value)
      ? (value as { [name: string]: unknown })
      : null;
  } catch {
    return null;
  }
}

function shown(value: unknown): string {
  if (typeof value === 'object' && value !== null && 'message' in value)
    return JSON.stringify(String(value.message));
  const text =
    typeof value === 'string' && /^[\w.:/@-]+$/.test(value) ? value : (JSON.stringify(value) ?? '');
  return text.length > maxField ? `${text.slice(0, maxField)}…` : text;
}
