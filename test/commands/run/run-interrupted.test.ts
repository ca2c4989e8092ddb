import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { expect, test } from 'vitest';
import { run } from '../../../src/commands/run/run.ts';

test('Ctrl-C cancels a run, which reports that it was interrupted', { timeout: 30_000 }, async () => {
  const folder = mkdtempSync(join(tmpdir(), 'run-interrupted-'));
  // Never answers: the waiting run is interrupted.
  const server = createServer(() => void process.emit('SIGINT'));
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  const path = join(folder, 'check.json');
  const url = `http://127.0.0.1:${(server.address() as AddressInfo).port}/`;
  writeFileSync(path, JSON.stringify({ checkType: 'URL', request: { url } }));
  let out = '';
  const code = await run([path], {
    env: { AGENT_DATA_DIR: join(folder, 'data') },
    stdout: (text) => (out += text),
    stderr: () => undefined,
  });
  server.close().closeAllConnections();
  rmSync(folder, { recursive: true, force: true });
  expect(code).not.toBe(0);
  expect(out).toContain('the run was interrupted here');
  expect(out).not.toContain('service');
});
