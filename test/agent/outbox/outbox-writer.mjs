/**
 * A process that fills an outbox until it is killed: prints the number of each result once the outbox has called it
 * safe. Arguments: the compiled program's folder, the outbox's folder.
 */
import { join } from 'node:path';
import { pathToFileURL } from 'node:url';

const [, , dist, folder] = process.argv;
const load = (name) => import(pathToFileURL(join(dist, name)).href);
const { Outbox } = await load('agent/outbox/outbox.js');
const { createMetrics } = await load('agent/metrics/counters.js');
const { createLog } = await load('log.js');

const outbox = await Outbox.open({
  folder,
  instanceId: 'killed',
  log: createLog({ level: 'ERROR', scrub: (line) => line }),
  metrics: createMetrics(),
  fault: () => undefined,
  now: Date.now,
  limits: { segmentBytes: 64 * 1024, capBytes: 2 ** 30, memoryBytes: 2 ** 26 },
});
let number = 0;
const fill = async () => {
  for (;;) {
    number += 1;
    const own = number;
    await outbox.add(JSON.stringify({ number: own, filling: 'x'.repeat(own % 3000) }));
    process.stdout.write(`${own}\n`);
  }
};
await Promise.all(Array.from({ length: 20 }, fill));
