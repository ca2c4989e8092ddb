import { readFileSync } from 'node:fs';
import { join, relative } from 'node:path';

/** The controllers whose files the agent reads. */
export type Controller = 'cpu' | 'memory' | 'pids';

/** Where the files of one controller are, for the cgroup of this process. */
export type CgroupFolders = {
  version: 1 | 2;
  /** Its own folder first, then the folders above it: a limit may be set at any of them. */
  folders: readonly string[];
};

/**
 * The folders of a controller; null if there are none. `memberships` is the text of `/proc/self/cgroup`, `mounts` that
 * of `/proc/self/mountinfo` (cgroups(7), proc(5)). A controller of version 1 has a hierarchy of its own. Version 2 has
 * one hierarchy for all; its line starts with `0::`.
 */
export function cgroupFolders(
  controller: Controller,
  { memberships, mounts }: { memberships: string; mounts: string },
): CgroupFolders | null {
  const lines = memberships.split('\n').map((line) => line.split(':'));
  const own = lines.find(([, controllers]) => controllers?.split(',').includes(controller));
  const version = own === undefined ? 2 : 1;
  const membership = own ?? lines.find(([id, controllers]) => id === '0' && controllers === '');
  const path = membership?.slice(2).join(':');
  if (path === undefined) return null;
  for (const line of mounts.split('\n')) {
    // `36 35 98:0 ROOT MOUNTPOINT options … - TYPE source superoptions`
    const [before, after] = line.split(' - ');
    const [, , , root, mountPoint] = before?.split(' ') ?? [];
    const [type, , options] = after?.split(' ') ?? [];
    const isWanted =
      version === 2 ? type === 'cgroup2' : type === 'cgroup' && options?.split(',').includes(controller);
    if (!isWanted || root === undefined || mountPoint === undefined) continue;
    // A container without a cgroup namespace sees only its own part of the hierarchy, mounted as the root.
    const below = relative(root, path);
    const steps = below === '' || below.startsWith('..') ? [] : below.split('/');
    const folders = steps.map((_step, index) => join(mountPoint, ...steps.slice(0, steps.length - index)));
    return { version, folders: [...folders, mountPoint] };
  }
  return null;
}

/** The folders of this process; null without cgroups. A process may be moved, so this reads the files each time. */
export function ownCgroup(controller: Controller): CgroupFolders | null {
  const memberships = textOf('/proc/self/cgroup');
  const mounts = textOf('/proc/self/mountinfo');
  return memberships === null || mounts === null ? null : cgroupFolders(controller, { memberships, mounts });
}

/** The text of a small file of the kernel; null if it cannot be read. */
export function textOf(file: string): string | null {
  try {
    return readFileSync(file, 'latin1');
  } catch {
    return null;
  }
}
