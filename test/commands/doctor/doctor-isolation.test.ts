import { expect, test } from 'vitest';
import { isolationProbes, layersFinding, reachFinding } from '../../../src/commands/doctor/isolation.ts';
import type { Confinement } from '../../../src/script/process/confinement.ts';

const all: Confinement = {
  launcher: '/launcher',
  landlockVersion: 7,
  holds: { no_new_privs: true, capabilities: true, seccomp: true, landlock: true, namespaces: true },
  missing: [],
};

test('this host is checked without an exception', async () => {
  const found = await Promise.all(isolationProbes().map(({ run }) => run(new AbortController().signal)));
  expect(found.map(({ status }) => status)).not.toContain(undefined);
});

test('all layers: only its own files and the network', () => {
  expect(layersFinding(all)).toEqual({
    status: 'ok',
    message: 'no_new_privs, capabilities, seccomp, landlock 7, namespaces',
    remedy: null,
  });
  expect(reachFinding(all, true, true)).toEqual({
    status: 'ok',
    message: 'its own files and the network',
    remedy: null,
  });
});

test('a container without namespaces: the remedy, and the remaining risks', () => {
  const host: Confinement = {
    ...all,
    holds: { ...all.holds, namespaces: false },
    missing: ['scripts run without namespaces (EPERM): allow them'],
  };
  expect(layersFinding(host)).toEqual({
    status: 'note',
    message: 'no_new_privs, capabilities, seccomp, landlock 7',
    remedy: 'scripts run without namespaces (EPERM): allow them',
  });
  expect(reachFinding(host, false, true).message).toBe(
    'scripts can see which processes run, and their arguments',
  );
});

test('an old kernel under root: files are accessible, which is reported', () => {
  const host: Confinement = {
    ...all,
    landlockVersion: 0,
    holds: { ...all.holds, landlock: false, namespaces: false },
  };
  const { status, message } = reachFinding(host, true, true);
  expect(status).toBe('note');
  expect(message).toContain("can read this user's files");
  expect(message).toContain("change the kernel's settings");
  expect(message).toContain('signals to other processes');
});

test('no launcher is a problem', () => {
  const host: Confinement = {
    launcher: null,
    landlockVersion: 0,
    holds: { no_new_privs: false, capabilities: false, seccomp: false, landlock: false, namespaces: false },
    missing: ['the launcher was not built: scripts run unconfined (run: node scripts/native.mjs)'],
  };
  expect(layersFinding(host)).toMatchObject({ status: 'problem' });
  expect(reachFinding(host, false, false).message).toContain('kill or debug the agent');
});
