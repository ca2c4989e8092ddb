import { createSocket, type Socket } from 'node:dgram';
import { once } from 'node:events';
import { withNames } from '../../../../src/executors/evidence/hop-names.ts';
import { errorWords, hopRow, newHop } from '../../../../src/executors/evidence/trace-hops.ts';

/** What routers and name servers say about a route: rows of hops have times and names that can be shown. */

export const name = 'route-answers';
/** A name server that does not answer costs the limit of all names. */
export const maxMs = 3000;

let server: Socket | null = null;
let answer: Buffer = Buffer.alloc(0);

async function started(): Promise<number> {
  if (server === null) {
    server = createSocket('udp4');
    server.on('message', (query, { port, address }) => {
      // The id and the question of the query, so that the resolver looks at the rest.
      const end = query.indexOf(0, 12) + 5;
      const counts = Buffer.from([0x81, 0x80, 0, 1, 0, answer[0] ?? 1, 0, answer[1] ?? 0, 0, 0]);
      const whole = Buffer.concat([
        query.subarray(0, 2),
        counts,
        query.subarray(12, end),
        answer.subarray(2),
      ]);
      server?.send(whole.subarray(0, 60_000), port, address);
    });
    server.bind(0, '127.0.0.1');
    await once(server, 'listening');
    server.unref();
  }
  return server.address().port;
}

/** The first bytes are an ICMP message's type, code and time; the rest is the answer of a name server. */
export async function run(data: Buffer): Promise<void> {
  const [type = 0, code = 0, time = 0, count = 0] = data;
  const state = newHop();
  state.sent = count % 4;
  for (let left = count % 5; left > 0; left--) state.times.push(time * left);
  state.answeredBy.set('10.0.0.1', 1);
  state.error = errorWords((type & 1) === 0 ? 4 : 6, type, code);
  const row = hopRow(1, state);
  for (const [field, value] of Object.entries(row)) {
    if (typeof value === 'number' && !Number.isFinite(value)) throw new Error(`${field} is ${value}`);
  }
  answer = data.subarray(4);
  const port = await started();
  const nameServers = async () => [{ address: '127.0.0.1', port }];
  const [named] = await withNames([row], { nameServers });
  if (named?.name !== undefined && !/^[\w.-]{1,253}$/.test(named.name)) throw new Error(`name ${named.name}`);
}

export const close = (): void => void server?.close();

/** A PTR record of the question's name. */
const record = (text: string): Buffer => {
  const labels = Buffer.concat([
    ...text.split('.').map((label) => Buffer.concat([Buffer.from([label.length]), Buffer.from(label)])),
    Buffer.from([0]),
  ]);
  return Buffer.concat([Buffer.from([0xc0, 12, 0, 12, 0, 1, 0, 0, 0, 60, 0, labels.length]), labels]);
};

export const seeds = (): Buffer[] => [
  Buffer.concat([Buffer.from([11, 0, 5, 3, 1, 0]), record('core1.isp.test')]),
  Buffer.concat([Buffer.from([3, 1, 9, 2, 2, 0]), record('a b.<x>.test'), record('b.test')]),
  Buffer.concat([Buffer.from([1, 3, 9, 1, 1, 1]), record('c.test')]),
  Buffer.from([3, 13, 1, 1, 0, 0]),
];

export const dictionary = [
  Buffer.from([0xc0, 12]),
  Buffer.from([0, 12, 0, 1]),
  Buffer.from([0, 5, 0, 1]),
  Buffer.from([0x3f]),
  '<script>',
  '\u001b[31m',
];
