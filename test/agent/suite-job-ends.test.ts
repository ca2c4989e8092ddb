import { readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect, test } from 'vitest';
import { runJob, type RunParts } from '../../src/agent/run/run-job.ts';
import { reasonOf } from '../../src/protocol/reasons.ts';
import { suiteJob } from './link/protocol-peer.ts';
import { aborted, suiteJobsBench } from './suite-jobs-bench.ts';
import { details, passed, totals } from './suite-outcomes.ts';

/** Suites that are cancelled, that exceed their deadline, or that run while their agent drains. */

const bench = suiteJobsBench();
const { start, claimed, results, faults } = bench;

test('a cancelled suite reports its progress and files, and is not retried', async () => {
  const { peer, parts, folder } = await start();
  const job = claimed(
    suiteJob({ environmentVariables: [{ key: 'A', value: 'secret-of-the-check', secret: true }] }),
  );
  bench.run = async ({ signal, workDir, log: say }) => {
    say('info', 'running 20 tests');
    peer.cancel.add(job.jobId);
    const reason = await aborted(signal);
    const path = join(workDir, 'trace.txt');
    writeFileSync(path, 'a trace with secret-of-the-check');
    say('warn', 'ended because it was cancelled');
    expect(reason.code).toBe('cancelled');
    // Longer than any other executor may take.
    await new Promise((resolve) => setTimeout(resolve, 5500));
    return passed({
      failure: reasonOf('CANCELLED', 'The run was cancelled.'),
      details: details({ runStatus: 'interrupted', totals: { ...totals, interrupted: 19 } }),
      files: [{ path, name: 'trace.txt', type: 'trace', contentType: 'text/plain' }],
    });
  };
  await runJob(job, parts);
  expect(results).toHaveLength(1);
  expect(results[0]).toMatchObject({
    status: 'cancelled',
    resultType: 'FINAL',
    isCancelled: true,
    hasErrors: false,
    hasFailures: false,
    reason: { code: 'CANCELLED', owner: 'ours' },
    details: { runStatus: 'interrupted', totals: { interrupted: 19 } },
    artifacts: [{ name: 'trace.txt', type: 'trace', state: 'pending' }],
  });
  expect(results[0]?.log.map(({ msg }) => msg)).toEqual([
    'running 20 tests',
    'ended because it was cancelled',
  ]);
  expect(readFileSync(join(folder, 'kept-trace.txt'), 'utf8')).toBe('a trace with *********');
  expect(faults).toEqual([]);
  expect(peer.releases).toEqual([]);
}, 20_000);

test('a suite that is cancelled before its first test is reported with its log', async () => {
  const { peer, parts } = await start();
  const job = claimed(suiteJob());
  bench.run = async ({ signal, log: say }) => {
    say('info', 'fetching the code bundle');
    peer.cancel.add(job.jobId);
    throw await aborted(signal);
  };
  await runJob(job, parts);
  expect(results).toMatchObject([
    { status: 'cancelled', isCancelled: true, log: [{ msg: 'fetching the code bundle' }], artifacts: [] },
  ]);
});

test('a suite that exceeds its deadline keeps its files and details', async () => {
  const { parts } = await start();
  bench.run = async ({ signal, workDir }) => {
    const reason = await aborted(signal);
    expect(reason.code).toBe('deadline');
    const path = join(workDir, 'output.log');
    writeFileSync(path, 'so far');
    return passed({
      failure: reasonOf('SCRIPT_TIMEOUT', 'too long'),
      details: details({ runStatus: 'interrupted' }),
      files: [{ path, name: 'output.log', type: 'log', contentType: 'text/plain' }],
    });
  };
  const deadline = new Date(Date.now() + 300).toISOString();
  await runJob(claimed(suiteJob({ deadline })), parts);
  expect(results).toMatchObject([
    {
      status: 'failed',
      reason: { code: 'SCRIPT_TIMEOUT' },
      details: { runStatus: 'interrupted' },
      artifacts: [{ name: 'output.log', state: 'pending' }],
    },
  ]);
});

test('a draining agent hands back a suite that does not finish in time', async () => {
  const { peer, leases, parts } = await start();
  bench.run = async ({ signal }) => {
    leases.drain();
    leases.cancel();
    signal.throwIfAborted();
    throw await aborted(signal);
  };
  const job = claimed(suiteJob());
  await runJob(job, parts);
  expect(results).toEqual([]);
  expect(peer.releases).toMatchObject([{ jobId: job.jobId, reason: 'draining', nextAttempt: 1 }]);
});

test('a suite that finished during a drain keeps its status and the files processed so far', async () => {
  const { peer, leases, parts } = await start();
  const { keepArtifacts } = parts.forFiles ?? { keepArtifacts: () => Promise.resolve([]) };
  parts.forFiles = {
    ...(parts.forFiles as NonNullable<RunParts['forFiles']>), // start has just made it
    keepArtifacts: async (attempt, files, options) => {
      const kept = await keepArtifacts(attempt, files.slice(0, 1), options);
      leases.drain();
      leases.cancel();
      return [...kept, ...(await keepArtifacts(attempt, files.slice(1), options))];
    },
  };
  bench.run = ({ workDir }) => {
    const files = ['report.txt', 'trace.txt', 'video.txt'].map((name) => {
      const path = join(workDir, name);
      writeFileSync(path, 'content');
      return { path, name, type: 'file' as const, contentType: 'text/plain' };
    });
    return Promise.resolve(passed({ files }));
  };
  await runJob(claimed(suiteJob()), parts);
  expect(peer.releases).toEqual([]);
  expect(results).toMatchObject([{ status: 'passed', resultType: 'FINAL' }]);
  expect(results[0]?.artifacts.map(({ name, state }) => [name, state])).toEqual([
    ['report.txt', 'pending'],
    ['trace.txt', 'lost'],
    ['video.txt', 'lost'],
  ]);
  expect(results[0]?.log.map(({ msg }) => msg)).toEqual([
    '2 files were not sent: there was no time left to process them',
  ]);
});
