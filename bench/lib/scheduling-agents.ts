/** The agents of bench/scheduling.ts and bench/embedded.ts, in a separate process. Argument 1 has their options as JSON. */
import {
  startProtocolAgents,
  type ProtocolAgentsOptions,
} from '../../test/helpers/service/protocol-agents.ts';

export type AgentsReport = {
  runs: { checkId: string; dueAt: number; startedAt: number; outcome: string | null }[];
};

const { failing, ...options } = JSON.parse(process.argv[2] ?? '{}') as Omit<
  ProtocolAgentsOptions,
  'statusOf'
> & {
  failing?: string[];
};
const fails = new Set(failing);
const agents = startProtocolAgents({ ...options, statusOf: (id) => (fails.has(id) ? 'failed' : 'passed') });
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
