import { join } from 'node:path';
import type { Log } from '../../log.ts';
import { codeOf } from '../../system-errors.ts';
import type { DamageReport } from './damage-report.ts';
import type { OutboxHome } from './home.ts';
import { openSegment, type Segment } from './segment-file.ts';

/** Takes over the segments of dead agents. */
export type Adoption = () => Promise<{
  /** Their results have to be sent; oldest first. */
  segments: Segment[];
  /** Files without results. */
  empty: string[];
}>;

/** Creates it for one agent. Its function rejects with errors of the file system. */
export function createAdoption({
  home,
  damage,
  log,
}: {
  home: OutboxHome;
  damage: DamageReport;
  log: Log;
}): Adoption {
  /** Segments in this agent's folder that are not open yet. They are tried again each time, so that none is lost. */
  const unopened = new Set<string>();
  const reported = new Set<string>();

  const failed = async (name: string, error: unknown): Promise<void> => {
    if (codeOf(error) === 'ENOENT') {
      unopened.delete(name);
      return damage.unreadable(join(home.folder, name), null, error);
    }
    // No free descriptor, or a disk that has trouble: both say nothing about the results in the file.
    if (reported.has(name)) return;
    reported.add(name);
    log.warn({ err: error, file: name }, 'results of an earlier agent cannot be read yet; trying again');
  };

  return async () => {
    for (const name of await home.adopt()) unopened.add(name);
    const segments: Segment[] = [];
    const empty: string[] = [];
    for (const name of [...unopened].sort()) {
      const path = join(home.folder, name);
      try {
        const opened = await openSegment(path, Number(name.split('-', 1)[0]));
        unopened.delete(name);
        if (opened === 'empty') empty.push(path);
        else if ('lost' in opened) {
          if (opened.lost !== 0) await damage.ofFile(path, opened.lost);
          empty.push(path);
        } else {
          if (opened.isHeaderDamaged)
            await damage.ofPart(opened, { from: 0, to: opened.acknowledged, lost: 0 });
          segments.push(opened);
        }
      } catch (error) {
        await failed(name, error);
      }
    }
    return { segments, empty };
  };
}
