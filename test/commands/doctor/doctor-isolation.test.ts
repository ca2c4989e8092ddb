import { expect, test } from 'vitest';
import { isolationProbes, layersFinding, reachFinding } from '../../../src/commands/doctor/isolation.ts';
import { confinementOf, type Confinement } from '../../../src/script/process/confinement.ts';

const all: Confinement = {
  launcher: '/launcher',
  landlockVersion: 7,
  networkMeans: 'copied sockets',
  holds: {
    no_new_privs: true,
    capabilities: true,
    seccomp: true,
    landlock: true,
    namespaces: true,
    mounts: true,
    network: true,
  },
  ptraceScope: null,
  ownUser: true,
  missing: [],
};

test('this host is checked without an exception', async () => {
  const found = await Promise.all(isolationProbes().map(({ run }) => run(new AbortController().signal)));
  expect(found.map(({ status }) => status)).not.toContain(undefined);
});

test('all layers: only its own files and the allowed networks', () => {
  expect(layersFinding(all)).toEqual({
    status: 'ok',
    message: 'no_new_privs, capabilities, seccomp, landlock 7, namespaces, mounts, network',
    remedy: null,
  });
  expect(reachFinding(all, true, true)).toEqual({
    status: 'ok',
    message: 'its own files, and the allowed networks of its location',
    remedy: null,
  });
});

test('a host that refuses pidfd_getfd: the other means is named', () => {
  expect(layersFinding({ ...all, networkMeans: 'own sockets' })).toMatchObject({
    status: 'ok',
    message: 'no_new_privs, capabilities, seccomp, landlock 7, namespaces, mounts, network (own sockets)',
  });
});

test.each([
  [2, null],
  [3, 'and restart the host, because 3 cannot be lowered'],
])('kernel.yama.ptrace_scope %i: a problem with its remedy, and no script without limits', (scope, more) => {
  const errors = {
    noNewPrivs: 0,
    capabilities: 0,
    seccomp: 0,
    landlock: 0,
    namespaces: 0,
    mounts: 0,
    user: 0,
  };
  const probe = { uid: 0, landlockVersion: 7, userNamespace: false, copiesSockets: true };
  const hindered = confinementOf('/launcher', { ...probe, errors: { ...errors, network: 1 } }, scope);
  expect(hindered.holds.network).toBe(false);
  const { status, remedy } = layersFinding(hindered);
  expect(status).toBe('problem');
  expect(remedy).toMatch(new RegExp(`kernel.yama.ptrace_scope is ${scope}, .*; set it to 1`));
  if (more !== null) expect(remedy).toContain(more);
  expect(reachFinding(hindered, true, true).message).not.toContain('every address');
  // The same setting where the layer works, and the same failure under another one.
  expect(confinementOf('/launcher', { ...probe, errors: { ...errors, network: 0 } }, scope).missing).toEqual(
    [],
  );
  expect(
    confinementOf('/launcher', { ...probe, errors: { ...errors, network: 1 } }, 1).ptraceScope,
  ).toBeNull();
});

test('a container without namespaces: the remedy, and the remaining risks', () => {
  const host: Confinement = {
    ...all,
    holds: { ...all.holds, namespaces: false, mounts: false },
    missing: ['scripts run without namespaces (EPERM): allow them'],
  };
  expect(layersFinding(host)).toEqual({
    status: 'note',
    message: 'no_new_privs, capabilities, seccomp, landlock 7, network',
    remedy: 'scripts run without namespaces (EPERM): allow them',
  });
  expect(reachFinding(host, false, true).message.split('; ')).toEqual([
    "browser scripts and suites can change modes and times of this user's files",
    'scripts can see which processes run, and their arguments',
  ]);
});

test('no judging of connections: scripts reach everything, which is reported with the remedy', () => {
  const host: Confinement = { ...all, holds: { ...all.holds, network: false } };
  expect(reachFinding(host, false, true)).toMatchObject({
    status: 'note',
    message: expect.stringContaining('loopback and metadata addresses') as string,
  });
});

test('an old kernel under root: files are accessible, which is reported', () => {
  const host: Confinement = {
    ...all,
    landlockVersion: 0,
    networkMeans: 'copied sockets',
    holds: { ...all.holds, landlock: false, namespaces: false, mounts: false },
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
    networkMeans: 'copied sockets',
    holds: {
      no_new_privs: false,
      capabilities: false,
      seccomp: false,
      landlock: false,
      namespaces: false,
      mounts: false,
      network: false,
    },
    ptraceScope: null,
    ownUser: false,
    missing: ['the launcher was not built: scripts run unconfined (run: node scripts/native.mjs)'],
  };
  expect(layersFinding(host)).toMatchObject({ status: 'problem' });
  expect(reachFinding(host, false, false).message).toContain('kill or debug the agent');
});
