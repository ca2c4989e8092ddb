import { spawnSync } from 'node:child_process';
import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { otherNode } from '../../helpers/other-node.ts';
import type { Attempt } from './escape-attempts.ts';
import { layersOf, prepareAgents, removeAgents, runAgent } from './escape-run.ts';
import { outsideAttempts } from './outside-attempts.ts';
import { workingOn } from './permission-attempts.ts';

/**
 * Published proofs against Node's permission model, on Nodes that have the bugs: they work there with the permission model
 * only, and not in a child of the agent.
 */

const uid = process.getuid?.() ?? 0;
/** Has bugs of the first year, and lacks an option that the agent passes. */
const early = { version: '20.3.0', node: otherNode('20.3.0') };
/** Has the bugs that later ones fixed in 2026. */
const late = { version: '20.19.6', node: otherNode('20.19.6') };

/** Changes of open files, which the permission model of these Nodes does not judge. */
const changes = [
  'change the times of an open file (CVE-2025-55132)',
  "change the mode by a promise's handle (CVE-2026-21716)",
  "change the owner by a promise's handle (CVE-2026-21716)",
].map((name) => {
  const found = outsideAttempts.find((attempt) => attempt.name === name);
  if (found === undefined) throw new Error(name);
  return found;
});

beforeAll(prepareAgents, 120_000);
afterAll(removeAgents);

/** Runs a proof with a Node's permission model and nothing else; what it printed. */
function byPermissionModelOnly(node: string, { body }: Attempt): string {
  const root = mkdtempSync(join(tmpdir(), 'permission-model-'));
  try {
    for (const name of ['own', 'other', 'readable']) mkdirSync(join(root, name));
    writeFileSync(join(root, 'other', 'secret'), 'secret');
    writeFileSync(join(root, 'readable', 'evaluate.mjs'), '');
    const filled = ['OWN', 'OTHER', 'READABLE'].reduce(
      (text, name) => text.replaceAll(new RegExp(`\\b${name}\\b`, 'g'), join(root, name.toLowerCase())),
      body,
    );
    const program = join(root, 'readable', 'main.cjs');
    writeFileSync(
      program,
      `(async () => { ${filled} })().then((value) => console.log('worked', value), (error) => console.log('refused', error.code));`,
    );
    const [own, readable] = [join(root, 'own'), join(root, 'readable')];
    const isEarly = node === early.node;
    const rights = isEarly
      ? [`--allow-fs-read=${readable}/,${own}/`, `--allow-fs-write=${own}/`]
      : [`--allow-fs-read=${readable}/*`, `--allow-fs-read=${own}/*`, `--allow-fs-write=${own}/*`];
    const flags = ['--experimental-permission', '--no-warnings', ...rights];
    const done = spawnSync(node, [...flags, program], { encoding: 'utf8', timeout: 60_000 });
    return done.stdout.trim() === '' ? done.stderr : done.stdout.trim();
  } finally {
    rmSync(root, { recursive: true, force: true });
  }
}

describe.for([early, late])('Node $version', ({ version, node }) => {
  const proofs = [...workingOn(version), ...changes];
  test.skipIf(node === null).for(proofs)('with the permission model only: $name works', (proof) => {
    expect(byPermissionModelOnly(node ?? '', proof)).toMatch(/^worked/);
  });
  test.skipIf(node === null)("this process's own Node refuses them", () => {
    const worked = proofs.filter((proof) =>
      byPermissionModelOnly(process.execPath, proof).startsWith('worked'),
    );
    expect(worked.map(({ name }) => name)).toEqual([]);
  });
});

describe.for([
  { host: 'all layers', without: [] as string[] },
  { host: 'no namespaces', without: ['namespaces'] },
])('in a child of the agent with $host', ({ without }) => {
  test.skipIf(late.node === null)('every proof fails on Node 20.19.6', async () => {
    const proofs = [...workingOn(late.version), ...changes];
    const bodies = proofs.map(({ body }) => body);
    const report = await runAgent({ uid, programs: false, without, bodies, node: late.node ?? '' });
    // The permission model of this Node is no layer.
    const layers = { ...layersOf(report, { uid, programs: false, without }), permission: false };
    const expected = proofs.filter((proof) => proof.stopped(layers)).map(({ name }) => name);
    const refused = proofs.filter((_, index) => report.results[index]?.error !== undefined);
    expect(refused.map(({ name }) => name)).toEqual(expect.arrayContaining(expected));
    if (layers.landlock > 0) expect(JSON.stringify(report.results)).not.toContain('"value":"secret"');
  });
});

test.skipIf(early.node === null)('the agent starts no script with Node 20.3.0', async () => {
  const [proof] = workingOn(early.version);
  await expect(
    runAgent({ uid, programs: false, without: [], bodies: [proof?.body ?? ''], node: early.node ?? '' }),
  ).resolves.toMatchObject({ results: [{ error: expect.stringContaining('bad option') as string }] });
});
