import { ServiceError } from '../../errors.ts';
import type { RequestOf } from '../../protocol/routes.ts';
import type { ServiceClient } from './client.ts';
import type { Session } from './session.ts';
import { hourMs } from '../../durations.ts';
import { shortened } from '../../shortened.ts';

type AgentEvent = RequestOf<'events'>['events'][number];

/** Reports the agent's own faults to the service, so that users see them when results are missing. */
export type FaultEvents = {
  report: (error: Error, message: string) => void;
  stop: () => void;
};

const flushMs = 5000;
const maxQueued = 50;
/** Events per hour; a repeated fault adds no information. */
const maxPerHour = 60;

/**
 * Collects and posts error-level events: message, stack, version, platform, runtime. They never contain a key, a URL,
 * an address, a host name or content (see `withoutParticulars`). Losing one is harmless, so nothing is retried.
 */
export function createFaultEvents(options: {
  client: ServiceClient;
  session: Session;
  version: string;
  scrub: (text: string) => string;
  now: () => number;
}): FaultEvents {
  const { client, session, now } = options;
  let queue: AgentEvent[] = [];
  let timer: NodeJS.Timeout | null = null;
  let hourStartedAt = now();
  let countThisHour = 0;
  /** The service has asked for a pause until then. */
  let quietUntil = 0;

  const flush = () => {
    timer = null;
    const hello = session.current();
    const events = queue;
    if (events.length === 0) return;
    if (hello === null || now() < quietUntil) {
      timer = setTimeout(flush, flushMs).unref();
      return;
    }
    queue = [];
    client
      .call('events', { agentId: hello.agentId, events }, { timeoutMs: 10_000 })
      .catch((error: unknown) => {
        if (error instanceof ServiceError) quietUntil = now() + (error.retryAfterMs ?? 0);
      });
  };

  return {
    report: (error, message) => {
      if (now() - hourStartedAt > hourMs) {
        hourStartedAt = now();
        countThisHour = 0;
      }
      countThisHour += 1;
      if (countThisHour > maxPerHour || queue.length >= maxQueued) return;
      const clean = (text: string) => anonymised(options.scrub(text));
      queue.push({
        time: new Date(now()).toISOString(),
        message: shortened(clean(`${message}: ${error.message}`), 4095),
        ...(error.stack === undefined ? {} : { stack: shortened(clean(stackFrames(error.stack)), 16_383) }),
        version: options.version,
        platform: `${process.platform} ${process.arch}`,
        runtime: `node ${process.version}`,
      });
      timer ??= setTimeout(flush, flushMs).unref();
    },
    stop: () => {
      if (timer !== null) clearTimeout(timer);
      queue = [];
    },
  };
}

/** Only the frames, because the first lines repeat the message. Folders of the machine are removed. */
function stackFrames(stack: string): string {
  return stack
    .split('\n')
    .filter((line) => /^\s+at /.test(line))
    .map((line) => line.replace(/(?:file:\/\/)?\/\S*\/(?=(?:dist|src|node_modules)\/)/g, ''))
    .join('\n');
}

/** A text without anything that may identify a customer: URLs, quoted pieces, addresses, host names and file names. */
export function anonymised(text: string): string {
  return text
    .replace(/\b[a-z][a-z0-9+.-]*:\/\/\S+/gi, '[url]')
    .replace(/"[^"]*"?|'[^'\n]*'|`[^`]*`/g, '[text]')
    .replace(/\b\d{1,3}(?:\.\d{1,3}){3}(?::\d+)?\b/g, '[address]')
    .replace(/(?<![\w:])(?:[0-9a-f]{0,4}:){2,7}[0-9a-f]{0,4}(?![\w:])/gi, '[address]')
    .replace(/(?<![\w/.-])(?:\/[\w.@-]+){2,}/g, '[path]')
    .replace(/\b(?:[a-z0-9-]+\.)+(?!(?:ts|js|mjs|cjs|json)\b)[a-z]{2,}\b/gi, '[host]');
}
