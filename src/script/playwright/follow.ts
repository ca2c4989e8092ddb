import { stripVTControlCharacters } from 'node:util';
import { AgentError } from '../../errors.ts';
import type { ChildEnd, ChildLimits } from '../process/program.ts';
import type { WarmProcess } from './process.ts';
import type { PlaywrightOptions } from '../interface/scripts.ts';

export type FollowOptions = Pick<PlaywrightOptions, 'signal' | 'log' | 'addSecret' | 'timeoutMs'> & {
  /** Milliseconds that the browser may take to start. */
  browserStartMs: number;
};

/** What the processes told while they ran. */
export type Seen = {
  /** The config file was read: from here on it is the script that runs. */
  configured: boolean;
  /** It had not started within the time that a start may take. */
  browserLate: boolean;
  browser: 'unused' | 'starting' | 'started' | 'failed' | 'gone';
  browserMessage: string;
  /** The signal that ended it. */
  browserSignal: string | null;
  exceeded: keyof ChildLimits | null;
  timedOut: boolean;
};

/** Playwright ends its tests at the limit itself; what does not follow is killed this much later. */
const graceMs = 2000;
/** Starts the run and follows it until nothing of it is left: what was seen, and how its process ended. */
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
  };
  const { child } = warm;
  const { signal } = options;
  const kill = () => {
    // What dying processes still say is of no account.
    warm.onMessage = () => undefined;
    void child.kill();
  };
  let browserTimer: NodeJS.Timeout | undefined;
  warm.onLine = () => undefined;
  warm.onMessage = (message) => {
    if (message.type === 'stage') seen.configured = true;
    else if (message.type === 'log' && typeof message['line'] === 'string') {
      const line = stripVTControlCharacters(message['line']).slice(0, 8192);
      if (line !== '') options.log(message['stream'] === 'stderr' ? 'warn' : 'info', line);
    } else if (message.type === 'secret' && typeof message['value'] === 'string') {
      const name = typeof message['name'] === 'string' ? message['name'].slice(0, 256) : 'SERVICE_SECRET';
      options.addSecret(name, message['value']);
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
        if (typeof message['message'] === 'string') seen.browserMessage = message['message'].slice(0, 2000);
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

/** It was the browser that made the run fail: it did not start, or ended on its own. */
export function browserFault({ browser, browserMessage }: Seen): AgentError {
  const what =
    browser === 'starting'
      ? 'Chromium did not start in time'
      : browser === 'failed'
        ? `Chromium could not be started: ${browserMessage}`
        : 'Chromium ended unexpectedly while the script ran';
  return new AgentError('BROWSER_UNAVAILABLE', `${what}; run "location-agent doctor" on this host`);
}
