/** Formats log lines for a person at a terminal. `start` and `service` write JSON lines for machines. */

const hidden: ReadonlySet<string> = new Set(['level', 'time', 'msg', 'pid', 'hostname', 'v']);
const maxField = 300;

/**
 * `{"level":"INFO","time":"…T12:00:01.234Z","msg":"ready","port":1}` → `12:00:01 INFO  agent    ready port=1`. Returns
 * other text unchanged.
 */
export function readableLine(line: string, part: string): string {
  const entry = parsed(line);
  if (entry === null) return `${' '.repeat(9)}${'-'.padEnd(6)}${part.padEnd(9)}${line}`;
  const { level, time, msg } = entry;
  const fields = Object.entries(entry)
    .filter(([name]) => !hidden.has(name))
    .map(([name, value]) => `${name}=${shown(value)}`);
  const clock = typeof time === 'string' ? time.slice(11, 19) : '';
  const start = `${clock.padEnd(9)}${String(level ?? '').padEnd(6)}${part.padEnd(9)}`;
  return start + [String(msg ?? ''), ...fields].filter((text) => text !== '').join(' ');
}

/** Splits a stream into lines; an incomplete line waits for the next chunk. Lines above 64 KiB are cut there. */
export function lineSplitter(each: (line: string) => void): (chunk: string) => void {
  let rest = '';
  return (chunk) => {
    const lines = (rest + chunk).split('\n');
    rest = lines.pop() ?? '';
    if (rest.length > 65_536) {
      lines.push(rest);
      rest = '';
    }
    for (const line of lines) if (line !== '') each(line);
  };
}

function parsed(line: string): { [name: string]: unknown } | null {
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
