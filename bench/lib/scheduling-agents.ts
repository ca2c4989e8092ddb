/** The agents of bench/scheduling.ts, bench/embedded.ts and bench/assignments.ts, in a separate process. Argument 1 has their options as JSON. */
import {
  startProtocolAgents,
  type ProtocolAgentsOptions,
} from '../../test/helpers/service/protocol-agents.ts';
import { startHoldingAgents } from './holding-agents.ts';

export type AgentsReport = {
  runs: { checkId: string; dueAt: number; startedAt: number; outcome: string | null }[];
};

const { failing, holds, ...options } = JSON.parse(process.argv[2] ?? '{}') as Omit<
  ProtocolAgentsOptions,
  'statusOf'
> & {
  failing?: string[];
  holds?: boolean;
};
const fails = new Set(failing);
const start = holds === true ? startHoldingAgents : startProtocolAgents;
const agents = start({ ...options, statusOf: (id) => (fails.has(id) ? 'failed' : 'passed') });
process.stdout.write('{"ready":true}\n');
// The end of standard input is the signal to stop.
process.stdin.resume().once('end', () => {
  void agents.stop().then(() => {
    const runs = agents.runs.map(({ checkId, dueAt, startedAt, outcome }) => ({
      checkId,
      dueAt,
      startedAt,
      outcome,
    }));
    process.send?.({ runs } satisfies AgentsReport, () => process.exit(0));
  });
});
