import { Gauge, Registry } from 'prom-client';

export type Gauges = {
  name: string;
  help: string;
  samples: readonly { labels: { readonly [name: string]: string }; value: number }[];
};

export const prometheusType = Registry.PROMETHEUS_CONTENT_TYPE;

/** Formats gauges in Prometheus' text format, version 0.0.4; omits gauges without samples. */
export function prometheusText(gauges: readonly Gauges[]): Promise<string> {
  const registry = new Registry();
  for (const { name, help, samples } of gauges) {
    const [first] = samples;
    if (first === undefined) continue;
    const gauge = new Gauge({ name, help, labelNames: Object.keys(first.labels), registers: [registry] });
    for (const { labels, value } of samples) gauge.set(labels, value);
  }
  return registry.metrics();
}
