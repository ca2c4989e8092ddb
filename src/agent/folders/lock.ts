import { promises as fs } from 'node:fs';
import { connect, createServer, type Server } from 'node:net';

/**
 * A lock that the kernel lets go of with its process, however that ends, and that shows through the walls between containers
 * of one machine: a UNIX socket in the folder. Whoever connects reaches its owner, or nobody (unix(7)); the owner need
 * not do anything for it, so that one that stands still holds it as well.
 */

const held = new Map<string, Server>();

/** unix(7): sun_path holds no more. Longer ones would be cut silently. */
const longestPath = 107;
const isTooLong = (path: string) => Buffer.byteLength(path) > longestPath;

/** Locks by a socket at `path`, or says that this can't be had: no room, a path too long, a file system without sockets. */
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

/** Lets go of this process's own lock, if it has it, and removes the socket, whoever's it was. */
export async function dropLock(path: string): Promise<void> {
  const server = held.get(path);
  held.delete(path);
  if (server !== undefined) await new Promise((resolve) => server.close(resolve));
  await fs.rm(path, { force: true });
}

/**
 * Whether a process of this machine has the lock; null where that can't be told. The path must be on the very mount of a file system
 * (st_dev) on which the owner locked it: through another one of the same files nobody seems to have it.
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
      // EAGAIN: its queue of connections is full.
      resolve(code === 'ECONNREFUSED' ? false : code === 'EAGAIN' ? true : null);
    });
  });
}
