import { readdirSync, readFileSync, rmSync, symlinkSync, writeFileSync } from 'node:fs';
import { basename, join } from 'node:path';
import { expect, test } from 'vitest';
import { DiskDeadline } from '../../../src/agent/folders/disk-deadline.ts';
import { createAdoption } from '../../../src/agent/outbox/adoption.ts';
import { createAside } from '../../../src/agent/outbox/aside.ts';
import { createDamageReport } from '../../../src/agent/outbox/damage-report.ts';
import { openOutboxHome } from '../../../src/agent/outbox/home.ts';
import { createLog } from '../../../src/log.ts';
import { outboxTests } from './outboxes.ts';

/** Segments of dead agents that cannot be opened when they are found. */

const outboxes = outboxTests();

test('they are kept, and adopted once they can be opened', async () => {
  const filled = await outboxes.open();
  await Promise.all([filled.add('"one"'), filled.add('"two"')]);
  await outboxes.close(filled);
  const [file = ''] = outboxes.segments();
  const bytes = readFileSync(file);
  rmSync(file);
  // As without a free descriptor: the file cannot be opened, and that says nothing about its content.
  const left = outboxes.leave(Buffer.alloc(0));
  rmSync(left);
  symlinkSync(basename(left), left);

  const lines: string[] = [];
  const log = createLog({
    level: 'WARN',
    scrub: (line) => line,
    destination: { write: (line) => lines.push(line) },
  });
  const { folder, metrics, faults } = outboxes;
  const fault = (error: Error) => void faults.push(error.message);
  const home = await openOutboxHome({ folder, instanceId: 'heir' }, new DiskDeadline(), () => {});
  const damage = createDamageReport({ aside: createAside(folder, Date.now), metrics, log, fault });
  const adopt = createAdoption({ home, damage, log });
  for (const _ of [1, 2]) expect(await adopt()).toEqual({ segments: [], empty: [] });
  expect([faults, metrics.resultsDamaged]).toEqual([[], 0]);
  expect(lines.filter((line) => line.includes('cannot be read yet'))).toHaveLength(1);

  const [moved = ''] = readdirSync(home.folder).filter((name) => name.endsWith('.seg'));
  rmSync(join(home.folder, moved));
  writeFileSync(join(home.folder, moved), bytes);
  const { segments } = await adopt();
  expect(segments).toMatchObject([{ total: 2, next: 0 }]);
  expect(await adopt()).toEqual({ segments: [], empty: [] });
  await home.close();
});
