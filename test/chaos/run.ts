import { appendFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { parseArgs } from 'node:util';
import { examplesOf, judge, type Verdict } from './judge/judge.ts';
import { mode, wrongMode } from './mode.ts';
import { killEverything, sleep } from './programs.ts';
import { randomFrom } from './random.ts';
import type { LoneScenario, Scenario, WorldScenario } from './scenario.ts';
import { scenarios } from './scenarios/table.ts';
import { changingChecks, startWeather } from './weather.ts';
import { startWorld } from './world.ts';

/**
 * `npm run chaos [-- NAME …] [--seed N] [--list] [--out FILE]`: faults against a real service, real agents and real targets, and
 * one oracle that judges what came of each. Ends with 1 when anything is wrong.
 */

const { values, positionals } = parseArgs({
  allowPositionals: true,
  options: {
    seed: { type: 'string', default: '1' },
    list: { type: 'boolean', default: false },
    out: { type: 'string' },
    main: { type: 'string' },
    commit: { type: 'string', default: '' },
  },
});

if (values.list) {
  for (const { name, about } of scenarios) console.log(`${name.padEnd(24)} ${about}`);
  process.exit(0);
}
const wanted = positionals.map((name) => {
  const found = scenarios.find((scenario) => scenario.name === name);
  if (found === undefined) {
    console.error(`there is no scenario ${name}; npm run chaos -- --list names them all`);
    process.exit(64);
  }
  return found;
});
const seed = Number(values.seed);
if (!Number.isInteger(seed) || seed < 0) {
  console.error(`--seed must be a whole number, but is "${values.seed}"`);
  process.exit(64);
}
const mistake = wrongMode();
if (mistake !== null) {
  console.error(mistake);
  process.exit(64);
}
const main = values.main ?? '';
for (const signal of ['SIGINT', 'SIGTERM'] as const) {
  process.on(signal, () => {
    killEverything();
    process.exit(130);
  });
}

/** What made the figures: seed, commit, mode and those variables that the scenario reads. They belong to the command of its row. */
const rowOf = ({ name, reads = [] }: Scenario, seconds: number) => ({
  name,
  seed,
  seconds,
  commit: values.commit,
  variables: Object.fromEntries([
    ['CHAOS_MODE', mode],
    ...reads.flatMap((variable) => {
      const value = process.env[variable];
      return value === undefined ? [] : [[variable, value]];
    }),
  ]),
});

let failed = 0;
const rows: string[] = [];
for (const scenario of wanted.length > 0 ? wanted : scenarios) {
  const missing = scenario.missing?.() ?? null;
  if (missing !== null) {
    console.log(`-- ${scenario.name}: skipped: ${missing}`);
    continue;
  }
  console.log(`-- ${scenario.name}: ${scenario.about}`);
  const began = performance.now();
  try {
    const { verdict, notes, measured } =
      'alone' in scenario ? await playAlone(scenario) : await play(scenario);
    if (measured !== undefined) console.log(`   ${measured}`);
    for (const note of notes) console.log(`   ${note}`);
    for (const line of examplesOf(verdict.violations)) console.log(`   WRONG ${line}`);
    if (verdict.violations.length > 0) failed += 1;
    const seconds = Math.round((performance.now() - began) / 1000);
    const row =
      `${scenario.name.padEnd(24)} due ${String(verdict.due).padStart(5)}  probes ${String(verdict.probes).padStart(5)}` +
      `  lost ${verdict.lost}  doubled ${verdict.doubled}  missed ${verdict.missed}  errored ${verdict.errored}` +
      `  repeated ${verdict.repeated}  alerts ${verdict.alerts}  false ${verdict.falseAlerts}  wrong ${verdict.violations.length}  (${seconds} s)`;
    rows.push(row);
    console.log(`   ${row}`);
    if (values.out !== undefined)
      appendFileSync(
        values.out,
        `${JSON.stringify({ ...rowOf(scenario, seconds), ...verdict, measured, notes })}\n`,
      );
  } catch (error) {
    failed += 1;
    const text = error instanceof Error ? (error.stack ?? error.message) : String(error);
    console.log(`   FAILED ${text}`);
    rows.push(`${scenario.name.padEnd(24)} FAILED`);
    killEverything();
  }
}
console.log(
  `\n${rows.join('\n')}\n${failed === 0 ? 'all scenarios hold' : `${failed} scenarios do not hold`}`,
);
process.exit(failed === 0 ? 0 : 1);

/** Maps and sets as lists, for JSON. */
function plain(_name: string, value: unknown): unknown {
  return value instanceof Map || value instanceof Set ? [...value] : value;
}

type Played = { verdict: Verdict; notes: string[]; measured: string | undefined };

/** Adds what the oracle measured of edits. */
function measuredWith(measured: string | undefined, { edits, slowestEditMs }: Verdict): string | undefined {
  if (edits === 0) return measured;
  const ofEdits = `${edits} edits, old form seen until ${slowestEditMs} ms after`;
  return measured === undefined ? ofEdits : `${measured}; ${ofEdits}`;
}

async function playAlone(scenario: LoneScenario): Promise<Played> {
  const { verdict, notes = [], wrong = [], measured } = await scenario.alone();
  verdict.violations.push(...wrong);
  return { verdict, notes, measured };
}

async function play(scenario: WorldScenario): Promise<Played> {
  const prepared = await scenario.prepare?.(main);
  const random = randomFrom(seed);
  try {
    const world = await startWorld({ random, main, ...scenario.world, ...prepared?.options });
    try {
      // Each check runs once before the scenario counts.
      await sleep(12_000);
      const from = Date.now();
      const stopWeather = startWeather(world, changingChecks(world), scenario.weatherMs);
      const { notes = [], wrong = [], measured, ...excuses } = await scenario.run(world);
      stopWeather();
      // Time for what has recovered to show it.
      await sleep(15_000);
      const facts = await world.facts(from, Date.now());
      // Next to the logs, for whoever looks for a cause.
      if (process.env['CHAOS_KEEP'] !== undefined)
        writeFileSync(join(world.folder, 'facts.json'), JSON.stringify(facts, plain));
      const verdict = judge(facts, excuses);
      verdict.violations.push(...wrong, ...((await scenario.after?.(world, verdict)) ?? []));
      return { verdict, notes, measured: measuredWith(measured, verdict) };
    } finally {
      await world.close();
    }
  } finally {
    await prepared?.undo();
  }
}
