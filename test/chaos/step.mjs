/**
 * Loaded before an instrumented program (`--import`, see steps.ts). At the step that CHAOS_KILL_AT names ("FILE:LINE", at the pass
 * number CHAOS_KILL_PASS) it kills its own process, or the process CHAOS_KILL_PID. It writes the first passes of each step to
 * CHAOS_STEPS, with the milliseconds since the start of the process.
 */
import { appendFileSync } from 'node:fs';

const { CHAOS_KILL_AT: killAt, CHAOS_KILL_PASS: pass = '1', CHAOS_STEPS: list, CHAOS_KILL_PID } = process.env;
const victim = CHAOS_KILL_PID === undefined ? process.pid : Number(CHAOS_KILL_PID);
const listedPasses = 4;
let left = Number(pass);
const passes = new Map();
globalThis.chaosStep = (name) => {
  if (name === killAt) {
    left -= 1;
    if (left === 0) kill();
  }
  if (list === undefined) return;
  const count = (passes.get(name) ?? 0) + 1;
  if (count > listedPasses) return;
  passes.set(name, count);
  appendFileSync(list, `${name} ${count} ${Math.round(performance.now())}\n`);
};

function kill() {
  try {
    process.kill(victim, 'SIGKILL');
  } catch {
    // It has ended already.
  }
}
