import type { Log } from '../log.ts';
import type { Abilities } from './abilities.ts';
import type { Claiming } from './claiming/claiming.ts';
import type { ScriptHost } from './script-host.ts';
import type { Session } from './link/session.ts';

const usualEveryMs = 5000;

/** Finds runtimes and engines that are installed or removed while the agent runs, and reports the agent's new abilities. */
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
  const { host, abilities, session, claiming, log, everyMs = usualEveryMs } = options;
  let timer: NodeJS.Timeout | undefined;
  // A look that was under way when the agent began to end must neither change it nor start the next.
  let ended = false;

  const look = async () => {
    if (!(await host.refresh()) || ended) return;
    log.info({ runtimes: host.runtimes(), engines: host.engines() }, 'runtimes or engines have changed');
    const opened = abilities.openLanes();
    await session.renew();
    // The service hands out jobs of lanes and types that it was told of, no others.
    if (!ended) claiming.start(opened);
  };
  const next = () => {
    if (ended) return;
    timer = setTimeout(() => void look().finally(next), everyMs);
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
