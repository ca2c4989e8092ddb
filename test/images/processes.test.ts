import { afterAll, beforeAll, expect, test } from 'vitest';
import { until } from '../e2e/program.ts';
import { startAgent, type Agent } from './containers.ts';
import { processesOf, type Process } from './engine.ts';
import { makeCheck, newLocation, resultsOf, told, trigger, world } from './world.ts';

/** Many browser runs in one container: tini reaps what Chromium leaves, and nothing stays. */

/** Runs in all, or as many as come in the time; IMAGE_TESTS_BROWSER_RUNS asks for all of a number. */
const asked = process.env['IMAGE_TESTS_BROWSER_RUNS'];
const mostRuns = Number(asked ?? 100);
const longestMs = asked === undefined ? 60_000 : 3_600_000;

/** The limits of docs/operations.md, and the additional memory of a browser's modules. */
const warmMegabytes = 150;

const slug = 'browser-runs';
const script = `
  import { expect, test } from '@playwright/test';
  test('shop', async ({ page }) => {
    await page.goto('http://targets/shop');
    await expect(page.getByRole('listitem')).toHaveCount(3);
  });`;

let agent: Agent;
beforeAll(async () => {
  const { key } = await newLocation(slug);
  const env = { JOB_CONCURRENCY: '3' };
  // As docs/docker.md has it, with all that it takes away.
  const flags = { readOnly: true, capDropAll: true, securityOpt: ['no-new-privileges'] };
  agent = await startAgent({ image: 'full', network: world.network, key, env, flags });
});
afterAll(() => agent.remove());

test('no process and no zombie is left after many runs', { timeout: longestMs + 240_000 }, async () => {
  const round = Math.min(5, mostRuns);
  const checks = await Promise.all(
    Array.from({ length: round }, (_, index) =>
      makeCheck('browser', slug, { name: `visit ${index}`, script }),
    ),
  );
  const ends = Date.now() + longestMs;
  const idle = figuresOf(await untilQuiet());
  let runs = 0;
  let afterFirst = idle;
  let last = idle;
  while (runs < mostRuns && (runs === 0 || Date.now() < ends)) {
    const sessions = await trigger(checks);
    for (const result of (await Promise.all(sessions.map((session) => resultsOf(session)))).flat())
      expect(result.status, told(result)).toBe('passed');
    runs += round;
    const left = await untilQuiet();
    last = figuresOf(left);
    if (runs === round) afterFirst = last;
    // The warm process for the next run may stay: as many as after the first round.
    expect(left.length, left.map(({ command }) => command).join('\n')).toBeLessThanOrEqual(
      afterFirst.processes + 1,
    );
  }
  const figures = [idle, afterFirst, last].map(
    ({ processes, megabytes }) => `${processes} (${megabytes} MB)`,
  );
  process.stdout.write(
    `browser runs in one container: ${runs}; processes and resident memory before: ${figures[0]}, after ${round} runs: ${figures[1]}, after all: ${figures[2]}\n`,
  );
  // What the agent keeps of past runs is bounded; half as much again is what garbage may wait for. The warm process may be there
  // the one time and not the other.
  const warm = last.processes > afterFirst.processes ? warmMegabytes : 0;
  expect(last.megabytes).toBeLessThan(afterFirst.megabytes * 1.5 + warm);
});

const figuresOf = (processes: Process[]) => ({
  processes: processes.length,
  megabytes: Math.round(processes.reduce((sum, { rssBytes }) => sum + rssBytes, 0) / 1e6),
});

/** The processes once no browser and no zombie is among them. */
async function untilQuiet() {
  let processes = await processesOf(agent.id);
  const isGone = async () => {
    processes = await processesOf(agent.id);
    return processes.every(
      ({ state, command }) =>
        !state.startsWith('Z') && !/chrom|crashpad/i.test(command.split(' ', 1)[0] ?? ''),
    );
  };
  await until(isGone, `no browser and no zombie`, 30_000).catch((error: unknown) => {
    const list = processes.map(({ pid, state, command }) => `${pid} ${state} ${command.slice(0, 120)}`);
    throw new Error(`${String(error)}\n${list.join('\n')}`);
  });
  return processes;
}
