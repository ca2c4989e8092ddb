import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { dirname, join } from 'node:path';
import { pathToFileURL } from 'node:url';
import { beforeAll, expect, test } from 'vitest';
import { builtProgram } from '../helpers/build.ts';

/** A process with the service's last words, ended in every way that leaves it time for some. */

let modules = '';
beforeAll(async () => {
  modules = dirname(await builtProgram());
}, 120_000);

async function end(code: string, env: Record<string, string> = {}) {
  const url = (name: string) => JSON.stringify(pathToFileURL(join(modules, name)).href);
  const program = `
    const { logEveryExit } = await import(${url('commands/last-words.js')});
    const { createLog } = await import(${url('log.js')});
    const isAsItShould = logEveryExit(createLog({ level: 'ERROR', scrub: (line) => line.replaceAll('a-secret', '***') }), 'the service');
    const signal = (name) => { process.kill(process.pid, name); setTimeout(() => undefined, 5000); };
    ${code}`;
  const child = spawn(process.execPath, ['--input-type=module', '--eval', program], {
    env: { PATH: process.env['PATH'] ?? '', ...env },
    stdio: ['ignore', 'ignore', 'pipe'],
  });
  let stderr = '';
  child.stderr.setEncoding('utf8').on('data', (text: string) => (stderr += text));
  const [status, signal] = (await once(child, 'close')) as [number | null, NodeJS.Signals | null];
  return { status, signal, lines: stderr.split('\n').filter((line) => line !== '') };
}

test.each<[string, string, number | null, NodeJS.Signals | null, string]>([
  ['an exception', "setTimeout(() => { throw new Error('boom a-secret') }, 1)", 2, null, 'boom ***'],
  ['a promise that nobody handles', "Promise.reject(new Error('boom'))", 2, null, 'boom'],
  ['something thrown that is no error', "Promise.reject('boom')", 2, null, 'boom'],
  ['an exit that some part calls', 'process.exit(0)', 0, null, 'exits unexpectedly'],
  ['an exit with another code', 'process.exit(7)', 7, null, '"exitCode":7'],
  ['an exit with the code of a fault', 'process.exit(2)', 2, null, 'exits unexpectedly'],
  ['nothing left to do', '', 2, null, 'nothing keeps the service running'],
  [
    'a promise that never settles',
    'await new Promise(() => undefined)',
    2,
    null,
    'nothing keeps the service running',
  ],
  ['a signal', "signal('SIGQUIT')", null, 'SIGQUIT', '"signal":"SIGQUIT"'],
  ['another signal', "signal('SIGUSR2')", null, 'SIGUSR2', '"signal":"SIGUSR2"'],
])('%s logs a line', { timeout: 30_000 }, async (_what, code, status, signal, said) => {
  const ended = await end(code);
  expect(ended).toMatchObject({ status, signal });
  const line = ended.lines.find((text) => text.startsWith('{"level":"FATAL"'));
  expect(line).toContain(said);
  expect(ended.lines.join('')).not.toContain('a-secret');
});

test('a normal exit logs no line', { timeout: 30_000 }, async () => {
  expect(await end('isAsItShould(); process.exit(0)')).toEqual({ status: 0, signal: null, lines: [] });
});
