import { dayMs } from '../../durations.ts';
import type { ApiDeps, PublicApi } from '../http/api.ts';
import { errorResponses } from '../http/fields/api-errors.ts';
import Type from 'typebox';
import { readDays } from './bars.ts';
import { countFiltered, isFiltering, listIds, readListed, type ListedCheck } from './list-statements.ts';
import { OverviewQuery, type Entry } from './schema.ts';
import { countStates, frequentTags } from './total-statements.ts';
import { findWaits } from './waits.ts';

const shownTags = 200;
/** Accounts whose tags are kept, so that they are counted again only after a change of a check. */
const keptAccounts = 100;

/** Registers the overview of all checks. */
export function registerOverview(api: PublicApi, deps: Pick<ApiDeps, 'db' | 'now'>): void {
  const { db, now } = deps;
  const tagsOf = createTags(deps);
  api.get(
    '/v1/checks-overview',
    {
      schema: {
        operationId: 'getChecksOverview',
        tags: ['Checks'],
        summary: 'Totals of all checks, and a page of them with their state and their last 24 hours',
        querystring: OverviewQuery,
        response: { 200: Type.Ref('ChecksOverview'), ...errorResponses(400) },
      },
    },
    async ({ accountId, query }) => {
      const time = now();
      const { totals, groups, version } = await countStates(db, accountId);
      const { search, state, type, tag, groupId, location } = query;
      const filter = { search, state, type, tag, groupId, location } as typeof query;
      const figuresSince = new Date(time - dayMs);
      const ids = await listIds(db, { accountId, query, figuresSince, now: time });
      const checks = await readListed(db, ids, time);
      return {
        totals,
        tags: await tagsOf(accountId, version),
        groups,
        length: isFiltering(filter) ? await countFiltered(db, accountId, filter) : totals.all,
        entries: await entriesOf(deps, { accountId, checks, now: time }),
      };
    },
  );
}

function createTags({ db }: Pick<ApiDeps, 'db'>) {
  const kept = new Map<string, { version: string; tags: string[] }>();
  return async (accountId: string, version: string): Promise<string[]> => {
    const known = kept.get(accountId);
    if (known?.version === version) return known.tags;
    const tags = await frequentTags(db, { accountId, limit: shownTags });
    kept.delete(accountId);
    kept.set(accountId, { version, tags });
    const [oldest] = kept.keys();
    if (kept.size > keptAccounts && oldest !== undefined) kept.delete(oldest);
    return tags;
  };
}

async function entriesOf(
  { db }: Pick<ApiDeps, 'db'>,
  { accountId, checks, now }: { accountId: string; checks: readonly ListedCheck[]; now: number },
): Promise<Entry[]> {
  if (checks.length === 0) return [];
  const dayOf = await readDays(db, { checkIds: checks.map(({ id }) => id), now });
  const waits = await findWaits(db, { accountId, checks, now });
  return checks.map(({ groupTags: _groupTags, reason, lastRunAt, nextRunAt, ...check }) => ({
    ...check,
    reason: reason?.message ?? null,
    ...dayOf(check.id),
    lastRunAt: isoOf(lastRunAt),
    nextRunAt: isoOf(nextRunAt),
    waits: waits.get(check.id) ?? null,
  }));
}

/** The database writes times of JSON with microseconds and an offset. */
const isoOf = (time: string | null) => (time === null ? null : new Date(time).toISOString());
