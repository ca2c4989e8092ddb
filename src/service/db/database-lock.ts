import { mkdir, open, rmdir, stat, unlink } from 'node:fs/promises';
import { connect, createServer, type Server } from 'node:net';
import { join } from 'node:path';
import { exitCodes, FatalError } from '../../errors.ts';

/**
 * One process per embedded database. The lock is a socket that the owner listens on; the kernel closes it when the
 * owner dies. Unlike a process id, it also distinguishes owners in different containers.
 */

const socketName = 'database.lock';
/** A take-over of a dead owner's lock takes milliseconds. An older one was itself interrupted. */
const takeOverMaxMs = 5_000;

/** Takes the lock in `dataDir`. Throws FatalError DATABASE_IN_USE if a living process holds it. */
export async function lockDatabase(dataDir: string): Promise<() => Promise<void>> {
  await mkdir(dataDir, { recursive: true, mode: 0o700 });
  // A socket path is limited to 107 bytes. Through the open folder it always fits (Linux).
  const folder = process.platform === 'linux' ? await open(dataDir, 'r') : null;
  const socketPath = folder === null ? join(dataDir, socketName) : `/proc/self/fd/${folder.fd}/${socketName}`;
  try {
    const server = await listenOrTakeOver(dataDir, socketPath);
    return async () => {
      await new Promise<void>((resolve) => server.close(() => resolve())); // close() also removes the file
      await folder?.close();
    };
  } catch (error) {
    await folder?.close();
    throw error;
  }
}

async function listenOrTakeOver(dataDir: string, socketPath: string): Promise<Server> {
  const first = await tryListen(socketPath);
  if (first !== null) return first;
  await refuseIfAlive(dataDir, socketPath);
  // The owner is dead. Only one process that sees this may remove the file; a second would remove the next owner's
  // lock.
  const takeOver = join(dataDir, `${socketName}.taking-over`);
  if (!(await tryMkdir(takeOver))) throw inUse(dataDir, null);
  try {
    await refuseIfAlive(dataDir, socketPath);
    await unlink(socketPath).catch(() => undefined);
    const server = await tryListen(socketPath);
    if (server === null) throw inUse(dataDir, null);
    return server;
  } finally {
    await rmdir(takeOver).catch(() => undefined);
  }
}

async function tryMkdir(path: string): Promise<boolean> {
  for (const last of [false, true]) {
    try {
      await mkdir(path);
      return true;
    } catch {
      const made = await stat(path).catch(() => null);
      if (last || (made !== null && Date.now() - made.mtimeMs < takeOverMaxMs)) return false;
      await rmdir(path).catch(() => undefined);
    }
  }
  return false;
}

function tryListen(socketPath: string): Promise<Server | null> {
  return new Promise((resolve, reject) => {
    const server = createServer((socket) => {
      socket.on('error', () => undefined);
      socket.end(String(process.pid));
    });
    server.unref();
    server.once('error', (error: NodeJS.ErrnoException) => {
      if (error.code === 'EADDRINUSE') resolve(null);
      else reject(error);
    });
    server.listen(socketPath, () => resolve(server));
  });
}

async function refuseIfAlive(dataDir: string, socketPath: string): Promise<void> {
  const owner = await new Promise<string | null>((resolve) => {
    let answer = '';
    const socket = connect(socketPath);
    // A stopped owner (SIGSTOP) accepts the connection and sends nothing. It counts as alive.
    socket.setTimeout(1_000, () => {
      socket.destroy();
      resolve(answer);
    });
    socket.on('data', (chunk) => (answer += chunk.toString('latin1')));
    socket.on('end', () => resolve(answer));
    // ECONNREFUSED: nobody is listening any more. ENOENT: the socket has just been removed.
    socket.on('error', () => resolve(null));
  });
  if (owner !== null) throw inUse(dataDir, owner === '' ? null : owner);
}

function inUse(dataDir: string, owner: string | null): FatalError {
  const who = owner === null ? 'another process' : `another process (pid ${owner})`;
  return new FatalError('DATABASE_IN_USE', `${who} uses the embedded database in ${dataDir}`, {
    exitCode: exitCodes.couldNotRun,
    remedy: 'stop it, set another SERVICE_DATA_DIR, or share a PostgreSQL server through DATABASE_URL',
  });
}
