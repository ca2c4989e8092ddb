import { execFileSync } from 'node:child_process';
import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, expect, test } from 'vitest';

/** Methods of node:module that module-paths.ts and suite/helpers.ts replace, in a process of its own. */

let folder: string;
beforeAll(() => {
  folder = mkdtempSync(join(tmpdir(), 'modules-'));
  mkdirSync(join(folder, 'node_modules', 'one'), { recursive: true });
  writeFileSync(join(folder, 'node_modules', 'one', 'index.js'), 'module.exports = 1;');
});
afterAll(() => rmSync(folder, { recursive: true, force: true }));

const printed = (program: string) =>
  execFileSync(process.execPath, ['-e', program], { cwd: folder, encoding: 'utf8' }).trim();

test('require looks in the folders that Module._nodeModulePaths names, and nowhere else', () => {
  const program = (paths: string) => `
    const Module = require('node:module');
    const own = Module._nodeModulePaths;
    Module._nodeModulePaths = (from) => ${paths};
    const load = Module.createRequire(${JSON.stringify(join(folder, 'x.js'))});
    try { console.log(load('one')); } catch (error) { console.log(error.code); }`;
  expect(printed(program('own(from)'))).toBe('1');
  expect(printed(program('[]'))).toBe('MODULE_NOT_FOUND');
});

test('require asks Module._resolveFilename for the path of each name', () => {
  const path = JSON.stringify(join(folder, 'node_modules', 'one', 'index.js'));
  const program = `
    const Module = require('node:module');
    const own = Module._resolveFilename;
    Module._resolveFilename = function (name, ...rest) {
      return name === '@location-agent/helpers' ? ${path} : own.call(this, name, ...rest);
    };
    console.log(Module.createRequire(${path})('@location-agent/helpers'));`;
  expect(printed(program)).toBe('1');
});
