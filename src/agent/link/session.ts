import { hostname } from 'node:os';
import { FatalError, ServiceError, toError } from '../../errors.ts';
import type { Log } from '../../log.ts';
import { protocolMinor } from '../../protocol/agent-calls.ts';
import type { Lane } from '../../protocol/check-types.ts';
import type { RequestOf, ResponseOf } from '../../protocol/routes.ts';
import { backoffMs, pause } from './backoff.ts';
import { machine } from './machine.ts';
import type { ServiceClient } from './client.ts';
import { createHeardClock } from './service-clock.ts';
import type { TurnWatch } from '../metrics/turn-watch.ts';

export type Hello = ResponseOf<'hello'>;

/**
 * The agent's session with the service: sends hello until it is accepted, and again if the service has forgotten the
 * agent.
 */
export type Session = {
  /** The answer to the last accepted hello; null before it, and after `forget`. */
  current: () => Hello | null;
  /** Waits for an accepted hello. Rejects with FatalError, or with the signal's reason. */
  get: (signal: AbortSignal) => Promise<Hello>;
  /** The service no longer recognises `agentId`. */
  forget: (agentId: string) => void;
  /** Sends hello again at once, because the agent's abilities have changed. Never rejects. */
  renew: () => Promise<void>;
  /** Our clock minus the service's in milliseconds, as measured at hello and corrected since; null before it. */
  clockSkewMs: () => number | null;
};

export type Abilities = {
  checkTypes: readonly string[];
  runtimes: readonly string[];
  /** Suite engines. */
  engines: readonly string[];
  lanes: { readonly [L in Lane]?: number };
};

/** If the clock was set by more than this, it is compared with the service's again. */
const maxStepMs = 1000;

export function createSession(options: {
  client: ServiceClient;
  log: Log;
  watch: TurnWatch;
  instanceId: string;
  version: string;
  /** The agent's current abilities. */
  abilities: () => Abilities;
  /** What hello says about held checks; absent = the agent can hold none. */
  keeping?: () => { continues: string[] };
  now: () => number;
  /** Milliseconds of a monotonic clock. */
  monotonicNow?: () => number;
  random: () => number;
  stopped: AbortSignal;
  onAccepted: (hello: Hello) => void;
}): Session {
  const { client, log, watch, stopped } = options;
  let current: Hello | null = null;
  const { monotonicNow = () => performance.now() } = options;
  const serviceClock = createHeardClock();
  client.onAnswer((time) => {
    if (time !== null) serviceClock.correct(time);
  });
  /** Our clock minus the monotonic one at the last hello. */
  let clockOffset = 0;
  const stepMs = () => Math.round(options.now() - monotonicNow() - clockOffset);
  let helloInProgress: Promise<Hello> | null = null;

  const request = (): RequestOf<'hello'> => ({
    instanceId: options.instanceId,
    version: options.version,
    protocolMinor,
    host: {
      hostname: hostname().slice(0, 255),
      platform: process.platform,
      arch: process.arch,
      nodeVersion: process.version,
      ...machine(),
    },
    ...currentAbilities(),
    ...(options.keeping === undefined ? {} : { keeping: options.keeping() }),
  });
  const currentAbilities = () => {
    const { checkTypes, runtimes, engines, lanes } = options.abilities();
    return {
      checkTypes: [...checkTypes],
      runtimes: [...runtimes],
      engines: [...engines],
      lanes: { ...lanes },
    };
  };

  const sayHello = async (): Promise<Hello> => {
    for (let failures = 1; ; failures += 1) {
      stopped.throwIfAborted();
      watch.turn(60_000);
      try {
        const sentAt = monotonicNow();
        const hello = await client.call('hello', request(), { timeoutMs: 15_000, signal: stopped });
        if (hello === null) throw new Error('hello: the answer is empty');
        const serviceTime = Date.parse(hello.time);
        if (!Number.isNaN(serviceTime))
          serviceClock.begin({ sentAt, receivedAt: monotonicNow(), serviceTime });
        clockOffset = options.now() - monotonicNow();
        current = hello;
        log.info(
          { location: hello.location.slugName, agentId: hello.agentId },
          'hello accepted by the service',
        );
        options.onAccepted(hello);
        return hello;
      } catch (error) {
        if (error instanceof FatalError || stopped.aborted) throw error;
        // Agents that started together do not come back together.
        const retryAfterMs = error instanceof ServiceError ? (error.retryAfterMs ?? 0) : 0;
        const waitMs = Math.max(
          retryAfterMs * (1 + options.random() / 4),
          backoffMs(failures, options.random),
        );
        log.warn({ err: toError(error), retryInMs: Math.round(waitMs) }, 'hello not accepted');
        watch.turn(waitMs + 30_000);
        await pause(waitMs, stopped);
      }
    }
  };

  const ask = () =>
    (helloInProgress ??= sayHello().finally(() => {
      helloInProgress = null;
      watch.rest();
    }));

  return {
    current: () => current,
    renew: async () => {
      // A hello that is in progress may have been sent before the change.
      await helloInProgress?.catch(() => undefined);
      await ask().catch(() => undefined);
    },
    get: async (signal) => {
      if (current !== null && Math.abs(stepMs()) > maxStepMs) {
        log.warn({ stepMs: stepMs() }, 'the clock was set; comparing it with the service clock again');
        current = null;
      } else if (current !== null && serviceClock.isDisputed()) {
        log.warn('the clock of the service was set; comparing it again');
        current = null;
      }
      if (current !== null) return current;
      const answer = await Promise.race([ask(), whenAborted(signal)]);
      signal.throwIfAborted();
      return answer;
    },
    forget: (agentId) => {
      if (current?.agentId === agentId) current = null;
    },
    // Until the next hello the agent assumes that its own clock was stepped, so that running jobs keep their time.
    clockSkewMs: () => {
      const offsetMs = serviceClock.offsetMs();
      // + 0: not -0.
      return offsetMs === null ? null : Math.round(options.now() - monotonicNow() - offsetMs) + 0;
    },
  };
}

function whenAborted(signal: AbortSignal): Promise<never> {
  return new Promise((_, reject) => {
    signal.addEventListener('abort', () => reject(toError(signal.reason)), { once: true });
  });
}
