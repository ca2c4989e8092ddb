import { spawnSync } from 'node:child_process';
import { rmSync } from 'node:fs';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { attempts as known, files } from './escape-attempts.ts';
import { fixtures, hasCompiler, key, layersOf, prepareAgents, removeAgents, runAgent } from './escape-run.ts';
import { outsideAttempts } from './outside-attempts.ts';

/** Each way out is tried by a real child of a real process, with all layers of this host and with some taken away. */

const attempts = [...known, ...outsideAttempts];
const nobody = 65534;
const isRoot = process.getuid?.() === 0;

beforeAll(prepareAgents, 120_000);
afterAll(removeAgents);

// A checkout in root's own home is closed to others.
const othersRead =
  !isRoot ||
  spawnSync('setpriv', ['--reuid', `${nobody}`, '--clear-groups', 'cat', join(fixtures, 'agent.mjs')])
    .status === 0;
if (!othersRead)
  process.stderr.write('skipped here: escapes as another user, who cannot read this checkout\n');

const users = [
  ...(isRoot ? [{ as: 'root', uid: 0, skip: false }] : []),
  {
    as: 'an unprivileged user',
    uid: isRoot ? nobody : (process.getuid?.() ?? nobody),
    skip: !othersRead,
  },
];
const hosts: { host: string; without: string[] }[] = [
  { host: 'all that holds here', without: [] },
  { host: 'no namespaces (containers)', without: ['namespaces'] },
  { host: 'no namespaces and no Landlock (old kernels)', without: ['namespaces', 'landlock'] },
  { host: 'no seccomp (other architectures)', without: ['seccomp'] },
];

describe.for(users)('a script of an agent that runs as $as', ({ uid, skip: isSkipped }) => {
  describe.for(hosts)('with $host', ({ without }) => {
    it.for([
      { kind: 'that may start programs', programs: true },
      { kind: 'under the permission model', programs: false },
    ])('$kind', async ({ programs }, { skip }) => {
      // Not by describe.skipIf, which `for` forgets.
      skip(isSkipped);
      const tried = attempts.filter(
        ({ needsPrograms }) => needsPrograms !== true || (programs && hasCompiler),
      );
      const report = await runAgent({ uid, programs, without, bodies: tried.map(({ body }) => body) });
      if (report.launcher === null) {
        process.stderr.write('skipped here: escapes, without the launcher (run: node scripts/native.mjs)\n');
        return;
      }
      const layers = layersOf(report, { uid, programs, without });
      const escaped = tried
        .filter((attempt, index) => attempt.stopped(layers) && report.results[index]?.error === undefined)
        .map(({ name }) => name);
      expect(escaped).toEqual([]);
      expect(report.debugger).toBeNull();
      if (files(layers)) expect(JSON.stringify(report)).not.toContain(key);
      expect(report.results.find(({ error }) => error?.startsWith('the child ended'))).toBeUndefined();
      expect(report.end).toMatchObject({ exceeded: null });
    });
  });
});

it('the attempts are real: without a launcher most of them succeed', async () => {
  const named = [
    "read another run's file",
    'see whether the agent lives',
    'write into /tmp',
    'start a program',
    'signal everyone',
  ];
  const tried = attempts.filter(({ name }) => named.includes(name));
  const report = await runAgent({
    uid: users[0]?.uid ?? 0,
    programs: true,
    without: [],
    unconfined: true,
    bodies: tried.map(({ body }) => body),
  });
  rmSync('/tmp/location-agent-planted', { force: true });
  expect(report.results.map(({ error }) => error)).toEqual(tried.map(() => undefined));
});
