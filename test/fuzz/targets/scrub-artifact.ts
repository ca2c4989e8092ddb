import { mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { scrubArtifactHere } from '../../../src/secrets/files/scrub-artifact-here.ts';

/** The readers of zip, gzip, traces, HTML and JSON reports: a file is scrubbed or refused, never sent with a secret. */

export const name = 'scrub-artifact';

const names = ['a.zip', 'a.gz', 'a.trace', 'report.json', 'index.html', 'a.txt', 'a.har', 'a.br'];
const secret = 'walnut-tree-in-bloom-4711';
const maxBytes = 8 * 1024 * 1024;

/** Throws if an artifact makes the scrubber fail in another way than by refusing it, or if the secret passes. */
export async function run(data: Buffer): Promise<void> {
  const folder = mkdtempSync(join(tmpdir(), 'fuzz-artifact-'));
  try {
    const [source, target, unpacked] = ['source', 'target', 'unpacked'].map((part) => join(folder, part));
    if (source === undefined || target === undefined || unpacked === undefined) return;
    mkdirSync(unpacked);
    const content = data.subarray(1);
    writeFileSync(source, content);
    const kind = names[(data[0] ?? 0) % names.length] ?? 'a.txt';
    const about = { kind: 'artifact', type: 'file', contentType: 'application/octet-stream' } as const;
    const task = { ...about, source, target, folder: unpacked, name: kind, maxBytes };
    try {
      await scrubArtifactHere({ ...task, secrets: [{ name: 'A', value: secret }] });
    } catch (error) {
      if ((error as { code?: string }).code === 'UNSCRUBBABLE') return;
      throw error;
    }
    const output = readFileSync(target);
    if (output.includes(secret)) throw new Error('the secret is in the output');
    if (output.length > maxBytes * 4) throw new Error('the output is too long');
  } finally {
    rmSync(folder, { recursive: true, force: true });
  }
}
