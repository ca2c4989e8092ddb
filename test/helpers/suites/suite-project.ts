import { spawn } from 'node:child_process';
import { mkdirSync, mkdtempSync, rmSync, symlinkSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { stripVTControlCharacters } from 'node:util';
import type { Suite } from '../../../src/protocol/suite.ts';
import { testCommandOf } from '../../../src/script/suite/command.ts';
import { injectConfig } from '../../../src/script/suite/config.ts';
import type { SuitePlace } from '../../../src/script/suite/place/place.ts';
import { readSuiteReport, type SuiteReport } from '../../../src/script/suite/report/report.ts';
import { runtime } from '../scripts/playwright.ts';

/** Small projects of customers, run by the Playwright of the newest runtime without what surrounds a suite. */

/** The folders of a run whose project has `files` and Playwright only. */
export function makeProject(files: { readonly [path: string]: string }): SuitePlace {
  const root = mkdtempSync(join(tmpdir(), 'suite-test-'));
  const project = join(root, 'project');
  const place: SuitePlace = {
    root,
    project,
    working: project,
    home: join(root, 'home'),
    temporary: join(root, 'tmp'),
    report: join(root, 'report'),
  };
  for (const folder of [place.home, place.temporary, place.report]) mkdirSync(folder, { recursive: true });
  for (const [path, text] of Object.entries({ 'package.json': '{"name":"project"}', ...files })) {
    mkdirSync(dirname(join(project, path)), { recursive: true });
    writeFileSync(join(project, path), text);
  }
  if (runtime !== undefined) {
    mkdirSync(join(project, 'node_modules', '@playwright'), { recursive: true });
    for (const name of ['@playwright/test', 'playwright', 'playwright-core'])
      symlinkSync(join(runtime.folder, 'node_modules', name), join(project, 'node_modules', name));
  }
  return place;
}

export const removeProject = (place: SuitePlace): void =>
  rmSync(place.root, { recursive: true, force: true });

export type ProjectRun = { report: SuiteReport; configs: string[]; code: number | null; output: string };

/**
 * Lays the settings over the project, runs its tests, reads what they left. `modules`: the project has ES modules, for which
 * Playwright loads itself a second time in each of its processes.
 */
export async function runProject(
  place: SuitePlace,
  given: Partial<Pick<Suite, 'configPath' | 'testCommand' | 'projects' | 'tags'>> & {
    modules?: boolean;
  } = {},
  limitMs = 60_000,
): Promise<ProjectRun> {
  if (runtime === undefined) throw new Error('no runtime is installed');
  const { modules = false, ...settings } = given;
  const suite = { configPath: null, testCommand: null, projects: [], tags: [], ...settings };
  const { configs, env } = await injectConfig({ place, suite });
  const cli = `${process.execPath} node_modules/@playwright/test/cli.js`;
  const { command } = testCommandOf({ suite, manager: { exec: '' } });
  const child = spawn(
    '/bin/sh',
    ['-c', command.replaceAll(/(?<![\w/])playwright (?=test|merge)/g, `${cli} `)],
    {
      cwd: place.working,
      // Not CI: the reports of failed runs would be served.
      env: {
        PATH: '/usr/bin:/bin',
        HOME: place.home,
        TMPDIR: place.temporary,
        NODE_COMPILE_CACHE: join(place.root, 'compiled'),
        ...(modules ? {} : { PW_DISABLE_TS_ESM: '1' }),
        ...env,
      },
      stdio: ['ignore', 'pipe', 'pipe'],
      detached: true,
    },
  );
  const { pid } = child;
  const timer = setTimeout(() => pid !== undefined && process.kill(-pid, 'SIGKILL'), limitMs);
  let output = '';
  for (const stream of [child.stdout, child.stderr]) stream.on('data', (chunk) => (output += String(chunk)));
  const { code, signal } = await new Promise<{ code: number | null; signal: NodeJS.Signals | null }>(
    (resolve) => child.on('close', (code, signal) => resolve({ code, signal })),
  );
  clearTimeout(timer);
  const lastLines = stripVTControlCharacters(output)
    .split('\n')
    .filter((line) => line.trim() !== '' && !/^\s+at /.test(line))
    .slice(-40);
  const report = await readSuiteReport({ place, end: { code, signal, exceeded: null }, lastLines });
  return { report, configs, code, output };
}
