import { mkdtempSync, readFileSync, readdirSync, rmSync, statSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, expect, test } from 'vitest';
import { createChildSlots } from '../../../src/script/process/child-slots.ts';
import { refusedVariables, scriptEnvironment } from '../../../src/script/process/script-environment.ts';
import { writeScriptFiles } from '../../../src/script/process/script-files.ts';
import { apiJob, variable } from '../../helpers/network/http.ts';

describe('files of a script', () => {
  let folder: string;
  beforeEach(() => {
    folder = mkdtempSync(join(tmpdir(), 'script-files-'));
  });
  afterEach(() => rmSync(folder, { recursive: true, force: true }));

  const write = (files: { path: string; content: string }[], reserved?: string[]) =>
    writeScriptFiles(folder, reserved === undefined ? { files } : { files, reserved });

  test('are written below the folder, readable only by the agent, next to home and temporary folder', async () => {
    const files = [
      { path: 'a.js', content: 'a' },
      { path: './lib/../lib/b.js', content: 'é' },
    ];
    expect(await write(files)).toBeNull();
    expect(readdirSync(folder).sort()).toEqual(['.home', '.tmp', 'a.js', 'lib']);
    expect(readFileSync(join(folder, 'lib', 'b.js'), 'utf8')).toBe('é');
    expect(statSync(join(folder, 'a.js')).mode & 0o777).toBe(0o600);
    expect(statSync(join(folder, 'lib')).mode & 0o777).toBe(0o700);
  });

  test.each([
    ['../a.js', "it leaves the script's folder"],
    ['a/../../b.js', "it leaves the script's folder"],
    ['..', "it leaves the script's folder"],
    ['/etc/passwd', "it is absolute; use a path relative to the script's folder"],
    ['a\0.js', 'it contains a NUL character'],
    ['a\nb.ts', 'it contains a control character'],
    ['a\\b.js', 'it contains a backslash; separate folders with /'],
    ['.', 'it is a folder, not a file'],
    ['lib/', 'it is a folder, not a file'],
    ['node_modules/axios/index.js', 'the name node_modules is reserved'],
    ['lib/../node_modules/x.js', 'the name node_modules is reserved'],
    ['.home/x', 'the name .home is reserved'],
    ['mine.js', 'the name mine.js is reserved'],
    [`${'a/'.repeat(40)}b.js`, 'it is more than 32 folders deep'],
    [`${'é'.repeat(130)}.js`, 'one of its names is longer than 255 bytes'],
  ])('%j is refused, and nothing is written', async (path, why) => {
    const refused = await write(
      [
        { path: 'fine.js', content: '' },
        { path, content: '' },
      ],
      ['mine.js'],
    );
    const shown = JSON.stringify(path.slice(0, 200));
    expect(refused).toEqual({
      code: 'SCRIPT_INVALID',
      owner: 'script',
      message: `the file path ${shown} is invalid: ${why}`,
    });
    expect(readdirSync(folder)).toEqual([]);
  });

  test('given twice, or file and folder at once', async () => {
    const twice = await write(['a.js', './a.js'].map((path) => ({ path, content: '' })));
    expect(twice?.message).toBe('the file path "./a.js" is invalid: it is given twice');
    const both = await write(['a', 'a/b'].map((path) => ({ path, content: '' })));
    expect(both?.message).toBe('the file path "a" is invalid: another file uses it as a folder');
  });

  test('more than 32 MB together', async () => {
    const content = 'x'.repeat(1024 * 1024);
    const refused = await write(Array.from({ length: 33 }, (_, i) => ({ path: `${i}.js`, content })));
    expect(refused?.message).toMatch(/more than 33554432 bytes together/);
  });

  test('a file that is there already is our own fault', async () => {
    writeFileSync(join(folder, 'a.js'), '');
    await expect(write([{ path: 'a.js', content: '' }])).rejects.toMatchObject({ code: 'INTERNAL' });
  });
});

describe('the environment of a script', () => {
  const job = (variables: [string, string][], more: { testSession?: boolean } = {}) =>
    apiJob(
      { url: 'http://target/' },
      {
        environmentVariables: variables.map(([key, value]) => variable(key, value)),
        scripts: { runtimeId: '2026.04', setup: [], teardown: [], files: [] },
        proxyUrl: 'http://user:password@proxy/',
        ...more,
      },
    );

  test('built-in variables; the job’s own win; empty ones, proxies and the agent’s own are not there', () => {
    const environment = scriptEnvironment(
      job([
        ['CHECK_NAME', 'mine'],
        ['REGION', ''],
        ['A', '1'],
      ]),
      { workDir: '/work', publicIp: { v4: '192.0.2.1' } },
    );
    expect({ ...environment }).toEqual({
      PATH: '/usr/local/bin:/usr/bin:/bin',
      HOME: '/work/.home',
      TMPDIR: '/work/.tmp',
      LANG: 'C.UTF-8',
      TZ: 'UTC',
      SERVICE_RUN: '1',
      SERVICE_RUN_SOURCE: 'SCHEDULER',
      SERVICE_CHECK_ID: '00000000-0000-7000-8000-000000000004',
      SERVICE_REGION: 'office',
      CHECK_ID: '00000000-0000-7000-8000-000000000004',
      CHECK_NAME: 'mine',
      CHECK_TYPE: 'API',
      CHECK_RUN_ID: '00000000-0000-7000-8000-000000000002',
      CHECK_RESULT_ID: '00000000-0000-7000-8000-000000000001',
      RUNTIME_VERSION: '2026.04',
      PUBLIC_IP_V4: '192.0.2.1',
      REQUEST_URL: 'http://target/',
      A: '1',
    });
    expect(scriptEnvironment(job([]))['CI']).toBeUndefined();
    expect(scriptEnvironment(job([], { testSession: true }))['CI']).toBe('1');
  });

  test('variables that steer the process itself, or that no environment can hold, are kept from it', () => {
    const names = ['LD_PRELOAD', 'NODE_OPTIONS', 'BASH_ENV', 'A=B', 'NODE_ENV'];
    const refused = job([...names.map((name): [string, string] => [name, 'x']), ['NUL', 'a\0b']]);
    expect(refusedVariables(refused)).toEqual(['LD_PRELOAD', 'NODE_OPTIONS', 'BASH_ENV', 'A=B', 'NUL']);
    expect(Object.keys(scriptEnvironment(refused)).filter((name) => names.includes(name))).toEqual([
      'NODE_ENV',
    ]);
  });
});

describe('slots of script processes', () => {
  const never = new AbortController().signal;

  test('first come, first served; each use leaves a quarter to the other', async () => {
    const slots = createChildSlots(4);
    const releases = await Promise.all([1, 2, 3].map(() => slots.take('playwright', never)));
    const order: string[] = [];
    const fourth = slots.take('playwright', never).then((release) => {
      order.push('fourth');
      return release;
    });
    const fifth = slots.take('playwright', never).then((release) => {
      order.push('fifth');
      return release;
    });
    const api = await slots.take('api', never);
    const secondApi = slots.take('api', never);
    expect(slots.taken).toEqual({ api: 1, playwright: 3 });
    expect(slots.waiting).toEqual({ api: 1, playwright: 2 });
    releases[0]?.();
    releases[0]?.();
    // The one that has waited longest of those that may have it.
    (await fourth)();
    (await fifth)();
    expect(order).toEqual(['fourth', 'fifth']);
    (await secondApi)();
    api();
    releases[1]?.();
    releases[2]?.();
    expect(slots.taken).toEqual({ api: 0, playwright: 0 });
  });

  test('who gives up waiting is out of the line', async () => {
    const slots = createChildSlots(2);
    const release = await slots.take('api', never);
    const controller = new AbortController();
    const waiting = slots.take('api', controller.signal);
    controller.abort(new Error('gone'));
    await expect(waiting).rejects.toThrow('gone');
    await expect(slots.take('api', controller.signal)).rejects.toThrow('gone');
    expect(slots.waiting.api).toBe(0);
    release();
    (await slots.take('api', never))();
  });
});
