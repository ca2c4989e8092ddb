import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect, test } from 'vitest';
import { runJob } from '../../src/agent/run/run-job.ts';
import type { RequestOf } from '../../src/protocol/routes.ts';
import type { SuiteDetails } from '../../src/script/interface/suite-run.ts';
import { suiteJob, tcpJob } from './link/protocol-peer.ts';
import { suiteJobsBench } from './suite-jobs-bench.ts';
import { details, passed, totals } from './suite-outcomes.ts';

/** How an agent reports suites: their live log, files, large results, lanes and metrics. */

const bench = suiteJobsBench();
const { start, claimed, renewals, toldLines, results, faults } = bench;

test('renewals carry the stage and scrubbed log lines; the result has the complete log', async () => {
  const { parts } = await start();
  bench.run = async ({ log: say, onStage, addSecret }) => {
    onStage('install');
    say('info', 'added 3 packages with very-secret-word');
    await expect.poll(toldLines, { timeout: 10_000 }).toEqual(['added 3 packages with *********']);
    onStage('test');
    addSecret('session', 'a-session-of-the-run');
    say('info', 'authorization: Bearer of-somebody');
    say('warn', 'logged in as a-session-of-the-run');
    await expect.poll(toldLines, { timeout: 10_000 }).toHaveLength(3);
    return passed();
  };
  await runJob(claimed(suiteJob()), parts);
  expect(toldLines().slice(1)).toEqual(['authorization: *********', 'logged in as *********']);
  const stages = renewals().flatMap(({ stage, log: lines }) => (lines === undefined ? [] : [stage]));
  expect(new Set(stages)).toEqual(new Set(['install', 'test']));
  expect(results).toMatchObject([{ status: 'passed', responseTime: 40_000, details: { totals } }]);
  expect(results[0]?.log.map(({ msg }) => msg)).toEqual(toldLines());
  expect(faults).toEqual([]);
});

test('the service learns at once that a suite runs, long before the first renewal is due', async () => {
  const { parts } = await start({ renewSeconds: 3_600 });
  const job = claimed(suiteJob());
  bench.run = async () => {
    await expect.poll(renewals, { timeout: 10_000 }).toMatchObject([{ jobId: job.jobId, stage: 'running' }]);
    return passed();
  };
  await runJob(job, parts);
  // A check without customer code cannot end its agent: it costs no call.
  await runJob(claimed(tcpJob(1)), parts);
  expect(renewals()).toHaveLength(1);
  expect(faults).toEqual([]);
});

test('lines of a failed renewal are sent again; a service that refuses them still renews the lease', async () => {
  const { peer, parts } = await start();
  bench.run = async ({ log: say }) => {
    let refused = 0;
    peer.misbehave('renew', (_request, response) => {
      refused += 1;
      response.writeHead(503).end();
      return true;
    });
    say('info', 'first');
    await expect.poll(() => refused, { timeout: 10_000 }).toBeGreaterThan(1);
    peer.behave();
    const before = peer.calls.length;
    say('info', 'second');
    const arrived = () =>
      peer.calls
        .slice(before)
        .flatMap(({ route, body }) => (route === 'renew' ? (body as RequestOf<'renew'>).leases : []))
        .flatMap((lease) => lease.log ?? []);
    await expect.poll(arrived, { timeout: 10_000 }).toEqual(['first', 'second']);

    peer.misbehave('renew', (_request, response, body) => {
      if ((body as RequestOf<'renew'>).leases.every((lease) => lease.log === undefined)) return false;
      response.writeHead(400, { 'content-type': 'application/json' });
      response.end(JSON.stringify({ message: 'no lines', attributes: {} }));
      return true;
    });
    say('info', 'third');
    await expect.poll(arrived, { timeout: 10_000 }).toContain('third');
    const then = renewals().length;
    say('info', 'fourth');
    await expect.poll(() => renewals().length, { timeout: 10_000 }).toBeGreaterThan(then + 3);
    expect(arrived()).not.toContain('fourth');
    return passed();
  };
  await runJob(claimed(suiteJob()), parts);
  expect(results).toMatchObject([{ status: 'passed' }]);
});

test('other types send no lines', async () => {
  const { parts } = await start();
  parts.executorOf = () => async (_job, context) => {
    context.log('info', 'a line');
    const before = renewals().length;
    await expect.poll(() => renewals().length, { timeout: 10_000 }).toBeGreaterThan(before + 1);
    return { base: { ok: true }, responseTime: 1, timings: null, assertions: [], details: {} };
  };
  await runJob(claimed(tcpJob(1)), parts);
  expect(renewals().every((lease) => lease.stage === 'running' && lease.log === undefined)).toBe(true);
});

test('an oversized report is named with its size, and the rest arrives', async () => {
  const { parts } = await start({ limitBytes: 1000 });
  bench.run = ({ workDir }) => {
    const files = [
      { name: 'report.zip', type: 'report' as const, bytes: 5000 },
      { name: 'output.log', type: 'log' as const, bytes: 10 },
      { name: 'screenshot.png', type: 'screenshot' as const, bytes: 1000 },
    ].map(({ name, type, bytes }) => {
      const path = join(workDir, name);
      writeFileSync(path, 'x'.repeat(bytes));
      return { path, name, type, contentType: 'text/plain' };
    });
    return Promise.resolve(passed({ files }));
  };
  await runJob(claimed(suiteJob()), parts);
  expect(results[0]?.artifacts.map(({ name, size, state }) => [name, size, state])).toEqual([
    ['report.zip', 5000, 'refused'],
    ['output.log', 10, 'pending'],
    ['screenshot.png', 1000, 'pending'],
  ]);
  expect(results[0]?.log.map(({ msg }) => msg)).toEqual([
    'report.zip was not sent: it has 5000 bytes; an artifact may have at most 1000',
  ]);
  expect(results[0]?.status).toBe('passed');
});

test('a result of many tests that is too large keeps its totals and the tests that failed', async () => {
  const { parts } = await start();
  const one = (status: 'passed' | 'failed', index: number) => ({
    title: `test ${index}`,
    titlePath: ['a.spec.ts', `test ${index}`],
    file: 'a.spec.ts',
    line: index,
    project: 'chromium',
    tags: [],
    status,
    degraded: false,
    durationMs: 10,
    retries: 0,
    errors: status === 'failed' ? ['expected 1, received 2 '.repeat(100)] : [],
    steps: [{ title: 'step'.repeat(500) }] as never[],
    attachments: [],
  });
  const tests = Array.from({ length: 3000 }, (_, index) =>
    one(index % 100 === 0 ? 'failed' : 'passed', index),
  );
  parts.resultBytes = () => 200_000;
  bench.run = () => Promise.resolve(passed({ details: details({ tests, testsLeftOut: 7 }) }));
  await runJob(claimed(suiteJob()), parts);
  const [result] = results;
  const kept = result?.details as unknown as SuiteDetails; // what went in, shorter
  expect(JSON.stringify(result).length).toBeLessThan(200_000);
  expect(kept.totals).toEqual(totals);
  expect(kept.tests.length + kept.testsLeftOut).toBe(3007);
  expect(kept.tests.filter(({ status }) => status === 'failed')).toHaveLength(30);
  expect(kept.tests.length).toBeGreaterThan(300);
  expect(parts.metrics.resultsTrimmed).toBe(1);
});

test('the result of 1,000 tests is scrubbed completely, and other work runs at the same time', async () => {
  const { parts } = await start();
  const tests = Array.from({ length: 1000 }, (_, index) => ({
    title: `test ${index} of very-secret-word`,
    steps: Array.from({ length: 8 }, (__, step) => ({
      title: `step ${step} with a longer title, as they are`,
    })),
    errors: [],
  })) as never[];
  bench.run = ({ log: say }) => {
    for (let index = 0; index < 2000; index += 1)
      say('info', `line ${index} with very-secret-word `.repeat(3));
    return Promise.resolve(passed({ details: details({ tests, errors: ['very-secret-word'] }) }));
  };
  const running = runJob(claimed(suiteJob()), parts);
  let turns = 0;
  const timer = setInterval(() => (turns += 1), 1);
  await running;
  clearInterval(timer);
  const text = JSON.stringify(results);
  expect(text).not.toContain('very-secret-word');
  expect(text.split('*********')).toHaveLength(1000 + 3 * 2000 + 1 + 1);
  expect(results[0]?.details['tests']).toHaveLength(1000);
  expect(results[0]?.details['totals']).toEqual(totals);
  expect(turns).toBeGreaterThan(10);
});

test('a suite that fills its lane does not block other lanes, and keeps its lease', async () => {
  const { peer, parts } = await start({ leaseSeconds: 1 });
  let end: () => void = () => undefined;
  const ended = new Promise<void>((resolve) => (end = resolve));
  const signals: AbortSignal[] = [];
  bench.run = async ({ signal }) => {
    signals.push(signal);
    await ended;
    return passed();
  };
  const suites = [claimed(suiteJob()), claimed(suiteJob())].map((job) => runJob(job, parts));
  expect(parts.lanes.free('suite')).toBe(0);
  const probes = Array.from({ length: 20 }, () => runJob(claimed(tcpJob(1)), parts));
  await Promise.all(probes);
  expect(results.map(({ checkType }) => checkType)).toEqual(Array.from({ length: 20 }, () => 'TCP'));
  // For as long as three leases. A lost lease would abort the suite.
  const times: number[] = [];
  peer.misbehave('renew', () => {
    times.push(performance.now());
    return false;
  });
  await expect.poll(() => (times.at(-1) ?? 0) - (times[0] ?? 0), { timeout: 20_000 }).toBeGreaterThan(3000);
  expect(signals.map(({ aborted }) => aborted)).toEqual([false]);
  end();
  await Promise.all(suites);
  expect(results.slice(20).map(({ status }) => status)).toEqual(['passed', 'passed']);
}, 30_000);

test('metrics have the suite stages and the source of the dependencies', async () => {
  const { parts } = await start();
  bench.run = () => Promise.resolve(passed());
  await runJob(claimed(suiteJob()), parts);
  const { suiteDependencies, histograms } = parts.metrics;
  expect(suiteDependencies).toEqual(new Map([['hit', 1]]));
  const { values: stages } = await histograms.suite_stage_seconds.get();
  const sums = stages.filter(({ metricName }) => metricName?.endsWith('_sum'));
  expect(sums.map(({ labels, value }) => [labels.stage, value])).toEqual([
    ['install', 0.4],
    ['test', 40],
  ]);
  const { values: attempts } = await histograms.attempt_duration_seconds.get();
  expect(attempts.find(({ metricName }) => metricName?.endsWith('_count'))).toMatchObject({
    labels: { type: 'PLAYWRIGHT' },
    value: 1,
  });
});
