import type { Hold } from '../../../src/agent/run/holds.ts';
import type { RunParts } from '../../../src/agent/run/run-job.ts';
import { JobAborted } from '../../../src/errors.ts';

/** Leases that are not renewed, for jobs that run without a service: each hold is added to `holds`. */
export function testLeases(holds: Hold[]): RunParts['leases'] {
  return {
    hold: (job) => {
      const hold: Hold = {
        ...job,
        phase: 'queued',
        runningSince: 0,
        stage: null,
        lines: null,
        leaving: false,
        released: false,
        aborted: null,
        onAbort: null,
        abort: (code) => {
          hold.aborted ??= new JobAborted(code);
          hold.onAbort?.();
        },
        end: () => undefined,
      };
      holds.push(hold);
      return hold;
    },
    release: () => Promise.resolve(),
  };
}
