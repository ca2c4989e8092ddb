import { mkdirSync, openSync, writeSync } from 'node:fs';
import { join } from 'node:path';
import { bounds, type CaptureRecord } from './format.ts';

export type RecordFile = { write: (record: CaptureRecord) => void };

/**
 * The file of this process's records below `folder`: opened at the first one, each written at once (the process may be killed
 * at any moment), bounded as a whole. Never throws.
 */
export function openRecordFile(folder: string): RecordFile {
  let file: number | null = null;
  let left: number = bounds.recordBytes;
  return {
    write: (record) => {
      try {
        const line = Buffer.from(`${JSON.stringify(record)}\n`);
        if (line.length > left) return;
        left -= line.length;
        if (file === null) {
          mkdirSync(folder, { recursive: true });
          // Never follows or continues a file that someone else has put there.
          file = openSync(join(folder, `capture-${process.pid}-${Date.now()}.jsonl`), 'wx', 0o600);
        }
        writeSync(file, line);
      } catch {
        // A full disk costs the record, not the test.
      }
    },
  };
}
