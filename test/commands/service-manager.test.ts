import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { spawn, type ChildProcess } from 'node:child_process';
import { once } from 'node:events';
import { afterEach, beforeEach, expect, test, vi } from 'vitest';
import { createServiceManager } from '../../src/commands/service-manager.ts';
import { createLog } from '../../src/log.ts';
import { loadNative } from '../../src/native/native.ts';

/** Messages to a service manager, received by a real datagram socket (Python's, because Node has none). */

const log = createLog({ level: 'ERROR', scrub: (line) => line });
const receiver = `
import socket, sys
s = socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM)
name = sys.argv[1]
s.bind('\\0' + name[1:] if name[0] == '@' else name)
print('ready', flush=True)
while True: print(s.recv(4096).decode(), flush=True)
`;

let folder = '';
let manager: ChildProcess | undefined;
beforeEach(() => {
  folder = mkdtempSync(join(tmpdir(), 'notify-'));
});
afterEach(() => {
  vi.useRealTimers();
  manager?.kill();
  rmSync(folder, { recursive: true, force: true });
});

/** Starts a receiver at `address`; returns a function that resolves with its next line. */
async function listen(address: string): Promise<() => Promise<string>> {
  manager = spawn('python3', ['-c', receiver, address], { stdio: ['ignore', 'pipe', 'inherit'] });
  const output = manager.stdout;
  if (output === null) throw new Error('no output');
  let text = '';
  output.setEncoding('utf8').on('data', (more: string) => (text += more));
  const next = async (): Promise<string> => {
    while (!text.includes('\n')) await once(output, 'data');
    const [line = ''] = text.split('\n', 1);
    text = text.slice(line.length + 1);
    return line;
  };
  expect(await next()).toBe('ready');
  return next;
}

test.skipIf(loadNative() === null).each(['file', 'abstract'])(
  'a program reports its start, its signs of life and its end: %s',
  async (kind) => {
    const socket = kind === 'file' ? join(folder, 'socket') : `@location-agent-test-${process.pid}`;
    const next = await listen(socket);
    vi.useFakeTimers({ toFake: ['setInterval', 'clearInterval'] });
    let isAlive = true;
    const env = { NOTIFY_SOCKET: socket, WATCHDOG_USEC: '30000000', WATCHDOG_PID: '77' };
    const link = createServiceManager({ env, log, isAlive: () => isAlive, pid: 77 });
    link.ready();
    expect(await next()).toBe('READY=1');
    vi.advanceTimersByTime(15_000);
    expect(await next()).toBe('WATCHDOG=1');
    // A stuck program sends no sign of life, so the next message is that of the end.
    isAlive = false;
    vi.advanceTimersByTime(60_000);
    link.stopping();
    expect(await next()).toBe('STOPPING=1');
    link.close();
    expect(vi.getTimerCount()).toBe(0);
  },
);

test('without a manager, or with a watchdog for another process, there is no timer', async () => {
  vi.useFakeTimers({ toFake: ['setInterval', 'clearInterval'] });
  createServiceManager({ env: { WATCHDOG_USEC: '1000' }, log, isAlive: () => true }).ready();
  createServiceManager({ env: { NOTIFY_SOCKET: 'vsock:2:1' }, log, isAlive: () => true }).ready();
  const env = { NOTIFY_SOCKET: join(folder, 'none'), WATCHDOG_USEC: '1000', WATCHDOG_PID: '1' };
  createServiceManager({ env, log, isAlive: () => true, pid: 2 }).ready();
  expect(vi.getTimerCount()).toBe(0);
});
