import { spawn, spawnSync, type ChildProcess } from 'node:child_process';
import { createSocket, type Socket as UdpSocket } from 'node:dgram';
import { readdirSync } from 'node:fs';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import {
  asUser,
  bothMeans,
  byDefault,
  compile,
  networkHost,
  users,
  type NetworkHost,
} from './network-run.ts';

/** Attacks on the supervisor that judges the network of scripts: races, signals, and too many calls at once. */

const errnos = { perm: 1, absent: 3, badDescriptor: 9, acces: 13, noSystemCall: 38 };
const inContainer = ['namespaces', 'mounts', 'landlock'];
const supervisorSources = join(import.meta.dirname, '..', '..', '..', 'src', 'native', 'launcher', 'network');

let host: NetworkHost;
let foreign: UdpSocket;
let port = 0;
const seen: string[] = [];

beforeAll(async () => {
  host = await networkHost();
  foreign = createSocket('udp4', (text) => void seen.push(String(text)));
  await new Promise<void>((resolve) => foreign.bind(0, '127.0.0.1', resolve));
  ({ port } = foreign.address());
});
afterAll(() => {
  foreign.close();
  host.remove();
});

/** What the program printed. */
const attack = (...args: (string | number)[]): string => `
  const { spawnSync } = require('node:child_process');
  const done = spawnSync('ATTACKS', ${JSON.stringify(args.map(String))}, { encoding: 'utf8' });
  if (done.status !== 0) throw done.error ?? new Error('killed by ' + done.signal);
  return done.stdout.trim().split(' ').map(Number);
`;
const values = ({ results }: { results: { value?: unknown; error?: string }[] }): unknown[] =>
  results.map(({ value, error }) => error ?? value);

describe.for(users)('scripts of an agent that runs as $as', ({ uid }) => {
  it('send no datagram by exchanging a stream during the call', async () => {
    seen.length = 0;
    const [worked] = values(await host.run(uid, byDefault, [attack('swap', port)]));
    // Messages to the stream arrived.
    expect(worked).toEqual([expect.any(Number)]);
    expect((worked as number[])[0]).toBeGreaterThan(0);
    expect(seen).toEqual([]);
  });

  it.for(bothMeans)('have one table of descriptors per process $means', async ({ copies }) => {
    const ways = [attack('close-range'), attack('share')];
    expect(values(await host.run(uid, byDefault, ways, { copies }))).toEqual([[errnos.perm], [errnos.perm]]);
  });

  it.for(bothMeans)('pass descriptors from processes with threads $means', async ({ copies }) => {
    const ways = [attack('pass'), attack('pass-wrong')];
    expect(values(await host.run(uid, byDefault, ways, { copies }))).toEqual([[0], [errnos.badDescriptor]]);
  });

  it('cannot harm the supervisor or other programs of the user, where nothing else prevents it', async () => {
    const [program, ...args] = [...asUser(uid), 'sleep', '60'];
    const victim: ChildProcess = spawn(program, args, { detached: true, stdio: 'ignore' });
    // Its first thread and at least one that answers, seven ways each.
    const onThreads = `
      const done = await (async () => {${attack('supervisor', 'PARENT').replace('"PARENT"', 'String(process.ppid)')}})();
      return [done.length >= 14, ...new Set(done)];
    `;
    try {
      const report = await host.run(
        uid,
        byDefault,
        [attack('foreign', victim.pid ?? 0), onThreads, attack('own')],
        { without: inContainer },
      );
      const [onForeign, onSupervisor, onOwn] = values(report);
      expect(onForeign).toEqual(Array(10).fill(errnos.perm));
      expect(onSupervisor).toEqual([true, errnos.perm]);
      expect(onOwn).toEqual([0, 0, 0, 0, 0, 0, errnos.absent, errnos.absent]);
      expect(victim.exitCode ?? victim.signalCode).toBe(null);
    } finally {
      victim.kill('SIGKILL');
    }
  });

  it('go on while more connections wait than the supervisor has threads', async () => {
    const report = await host.run(uid, byDefault, [attack('block', 300)], { processes: 400 });
    // The call after them was judged, and some of those that would wait got EAGAIN.
    expect(values(report)).toEqual([[errnos.acces, 1]]);
  }, 60_000); // its hundreds of threads share the processors with all other tests
});

describe('the supervisor', () => {
  const part = (name: string): string => {
    const sources = readdirSync(supervisorSources).filter((file) => file.endsWith('.c'));
    compile(
      'network-parts',
      host.folder,
      sources.map((file) => join(supervisorSources, file)),
    );
    const done = spawnSync(join(host.folder, 'network-parts'), [name], { encoding: 'utf8', timeout: 20_000 });
    expect({ signal: done.signal, status: done.status }).toEqual({ signal: null, status: 0 });
    return done.stdout;
  };

  it('stops answering with the last process of the run', () => {
    expect(part('over')).toBe('');
  });

  it('leaves no network to a process that outlives it', () => {
    expect(part('killed')).toBe(String(errnos.noSystemCall));
  });

  it('remembers servers of the run however many sockets it opens afterwards', () => {
    expect(part('own')).toBe('1 1');
  });
});
