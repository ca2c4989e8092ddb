import { gzipSync } from 'node:zlib';
import { afterAll, beforeAll, expect, test, vi } from 'vitest';
import { agentRoutes, type AgentRoute } from '../../../src/protocol/routes.ts';
import { uuidv7 } from '../../../src/service/engine/ids.ts';
import {
  addAccount,
  addLocation,
  connectAgent,
  createAgentService,
  createClock,
  type AgentService,
} from '../../helpers/service/agent-service.ts';
import { anyDatabase } from '../../helpers/service/database.ts';

/** Bodies that would block the service are refused before they are parsed or explained. Counted, not timed. */

let service: AgentService;
let key: string;
let agentId: string;

beforeAll(async () => {
  const db = await anyDatabase.open();
  service = await createAgentService(db, createClock('2026-03-04T05:06:07.000Z'));
  const accountId = await addAccount(db);
  ({ key } = await addLocation(db, { accountId, slug: 'office' }));
  ({ agentId } = await connectAgent(service.app, { key }));
});
afterAll(async () => {
  await service.app.close();
  await anyDatabase.close();
});

async function post(route: AgentRoute, payload: string | Buffer, headers: Record<string, string> = {}) {
  const answer = await service.app.inject({
    method: 'POST',
    url: agentRoutes[route].path.replace(':jobId', uuidv7()),
    headers: { authorization: `Bearer ${key}`, 'content-type': 'application/json', ...headers },
    payload,
  });
  return { status: answer.statusCode, body: answer.json<{ attributes?: object; items?: unknown[] }>() };
}

const routes = Object.keys(agentRoutes) as AgentRoute[]; // the table's own keys
const fieldOf: { readonly [R in AgentRoute]: string } = {
  hello: 'checkTypes',
  claim: 'free',
  release: 'reason',
  events: 'events',
  artifactStates: 'artifacts',
  renew: 'leases',
  results: 'results',
};
const around = (route: AgentRoute, inner: string) =>
  `{"agentId":${JSON.stringify(agentId)},"${fieldOf[route]}":${inner}}`;
const megabytes = (item: string, of: number) => item.repeat(Math.floor((of * 1e6) / item.length));

/** Whether a text of this size was given to the parser during `work`. */
async function parsesLarge(work: () => Promise<void>): Promise<boolean> {
  const parse = vi.spyOn(JSON, 'parse');
  try {
    await work();
    return parse.mock.calls.some(([text]) => String(text).length > 1_000_000);
  } finally {
    parse.mockRestore();
  }
}

test.each(routes)('%s: garbage is refused before it is parsed', async (route) => {
  // A batch of results may be large.
  const size = route === 'results' ? 15 : 4;
  const bodies = [
    around(route, `[${megabytes('1,', size)}1]`),
    around(route, `[${megabytes('{},', size)}{}]`),
    around(route, `${megabytes('[', size / 2)}${megabytes(']', size / 2)}`),
    around(route, `${megabytes('{"a":', size)}1`),
  ];
  const parsed = await parsesLarge(async () => {
    for (const body of bodies) {
      for (const [sent, headers] of [
        [body, {}],
        [gzipSync(body), { 'content-encoding': 'gzip' }],
      ] as const) {
        const answer = await post(route, sent, headers);
        expect([400, 413]).toContain(answer.status);
        expect(answer.body.attributes).toBeDefined();
      }
    }
  });
  expect(parsed).toBe(false);
});

test('wide bodies within the limits are refused without a list of all their errors', async () => {
  const renewal = await post('renew', around('renew', `[${megabytes('{},', 0.25)}{}]`));
  expect(renewal).toMatchObject({
    status: 400,
    body: { attributes: { body: ['is malformed; it has more than 5000 values to look through'] } },
  });
  const wide = `{"jobId":"x","attempt":1,"assertions":[${megabytes('{},', 0.6)}{}]}`;
  const answer = await post('results', around('results', `[${wide},{"jobId":"y"}]`));
  expect(answer).toMatchObject({
    status: 200,
    body: {
      items: [
        { jobId: 'x', outcome: 'rejected', reason: 'malformed: too many values to look for the field' },
        { jobId: 'y', outcome: 'rejected', reason: expect.stringContaining('malformed: ') },
      ],
    },
  });
});

test('a result that is nested too deeply is rejected by itself', async () => {
  const deep = `{"jobId":"deep","details":${'['.repeat(100)}${']'.repeat(100)}}`;
  const answer = await post('results', around('results', `[${deep}]`));
  expect(answer).toMatchObject({ status: 200, body: { items: [{ jobId: 'deep', outcome: 'rejected' }] } });
});

test('the largest renewal of the protocol is accepted', async () => {
  const lines = Array.from({ length: 200 }, () => 'x'.repeat(1000));
  const leases = Array.from({ length: 10_000 }, (_, index) => ({
    jobId: uuidv7(),
    leaseToken: uuidv7(),
    stage: 'Running tests',
    ...(index < 16 ? { log: lines } : {}),
  }));
  const answer = await post('renew', JSON.stringify({ agentId, leases }));
  expect([answer.status, answer.body]).toMatchObject([200, { renewed: [], cancel: [] }]);
});
