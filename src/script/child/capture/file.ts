import { mkdirSync, openSync, writeSync } from 'node:fs';
import { join } from 'node:path';
import { bounds, type CaptureRecord } from './format.ts';

/** Room for the record that says that a secret found no room. */
const reservedBytes = 100;

export type RecordFile = { write: (record: CaptureRecord) => void };

/**
 * The file of this process's records below `folder`. Secrets have one of their own, so that other records leave them
 * room. It is opened at the first record. Each record is written at once, because the process may be killed at any
 * moment. The total size is limited. Never throws.
 */
export function openRecordFile(folder: string, name: 'capture' | 'secrets' = 'capture'): RecordFile {
  let file: number | null = null;
  let hasLost = false;
  let left: number = bounds.recordBytes - reservedBytes;
  return {
    write: (record) => {
      try {
        let line = Buffer.from(`${JSON.stringify(record)}\n`);
        if (line.length > left) {
          if (hasLost || (record.kind !== 'secret' && record.kind !== 'lost-secret')) return;
          hasLost = true;
          line = Buffer.from(`${JSON.stringify({ kind: 'lost-secret', limit: 'records' })}\n`);
          left += line.length;
        }
        left -= line.length;
        if (file === null) {
          mkdirSync(folder, { recursive: true });
          // Never follows a link or appends to a file that another process has put there.
          file = openSync(join(folder, `${name}-${process.pid}-${Date.now()}.jsonl`), 'wx', 0o600);
        }
        for (let at = 0; at < line.length;) at += writeSync(file, line, at);
      } catch {
        // A full disk costs the record, but must not fail the test.
      }
    },
  };
}
