import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { startChild } from '../../../src/script/process/child-process.ts';

/** A child that sends messages nested so deeply that looking at one would block the agent. */

let folder = '';
beforeAll(() => (folder = mkdtempSync(join(tmpdir(), 'deep-messages-'))));
afterAll(() => rmSync(folder, { recursive: true, force: true }));

test(
  'a message that is nested too deeply is garbage; the next one is read',
  { timeout: 60_000 },
  async () => {
    const file = join(folder, 'deep.mjs');
    const nested = (depth: number) => `'['.repeat(${depth}) + ']'.repeat(${depth})`;
    writeFileSync(
      file,
      `import { writeSync } from 'node:fs';
     const send = (text) => { let rest = Buffer.from(text + '\\n'); while (rest.length > 0) {
       try { rest = rest.subarray(writeSync(3, rest)); } catch (error) { if (error.code !== 'EAGAIN') throw error; } } };
     send(${nested(1_000_000)});
     send(${nested(501)});
     send(${nested(500)});
     send('{"fine":"' + '['.repeat(1000) + '"}');`,
    );
    const messages: unknown[] = [];
    let garbage = 0;
    const child = await startChild({
      node: process.execPath,
      file,
      cwd: folder,
      env: { PATH: '/usr/bin:/bin' },
      readable: [],
      writable: [folder],
      mayStartPrograms: true,
      limits: {
        memoryBytes: 512 * 1024 ** 2,
        cpuSeconds: 30,
        outputBytes: 1024 ** 2,
        diskBytes: 1024 ** 2,
        processes: 200,
      },
      onLine: (line) => process.stderr.write(`${line}\n`),
      onMessage: (message) => messages.push(message),
      onGarbage: () => (garbage += 1),
    });
    await child.ended;
    expect(garbage).toBe(2);
    expect(messages).toEqual([expect.any(Array), { fine: '['.repeat(1000) }]);
  },
);
