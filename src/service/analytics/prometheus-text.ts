/** Prometheus' text format, version 0.0.4. */

export type Gauge = {
  name: string;
  help: string;
  samples: readonly { labels: { readonly [name: string]: string }; value: number }[];
};

export const prometheusType = 'text/plain; version=0.0.4; charset=utf-8';

/** Within quotes: backslash, quote and line end are escaped, as the format says. */
const escaped = (value: string) =>
  value.replace(/[\\"\n]/g, (sign) => (sign === '\n' ? String.raw`\n` : `\\${sign}`));

/** A page of gauges; one without samples is left out. */
export function prometheusText(gauges: readonly Gauge[]): string {
  const lines: string[] = [];
  for (const { name, help, samples } of gauges) {
    if (samples.length === 0) continue;
    lines.push(`# HELP ${name} ${help}`, `# TYPE ${name} gauge`);
    for (const { labels, value } of samples) {
      const pairs = Object.entries(labels).map(([label, text]) => `${label}="${escaped(text)}"`);
      lines.push(`${name}{${pairs.join(',')}} ${value}`);
    }
  }
  return `${lines.join('\n')}\n`;
}
