import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { framed } from '../../../src/agent/outbox/frames.ts';
import { decodeHeader, encodeHeader, headerBytes } from '../../../src/agent/outbox/segment-header.ts';
import { openSegment, openFile } from '../../../src/agent/outbox/segment-file.ts';
import { readFrames } from '../../../src/agent/outbox/read-frames.ts';

/** Segments of the outbox after a crash, a full disk or a bad one: whatever can be found is read, and reading ends. */

export const name = 'outbox-segment';
export const maxBytes = 32 * 1024;

let folder: string | null = null;

/** Throws if a segment is not read to its end, or if a frame is found twice. */
export async function run(data: Buffer): Promise<void> {
  folder ??= mkdtempSync(join(tmpdir(), 'fuzz-segment-'));
  const path = join(folder, 'one.seg');
  writeFileSync(path, data);
  decodeHeader(data.subarray(0, headerBytes[2]));
  const segment = await openSegment(path, 0);
  if (segment === 'empty' || 'lost' in segment) return;
  const file = await openFile(path);
  try {
    let [from, next] = [segment.acknowledged, segment.next];
    while (from < segment.size) {
      const range = { from, to: segment.size, next, maxItems: 100, maxBytes: 1024 * 1024 };
      const { frames, damage } = await readFrames(file, segment.format, range);
      const last = frames.at(-1);
      const to = last?.end ?? damage?.to ?? null;
      const following = last === undefined ? (damage?.next ?? next) : last.number + 1;
      // Damage may be of no length: frames are missing, and the next one is here.
      if (to === null || to < from || (to === from && following <= next))
        throw new Error(`no way on from ${from}`);
      if (to > segment.size) throw new Error(`${to} is after the end`);
      [from, next] = [to, following];
    }
  } finally {
    await file.close();
  }
}

export const close = (): void => {
  if (folder !== null) rmSync(folder, { recursive: true, force: true });
};

export const seeds = (): Buffer[] => {
  const payloads = ['{"jobId":"a"}', '{"jobId":"b","x":1}', '', '{"c":"'.concat('x'.repeat(300), '"}')].map(
    (text) => Buffer.from(text),
  );
  const scratch = Buffer.alloc(4096);
  const frames = Buffer.from(framed(payloads, { time: 1_700_000_000_000, number: 0, scratch }));
  const start = headerBytes[2];
  const all = start + frames.length;
  return [
    [start, 0, payloads.length],
    [start, 0, 0],
    [all, 4, 4],
    [start, 1, 4],
  ].map(([acknowledgedEnd = 0, acknowledgedFrames = 0, writtenFrames = 0]) =>
    Buffer.concat([
      encodeHeader({ acknowledgedEnd, acknowledgedFrames, writtenFrames, writtenEnd: all }),
      frames,
    ]),
  );
};

export const dictionary = ['LAOUTBX1', 'LAOUTBX2', Buffer.alloc(8), Buffer.alloc(64), Buffer.alloc(512)];
