import { setTimeout as pause } from 'node:timers/promises';
import { exitCodes, FatalError, ServiceError } from '../../errors.ts';
import type { Fields } from '../../json-values.ts';
import { unusable, type Client } from './client.ts';

/** One deployment, from its start to its end, as the command that asks for it sees it. */

/** Longest wait for the deployment of somebody else. */
const othersMs = 30 * 60_000;
/** Longest wait for a service that does not answer. */
const awayMs = 120_000;
const againMs = 1_000;

export const deployPath = '/v1/projects/deploy';

export type Ended = { status: number; body: Fields };

type Watching = { signal: AbortSignal; stderr: (text: string) => void };

/** Starts a deployment. If another one of the project is going on, waits for its end first. */
export async function begin(
  client: Client,
  { query, body }: { query: string; body: object },
  { signal, stderr }: Watching,
): Promise<Ended> {
  const deadline = performance.now() + othersMs;
  let seen: unknown;
  for (;;) {
    const started = await client.call('POST', `${deployPath}?${query}`, body);
    const { errorCode, deploymentId } = started.body;
    if (started.status !== 409 || errorCode !== 'DEPLOYMENT_IN_PROGRESS') return started;
    if (signal.aborted) throw interrupted();
    if (performance.now() >= deadline) return started;
    if (deploymentId !== seen) stderr('another deployment of the project is going on: waiting for it\n');
    seen = deploymentId;
    await Promise.race([pause(againMs), aborted(signal)]);
  }
}

const aborted = (signal: AbortSignal): Promise<unknown> =>
  new Promise((resolve) => signal.addEventListener('abort', resolve, { once: true }));

const interrupted = () =>
  new FatalError('CONFIGURATION', 'interrupted: nothing was changed', { exitCode: exitCodes.couldNotRun });

/** Follows a deployment to its end; Ctrl-C cancels it. A service that is away is asked again. */
export async function follow(
  client: Client,
  { id, logicalId }: Fields,
  { signal, stderr }: Watching,
): Promise<Ended> {
  const path = `/v1/projects/${encodeURIComponent(String(logicalId))}/deployments/${String(id)}`;
  const ask = patient(client, stderr);
  let last = 0;
  stderr('0 %\n');
  let isCancelled = false;
  for (;;) {
    if (signal.aborted && !isCancelled) {
      isCancelled = true;
      await ask('POST', `${path}/cancel`);
    }
    const answer = await ask('GET', `${path}/completion?maxWaitSeconds=1`);
    if (answer.status === 200) return answer;
    if (answer.status !== 408 && answer.status < 500) throw unusable(client, path, answer);
    const { progress } = (await ask('GET', path)).body;
    if (typeof progress === 'number' && progress !== last) {
      stderr(`${progress} %\n`);
      last = progress;
    }
  }
}

/** Calls that are repeated while the service does not answer, because it may be starting again. */
function patient(client: Client, stderr: (text: string) => void): Client['call'] {
  return async (method, path, body) => {
    const deadline = performance.now() + awayMs;
    for (let isFirst = true; ; isFirst = false) {
      try {
        const answer = await client.call(method, path, body);
        if (answer.status < 500 || performance.now() >= deadline) return answer;
      } catch (error) {
        if (!(error instanceof ServiceError) || performance.now() >= deadline) throw error;
      }
      if (isFirst) stderr('the service does not answer: waiting for it\n');
      await pause(againMs);
    }
  };
}
