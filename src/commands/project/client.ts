import { setTimeout as pause } from 'node:timers/promises';
import { retryAfter } from '../../agent/link/client.ts';
import { createTransport, type Answer, type Transport } from '../../agent/link/transport.ts';
import { readAccountKey, readAgentSettings } from '../../config.ts';
import type { Environment } from '../../config/read.ts';
import { exitCodes, FatalError } from '../../errors.ts';
import { fieldsOf, parsedJson, type Fields } from '../../json-values.ts';
import { version } from '../../version.ts';

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

/** Reads SERVICE_URL and SERVICE_API_KEY. Throws FatalError. */
export async function createClient(env: Environment, signal: AbortSignal): Promise<Client> {
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
      if (answer.status !== 401) return { status: answer.status, body: json };
      throw new FatalError(
        'KEY_REFUSED',
        `SERVICE_API_KEY was rejected by ${serviceUrl.origin}: set it to a key of the account`,
        { exitCode: exitCodes.keyRefused },
      );
    },
    close: () => transport.close(),
  };
}
