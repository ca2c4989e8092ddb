/**
 * Loaded before an instrumented program (`--import`, see steps.ts). It kills its process at the step that CHAOS_KILL_AT names
 * ("FILE:LINE", at the pass number CHAOS_KILL_PASS), and writes each step to CHAOS_STEPS the first time that it is passed.
 */
import { appendFileSync } from 'node:fs';

const { CHAOS_KILL_AT: killAt, CHAOS_KILL_PASS: pass = '1', CHAOS_STEPS: list } = process.env;
let left = Number(pass);
const seen = new Set();
globalThis.chaosStep = (name) => {
  if (name === killAt) {
    left -= 1;
    if (left === 0) process.kill(process.pid, 'SIGKILL');
  }
  if (list === undefined || seen.has(name)) return;
  seen.add(name);
  appendFileSync(list, `${name}\n`);
};
