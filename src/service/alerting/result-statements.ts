import { timeOfUuidv7 } from '../engine/ids.ts';
import type { Queryable } from '../db/database.ts';

/** The fields of a result that alerts show, read without the rest of its body. */

export type AlertResult = {
  id: string;
  runLocation: string;
  /** The location's name, or its slug if the location was deleted. */
  runLocationName: string;
  /** Milliseconds. */
  responseTime: number;
  error: string | null;
  startedAt: Date;
  statusCode: number | null;
  statusText: string | null;
  certificate: {
    /** The host that presented the certificate; null when the result does not contain it. */
    domain: string | null;
    /** Null when the result does not contain it. */
    expiresAt: Date | null;
    daysRemaining: number;
  } | null;
};

type Row = Pick<
  AlertResult,
  'id' | 'runLocation' | 'runLocationName' | 'responseTime' | 'error' | 'startedAt'
> & {
  status: unknown;
  statusText: unknown;
  target: unknown;
  validTo: unknown;
  days: unknown;
};

/** Reads results by id and omits those that no longer exist. */
export async function findAlertResults(
  tx: Queryable,
  { accountIds, ids }: { accountIds: readonly string[]; ids: readonly string[] },
): Promise<Map<string, AlertResult>> {
  if (ids.length === 0) return new Map();
  const rows = await tx.query<Row>(
    `select r.id, r.run_location as "runLocation", coalesce(l.name, r.run_location) as "runLocationName",
       r.response_time as "responseTime", r.reason->>'message' as error, r.started_at as "startedAt",
       r.body#>'{details,response,status}' as status, r.body#>'{details,response,statusText}' as "statusText",
       coalesce(r.body#>'{details,response,href}', r.body#>'{details,request,url}',
         r.body#>'{details,request,hostname}') as target,
       r.body#>'{details,certificate,validTo}' as "validTo", r.body#>'{details,certificate,daysRemaining}' as days
     from unnest($1::uuid[], $2::timestamptz[]) as item (id, at)
     join check_results r on r.id = item.id and r.account_id = any($3::uuid[])
       and r.started_at >= item.at and r.started_at < item.at + interval '1 millisecond'
     left join locations l on l.account_id = r.account_id and l.slug_name = r.run_location`,
    [[...ids], ids.map((id) => new Date(timeOfUuidv7(id) ?? 0)), [...accountIds]],
  );
  return new Map(rows.map((row) => [row.id, resultOf(row)]));
}

function resultOf({ status, statusText, target, validTo, days, ...row }: Row): AlertResult {
  const expiresAt = typeof validTo === 'string' ? new Date(validTo) : null;
  return {
    ...row,
    statusCode: typeof status === 'number' && status >= 100 && status <= 999 ? Math.trunc(status) : null,
    statusText: typeof statusText === 'string' ? statusText : null,
    certificate:
      typeof days === 'number' && Math.abs(days) < 1e6
        ? {
            domain: hostOf(target),
            expiresAt: expiresAt !== null && !Number.isNaN(expiresAt.getTime()) ? expiresAt : null,
            daysRemaining: Math.trunc(days),
          }
        : null,
  };
}

function hostOf(target: unknown): string | null {
  if (typeof target !== 'string' || target === '') return null;
  return URL.canParse(target) ? new URL(target).hostname : target.slice(0, 253);
}
