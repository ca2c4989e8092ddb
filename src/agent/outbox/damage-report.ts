import { promises as fs } from 'node:fs';
import { basename } from 'node:path';
import { toError } from '../../errors.ts';
import type { Log } from '../../log.ts';
import type { AgentMetrics } from '../metrics/counters.ts';
import { asideLimits, type Aside } from './aside.ts';
import type { Segment } from './segment-file.ts';

/** Counts, sets aside and reports what damage of segments costs. None of its functions reject. */
export type DamageReport = {
  /** A part of a segment is damaged; `lost`: results that it cost, null = unknown. */
  ofPart: (segment: Segment, damage: { from: number; to: number; lost: number | null }) => Promise<void>;
  /** A file was cut short, or cannot be recognised. */
  ofFile: (path: string, lost: number | null) => Promise<void>;
  /** The disk does not return the content of a segment. */
  unreadable: (path: string, lost: number | null, error: unknown) => Promise<void>;
};

export function createDamageReport(options: {
  aside: Aside;
  metrics: AgentMetrics;
  log: Log;
  fault: (error: Error, message: string) => void;
}): DamageReport {
  const { aside, metrics, log } = options;

  const report = (lost: number | null, detail: string) => {
    metrics.outboxDamaged += 1;
    metrics.resultsDamaged += lost ?? 1;
    const cost =
      lost === null
        ? 'an unknown number of results is lost'
        : `${lost} ${lost === 1 ? 'result is' : 'results are'} lost`;
    options.fault(new Error(`${cost}: ${detail}`), 'outbox segment is damaged');
  };

  const keep = async (name: string, path: string, range: { from: number; to: number }) => {
    try {
      const file = await fs.open(path, 'r');
      try {
        const bytes = Buffer.alloc(Math.min(asideLimits.fileBytes, range.to - range.from));
        const { bytesRead } = await file.read(bytes, 0, bytes.length, range.from);
        await aside.keep(`${name}.damaged`, bytes.subarray(0, bytesRead));
      } finally {
        await file.close();
      }
    } catch (error) {
      log.warn({ err: toError(error) }, 'damaged part of a segment could not be set aside');
    }
  };

  return {
    ofPart: async ({ path }, { from, to, lost }) => {
      report(lost, `${to - from} bytes at ${from} are damaged`);
      if (to > from) await keep(`${basename(path)}-${from}`, path, { from, to });
    },
    ofFile: async (path, lost) => {
      report(lost, 'the file was cut short or is no segment');
      const size = await fs.stat(path).then(
        (stats) => stats.size,
        () => 0,
      );
      if (size > 0) await keep(basename(path), path, { from: 0, to: size });
    },
    unreadable: async (path, lost, error) => {
      const { code, message } = toError(error) as NodeJS.ErrnoException; // the file system's errors have a code
      report(lost, `${basename(path)} cannot be read (${code ?? message})`);
    },
  };
}
