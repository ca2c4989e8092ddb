import { stripVTControlCharacters } from 'node:util';
import { AgentError } from '../../errors.ts';
import type { ChildEnd, ChildLimits } from '../process/program.ts';
import type { WarmProcess } from './process.ts';
import type { PlaywrightOptions } from '../interface/scripts.ts';
import { lostSecretText } from '../process/lost-secret.ts';
import { shortened } from '../../shortened.ts';

export type FollowOptions = Pick<
  PlaywrightOptions,
  'signal' | 'log' | 'addSecret' | 'withhold' | 'timeoutMs'
> & {
  /** Milliseconds that the browser may take to start. */
  browserStartMs: number;
};

/** The messages of the processes during the run. */
export type Seen = {
  /** The config file was read: from now on the script runs. */
  configured: boolean;
  /** The browser did not start within its time limit. */
  browserLate: boolean;
  browser: 'unused' | 'starting' | 'started' | 'failed' | 'gone';
  browserMessage: string;
  /** The signal that killed it. */
  browserSignal: string | null;
  exceeded: keyof ChildLimits | null;
  timedOut: boolean;
  /** Why the agent does not know all secrets of the run. */
  lostSecret: string | null;
};

/** Playwright stops its tests at the limit itself; if it does not, it is killed this much later. */
const graceMs = 2000;
/** Starts the run and follows it until no process of it is left. Returns its messages and how its process ended. */
export async function followRun(
  warm: WarmProcess,
  options: FollowOptions,
  start: () => void,
): Promise<{ seen: Seen; end: ChildEnd }> {
  const seen: Seen = {
    configured: false,
    browserLate: false,
    browser: 'unused',
    browserMessage: '',
    browserSignal: null,
    exceeded: null,
    timedOut: false,
    lostSecret: null,
  };
  const { child } = warm;
  const { signal } = options;
  const kill = () => {
    // Messages of dying processes do not count.
    warm.onMessage = () => undefined;
    void child.kill();
  };
  let browserTimer: NodeJS.Timeout | undefined;
  warm.onLine = () => undefined;
  warm.onRefused = (line) => options.log('warn', line);
  warm.onMessage = (message) => {
    if (message.type === 'stage') seen.configured = true;
    else if (message.type === 'log' && typeof message['line'] === 'string') {
      const line = shortened(stripVTControlCharacters(message['line']), 8192);
      if (line !== '') options.log(message['stream'] === 'stderr' ? 'warn' : 'info', line);
    } else if (message.type === 'secret' && typeof message['value'] === 'string') {
      const name = typeof message['name'] === 'string' ? shortened(message['name'], 256) : 'SERVICE_SECRET';
      options.addSecret(name, message['value']);
    } else if (message.type === 'lost-secret') {
      seen.lostSecret ??= lostSecretText(message['limit']);
      options.withhold(seen.lostSecret);
      kill();
    } else if (message.type === 'exceeded') {
      seen.exceeded ??= 'outputBytes';
      kill();
    } else if (message.type === 'browser') {
      const state = message['state'];
      if (state === 'signal') {
        if (typeof message['signal'] === 'string') seen.browserSignal = message['signal'].slice(0, 20);
        return;
      }
      clearTimeout(browserTimer);
      if (state === 'starting') {
        seen.browser = 'starting';
        browserTimer = setTimeout(() => {
          seen.browserLate = true;
          kill();
        }, options.browserStartMs);
      } else if (state === 'started') seen.browser = 'started';
      else if (state === 'failed' || state === 'gone') {
        seen.browser = state;
        if (typeof message['message'] === 'string') seen.browserMessage = shortened(message['message'], 2000);
      }
    }
  };
  const capTimer = setTimeout(() => {
    seen.timedOut = true;
    kill();
  }, options.timeoutMs + graceMs);
  signal.addEventListener('abort', kill, { once: true });
  const started = performance.now();
  try {
    if (signal.aborted) kill();
    else start();
    const end = await child.ended;
    if (performance.now() - started >= options.timeoutMs) seen.timedOut = true;
    return { seen, end };
  } finally {
    clearTimeout(capTimer);
    clearTimeout(browserTimer);
    signal.removeEventListener('abort', kill);
    warm.onMessage = () => undefined;
  }
}

/** The error for a run that failed because of the browser: it did not start, or it exited by itself. */
export function browserFault({ browser, browserMessage }: Seen): AgentError {
  const what =
    browser === 'starting'
      ? 'Chromium did not start in time'
      : browser === 'failed'
        ? `Chromium could not be started: ${browserMessage}`
        : 'Chromium exited unexpectedly while the script ran';
  return new AgentError('BROWSER_UNAVAILABLE', `${what}; run "location-agent doctor" on this host`);
}
