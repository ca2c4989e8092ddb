import type { Histogram, HistogramConfiguration, Registry } from 'prom-client';
import HistogramClass from 'prom-client/lib/histogram.js';

/**
 * prom-client's histograms by the file that holds them, as read in prom-client 15.1.3. The front door loads 9 MiB in about 50 ms,
 * which every idle agent would pay; this file costs 0.5 MiB and 3 ms. test/library-internals/prom-client.test.ts fails when the library
 * changes.
 */
export { HistogramClass };

/**
 * Two histograms whose series are one family. prom-client gives a histogram one list of bounds, and the series of a family may need
 * two. A registry of prom-client 15.1.3 uses only `name` and `get` of a metric when it prints a page (lib/registry.js).
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

  /** Puts the family on the pages of a registry. */
  register(registry: Registry): void {
    registry.registerMetric(this as unknown as Histogram<L>); // see above
  }
}
