import { spawn } from 'node:child_process';
import { createInterface } from 'node:readline';
import type { RunProgram } from '../../src/script/suite/place/place.ts';

/** Programs of suites without any confinement: for tests of what programs are asked to do. */
export const runPlainly: RunProgram = ({ command, cwd, env, timeoutMs, signal, onLine }) =>
  new Promise((resolve, reject) => {
    const child = spawn('/bin/sh', ['-c', command], {
      cwd,
      env: { ...env },
      detached: true,
      stdio: ['ignore', 'pipe', 'pipe'],
    });
    let timedOut = false;
    const kill = () => {
      try {
        process.kill(-(child.pid ?? 0), 'SIGKILL');
      } catch {
        // It has ended.
      }
    };
    const timer = setTimeout(() => {
      timedOut = true;
      kill();
    }, timeoutMs);
    signal.addEventListener('abort', kill);
    createInterface({ input: child.stdout }).on('line', (line) => onLine(line, 'stdout'));
    createInterface({ input: child.stderr }).on('line', (line) => onLine(line, 'stderr'));
    child.once('error', reject);
    child.once('close', (code, ended) => {
      clearTimeout(timer);
      signal.removeEventListener('abort', kill);
      resolve({ code, signal: ended, exceeded: null, timedOut, aborted: signal.aborted });
    });
  });
