import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import type { HealthServer } from '../../../src/agent/metrics/health.ts';
import { Secret } from '../../../src/secrets/secret.ts';
import { probeFile } from './probe-cases.ts';
import {
  freePort,
  hasProgram,
  startProbe,
  startProbeLab,
  startProgram,
  untilAnswers,
  type ProbeLab,
} from './probe-lab.ts';

/** Debian's Prometheus scrapes /probe, with the relabelling that its users have for blackbox_exporter. */

const hasPrometheus = hasProgram('prometheus');
if (!hasPrometheus) process.stderr.write('skipped: scrapes by prometheus, because it is not installed\n');

type Answer = { data: { result: { metric: { [label: string]: string }; value: [number, string] }[] } };

describe.skipIf(!hasPrometheus)('prometheus', () => {
  let lab: ProbeLab;
  let agent: HealthServer;
  let program: { stop: () => Promise<void> };
  let url = '';

  beforeAll(async () => {
    lab = await startProbeLab();
    const file = join(lab.folder, 'blackbox.yml');
    writeFileSync(file, probeFile(lab.ca, lab.proxy.port, lab.ports.tokens));
    agent = await startProbe({ file, token: new Secret('a-long-token'), targets: ['127.0.0.0/8'] });
    const port = await freePort();
    url = `http://127.0.0.1:${port}`;
    const { http, https, silent, dns, grpc } = lab.targets.ports;
    const targets = {
      http_2xx: [`http://127.0.0.1:${http}`, `http://127.0.0.1:${http}/status/500`],
      https: [`https://127.0.0.1:${https}`],
      tcp: [`127.0.0.1:${silent}`],
      icmp: ['127.0.0.1'],
      dns_soa: [`127.0.0.1:${dns}`],
      grpc: [`127.0.0.1:${grpc}`],
    };
    const configuration = {
      global: { scrape_interval: '5s', scrape_timeout: '5s' },
      scrape_configs: Object.entries(targets).map(([module, names]) => ({
        job_name: module,
        metrics_path: '/probe',
        params: { module: [module] },
        authorization: { credentials: 'a-long-token' },
        static_configs: [{ targets: names }],
        relabel_configs: [
          { source_labels: ['__address__'], target_label: '__param_target' },
          { source_labels: ['__param_target'], target_label: 'instance' },
          { target_label: '__address__', replacement: new URL(agent.url).host },
        ],
      })),
    };
    const settings = join(lab.folder, 'prometheus.yml'); // YAML is a superset of JSON
    writeFileSync(settings, JSON.stringify(configuration));
    program = startProgram('prometheus', [
      `--config.file=${settings}`,
      `--storage.tsdb.path=${join(lab.folder, 'data')}`,
      `--web.listen-address=127.0.0.1:${port}`,
    ]);
    await untilAnswers(`${url}/-/ready`);
  }, 90_000);
  afterAll(async () => {
    await program.stop();
    await agent.close();
    await lab.close();
  });

  const query = async (expression: string): Promise<Answer['data']['result']> => {
    const answer = await fetch(`${url}/api/v1/query?${new URLSearchParams({ query: expression })}`);
    return ((await answer.json()) as Answer).data.result; // as Prometheus answers
  };

  test('scrapes every module, and stores what it found', async () => {
    const found = async () =>
      (await query('probe_success')).map(({ metric, value }) => `${metric['job']} ${value[1]}`).toSorted();
    const expected = ['dns_soa 1', 'grpc 1', 'http_2xx 0', 'http_2xx 1', 'https 1', 'icmp 1', 'tcp 1'];
    await expect.poll(found, { timeout: 60_000, interval: 500 }).toEqual(expected);
    expect((await query('up')).map(({ value }) => value[1])).toEqual(Array.from({ length: 7 }, () => '1'));
    const [expiry] = await query('probe_ssl_earliest_cert_expiry{job="https"} - time()');
    expect(Number(expiry?.value[1]) / 86_400).toBeGreaterThan(80);
    const [serial] = await query('probe_dns_serial');
    expect(Number(serial?.value[1])).toBe(2_026_010_101);
    const statuses = await query('probe_http_status_code{job="http_2xx"}');
    expect(statuses.map(({ value }) => value[1]).toSorted()).toEqual(['200', '500']);
  }, 90_000);
});
