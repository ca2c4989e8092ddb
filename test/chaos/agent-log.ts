import type { Running } from './programs.ts';

/** What the oracle knows of agents themselves: when they were killed, and which runs they gave up. */

export type AgentFacts = {
  /** When each agent was killed, by the ids that the service gave it. */
  deaths: Map<string, number>;
  /** JOB AGENT: runs that an agent gave up, because it had lost the lease. */
  givenUp: Set<string>;
  /** The ids that the service gave to this process. */
  idsOf: (running: Running | null | undefined) => ReadonlySet<string>;
  /** Reads the log of an agent that has just been started. */
  follow: (running: Running) => void;
};

export function createAgentFacts(): AgentFacts {
  const deaths = new Map<string, number>();
  const givenUp = new Set<string>();
  const idsOfAgents = new Map<Running, Set<string>>();
  return {
    deaths,
    givenUp,
    idsOf: (running) => (running ? idsOfAgents.get(running) : undefined) ?? new Set(),
    follow: (running) => {
      const ids = new Set<string>();
      idsOfAgents.set(running, ids);
      let rest = '';
      running.child.stderr?.on('data', (text: string) => {
        const lines = (rest + text).split('\n');
        rest = lines.pop() ?? '';
        for (const line of lines) {
          const [, agentId] = /"agentId":"([0-9a-f-]{36})".*hello accepted/.exec(line) ?? [];
          if (agentId !== undefined) ids.add(agentId);
          const [, jobId] = /"jobId":"([0-9a-f-]{36})".*lease lost/.exec(line) ?? [];
          if (jobId !== undefined) for (const id of ids) givenUp.add(`${jobId} ${id}`);
        }
      });
      void running.ended.then(({ signal }) => {
        if (signal === 'SIGKILL') for (const id of ids) deaths.set(id, Date.now());
      });
    },
  };
}
