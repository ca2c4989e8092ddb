import { expect, test } from 'vitest';
import { isolationProbes, layersFinding, reachFinding } from '../../../src/commands/doctor/isolation.ts';
import type { Confinement } from '../../../src/script/process/confinement.ts';

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
    ownUser: false,
    missing: ['the launcher was not built: scripts run unconfined (run: node scripts/native.mjs)'],
  };
  expect(layersFinding(host)).toMatchObject({ status: 'problem' });
  expect(reachFinding(host, false, false).message).toContain('kill or debug the agent');
});
