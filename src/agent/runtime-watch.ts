import type { Log } from '../log.ts';
import type { Abilities } from './abilities.ts';
import type { Claiming } from './claiming/claiming.ts';
import type { ScriptHost } from './script-host.ts';
import type { Session } from './link/session.ts';

const defaultEveryMs = 5000;

/**
 * Detects runtimes and engines that are installed or removed while the agent runs, and reports the agent's new
 * abilities.
 */
export type RuntimeWatch = { start: () => void; stop: () => void };

export function createRuntimeWatch(options: {
  host: Pick<ScriptHost, 'refresh' | 'runtimes' | 'engines'>;
  abilities: Abilities;
  session: Pick<Session, 'renew'>;
  claiming: Pick<Claiming, 'start'>;
  log: Log;
  /** Milliseconds between two searches. */
  everyMs?: number | undefined;
}): RuntimeWatch {
  const { host, abilities, session, claiming, log, everyMs = defaultEveryMs } = options;
  let timer: NodeJS.Timeout | undefined;
  // A search that was in progress when the agent began to stop must neither change it nor start the next search.
  let ended = false;

  const search = async () => {
    if (!(await host.refresh()) || ended) return;
    log.info({ runtimes: host.runtimes(), engines: host.engines() }, 'runtimes or engines have changed');
    const opened = abilities.openLanes();
    await session.renew();
    // The service hands out only jobs of lanes and types that the agent has reported.
    if (!ended) claiming.start(opened);
  };
  const next = () => {
    if (ended) return;
    timer = setTimeout(() => void search().finally(next), everyMs);
    timer.unref();
  };
  return {
    start: next,
    stop: () => {
      ended = true;
      clearTimeout(timer);
    },
  };
}
