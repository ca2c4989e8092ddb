import type { MetricDefinition } from './catalogue.ts';
import type { Histogram } from './counters.ts';

/** One series of a metric. */
export type Sample<L extends string = string> = {
  readonly labels: { readonly [N in L]: string };
  readonly value: number | Histogram;
};

/** A metric in Prometheus' text format, version 0.0.4; histograms are kept as plain counts. */
export function linesOfMetric(
  { name, type, help }: Pick<MetricDefinition, 'type' | 'help'> & { name: string },
  samples: readonly Sample[],
): string[] {
  const lines = [`# HELP ${name} ${help}`, `# TYPE ${name} ${type}`];
  for (const { labels, value } of samples) {
    const pairs = Object.entries(labels).map(([label, text]) => `${label}="${escaped(text)}"`);
    if (typeof value === 'number') lines.push(`${name}${inBraces(pairs)} ${value}`);
    else lines.push(...linesOfHistogram(name, pairs, value));
  }
  return lines;
}

function linesOfHistogram(name: string, pairs: readonly string[], histogram: Histogram): string[] {
  let total = 0;
  const buckets = histogram.counts.map((count, index) => {
    total += count;
    return `${name}_bucket${inBraces([...pairs, `le="${histogram.bounds[index] ?? '+Inf'}"`])} ${total}`;
  });
  return [
    ...buckets,
    `${name}_sum${inBraces(pairs)} ${histogram.sum}`,
    `${name}_count${inBraces(pairs)} ${histogram.count}`,
  ];
}

function inBraces(pairs: readonly string[]): string {
  return pairs.length === 0 ? '' : `{${pairs.join(',')}}`;
}

/** Within quotes: backslash, quote and line end are escaped, as the format says. */
function escaped(value: string): string {
  return value.replace(/[\\"\n]/g, (sign) => (sign === '\n' ? String.raw`\n` : `\\${sign}`));
}
