import type { Histogram, HistogramConfiguration, Registry } from 'prom-client';
import HistogramClass from 'prom-client/lib/histogram.js';

/**
 * prom-client's Histogram class, imported from its own file (prom-client 15.1.3). The package's main entry loads 9
 * MiB in about 50 ms, which every idle agent would pay; this file costs 0.5 MiB and 3 ms.
 * test/library-internals/prom-client.test.ts fails if the library changes.
 */
export { HistogramClass };

/**
 * Two histograms that form one metric family. prom-client allows one list of buckets per histogram, but the series of
 * a family may need two. To print a page, prom-client 15.1.3 uses only `name` and `get` of a metric
 * (lib/registry.js).
 */
export class JoinedHistogram<L extends string> {
  readonly name: string;
  readonly first: Histogram<L>;
  readonly second: Histogram<L>;

  constructor(configuration: HistogramConfiguration<L>, secondBounds: readonly number[]) {
    this.name = configuration.name;
    this.first = new HistogramClass({ ...configuration, registers: [] });
    this.second = new HistogramClass({ ...configuration, buckets: [...secondBounds], registers: [] });
  }

  async get(): ReturnType<Histogram<L>['get']> {
    const [first, second] = [await this.first.get(), await this.second.get()];
    return { ...first, values: [...first.values, ...second.values] };
  }

  /** Adds the family to the pages of a registry. */
  register(registry: Registry): void {
    registry.registerMetric(this as unknown as Histogram<L>); // see above
  }
}
