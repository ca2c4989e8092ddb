import { createRequire } from 'node:module';
import { Counter, Histogram, Registry } from 'prom-client';
import { expect, test } from 'vitest';
import { HistogramClass, JoinedHistogram } from '../../src/agent/metrics/histogram-class.ts';

/** The agent enters libraries by single files and relies on parts of their insides. Read each comment again when a test fails here. */

const require = createRequire(import.meta.url);
const versionOf = (name: string) => (require(`${name}/package.json`) as { version: string }).version;

test('prom-client is the version that was read, and its file holds the class of its front door', () => {
  expect(versionOf('prom-client')).toBe('15.1.3');
  expect(HistogramClass).toBe(Histogram);
});

test('a registry prints one family for a histogram with two lists of bounds', async () => {
  const registry = new Registry();
  const joined = new JoinedHistogram({ name: 'x', help: 'Y.', labelNames: ['type'], buckets: [1] }, [2, 3]);
  joined.register(registry);
  joined.first.observe({ type: 'a' }, 1);
  joined.second.observe({ type: 'b' }, 2.5);
  expect(await registry.metrics()).toBe(
    [
      '# HELP x Y.',
      '# TYPE x histogram',
      'x_bucket{le="1",type="a"} 1',
      'x_bucket{le="+Inf",type="a"} 1',
      'x_sum{type="a"} 1',
      'x_count{type="a"} 1',
      'x_bucket{le="2",type="b"} 0',
      'x_bucket{le="3",type="b"} 1',
      'x_bucket{le="+Inf",type="b"} 1',
      'x_sum{type="b"} 2.5',
      'x_count{type="b"} 1',
      '',
    ].join('\n'),
  );
});

test('a counter that is reset and incremented shows only the new value', async () => {
  const counter = new Counter({ name: 'x_total', help: 'Y.', labelNames: ['a'], registers: [] });
  counter.inc({ a: 'b' }, 5);
  counter.reset();
  counter.inc({ a: 'c' }, 0);
  expect((await counter.get()).values).toEqual([{ labels: { a: 'c' }, value: 0 }]);
});
