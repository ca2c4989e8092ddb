import { ServiceError } from '../../errors.ts';
import { protocolMinor } from '../../protocol/agent-calls.ts';
import type { KeepingAnswer } from '../../protocol/assignments.ts';
import type { AgentCondition, RequestOf } from '../../protocol/routes.ts';
import { answerBytes } from '../claiming/poller.ts';
import type { ServiceClient } from '../link/client.ts';
import type { Session } from '../link/session.ts';

/** The two calls about held checks. Both reject with the client's errors. */
export type KeepingCalls = {
  /** Renews the checks. Null: the service lets this agent hold none now. */
  renew: (
    agentId: string,
    call: Position & {
      variables: string | null;
      waitSeconds: number;
      timeoutMs: number;
      signal: AbortSignal;
    },
  ) => Promise<KeepingAnswer | null>;
  /** Gives them back. */
  leave: (agentId: string, position: Position) => Promise<void>;
};

type Position = {
  cursor: string | null;
  /** Every run that was due up to here is reported and acknowledged. */
  reportedTo: number;
};

const leaveMs = 3_000;

export function createKeepingCalls({
  client,
  session,
  condition,
}: {
  client: ServiceClient;
  session: Session;
  condition: () => AgentCondition;
}): KeepingCalls {
  const claim = async (
    body: RequestOf<'claim'>,
    limits: { timeoutMs: number; signal?: AbortSignal },
  ): Promise<KeepingAnswer | undefined> => {
    try {
      return (await client.call('claim', body, { ...limits, answerBytes }))?.keeping;
    } catch (error) {
      if (error instanceof ServiceError && !error.retryable) session.forget(body.agentId);
      throw error;
    }
  };
  return {
    renew: async (agentId, { cursor, reportedTo, variables, waitSeconds, ...limits }) => {
      const keeping = { cursor, reportedTo, minor: protocolMinor, variables };
      const body = { agentId, free: {}, waitSeconds, condition: condition(), keeping };
      const answer = await claim(body, limits);
      // An earlier release answers without it: the service was set back.
      return answer === undefined || answer.isOff === true ? null : answer;
    },
    leave: async (agentId, position) => {
      const keeping = { ...position, minor: protocolMinor, isLeaving: true };
      await claim({ agentId, free: {}, waitSeconds: 0, keeping }, { timeoutMs: leaveMs });
    },
  };
}
