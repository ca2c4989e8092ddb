import type { TypeBoxTypeProvider } from '@fastify/type-provider-typebox';
import type { FastifyInstance, preHandlerAsyncHookHandler } from 'fastify';
import Type from 'typebox';
import type { Reason } from '../../protocol/reasons.ts';
import { findAccount } from '../accounts/statements.ts';
import { checksInShort } from '../checks/storage/in-short.ts';
import { keysOfLocations, listLocations } from '../locations/statements.ts';
import { recentResults, suiteRuns, type RecentResultRow } from '../results/statements.ts';
import { statusesOf } from '../results/status-statements.ts';
import type { ApiDeps } from '../http/api.ts';
import { presentStatus } from '../results/status-routes.ts';
import { checkInput } from '../http/input-limits.ts';
import { agentsByLocation } from '../locations/agents.ts';
import { offsetOf, paginationFields } from '../http/fields/pagination.ts';
import { isUuid } from '../http/fields/path-params.ts';
import type { Authenticate } from '../accounts/auth.ts';
import { strict } from '../http/fields/strict-schema.ts';
import { servePageFile } from '../http/page-files.ts';
import type { Overview, ShownLocation, SuiteRun } from './page-data.ts';
import { runningOnPage } from './running.ts';

import { dayMs } from '../../durations.ts';

/** Number of runs in the graphs of a suite. */
const shownSuiteRuns = 30;
/** Number of bars of a check on the page, and how far back they reach. */
const shownRuns = 20;
const shownDays = 3;
const shownLocations = 100;
const checksAtOnce = 10;

const securityHeaders = {
  'content-security-policy':
    "default-src 'none'; script-src 'self'; style-src 'self'; connect-src 'self'; img-src data:; " +
    "base-uri 'none'; form-action 'none'; frame-ancestors 'none'",
  'x-content-type-options': 'nosniff',
  'referrer-policy': 'no-referrer',
  'cache-control': 'no-cache',
};

const files = [
  { path: '/', name: 'page.html' },
  { path: '/web/style.css', name: 'style.css' },
  { path: '/web/app.js', name: 'app.js' },
] as const;

/** Routes of the page and of its data. */
export function registerWeb(
  app: FastifyInstance,
  deps: ApiDeps,
  { authenticate, signInOnce }: { authenticate: Authenticate; signInOnce: preHandlerAsyncHookHandler },
): void {
  for (const file of files) servePageFile(app, { ...file, headers: securityHeaders });
  const signIn = { path: '/sign-in', name: 'page.html', headers: securityHeaders } as const;
  servePageFile(app, { ...signIn, preHandler: signInOnce });

  void app.register(async (instance) => {
    instance.addHook('onRequest', authenticate);
    instance.addHook('preValidation', checkInput);
    const querystring = strict(Type.Object(paginationFields));
    instance
      .withTypeProvider<TypeBoxTypeProvider>()
      .get('/web/overview', { schema: { hide: true, querystring } }, async ({ accountId, query }) =>
        overview(deps, { accountId, limit: query.limit, offset: offsetOf(query) }),
      )
      .get(
        '/web/suite-runs',
        { schema: { hide: true, querystring: strict(Type.Object({ checkId: Type.String() })) } },
        async ({ accountId, query: { checkId } }) => ({
          runs: isUuid(checkId) ? await runsOfSuite(deps, { accountId, checkId }) : [],
        }),
      )
      .get(
        '/web/running',
        { schema: { hide: true, querystring: strict(Type.Object({ checkId: Type.String() })) } },
        async ({ accountId, query: { checkId } }) =>
          isUuid(checkId) ? runningOnPage(deps, { accountId, checkId }) : { runs: [] },
      );
  });
}

async function runsOfSuite(
  { db }: ApiDeps,
  { accountId, checkId }: { accountId: string; checkId: string },
): Promise<SuiteRun[]> {
  const rows = await suiteRuns(db, { accountId, checkId, limit: shownSuiteRuns });
  return rows.map(({ startedAt, ...row }) => ({ ...row, startedAt: startedAt.toISOString() }));
}

async function overview(
  { db, now }: ApiDeps,
  { accountId, limit, offset }: { accountId: string; limit: number; offset: number },
): Promise<Overview> {
  const account = await findAccount(db, accountId);
  const checks = await checksInShort(db, { accountId, limit, offset });
  const checkIds = checks.map(({ id }) => id);
  const since = new Date(now() - shownDays * dayMs);
  const statuses = await statusesOf(db, { accountId, checkIds });
  const results: RecentResultRow[] = [];
  // A few checks at a time, because the embedded database runs one statement at a time and agents need it too.
  for (let from = 0; from < checkIds.length; from += checksAtOnce) {
    const some = checkIds.slice(from, from + checksAtOnce);
    results.push(...(await recentResults(db, { accountId, checkIds: some, since, limit: shownRuns })));
  }
  return {
    account: { name: account?.name ?? '' },
    checks: checks.map((check) => {
      const status = statuses.find(({ checkId }) => checkId === check.id);
      return {
        ...check,
        status:
          status === undefined
            ? null
            : // The agent routes validate a reason before it is stored.
              { ...presentStatus(status), reason: status.reason as Reason | null },
        results: results
          .filter(({ checkId }) => checkId === check.id)
          .map(({ checkId: _checkId, startedAt, ...result }) => ({
            ...result,
            startedAt: startedAt.toISOString(),
          })),
      };
    }),
    locations: await locationsOf({ db, accountId, now: now() }),
  };
}

/** Lists private locations, and the data centres that have agents or checks. */
async function locationsOf({
  db,
  accountId,
  now,
}: {
  db: ApiDeps['db'];
  accountId: string;
  now: number;
}): Promise<ShownLocation[]> {
  const page = { limit: shownLocations, offset: 0 };
  const rows = [
    ...(await listLocations(db, { accountId, kind: 'private', ...page })),
    ...(await listLocations(db, { accountId, kind: 'data-center', ...page })),
  ];
  const locationIds = rows.map(({ id }) => id);
  const agentsOf = await agentsByLocation(db, { locationIds, now });
  const keys = await keysOfLocations(db, locationIds);
  return rows.map(({ id, name, slugName }) => ({
    name,
    slugName,
    ...agentsOf(id),
    keyCount: keys.filter(({ locationId }) => locationId === id).length,
  }));
}
