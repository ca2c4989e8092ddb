/** A row of `GET /v1/reporting`, its order, and its file. */

export type Report = {
  readonly checkId: string;
  readonly name: string;
  readonly checkType: string;
  readonly deactivated: boolean;
  readonly tags: readonly string[];
  readonly aggregate: {
    readonly successRatio: number | null;
    readonly avg: number | null;
    readonly p95: number | null;
    readonly p99: number | null;
  };
};

export const figures = ['successRatio', 'avg', 'p95', 'p99'] as const;
export type ReportSort = 'name' | (typeof figures)[number];

/** Sorts by a column; checks without a value are last in both orders. */
export function sorted(rows: readonly Report[], sort: ReportSort, isDown: boolean): Report[] {
  const sign = isDown ? -1 : 1;
  return [...rows].sort((a, b) => {
    if (sort === 'name') return sign * a.name.localeCompare(b.name);
    const [left, right] = [a.aggregate[sort], b.aggregate[sort]];
    if (left === null || right === null) return Number(left === null) - Number(right === null);
    return sign * (left - right) || a.name.localeCompare(b.name);
  });
}

/** A field of a CSV file. Spreadsheets would take a text that begins with one of these characters for a formula. */
const field = (value: string | number | null): string => {
  if (typeof value !== 'string') return String(value ?? '');
  const text = /^[=+\-@\t\r]/.test(value) ? `'${value}` : value;
  return /[",\r\n]/.test(text) ? `"${text.replaceAll('"', '""')}"` : text;
};

export function toCsv(rows: readonly Report[]): string {
  const head = ['check', 'id', 'type', 'tags', 'availability', 'average ms', 'p95 ms', 'p99 ms'];
  const lines = rows.map(({ name, checkId, checkType, tags, aggregate }) => [
    name,
    checkId,
    checkType,
    tags.join(' '),
    ...figures.map((one) => aggregate[one]),
  ]);
  return [head, ...lines].map((line) => line.map(field).join(',')).join('\r\n') + '\r\n';
}
