import { setTimeout as pause } from 'node:timers/promises';
import { retryAfter } from '../../agent/link/client.ts';
import { createTransport, type Answer, type Transport } from '../../agent/link/transport.ts';
import { readAccountKey, readAgentSettings } from '../../config.ts';
import type { Environment } from '../../config/read.ts';
import { exitCodes, FatalError, ServiceError } from '../../errors.ts';
import { fieldsOf, parsedJson, type Fields } from '../../json-values.ts';
import { version } from '../../version.ts';
import { printable } from '../terminal-text.ts';

/** The service's API, for the commands that keep a project. */
export type Client = {
  serviceUrl: URL;
  transport: Pick<Transport, 'send'>;
  call: (method: 'GET' | 'POST', path: string, body?: unknown) => Promise<{ status: number; body: Fields }>;
  close: () => void;
};

const timeoutMs = 300_000;
const answerBytes = 64 * 1024 * 1024;
const maxTries = 5;
/** If the service does not say how long to wait. */
const usualWaitMs = 1000;

/**
 * Calls `work` with a client for SERVICE_URL and SERVICE_API_KEY. Throws FatalError, also if the service cannot be
 * reached.
 */
export async function withClient<T>(env: Environment, work: (client: Client) => Promise<T>): Promise<T> {
  const client = await createClient(env, new AbortController().signal);
  try {
    return await work(client);
  } catch (error) {
    if (!(error instanceof ServiceError)) throw error;
    const { origin } = client.serviceUrl;
    throw new FatalError('SERVICE_UNREACHABLE', `no answer from ${origin} (SERVICE_URL): ${error.message}`, {
      exitCode: exitCodes.couldNotRun,
      remedy: 'see that the service runs and that SERVICE_URL names it; location-agent doctor looks closer',
      cause: error,
    });
  } finally {
    client.close();
  }
}

async function createClient(env: Environment, signal: AbortSignal): Promise<Client> {
  const key = readAccountKey(env, null);
  const { serviceUrl, proxy, extraCaFile } = readAgentSettings(env);
  const transport = await createTransport({
    serviceUrl,
    proxy,
    extraCaFile,
    headers: { authorization: `Bearer ${key.reveal()}`, 'user-agent': `location-agent/${version}` },
  });
  const send = async (method: 'GET' | 'POST', path: string, body: unknown): Promise<Answer> =>
    method === 'GET'
      ? transport.send({ method, path, headers: {}, body: null, idleMs: timeoutMs, answerBytes, signal })
      : transport.post(path, JSON.stringify(body ?? {}), { timeoutMs, answerBytes, signal });
  return {
    serviceUrl,
    transport,
    call: async (method, path, body) => {
      let answer = await send(method, path, body);
      // The limit is for all programs with the key. It is over after a minute.
      for (let tries = 0; answer.status === 429 && tries < maxTries; tries++) {
        await pause(retryAfter(answer).retryAfterMs ?? usualWaitMs, undefined, { signal });
        answer = await send(method, path, body);
      }
      const json = fieldsOf(parsedJson(answer.body.toString('utf8')));
      // A proxy may also answer with 401.
      if (answer.status !== 401 || typeof json['message'] !== 'string')
        return { status: answer.status, body: json };
      throw new FatalError('KEY_REFUSED', `SERVICE_API_KEY was rejected by ${serviceUrl.origin}`, {
        exitCode: exitCodes.keyRefused,
        remedy: 'set it to a key of the account',
      });
    },
    close: () => transport.close(),
  };
}

/** The error for an answer after which a command cannot continue: what the service said, and what to do. */
export function unusable(
  { serviceUrl }: Pick<Client, 'serviceUrl'>,
  path: string,
  { status, body }: { status: number; body: Readonly<Fields> },
): FatalError {
  const { message } = body;
  const { couldNotRun: exitCode } = exitCodes;
  return typeof message === 'string'
    ? new FatalError('SERVICE_REFUSED', `the service answered ${status} to ${path}: ${printable(message)}`, {
        exitCode,
        remedy: remedyOf(status),
      })
    : new FatalError(
        'SERVICE_UNREACHABLE',
        `${serviceUrl.origin} answered ${status}, but not as the service does`,
        {
          exitCode,
          remedy: 'see that SERVICE_URL names the service, and that no proxy answers in its place',
        },
      );
}

function remedyOf(status: number): string {
  if (status === 403) return 'use a key with a role that may do this';
  if (status === 404) return 'see that the service is at least as new as this program';
  if (status === 413) return 'make the project or its files smaller';
  if (status >= 500 || status === 429) return 'try again; the log of the service has the reason';
  return 'correct what the answer names';
}
