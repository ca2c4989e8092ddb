import { protocolLimits } from '../../protocol/agent-calls.ts';
import type { AgentCondition } from '../../protocol/routes.ts';
import { shortened } from '../../shortened.ts';
import { stopsClaiming, type Guard } from './guard-rules.ts';

type OutboxFigures = {
  diskBytes: number;
  memoryBytes: number;
  diskResults: number;
  memoryResults: number;
  oldestAt: number | null;
};

/** Reads what the agent reports to the service about itself: its raised guards and its outbox. */
export function createCondition(sources: {
  guards: () => readonly Guard[];
  outbox: () => OutboxFigures;
  scrub: (text: string) => string;
  now: () => number;
}): () => AgentCondition {
  const { guards, outbox, scrub, now } = sources;
  return () => {
    const { diskBytes, memoryBytes, diskResults, memoryResults, oldestAt } = outbox();
    return {
      guards: guards()
        .slice(0, protocolLimits.guards)
        .map(({ name, message }) => ({
          name,
          message: shortened(scrub(message), protocolLimits.guardChars),
          stopsJobs: stopsClaiming.has(name),
        })),
      outbox: {
        results: diskResults + memoryResults,
        bytes: diskBytes + memoryBytes,
        oldestSeconds: oldestAt === null ? 0 : Math.max(0, Math.round((now() - oldestAt) / 1000)),
      },
    };
  };
}
