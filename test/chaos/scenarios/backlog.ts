import { spawn } from 'node:child_process';
import { dirname, join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { postgresBinaries } from '../../helpers/service/postgres.ts';
import { noVerdict } from '../judge/judge.ts';
import type { Scenario } from '../scenario.ts';

/** An agent that could not send for CHAOS_HOURS (6) hours sends everything: `npm run bench -- backlog`, judged. */

const hours = Number(process.env['CHAOS_HOURS'] ?? 6);
const hoursOfBench = 6;
const bench = join(dirname(fileURLToPath(import.meta.url)), '..', '..', 'scripts', 'bench.mjs');

export const backlog: Scenario = {
  name: 'backlog',
  about:
    'CHAOS_HOURS (6) hours of results of 1,000 one-minute checks wait in an outbox, and are sent in order: 6 hours in at most 5 minutes and 150 MB',
  reads: ['CHAOS_HOURS'],
  alone: async () => {
    if ((await postgresBinaries()) === null)
      throw new Error('this needs PostgreSQL: apt-get install postgresql');
    const { output, code } = await run(['backlog', '--', String(hours / hoursOfBench)]);
    const [, stored, total] = /^stored +(\d+) of (\d+)$/m.exec(output) ?? [];
    const unordered = Number(/^transactions out of order +(\d+)$/m.exec(output)?.[1]);
    if (total === undefined || Number.isNaN(unordered))
      throw new Error(`no figures:\n${output.slice(-2_000)}`);
    const time = /^time +(.+?),/m.exec(output)?.[1] ?? '';
    const memory = /^most memory of the agent +(.+)$/m.exec(output)?.[1] ?? '';
    return {
      verdict: { ...noVerdict(), due: Number(total), lost: Number(total) - Number(stored) },
      measured: `${time}, ${memory}`,
      wrong: [
        ...(stored === total ? [] : [`${stored} of ${total} results arrived`]),
        ...(unordered === 0 ? [] : [`${unordered} transactions are out of order`]),
        ...(code === 0 ? [] : [`the limits do not hold: ${time}, ${memory}`]),
      ],
    };
  },
};

function run(args: readonly string[]): Promise<{ output: string; code: number | null }> {
  const child = spawn(process.execPath, [bench, ...args], { stdio: ['ignore', 'pipe', 'inherit'] });
  let output = '';
  child.stdout.setEncoding('utf8').on('data', (text: string) => (output += text));
  return new Promise((resolve, reject) => {
    child.once('error', reject);
    child.once('close', (code) => resolve({ output, code }));
  });
}
