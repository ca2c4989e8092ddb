/**
 * Loaded before the program (`--import`): writes what keeps it busy to the folder CHAOS_RESOURCES, every 5 s as PID.json. Once a
 * minute it counts all timers in memory, which collects garbage first: the memory that is left then is what the program holds.
 */
import { renameSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import v8 from 'node:v8';

const folder = process.env['CHAOS_RESOURCES'];
if (folder !== undefined) {
  const Timeout = setTimeout(() => undefined, 0).constructor;
  const file = join(folder, `${process.pid}.json`);
  let rounds = 0;
  let held = {};
  setInterval(() => {
    const active = process.getActiveResourcesInfo();
    if (rounds % 12 === 0 && v8.queryObjects !== undefined) {
      const timers = v8.queryObjects(Timeout, { format: 'count' });
      const { rss, heapTotal, heapUsed, external } = process.memoryUsage();
      held = {
        timers,
        heapMb: heapUsed / 1024 ** 2,
        externalMb: external / 1024 ** 2,
        heapSizeMb: heapTotal / 1024 ** 2,
        nativeMb: (rss - heapTotal - external) / 1024 ** 2,
      };
    }
    rounds += 1;
    const sample = {
      ...held,
      activeTimers: active.filter((name) => name === 'Timeout' || name === 'Immediate').length,
      sockets: active.filter((name) => /^(TCP|TLS|UDP|Pipe)/.test(name)).length,
    };
    writeFileSync(`${file}.new`, JSON.stringify(sample));
    renameSync(`${file}.new`, file);
  }, 5_000).unref();
}
