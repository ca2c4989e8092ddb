import { Registry } from 'prom-client';
import { expect, test } from 'vitest';
import { metricPrefix } from '../../../src/agent/metrics/definition.ts';
import { registerHistogram } from '../../../src/agent/metrics-page.ts';
import {
  countAttempt,
  countRun,
  countSuite,
  countWait,
  createMetrics,
} from '../../../src/agent/metrics/counters.ts';
import { parsePrometheus } from '../../helpers/prometheus-text.ts';

type Metrics = ReturnType<typeof createMetrics>;

/** All series of a histogram, as `labels` without `le`, and the value at each bound. */
async function bucketsOf(metrics: Metrics, name: keyof Metrics['histograms']) {
  const registry = new Registry();
  registerHistogram(registry, metrics.histograms[name]);
  const family = parsePrometheus(await registry.metrics()).get(metricPrefix + name);
  const series = new Map<string, [bound: string, count: number][]>();
  for (const { name: sample, labels, value } of family?.samples ?? []) {
    const { le, ...others } = labels;
    const key = Object.entries(others).join();
    if (sample.endsWith('_bucket')) series.set(key, [...(series.get(key) ?? []), [le ?? '', value]]);
  }
  return series;
}
const boundsOf = async (metrics: Metrics, name: keyof Metrics['histograms'], key: string) =>
  ((await bucketsOf(metrics, name)).get(key) ?? []).map(([bound]) => bound).join(' ');

const waits = '0.05 0.1 0.25 0.5 1 2.5 5 10 30 60 360 +Inf';
const uploads = '0.01 0.05 0.1 0.5 1 2.5 5 10 30 60 300 +Inf';
const suites = '0.1 0.5 1 2.5 5 10 30 60 120 300 600 1800 3600 +Inf';

test('each histogram keeps its bounds, and the attempts of suites have longer ones', async () => {
  const metrics = createMetrics();
  countWait(metrics, 'claim_delay_seconds', 'uptime', 20);
  countWait(metrics, 'slot_wait_seconds', 'uptime', 20);
  countWait(metrics, 'start_delay_seconds', 'uptime', 20);
  countRun(metrics, 'TCP', 1);
  countAttempt(metrics, 'TCP', { seconds: 1, bounds: 'seconds' });
  countAttempt(metrics, 'PLAYWRIGHT', { seconds: 1, bounds: 'minutes' });
  countSuite(metrics, { stages: [{ name: 'test', startTime: 0, durationMs: 1 }] });
  expect(await boundsOf(metrics, 'claim_delay_seconds', 'lane,uptime')).toBe(waits);
  expect(await boundsOf(metrics, 'slot_wait_seconds', 'lane,uptime')).toBe(waits);
  expect(await boundsOf(metrics, 'start_delay_seconds', 'lane,uptime')).toBe(waits);
  expect(await boundsOf(metrics, 'run_duration_seconds', 'type,TCP')).toBe(
    '0.01 0.05 0.1 0.5 1 2.5 5 10 30 60 120 300 600 1800 3600 +Inf',
  );
  expect(await boundsOf(metrics, 'attempt_duration_seconds', 'type,TCP')).toBe(
    '0.005 0.01 0.025 0.05 0.1 0.25 0.5 1 2.5 5 10 30 +Inf',
  );
  expect(await boundsOf(metrics, 'attempt_duration_seconds', 'type,PLAYWRIGHT')).toBe(suites);
  expect(await boundsOf(metrics, 'suite_stage_seconds', 'stage,test')).toBe(suites);
  expect(await boundsOf(metrics, 'result_upload_seconds', '')).toBe(uploads);
  expect(await boundsOf(metrics, 'artifact_upload_seconds', '')).toBe(uploads);
});

test('a value at a bucket boundary counts below it, and NaN is not counted', async () => {
  const metrics = createMetrics();
  for (const milliseconds of [50, 51, -3, Number.NaN, 1e9]) {
    countWait(metrics, 'slot_wait_seconds', 'suite', milliseconds);
  }
  const buckets = (await bucketsOf(metrics, 'slot_wait_seconds')).get('lane,suite');
  expect(buckets?.slice(0, 2)).toEqual([
    ['0.05', 2],
    ['0.1', 3],
  ]);
  expect(buckets?.slice(-2)).toEqual([
    ['360', 3],
    ['+Inf', 4],
  ]);
});
