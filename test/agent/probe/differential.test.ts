import { spawnSync } from 'node:child_process';
import { readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { parsePrometheus } from '../../helpers/prometheus-text.ts';
import type { HealthServer } from '../../../src/agent/metrics/health.ts';
import { probeCases, probeFile } from './probe-cases.ts';
import {
  freePort,
  hasProgram,
  startProbe,
  startProbeLab,
  startProgram,
  untilAnswers,
  type ProbeLab,
} from './probe-lab.ts';

/** Each module and target by Debian's blackbox_exporter and by the agent. docs/probe.md has the table. */

const exporter = 'prometheus-blackbox-exporter';
const hasExporter = hasProgram(exporter);
if (!hasExporter)
  process.stderr.write(`skipped: comparisons with ${exporter}, because it is not installed\n`);
const hasPromtool = hasProgram('promtool');

/** Metrics and labels that came with versions newer than Debian's (0.23). */
const newer = new Set(['probe_timeout_seconds', 'probe_tls_cipher_info', 'probe_failed_due_to_bytes']);
const newerLabels = ['serialnumber'];
/** Values that are times of this moment. */
const isTime = (name: string) => /_(?:duration|lookup_time)_seconds$/.test(name);

type Series = Map<string, number>;

function seriesOf(text: string): Series {
  const series: Series = new Map();
  for (const [family, { type, samples }] of parsePrometheus(text)) {
    expect(type, family).toBe('gauge');
    if (newer.has(family)) continue;
    for (const { name, labels, value } of samples) {
      const kept = Object.entries(labels).filter(([label]) => !newerLabels.includes(label));
      series.set(`${name}${JSON.stringify(kept.toSorted(([a], [b]) => a.localeCompare(b)))}`, value);
    }
  }
  return series;
}

describe.skipIf(!hasExporter)('next to blackbox_exporter', () => {
  let lab: ProbeLab;
  let ours: HealthServer;
  let theirs = '';
  let program: { stop: () => Promise<void> };
  const outcomes = new Map<string, string>();

  beforeAll(async () => {
    lab = await startProbeLab();
    const file = join(lab.folder, 'blackbox.yml');
    writeFileSync(file, probeFile(lab.ca, lab.proxy.port, lab.ports.tokens));
    const port = await freePort();
    theirs = `http://127.0.0.1:${port}`;
    program = startProgram(exporter, [`--config.file=${file}`, `--web.listen-address=127.0.0.1:${port}`]);
    ours = await startProbe({ file });
    await untilAnswers(`${theirs}/-/healthy`);
  }, 60_000);
  afterAll(async () => {
    await program.stop();
    await ours.close();
    await lab.close();
  });

  const ports = {
    http: 0,
    https: 0,
    expired: 0,
    wrongHost: 0,
    selfSigned: 0,
    echo: 0,
    banner: 0,
    silent: 0,
    closing: 0,
    dns: 0,
    grpc: 0,
  };
  const names = probeCases({ ports }, { startTls: 0, closed: 0, grpcTls: 0, tokens: 0 });

  test.each(names.map(([module, what], index) => ({ module, what, index })))(
    '$module: $what',
    async ({ module, what, index }) => {
      const [, , target = ''] = probeCases(lab.targets, lab.ports)[index] ?? [];
      const query = `probe?${new URLSearchParams({ module, target })}`;
      const [own, other] = await Promise.all(
        [ours.url, theirs].map(async (url) => {
          const answer = await fetch(`${url}/${query}`);
          expect(answer.status).toBe(200);
          return answer.text();
        }),
      );
      const [mine, other_] = [seriesOf(own ?? ''), seriesOf(other ?? '')];
      expect([...mine.keys()].toSorted()).toEqual([...other_.keys()].toSorted());
      const values = (series: Series) =>
        Object.fromEntries([...series].filter(([name]) => !isTime(name.replace(/\[.*$/, ''))));
      expect(values(mine)).toEqual(values(other_));
      outcomes.set(`${module}: ${what}`, mine.get('probe_success[]') === 1 ? 'up' : 'down');
      if (hasPromtool) {
        const lint = spawnSync('promtool', ['check', 'metrics'], { input: own ?? '', encoding: 'utf8' });
        expect(`${lint.stdout}${lint.stderr}`).toBe('');
      }
    },
    30_000,
  );

  test('docs/probe.md has the table of these results', () => {
    const page = readFileSync(join(import.meta.dirname, '../../../docs/probe.md'), 'utf8');
    const rows = [...page.matchAll(/^\| `(\w+)` +\| (.+?) +\| (up|down) +\| (up|down) +\|$/gm)];
    const table = rows.map(([, module, what, own, other]) => [`${module}: ${what}`, own, other]);
    expect(table).toEqual(
      names
        .map(([module, what]) => `${module}: ${what}`)
        .map((name) => [name, outcomes.get(name), outcomes.get(name)]),
    );
  });
});
