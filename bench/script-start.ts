/**
 * What the layers of isolation cost a script's start, and what the judging of addresses costs a connection, in milliseconds.
 * Each round starts the same program (`true`, and a small one of Node for connections) with and without a layer, in turn.
 * Limit: the network layer adds at most 3 ms to a start.
 */
import { mkdirSync, mkdtempSync, rmSync } from 'node:fs';
import { createServer, type AddressInfo } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { startProgram } from '../src/script/process/child-process.ts';
import { confinement, type Confinement } from '../src/script/process/confinement.ts';
import type { ScriptNetwork } from '../src/script/process/script-network.ts';
import { machine, report } from './lib/processes.ts';

const limit = 3;
const rounds = 60;
const connections = 2000;

const host = await confinement();
if (!host.holds.network) {
  console.log(`the network layer does not work on this host: ${host.missing.join('; ')}`);
  process.exit(2);
}
const folder = mkdtempSync(join(tmpdir(), 'location-agent-bench-start-'));
const own = join(folder, 'own');
mkdirSync(own);

const target = createServer((socket) => socket.destroy());
await new Promise<void>((resolve) => {
  target.listen(0, '127.0.0.1', resolve);
});
const { port } = target.address() as AddressInfo; // a TCP server has this kind

const limited: ScriptNetwork = {
  allowed: ['0.0.0.0/0', '::/0', `127.0.0.1:${port}`],
  denied: [],
  ownPorts: [],
  configured: [],
};

type Variant = { network: ScriptNetwork; layers: Confinement };

/** Runs a program to its end; milliseconds, and its output. */
async function once(command: readonly string[], { network, layers }: Variant) {
  let output = '';
  const from = performance.now();
  const program = await startProgram(
    {
      command,
      cwd: own,
      env: { PATH: '/usr/bin:/bin', HOME: own, TMPDIR: own },
      readable: [process.execPath],
      writable: [own],
      mayStartPrograms: true,
      network,
      limits: {
        memoryBytes: 512 * 1024 ** 2,
        cpuSeconds: 60,
        outputBytes: 1024 ** 2,
        diskBytes: 16 * 1024 ** 2,
        processes: 100,
      },
      onLine: (line) => (output += line),
    },
    Promise.resolve(layers),
  );
  const { code } = await program.ended;
  if (code !== 0) throw new Error(`${command.join(' ')} ended with ${code}: ${output}`);
  return { ms: performance.now() - from, output };
}

const without = (...layers: (keyof Confinement['holds'])[]): Confinement => ({
  ...host,
  holds: { ...host.holds, ...Object.fromEntries(layers.map((layer) => [layer, false])) },
});
const variants = {
  'all layers': { network: limited, layers: host },
  'without the network layer': { network: 'unlimited', layers: host },
  'without mounts and own user': { network: 'unlimited', layers: without('mounts') },
  'without namespaces': { network: 'unlimited', layers: without('mounts', 'namespaces') },
} as const satisfies { [name: string]: Variant };
type Name = keyof typeof variants;
const names = Object.keys(variants) as Name[]; // the keys of the table above

const median = (values: readonly number[]): number =>
  values.toSorted((a, b) => a - b)[Math.floor(values.length / 2)] ?? NaN;

const connecting = `
  const { connect } = require('node:net');
  const one = () => new Promise((resolve, reject) =>
    connect(${port}, '127.0.0.1').on('error', reject).on('close', resolve).resume());
  (async () => {
    for (let at = 0; at < 100; at++) await one();
    const from = performance.now();
    for (let at = 0; at < ${connections}; at++) await one();
    console.log((performance.now() - from) / ${connections});
  })();
`;

try {
  const times = Object.fromEntries(names.map((name): [Name, number[]] => [name, []])) as Record<
    Name,
    number[]
  >;
  for (const name of names) await once(['/bin/true'], variants[name]);
  for (let round = 0; round < rounds; round++) {
    for (const name of names) times[name].push((await once(['/bin/true'], variants[name])).ms);
  }
  const connected: { [name: string]: number[] } = { judged: [], free: [] };
  for (let round = 0; round < 3; round++) {
    const command = [process.execPath, '-e', connecting];
    connected['judged']?.push(Number((await once(command, variants['all layers'])).output));
    connected['free']?.push(Number((await once(command, variants['without the network layer'])).output));
  }
  console.log(`start and end of /bin/true, median of ${rounds} rounds in turn, ${machine}\n`);
  for (const name of names)
    console.log(`${name.padEnd(30)} ${median(times[name]).toFixed(2).padStart(8)} ms`);
  const judged = median(connected['judged'] ?? []);
  const free = median(connected['free'] ?? []);
  console.log(`\none connection on loopback from Node, median of 3 times ${connections}\n`);
  console.log(`${'judged'.padEnd(30)} ${judged.toFixed(3).padStart(8)} ms`);
  console.log(`${'not limited'.padEnd(30)} ${free.toFixed(3).padStart(8)} ms`);
  const all = median(times['all layers']);
  const base = median(times['without the network layer']);
  const cost = all - base;
  console.log(`\nthe network layer adds ${cost.toFixed(2)} ms to a start (at most ${limit})`);
  report({
    name: 'script-start',
    unit: 'ms added to a start',
    ours: cost,
    peer: base,
    limit,
    ratio: all / base,
  });
  if (cost > limit) process.exitCode = 1;
} finally {
  target.close();
  rmSync(folder, { recursive: true, force: true });
}
