import { execFileSync } from 'node:child_process';
import { chmodSync, cpSync, mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join, resolve } from 'node:path';
import { describe, expect, it } from 'vitest';
import { loadNative, nativeProblem, replyNumbers, type NativePort } from '../../src/native/native.ts';

const native = loadNative();

describe.skipIf(native === null)('native addon', () => {
  if (native === null) return;
  const nothing = (): void => undefined;

  it('loads once without a problem', () => {
    expect(loadNative()).toBe(native);
    expect(nativeProblem()).toBe(null);
  });

  it('refuses arguments that would be mistakes of ours', () => {
    const wrong = native as unknown as Record<string, (...args: unknown[]) => unknown>; // to call it wrongly
    const replies = new Float64Array(replyNumbers);
    for (const args of [
      [],
      [5, false, replies, nothing, nothing],
      [4, 'no', replies, nothing, nothing],
      [4, false, new Float64Array(replyNumbers - 1), nothing, nothing],
      [4, false, new Uint8Array(replyNumbers), nothing, nothing],
    ]) {
      expect(() => wrong['openEcho']?.(...args)).toThrow(TypeError);
    }
    for (const name of ['sendEcho', 'forgetEcho', 'closeEcho']) {
      expect(() => wrong[name]?.({}, 1, '127.0.0.1', 56, 0)).toThrow(TypeError);
      expect(() => wrong[name]?.()).toThrow(TypeError);
    }
  });

  it('lists IPv6 neighbours', () => {
    const listed = native.readNeighbours6();
    if (typeof listed === 'number') return expect(listed).toBeLessThan(0);
    for (const line of listed.split('\n').filter((text) => text !== ''))
      expect(line).toMatch(/^[\da-f:.]+ [01]$/);
  });

  const port = [true, false]
    .map((raw) => native.openEcho(4, raw, new Float64Array(replyNumbers), nothing, nothing))
    .find((opened): opened is NativePort => typeof opened !== 'number');

  it.skipIf(port === undefined)('returns an errno for packets that cannot be sent', () => {
    if (port === undefined) return;
    expect(() => native.sendEcho(port, 65_536, '127.0.0.1', 56, 0)).toThrow(TypeError);
    expect(native.sendEcho(port, 1, '127.0.0.1', 56, 256)).toBe(-22);
    expect(native.sendEcho(port, 1, '127.0.0.1', 2000, 0)).toBe(-90);
    expect(native.sendEcho(port, 1, '127.0.0.1', 56, 0)).toBe(0);
    expect(native.sendEcho(port, 1, '127.0.0.1', 56, 0)).toBe(-16); // still in flight
    native.forgetEcho(port, 1);
    expect(native.sendEcho(port, 1, '127.0.0.1', 56, 0)).toBe(0);
    native.closeEcho(port);
    native.closeEcho(port);
    expect(native.sendEcho(port, 2, '127.0.0.1', 56, 0)).toBe(-9);
  });

  const addon = join(resolve(import.meta.dirname, '..', '..'), 'build', 'native', 'location_agent.node');
  const run = (script: string): string =>
    execFileSync(process.execPath, ['-e', `const native = require(${JSON.stringify(addon)});${script}`], {
      encoding: 'utf8',
      timeout: 10_000,
    });

  it('makes a process non-dumpable', () => {
    const folder = mkdtempSync(join(tmpdir(), 'location-agent-native-'));
    chmodSync(folder, 0o755); // readable for the ordinary user below
    const copy = join(folder, 'location_agent.node');
    cpSync(addon, copy);
    const script = `
      const owner = () => require('fs').statSync('/proc/self/mem').uid;
      const before = owner();
      console.log(require(${JSON.stringify(copy)}).setNonDumpable(), before === process.getuid(), owner());`;
    const command = [process.execPath, '-e', script];
    // Root's processes look the same either way.
    if (process.getuid?.() === 0) command.unshift('setpriv', '--reuid', '65534', '--clear-groups');
    const [program = '', ...args] = command;
    // Not from here: an ordinary user may not look into this folder.
    expect(execFileSync(program, args, { encoding: 'utf8', timeout: 10_000, cwd: '/' })).toBe('0 true 0\n');
    rmSync(folder, { recursive: true });
  });

  it.skipIf(port === undefined)('lets the process exit with a port open', () => {
    const open =
      '[true, false].map((raw) => native.openEcho(4, raw, new Float64Array(384), () => {}, () => {}))';
    expect(run(`${open}; console.log("open")`)).toBe('open\n');
  });

  it.skipIf(port === undefined)('lets a worker thread exit with a port open, and be collected', () => {
    const worker = `
      const native = require(${JSON.stringify(addon)});
      for (let i = 0; i < 20; i++) {
        const port = native.openEcho(4, i % 2 === 0, new Float64Array(384), () => {}, () => {});
        if (typeof port !== 'number' && i % 3 === 0) { native.sendEcho(port, i, '127.0.0.1', 56, 0); native.closeEcho(port); }
      }
      gc(); setTimeout(() => process.exit(), 50);`;
    const script = `
      const { Worker } = require('worker_threads');
      new Worker(${JSON.stringify(worker)}, { eval: true }).on('exit', (code) => console.log('worker', code));`;
    expect(
      execFileSync(process.execPath, ['--expose-gc', '-e', script], { encoding: 'utf8', timeout: 10_000 }),
    ).toBe('worker 0\n');
  });
});
