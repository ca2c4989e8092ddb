import { spawnSync } from 'node:child_process';
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { can, chartFolder, parseManifests, works, type Manifest, type Release } from './renderer.ts';

/** Helm itself is not part of the set-up; where it is there, it has to agree. */
export const hasHelm = can(works('helm', 'version', '--short'), 'rendering of the chart by Helm itself');

/** What `helm template` makes of it. */
export function renderedByHelm(
  { name = 'berlin', namespace = 'monitoring', values }: Release,
  chart = chartFolder,
): Manifest[] {
  const temporary = mkdtempSync(join(tmpdir(), 'chart-values-'));
  try {
    const file = join(temporary, 'values.json');
    writeFileSync(file, JSON.stringify(values));
    const { status, stdout, stderr } = spawnSync(
      'helm',
      ['template', name, chart, '--namespace', namespace, '--values', file],
      { encoding: 'utf8', maxBuffer: 64 * 1024 * 1024 },
    );
    if (status !== 0) throw new Error(stderr);
    return parseManifests(stdout);
  } finally {
    rmSync(temporary, { recursive: true, force: true });
  }
}
