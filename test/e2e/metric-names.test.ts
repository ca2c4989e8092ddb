import { spawnSync } from 'node:child_process';
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { exporterMetrics } from '../../src/service/analytics/exporter-catalogue.ts';
import { builtProgram } from '../helpers/build.ts';
import { killAll, readyLine, startProgram, until, type Program } from './program.ts';

/** The names and types of the metrics of both real programs, as promtool judges them. */

/** Names that the specification fixes, or that were published before there was this rule. */
const kept: { readonly [name: string]: string } = {
  check_response_time_ms: 'metric names should not contain abbreviated units',
  check_ssl_days_remaining: 'use base unit "seconds" instead of "days"',
  private_location_agent_count: 'non-histogram and non-summary metrics should not have "_count" suffix',
  private_location_queue_duration_ms: 'metric names should not contain abbreviated units',
};

const promtool = spawnSync('promtool', ['--version']).error === undefined;
if (!promtool) process.stderr.write('skipped: metric names with promtool, because it is not installed\n');

/** What promtool says of a page, without the names that are kept. */
function findings(page: string): string[] {
  const { stderr, stdout, error } = spawnSync('promtool', ['check', 'metrics'], {
    input: page,
    encoding: 'utf8',
  });
  if (error !== undefined) throw error;
  const known = Object.entries(kept).map(([name, text]) => `${name} ${text}`);
  return `${stdout}${stderr}`.split('\n').filter((line) => line !== '' && !known.includes(line));
}

describe.skipIf(!promtool)('promtool check metrics', () => {
  const apiKey = 'sk_of_the_test_of_metrics';
  const locationKey = 'pl_of_the_test_of_metrics';
  let folder: string;
  let service: Program;
  let agent: Program;
  let serviceUrl: string;
  const healthUrl = () => /"healthUrl":"([^"]+)"/.exec(agent.stderr())?.[1] ?? null;
  const call = async (method: string, path: string, body?: object) => {
    const answer = await fetch(`${serviceUrl}${path}`, {
      method,
      headers: { authorization: `Bearer ${apiKey}`, 'content-type': 'application/json' },
      ...(body === undefined ? {} : { body: JSON.stringify(body) }),
    });
    const text = await answer.text();
    expect(answer.ok, text).toBe(true);
    return text;
  };

  beforeAll(async () => {
    folder = mkdtempSync(join(tmpdir(), 'metric-names-'));
    const main = await builtProgram();
    service = startProgram(main, ['service'], {
      SERVICE_PORT: '0',
      SERVICE_DATA_DIR: join(folder, 'service'),
      SERVICE_API_KEY: apiKey,
      SERVICE_LOCATION_KEY: locationKey,
      SERVICE_LOCATION_SLUG: 'here',
    });
    ({ serviceUrl } = await readyLine(service));
    agent = startProgram(main, ['start'], {
      SERVICE_URL: serviceUrl,
      API_KEY: locationKey,
      AGENT_HEALTH_PORT: '0',
      AGENT_HEALTH_HOST: '127.0.0.1',
      AGENT_DATA_DIR: join(folder, 'agent'),
      UPTIME_CONCURRENCY: '5',
      JOB_CONCURRENCY: '0',
      SUITE_CONCURRENCY: '0',
    });
  }, 180_000);
  afterAll(async () => {
    agent.kill('SIGTERM');
    await agent.exited;
    service.kill('SIGTERM');
    await service.exited;
    killAll();
    rmSync(folder, { recursive: true, force: true });
  });

  test('finds nothing on the page of the agent, nor on the page of the service', async () => {
    const check = JSON.parse(
      await call('POST', '/v1/checks/url', {
        name: 'Health',
        privateLocations: ['here'],
        request: { url: `${serviceUrl}/health` },
      }),
    ) as { id: string };
    const health = await until(healthUrl, 'the address of the health port in the log of the agent');
    await until(
      async () => (await fetch(new URL('/-/readiness', health))).status === 200,
      'an accepted agent',
    );
    await call('POST', '/v1/check-sessions/trigger', { target: { checkId: [check.id] } });
    await until(
      async () => (await call('GET', `/v1/check-results/${check.id}`)).includes('"resultType":"FINAL"'),
      'a result',
    );

    const ofAgent = await (await fetch(new URL('/metrics', health))).text();
    expect(ofAgent).toContain('location_agent_results_total{');
    expect(ofAgent).toContain('nodejs_active_resources');
    expect(ofAgent).not.toMatch(/nodejs_active_\w+_total/);
    expect(findings(ofAgent)).toEqual([]);

    const ofService = await call('GET', '/v1/metrics');
    for (const name of ['private_location_agent_count', 'check_up', 'check_response_time_ms'])
      expect(ofService).toContain(`# TYPE ${name} gauge`);
    expect(findings(ofService)).toEqual([]);
  }, 120_000);

  test('accepts every name of the catalogue of the service, except for the names that are kept', () => {
    const page = Object.entries(exporterMetrics)
      .map(([name, { help }]) => `# HELP ${name} ${help}\n# TYPE ${name} gauge\n${name} 1\n`)
      .join('');
    expect(findings(page)).toEqual([]);
    expect(findings('# HELP a_ms Text.\n# TYPE a_ms gauge\na_ms 1\n')).toHaveLength(1);
    expect(Object.keys(kept).filter((name) => !Object.hasOwn(exporterMetrics, name))).toEqual([]);
  });
});
