import {
  chmodSync,
  copyFileSync,
  mkdirSync,
  mkdtempSync,
  readFileSync,
  rmSync,
  writeFileSync,
} from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { toError } from '../../../../src/errors.ts';
import { startProgram } from '../../../../src/script/process/child-process.ts';
import { confinement, type Confinement } from '../../../../src/script/process/confinement.ts';
import { buildTests, type TestProgram } from './build.ts';
import { breachesIn, expectations, outcomeOf, withBrowserSandbox } from './expected.ts';

/**
 * Linux' own tests of Landlock and seccomp inside of a script's confinement. They make layers of their own inside of ours:
 * those still hold, and nothing that our layers refuse is allowed.
 *
 * `KERNEL_SELFTESTS=fetch` downloads Debian's package of the kernel's source; it can also be a folder with that source. This needs
 * a compiler, make, rsync, flex, bison and libcap-dev.
 */

const from = process.env['KERNEL_SELFTESTS'] ?? '';
const root = join(import.meta.dirname, '..', '..', '..', '..');
const cache = join(root, 'build', 'kernel-selftests');
const runner = join(root, 'test', 'fixtures', 'confinement', 'run-selftests.mjs');

let folder = '';
let own = '';
let programs: TestProgram[] = [];
let host: Confinement;
let missing: string | null = null;

beforeAll(async () => {
  host = await confinement();
  folder = mkdtempSync(join(tmpdir(), 'location-agent-selftests-'));
  chmodSync(folder, 0o755);
  own = join(folder, 'own');
  mkdirSync(own);
  mkdirSync(join(folder, 'bin'));
  copyFileSync(runner, join(folder, 'bin', 'run-selftests.mjs'));
  if (from === '') missing = "KERNEL_SELFTESTS=fetch downloads the kernel's source, which this needs";
  else if (!host.holds.landlock || !host.holds.seccomp || !host.holds.namespaces)
    missing = 'this host lacks a layer';
  else {
    try {
      programs = buildTests({ from, cache, folder: join(folder, 'bin') });
    } catch (error) {
      missing = toError(error).message;
    }
  }
  if (missing !== null)
    process.stderr.write(`not tested here: Linux' own tests of Landlock and seccomp: ${missing}\n`);
}, 540_000);
afterAll(() => rmSync(folder, { recursive: true, force: true }));

/** The output of each test, by the names of its program and itself. */
async function outputsOf(options: { browserSandbox: boolean }): Promise<Map<string, string>> {
  const [input, output] = [join(folder, 'bin', 'input.json'), join(own, 'output.json')];
  writeFileSync(input, JSON.stringify(programs));
  const lines: string[] = [];
  const program = await startProgram(
    {
      command: [process.execPath, join(folder, 'bin', 'run-selftests.mjs'), output, input],
      cwd: own,
      env: { PATH: '/usr/bin:/bin', HOME: own, TMPDIR: own },
      readable: [join(folder, 'bin')],
      writable: [own],
      mayStartPrograms: true,
      ...options,
      limits: {
        memoryBytes: 2 * 1024 ** 3,
        cpuSeconds: 600,
        outputBytes: 1024 ** 2,
        diskBytes: 64 * 1024 ** 2,
        processes: 2_000,
      },
      onLine: (line) => lines.push(line),
    },
    Promise.resolve(host),
  );
  expect({ ...(await program.ended), lines }).toMatchObject({ code: 0 });
  return new Map(Object.entries(JSON.parse(readFileSync(output, 'utf8')) as { [name: string]: string }));
}

describe.for([
  { who: 'a program', browserSandbox: false },
  { who: 'a program that may start a browser', browserSandbox: true },
])('$who', ({ browserSandbox }) => {
  it('gains no right that the confinement refuses', async ({ skip }) => {
    if (missing !== null) skip();
    const outputs = await outputsOf({ browserSandbox });
    const list = browserSandbox ? [...withBrowserSandbox, ...expectations] : expectations;
    const counts = { passes: 0, refused: 0, skips: 0 };
    const wrong: string[] = [];
    for (const [name, output] of outputs) {
      const expected = list.find(({ tests }) => tests.test(name));
      const outcome = outcomeOf(output);
      counts[outcome] += 1;
      const say = (problem: string) => wrong.push(`${name} ${problem}:\n${output.slice(0, 1_500)}`);
      for (const line of breachesIn(output).filter((each) => expected?.sign?.test(each) !== true))
        say(`was allowed what it expects to be refused (${line})`);
      if (outcome !== expected?.outcome) say(`${outcome}, but the list says ${expected?.outcome}`);
      else if (expected.sign?.test(output) === false)
        say(`was refused something other than: ${expected.why}`);
    }
    process.stderr.write(`Linux' own tests: ${JSON.stringify(counts)}\n`);
    expect(wrong.join('\n')).toBe('');
    expect(outputs.size).toBe(programs.flatMap(({ tests }) => tests).length);
    expect(counts.passes).toBeGreaterThan(100);
  }, 300_000);
});
