import { expect, inject } from 'vitest';
import { apiOf, until } from '../e2e/program.ts';

/** What global-setup.ts has started for all files: the service, and the targets in a container beside it. */

export type World = {
  network: string;
  serviceUrl: string;
  apiKey: string;
  service: string;
  targets: string;
  targetsUrl: string;
  /** Address of the targets in the network. */
  targetsAddress: string;
  /** PEM file on this machine: the authority of the targets' certificate. */
  authorityFile: string;
};

declare module 'vitest' {
  export interface ProvidedContext {
    world: World;
  }
}

export const world = inject('world');
export const api = apiOf(world.serviceUrl, world.apiKey);

export type Result = {
  id: string;
  status: string;
  resultType: string;
  checkType: string;
  reason: { code: string; message: string } | null;
  log: { msg: string }[];
  details: { [field: string]: unknown } | null;
};

type Location = { id: string; slug: string; key: string };

/** A location only for one test's agents, and its key. */
export async function newLocation(slug: string, fields: object = {}): Promise<Location> {
  const made = await api<{ id: string }>('POST', '/v1/private-locations', {
    name: slug,
    slugName: slug,
    ...fields,
  });
  expect(made, JSON.stringify(made.body)).toMatchObject({ status: 201 });
  const key = await api<{ rawKey: string }>('POST', `/v1/private-locations/${made.body.id}/keys`);
  return { id: made.body.id, slug, key: key.body.rawKey };
}

export type CheckKind =
  | 'url'
  | 'api'
  | 'tcp'
  | 'dns'
  | 'icmp'
  | 'ssl'
  | 'grpc'
  | 'traceroute'
  | 'browser'
  | 'multistep'
  | 'playwright';

/** A check that is never due; its id. */
export async function makeCheck(kind: CheckKind, slug: string, fields: object): Promise<string> {
  const made = await api<{ id: string }>('POST', `/v1/checks/${kind}`, {
    name: `${kind} at ${slug}`,
    privateLocations: [slug],
    frequency: 1440,
    ...(kind === 'playwright' ? {} : { doubleCheck: false }),
    ...fields,
  });
  expect(made, JSON.stringify(made.body)).toMatchObject({ status: 201 });
  return made.body.id;
}

/** Asks for runs of checks now; a session each. */
export async function trigger(checkIds: string[]): Promise<string[]> {
  const target = { target: { checkId: checkIds } };
  const { status, body } = await api<{ sessions: { checkSessionId: string }[] }>(
    'POST',
    '/v2/check-sessions/trigger',
    target,
  );
  expect(status).toBe(201);
  return body.sessions.map(({ checkSessionId }) => checkSessionId);
}

/** The results of a session once all its runs have ended. */
export async function resultsOf(session: string, timeoutMs = 120_000): Promise<Result[]> {
  type Ended = { results: { checkResultId: string; checkId: string }[] };
  const path = `/v2/check-sessions/${session}/completion?maxWaitSeconds=20`;
  const { body } = await until(
    async () => {
      const answer = await api<Ended>('GET', path);
      expect([200, 408]).toContain(answer.status);
      return answer.status === 200 ? answer : null;
    },
    'the end of a session',
    timeoutMs,
  );
  return Promise.all(
    body.results.map(
      async ({ checkId, checkResultId }) =>
        (await api<Result>('GET', `/v1/check-results/${checkId}/${checkResultId}`)).body,
    ),
  );
}

/** Runs a check once and gives its one result. */
export async function runCheck(kind: CheckKind, slug: string, fields: object): Promise<Result> {
  const [session = ''] = await trigger([await makeCheck(kind, slug, fields)]);
  const [result] = await resultsOf(session);
  if (result === undefined) throw new Error(`the session of ${kind} at ${slug} ended without a result`);
  return result;
}

/** In words, for failures. */
export const told = (result: Result) =>
  JSON.stringify([result.reason, result.log.map(({ msg }) => msg)], null, 1);

/** A page of the targets, as their container's published port gives it. */
export async function targets<T>(path: string): Promise<T> {
  return (await (await fetch(world.targetsUrl + path)).json()) as T; // the targets' own answer
}

/** Waits until a request of /hold/NAME is under way: the check that made it runs. */
export const untilHeld = (name: string) =>
  until(async () => (await targets<string[]>('/held')).includes(name), `a request of /hold/${name}`, 30_000);
