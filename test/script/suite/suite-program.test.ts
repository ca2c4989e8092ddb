import { existsSync, mkdirSync, mkdtempSync, readdirSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { JobAborted } from '../../../src/errors.ts';
import { confinement, type Confinement } from '../../../src/script/process/confinement.ts';
import { programRunner, suiteLimits } from '../../../src/script/suite/program.ts';
import type { ProgramEnd, RunProgram } from '../../../src/script/suite/place/place.ts';

/** Shell commands of a suite: how they are ended, what bounds them, and that nothing of them stays. */

let place: ReturnType<typeof foldersOf>;
/** The project's folder. */
let root = '';
let host: Confinement;
beforeAll(async () => {
  place = placeIn(mkdtempSync(join(tmpdir(), 'suite-program-')));
  root = place.project;
  host = await confinement();
  for (const line of host.missing) process.stderr.write(`not tested here: ${line}\n`);
});
afterAll(() => rmSync(place.root, { recursive: true, force: true }));

function placeIn(folder: string): ReturnType<typeof foldersOf> {
  const folders = foldersOf(folder);
  for (const path of Object.values(folders)) mkdirSync(path, { recursive: true });
  return folders;
}
const foldersOf = (folder: string) => ({
  root: folder,
  project: join(folder, 'project'),
  home: join(folder, 'home'),
  temporary: join(folder, 'tmp'),
  report: join(folder, 'report'),
});

/** Processes, anywhere, whose command line holds the mark. */
function processesWith(mark: string): string[] {
  return readdirSync('/proc').filter((name) => {
    if (!/^\d+$/.test(name)) return false;
    try {
      return readFileSync(`/proc/${name}/cmdline`, 'utf8').includes(mark);
    } catch {
      return false; // it has just ended
    }
  });
}

const node = `'${process.execPath}' -e`;
/** Says `ready`, then does what `onSignals` says until it is killed. */
const server = (onSignals: string) =>
  `${node} "${onSignals}; setInterval(() => undefined, 1000); console.log('ready')"`;

type Running = { end: Promise<ProgramEnd>; lines: string[]; ready: Promise<void>; abort: AbortController };

function start(
  layers: Confinement,
  command: string,
  more: Partial<Parameters<RunProgram>[0]> & { limits?: Partial<ReturnType<typeof suiteLimits>> } = {},
): Running {
  const lines: string[] = [];
  const abort = new AbortController();
  let begin: () => void = () => undefined;
  const ready = new Promise<void>((resolve) => (begin = resolve));
  const run = programRunner({
    place,
    limits: { ...suiteLimits(1), ...more.limits },
    readable: () => [],
    layers: Promise.resolve(layers),
  });
  const end = run({
    command,
    cwd: root,
    env: { PATH: '/usr/local/bin:/usr/bin:/bin', TMPDIR: place.temporary },
    readable: [process.execPath],
    timeoutMs: 20_000,
    signal: abort.signal,
    ...more,
    onLine: (line) => {
      lines.push(line);
      if (line === 'ready') begin();
    },
  });
  return { end, lines, ready, abort };
}

const cancel = new JobAborted('cancelled');

describe.for([
  { kind: 'with all layers', layers: () => host },
  {
    kind: 'without namespaces',
    layers: (): Confinement => ({ ...host, holds: { ...host.holds, namespaces: false } }),
  },
  {
    kind: 'without a launcher',
    layers: (): Confinement => ({ ...host, launcher: null }),
    unsupervised: true,
  },
])('$kind', { timeout: 30_000 }, ({ layers, unsupervised = false }) => {
  it('runs a shell command in a folder, with the environment that it is given', async () => {
    const { end, lines } = start(layers(), 'echo "in $(pwd)"; echo "$TMPDIR" >&2; echo "$API_KEY"; exit 3');
    expect(await end).toEqual({ code: 3, signal: null, exceeded: null, timedOut: false, aborted: false });
    expect(lines.toSorted()).toEqual(['', place.temporary, `in ${root}`].toSorted());
  });

  it.for([
    { how: 'alone', before: '' },
    { how: 'as the last of several commands', before: 'true && ' },
  ])('a test runner stops as by Ctrl-C, with its report: $how', async ({ before }) => {
    const report = join(root, 'report');
    const runner = `process.on('SIGINT', () => { setTimeout(() => { require('fs').writeFileSync('report', 'interrupted'); process.exit(130); }, 300); })`;
    // A browser in its own process group: it still runs when the report is written.
    const browser = `const child = require('child_process').spawn('sleep', ['60'], { detached: true }); child.on('exit', () => console.log('browser gone')); console.log('browser ' + child.pid)`;
    const { end, ready, abort, lines } = start(layers(), before + server(`${runner}; ${browser}`));
    await ready;
    abort.abort(cancel);
    expect(await end).toMatchObject({ aborted: true, timedOut: false });
    expect(readFileSync(report, 'utf8')).toBe('interrupted');
    expect(lines).not.toContain('browser gone');
    rmSync(report);
    const browserId = lines.find((line) => /^browser \d+$/.test(line))?.slice('browser '.length);
    expect(browserId).toBeDefined();
    // Nothing but a launcher takes along what has left the process group.
    if (unsupervised) process.kill(Number(browserId), 'SIGKILL');
  });

  it('a program that ignores SIGINT gets SIGTERM, and then SIGKILL', async () => {
    const mark = `deaf-${process.pid}-${performance.now()}`;
    const deaf = server(
      `process.on('SIGINT', () => 0); process.on('SIGTERM', () => console.log('asked to end')); process.title; '${mark}'`,
    );
    const { end, ready, abort, lines } = start(layers(), deaf, { graceMs: 1500 });
    await ready;
    const began = performance.now();
    abort.abort(cancel);
    const ended = await end;
    const took = performance.now() - began;
    expect(ended).toMatchObject({ aborted: true, code: null });
    if (!unsupervised) {
      // Without a supervisor the shell goes before its commands, and takes them along.
      expect(ended.signal).toBe('SIGKILL');
      expect(took).toBeGreaterThan(1400);
      expect(lines).toContain('asked to end');
    }
    expect(processesWith(mark)).toEqual([]);
  });

  it('kills daemons and servers of the program', async ({ skip }) => {
    if (unsupervised) skip(); // a process group is all there is
    const mark = `daemon-${process.pid}-${Math.floor(performance.now())}`;
    const daemon = `${node} "process.on('SIGTERM', () => 0); process.on('SIGHUP', () => 0); process.on('SIGINT', () => 0); setInterval(() => '${mark}', 1000); console.log('ready')"`;
    const { end, ready, abort } = start(layers(), `(setsid ${daemon} &) ; sleep 60`, { graceMs: 1000 });
    await ready;
    abort.abort(cancel);
    expect(await end).toMatchObject({ aborted: true });
    expect(processesWith(mark)).toEqual([]);
    const left = await start(layers(), `setsid ${daemon} & sleep 0.3; exit 0`).end;
    expect(left).toMatchObject({ code: 0, aborted: false });
    expect(processesWith(mark)).toEqual([]);
  });

  it('kills a program at its timeout', async () => {
    expect(await start(layers(), 'sleep 60', { timeoutMs: 300 }).end).toMatchObject({
      timedOut: true,
      aborted: false,
    });
  });

  it('kills at once when the agent stops or has lost its lease', async () => {
    const { end, ready, abort } = start(layers(), server(`process.on('SIGINT', () => 0)`));
    await ready;
    abort.abort(new JobAborted('lease-lost'));
    expect(await end).toMatchObject({ aborted: true, signal: 'SIGKILL' });
  });

  it('starts nothing if the signal has already fired', async () => {
    const running = new AbortController();
    running.abort(cancel);
    const { end } = start(layers(), 'touch started', { signal: running.signal });
    expect(await end).toMatchObject({ aborted: true, code: null });
    expect(existsSync(join(root, 'started'))).toBe(false);
  });

  it('kills a program that prints endlessly', async () => {
    const end = await start(layers(), 'yes', { limits: { outputBytes: 1_000_000 } }).end;
    expect(end).toMatchObject({ exceeded: 'outputBytes' });
  });

  it('kills a program that writes too much, in many files or in one', async ({ skip }) => {
    if (unsupervised) skip();
    const limits = { diskBytes: 8 * 1024 ** 2 };
    const many = `i=0; while true; do head -c 1000000 /dev/zero > big-$i; i=$((i + 1)); sleep 0.02; done`;
    expect(await start(layers(), many, { limits }).end).toMatchObject({ exceeded: 'diskBytes' });
    const one = 'head -c 100000000 /dev/zero > big-one; exit $?';
    expect(await start(layers(), one, { limits }).end).toMatchObject({ exceeded: 'diskBytes' });
    for (const name of readdirSync(root)) if (name.startsWith('big-')) rmSync(join(root, name));
  });

  it('does not see the environment of the agent', async ({ skip }) => {
    if (unsupervised || !host.holds.landlock) skip();
    process.env['API_KEY'] = 'pl_suite_program_key';
    const reads = ['environ', 'mem', 'maps'].map(
      (name) => `head -c 1 /proc/${process.pid}/${name} && echo read`,
    );
    const { end, lines } = start(layers(), ['env', ...reads].join('; '));
    await end;
    delete process.env['API_KEY'];
    expect(lines.join('\n')).toContain('TMPDIR=');
    expect(lines.join('\n')).not.toContain('pl_suite_program_key');
    expect(lines.filter((line) => line.includes('read') && !line.includes(':'))).toEqual([]);
  });

  it('denies access to files of others', async ({ skip }) => {
    if (unsupervised || !host.holds.landlock) skip();
    const secret = mkdtempSync(join(tmpdir(), 'suite-secret-'));
    const { end, lines } = start(
      layers(),
      `cat ${secret}/x; ls ${secret}; touch ${secret}/y; cat /etc/shadow`,
    );
    expect((await end).code).not.toBe(0);
    expect(
      lines.filter((line) => /Permission denied|No such file|Read-only/.test(line)).length,
    ).toBeGreaterThanOrEqual(3);
    rmSync(secret, { recursive: true });
  });
});

it('has a /tmp of its own, where the host allows it', async ({ skip }) => {
  if (!host.holds.namespaces) skip();
  const folder = mkdtempSync('/var/tmp/suite-program-');
  const own = placeIn(folder);
  const mark = `suite-${process.pid}-${Math.floor(performance.now())}`;
  try {
    const run = programRunner({
      place: own,
      limits: suiteLimits(1),
      readable: () => [],
    });
    const end = await run({
      command: `echo word > /tmp/${mark} && cat /tmp/${mark} "$TMPDIR/${mark}"`,
      cwd: folder,
      env: { PATH: '/usr/bin:/bin', TMPDIR: own.temporary },
      timeoutMs: 20_000,
      signal: new AbortController().signal,
      onLine: () => undefined,
    });
    expect(end).toMatchObject({ code: 0 });
    expect(readFileSync(join(own.temporary, mark), 'utf8')).toBe('word\n');
    expect(existsSync(`/tmp/${mark}`)).toBe(false);
  } finally {
    rmSync(folder, { recursive: true, force: true });
  }
});

it('limits the memory of a suite to its share of the machine', () => {
  const one = suiteLimits(1).memoryBytes;
  expect(one).toBeLessThanOrEqual(6.8 * 1024 ** 3);
  expect(suiteLimits(1000).memoryBytes).toBe(1024 ** 3);
  expect(suiteLimits(2).memoryBytes).toBeLessThanOrEqual(one);
});
