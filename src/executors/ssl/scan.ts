import type { Socket } from 'node:net';
import {
  clientHello,
  readAnswer,
  usualSuites,
  weakSuites,
  wireVersions,
  type HelloAnswer,
  type VersionName,
} from './client-hello.ts';
import { withTimeLimit } from '../../time-limit.ts';

/** Which versions and weak suites a server accepts besides the negotiated ones, with few connections. */

export type Accepted = {
  versions: VersionName[];
  weakCiphers: string[];
  /** Connections that were made. */
  handshakes: number;
  /** Why not everything was asked; null = it was. */
  incomplete: string | null;
};

/** At most this many connections: five versions, and the weak suites that the server picks one after another. */
const maxHandshakes = 12;
const maxAnswerBytes = 32_768;
/** A server that lets the scan wait is measured all the same: the rest of the scan is left out. */
const maxScanMs = 10_000;

const versionNames = Object.keys(wireVersions) as VersionName[]; // Object.keys loses the key type

/**
 * Asks for each version but the negotiated one, then for weak suites until the server accepts none. `open` makes a
 * connection on which TLS may begin. A server that stops answering ends the scan; only `signal` rejects.
 */
export async function scan(options: {
  open: (signal: AbortSignal) => Promise<Socket>;
  serverName: string;
  negotiated: string;
  signal: AbortSignal;
  /** For tests. */
  limitMs?: number;
}): Promise<Accepted> {
  const { negotiated, signal } = options;
  const limit = withTimeLimit(signal, options.limitMs ?? maxScanMs);
  const accepted: Accepted = {
    versions: versionNames.filter((name) => name === negotiated),
    weakCiphers: [],
    handshakes: 0,
    incomplete: null,
  };
  const ask = async (version: VersionName, suites: readonly number[]): Promise<HelloAnswer> => {
    accepted.handshakes += 1;
    const hello = clientHello({ version, suites, serverName: options.serverName });
    return answerTo(await options.open(limit), hello, limit);
  };
  try {
    for (const version of versionNames) {
      if (version === negotiated) continue;
      const answer = await ask(version, [...usualSuites, ...weakSuites.keys()]);
      if ('accepts' in answer && answer.accepts.version === wireVersions[version])
        accepted.versions.push(version);
    }
    const old = accepted.versions.filter((version) => version !== 'TLS1.3');
    const best = old.toSorted((a, b) => wireVersions[b] - wireVersions[a])[0];
    const left = new Set(weakSuites.keys());
    while (best !== undefined && left.size > 0) {
      if (accepted.handshakes >= maxHandshakes) {
        accepted.incomplete = 'there may be more weak suites: the limit of connections was reached';
        break;
      }
      const answer = await ask(best, [...left]);
      const suite = 'accepts' in answer ? answer.accepts.suite : null;
      if (suite === null || !left.delete(suite)) break;
      accepted.weakCiphers.push(weakSuites.get(suite) ?? '');
    }
  } catch (error: unknown) {
    if (signal.aborted) throw signal.reason;
    accepted.incomplete = limit.aborted
      ? `the time for the scan ran out at connection ${accepted.handshakes}`
      : `a connection failed: ${error instanceof Error ? error.message : 'unknown'}`;
  }
  accepted.versions.sort((a, b) => wireVersions[a] - wireVersions[b]);
  return accepted;
}

/** Sends the hello and reads until the answer is clear. A server that closes has refused. Destroys the socket. */
function answerTo(socket: Socket, hello: Buffer, signal: AbortSignal): Promise<HelloAnswer> {
  return new Promise((resolve, reject) => {
    let all: Buffer = Buffer.alloc(0);
    const end = () => {
      signal.removeEventListener('abort', onAbort);
      socket.removeAllListeners();
      socket.on('error', () => undefined);
      socket.destroy();
    };
    const answer = (found: HelloAnswer) => {
      end();
      resolve(found);
    };
    const onAbort = () => {
      end();
      reject(signal.reason as Error);
    };
    if (signal.aborted) {
      onAbort();
      return;
    }
    signal.addEventListener('abort', onAbort, { once: true });
    socket.on('data', (chunk: Buffer) => {
      all = Buffer.concat([all, chunk]);
      const found = readAnswer(all);
      if (found !== null) answer(found);
      else if (all.length > maxAnswerBytes) answer({ refuses: 'an endless answer' });
    });
    socket.once('error', (error: Error) => answer({ refuses: error.message }));
    socket.once('close', () => answer({ refuses: 'the connection was closed' }));
    socket.write(hello);
    socket.resume();
  });
}
