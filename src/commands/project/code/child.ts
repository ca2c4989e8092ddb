import { createJiti } from 'jiti';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { Worker } from 'node:worker_threads';
import { collect } from '../../../constructs/construct.ts';
import type { CodeAnswer, Message, Order } from './messages.ts';
import { failureOf, placeBelow } from './places.ts';
import { plainValue } from './plain.ts';

/** The process that runs the files of a project, one after the other. It answers with what they construct. */

/** Deep enough for classes of the customer's own. */
Error.stackTraceLimit = 50;

const send = (message: Message): Promise<void> =>
  new Promise((resolve) => process.send?.(message, undefined, {}, () => resolve()) ?? resolve());

process.once('message', (order: Order) => void run(order));

async function run(order: Order): Promise<void> {
  // Neither keeps a process alive whose files wait for something that never comes.
  process.channel?.unref();
  const watchdog = new Worker(new URL('./watchdog.js', import.meta.url), { workerData: order });
  watchdog.unref();
  const { folder, files } = order;
  const own = fileURLToPath(new URL('../../../constructs/constructs.js', import.meta.url));
  const jiti = createJiti(join(folder, 'project'), {
    // The classes of this version, also where the package is not installed in the project.
    alias: { 'private-location-agent': own },
    // A cache in a shared folder could be written by others.
    fsCache: false,
  });
  const list = collect();
  const problems: string[] = [];
  for (const file of files) {
    watchdog.postMessage(file);
    await send({ loading: file });
    try {
      const { default: main } = await jiti.import<{ default?: unknown }>(join(folder, file));
      if (typeof main === 'function') await main();
    } catch (error) {
      const { message, place } = failureOf(folder, error);
      problems.push(`${place ?? file}: ${message}`);
    }
  }
  const resources = list.map(({ kind, logicalId, fields, place }) => {
    const at = placeBelow(folder, place) ?? '';
    const problem = (path: string, reason: string) => problems.push(`${at}: ${path} ${reason}`);
    return { kind, logicalId, fields: plainValue(fields, problem), place: at };
  });
  const answer: CodeAnswer = { resources, problems };
  await send({ done: JSON.stringify(answer) });
  process.exit(0);
}
