import { promises as fs } from 'node:fs';
import { connect, createServer, type Server } from 'node:net';

/**
 * A lock that the kernel releases when its process ends, and that is visible across containers on the same machine: a
 * UNIX socket in the folder. A connection succeeds only while the owner lives (unix(7)). The owner does not have to
 * respond, so a suspended process keeps its lock.
 */

const held = new Map<string, Server>();

/** unix(7): the maximum length of sun_path. Longer paths would be cut silently. */
const maxPathBytes = 107;
const isTooLong = (path: string) => Buffer.byteLength(path) > maxPathBytes;

/**
 * Creates a lock with a socket at `path`. Returns false if that is impossible: no room, a path too long, a file
 * system without sockets.
 */
export async function holdLock(path: string): Promise<boolean> {
  await dropLock(path);
  if (isTooLong(path)) return false;
  const server = createServer((socket) => socket.destroy());
  const listens = await new Promise<boolean>((resolve) => {
    server.once('error', () => resolve(false));
    server.listen({ path }, () => resolve(true));
  });
  if (!listens) return false;
  server.on('error', () => undefined);
  held.set(path, server.unref());
  return true;
}

/** Releases this process's lock, if it holds it, and removes the socket of any owner. */
export async function dropLock(path: string): Promise<void> {
  const server = held.get(path);
  held.delete(path);
  if (server !== undefined) await new Promise((resolve) => server.close(resolve));
  await fs.rm(path, { force: true });
}

/**
 * Whether a process on this machine holds the lock; null if unknown. The path must be on the same mount (st_dev) on
 * which the owner locked it. Through another mount of the same files the lock looks free.
 */
export function isLockHeld(path: string): Promise<boolean | null> {
  if (isTooLong(path)) return Promise.resolve(null);
  return new Promise((resolve) => {
    const socket = connect({ path });
    socket.once('connect', () => {
      socket.destroy();
      resolve(true);
    });
    socket.once('error', ({ code }: NodeJS.ErrnoException) => {
      // EAGAIN: the owner's connection queue is full.
      resolve(code === 'ECONNREFUSED' ? false : code === 'EAGAIN' ? true : null);
    });
  });
}
