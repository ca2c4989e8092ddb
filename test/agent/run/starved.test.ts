import { spawn, type ChildProcess } from 'node:child_process';
import { mkdirSync, mkdtempSync, readFileSync, rmdirSync, rmSync, writeFileSync } from 'node:fs';
import http from 'node:http';
import type { AddressInfo } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setTimeout as pause } from 'node:timers/promises';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import type { Result } from '../../../src/protocol/result.ts';
import { builtProgram } from '../../helpers/build.ts';

/**
 * A program that is denied its processor time while an attempt runs: stopped by a signal, as when its machine pauses,
 * or by the quota of its cgroup. The target answers at once in all of these cases, and slowly in one.
 */

let program: string;
let folder: string;
beforeAll(async () => {
  program = await builtProgram();
  folder = mkdtempSync(join(tmpdir(), 'starved-'));
}, 120_000);
afterAll(() => rmSync(folder, { recursive: true, force: true }));

type Case = {
  /** Called with each request (from 1) before its answer; the check allows 400 ms. */
  onRequest: (child: ChildProcess, count: number) => Promise<void> | void;
  more?: object;
};

/** Runs one URL check with the built program. Resolves with its result and the number of requests. */
async function checked({ onRequest, more }: Case): Promise<Result & { requests: number }> {
  let requests = 0;
  const running: { child?: ChildProcess } = {};
  const target = http.createServer((_request, response) => {
    requests += 1;
    if (running.child === undefined) return response.destroy();
    void Promise.resolve(onRequest(running.child, requests)).then(() => response.end('ok'));
  });
  await new Promise<void>((resolve) => target.listen(0, '127.0.0.1', resolve));
  const { port } = target.address() as AddressInfo; // it listens on a TCP port
  const file = join(folder, `${port}.json`);
  writeFileSync(
    file,
    JSON.stringify({
      checkType: 'URL',
      doubleCheck: false,
      degradedResponseTime: 300,
      maxResponseTime: 400,
      request: { url: `http://127.0.0.1:${port}/` },
      ...more,
    }),
  );
  const child = spawn(process.execPath, [program, 'run', file, '--json'], {
    stdio: ['ignore', 'pipe', 'inherit'],
    env: { PATH: process.env['PATH'] },
  });
  running.child = child;
  let out = '';
  child.stdout.on('data', (chunk: Buffer) => (out += chunk.toString()));
  await new Promise((resolve) => child.once('close', resolve));
  target.close();
  target.closeAllConnections();
  return { ...(JSON.parse(out) as Result), requests };
}

/** Stops the program for longer than the check allows. */
const stopFor = async (child: ChildProcess, milliseconds: number): Promise<void> => {
  const { pid } = child;
  if (pid === undefined) throw new Error('it did not start');
  child.kill('SIGSTOP');
  while (!/^State:\tT/m.test(readFileSync(`/proc/${pid}/status`, 'utf8'))) await pause(1);
  setTimeout(() => child.kill('SIGCONT'), milliseconds);
};

describe.skipIf(process.platform !== 'linux')('a program that gets no processor time', () => {
  test('repeats the attempt after it has recovered', { timeout: 60_000 }, async () => {
    const result = await checked({
      onRequest: (child, count) => (count === 1 ? stopFor(child, 800) : undefined),
    });
    expect([result.status, result.reason, result.requests, result.attempts]).toEqual(['passed', null, 2, 0]);
    expect(result.log.map(({ msg }) => msg).join()).toMatch(
      /made twice .* the other attempt began at 20.* and ended at 20/,
    );
  });

  test('reports it as its own fault if it happens again', { timeout: 60_000 }, async () => {
    const result = await checked({ onRequest: (child) => stopFor(child, 800) });
    expect(result).toMatchObject({
      status: 'errored',
      hasFailures: false,
      isDegraded: false,
      reason: { code: 'AGENT_OVERLOADED', owner: 'ours' },
      requests: 2,
    });
    expect(result.reason?.message).toContain('RESPONSE_TOO_SLOW');
    expect(result.log.map(({ msg }) => msg).join()).toMatch(
      /made twice .* the other attempt began at 20.* and ended at 20/,
    );
  });

  test('still sees that a target is slow', { timeout: 60_000 }, async () => {
    const result = await checked({ onRequest: () => pause(900) });
    expect([result.status, result.reason?.code, result.requests]).toEqual(['failed', 'RESPONSE_TOO_SLOW', 1]);
  });

  test('still sees a status that no delay explains', { timeout: 60_000 }, async () => {
    const result = await checked({
      onRequest: (child) => stopFor(child, 800),
      more: { maxResponseTime: null, degradedResponseTime: null, shouldFail: true },
    });
    expect([result.status, result.reason?.code, result.requests]).toEqual([
      'failed',
      'SHOULD_HAVE_FAILED',
      1,
    ]);
  });
});

describe('a quota', () => {
  const parent = '/sys/fs/cgroup/cpu';
  const cgroup = join(parent, `starved-test-${process.pid}`);
  let burner: ChildProcess | null = null;
  beforeAll(() => {
    try {
      mkdirSync(cgroup);
      writeFileSync(join(cgroup, 'cpu.cfs_period_us'), '1000000');
      writeFileSync(join(cgroup, 'cpu.cfs_quota_us'), '1000');
      // It goes before other tests, so that the quota is used up at the beginning of each period.
      writeFileSync(join(cgroup, 'cpu.shares'), '262144');
    } catch (error) {
      console.warn(`skipped: no cgroup with a CPU quota can be made here (${String(error)})`);
      return;
    }
    // It uses up the quota, as the other processes of a container do.
    burner = spawn('/bin/sh', ['-c', 'while :; do :; done'], { stdio: 'ignore' });
    writeFileSync(join(cgroup, 'cgroup.procs'), String(burner.pid));
  });
  afterAll(async () => {
    if (burner === null) return;
    const ended = new Promise((resolve) => burner?.once('close', resolve));
    burner.kill('SIGKILL');
    await ended;
    rmdirSync(cgroup);
  });

  const throttled = (): number =>
    Number(/^nr_throttled (\d+)$/m.exec(readFileSync(join(cgroup, 'cpu.stat'), 'utf8'))?.[1]);

  test('that stops the program is not the target’s fault', { timeout: 60_000 }, async ({ skip }) => {
    if (burner === null) return skip();
    const result = await checked({
      onRequest: async (child, count) => {
        if (count > 1) return;
        writeFileSync(join(cgroup, 'cgroup.procs'), String(child.pid));
        for (const before = throttled(); throttled() === before;) await pause(5);
        setTimeout(() => writeFileSync(join(parent, 'cgroup.procs'), String(child.pid)), 1500);
      },
      more: { degradedResponseTime: 1000, maxResponseTime: 1000 },
    });
    expect([result.status, result.requests, result.attempts]).toEqual(['passed', 2, 0]);
  });
});
