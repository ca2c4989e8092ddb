import { FatalError, ServiceError } from '../../errors.ts';
import { protocolLimits } from '../../protocol/agent-calls.ts';
import type { RequestOf } from '../../protocol/routes.ts';
import type { StoredArtifact } from './stored-artifact.ts';
import { backoffMs, pause } from '../link/backoff.ts';
import type { ServiceClient } from '../link/client.ts';
import type { Session } from '../link/session.ts';

type State = NonNullable<RequestOf<'artifactStates'>['artifacts'][number]>;

/**
 * Reports to the service which files will not be sent. Best effort: without a report the service marks them as lost a
 * day later.
 */
export type StateReports = {
  add: (artifact: StoredArtifact, state: State['state']) => void;
  isIdle: () => boolean;
  /** Resolves when no report is in progress; never rejects. */
  whenIdle: () => Promise<void>;
};

const maxUnreported = 1000;

/** `random` returns a number from 0 to 1; `stopped` aborts reports that are in progress. */
export function createStateReports(options: {
  client: Pick<ServiceClient, 'call'>;
  session: Pick<Session, 'get'>;
  random: () => number;
  stopped: AbortSignal;
}): StateReports {
  const { client, session, random, stopped } = options;
  let reporting: Promise<void> | null = null;
  let unreported: State[] = [];

  const report = async (): Promise<void> => {
    for (let failures = 0; unreported.length > 0 && !stopped.aborted;) {
      const some = unreported.slice(0, protocolLimits.artifactStates);
      try {
        const { agentId } = await session.get(stopped);
        const call = { timeoutMs: 30_000, signal: stopped };
        await client.call('artifactStates', { agentId, artifacts: some }, call);
        unreported = unreported.filter((state) => !some.includes(state));
      } catch (error) {
        if (error instanceof FatalError || (error instanceof ServiceError && !error.retryable)) {
          unreported = [];
          return;
        }
        failures += 1;
        await pause(backoffMs(failures, random), stopped);
      }
    }
  };

  return {
    add: ({ jobId, attempt, leaseToken, name, type }, state) => {
      unreported.push({ jobId, attempt, leaseToken, name, type, state });
      unreported = unreported.slice(-maxUnreported);
      reporting ??= report().finally(() => (reporting = null));
    },
    isIdle: () => reporting === null,
    whenIdle: async () => {
      await reporting;
    },
  };
}
