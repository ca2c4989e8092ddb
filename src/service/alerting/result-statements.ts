import type { Fields } from '../../json-values.ts';
import { certificateExpiryOf } from '../../protocol/certificate-expiry.ts';
import { timeOfUuidv7 } from '../engine/ids.ts';
import { wholeBody } from '../db/whole-body.ts';
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
  /** The service learned of it long after it had ended. Agents send results within seconds while it is there. */
  isLate: boolean;
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
  'id' | 'runLocation' | 'runLocationName' | 'responseTime' | 'error' | 'startedAt' | 'isLate'
> & {
  status: unknown;
  statusText: unknown;
  target: unknown;
  certificates: Fields;
};

/** SQL for the parts of a result's details that `certificateExpiryOf` reads. */
const certificates = `jsonb_build_object('certificate', whole.body#>'{details,certificate}',
         'sslCheck', whole.body#>'{details,sslCheck}', 'daysUntilExpiry', whole.body#>'{details,daysUntilExpiry}',
         'response', jsonb_build_object('certificate', whole.body#>'{details,response,certificate}',
           'earliestExpiry', whole.body#>'{details,response,earliestExpiry}'))`;

/** Reads results by id and omits those that no longer exist. */
export async function findAlertResults(
  tx: Queryable,
  { accountIds, ids }: { accountIds: readonly string[]; ids: readonly string[] },
): Promise<Map<string, AlertResult>> {
  if (ids.length === 0) return new Map();
  const rows = await tx.query<Row>(
    `select r.id, r.run_location as "runLocation", coalesce(l.name, r.run_location) as "runLocationName",
       r.response_time as "responseTime", r.reason->>'message' as error, r.started_at as "startedAt",
       r.stored_at - r.stopped_at > interval '1 minute' as "isLate",
       whole.body#>'{details,response,status}' as status, whole.body#>'{details,response,statusText}' as "statusText",
       coalesce(whole.body#>'{details,response,href}', whole.body#>'{details,request,url}',
         whole.body#>'{details,request,hostname}') as target,
       ${certificates} as certificates
     from unnest($1::uuid[], $2::timestamptz[]) as item (id, at)
     join check_results r on r.id = item.id and r.account_id = any($3::uuid[])
       and r.started_at >= item.at and r.started_at < item.at + interval '1 millisecond'
     cross join lateral (select ${wholeBody('r.')} as body offset 0) as whole
     left join locations l on l.account_id = r.account_id and l.slug_name = r.run_location`,
    [[...ids], ids.map((id) => new Date(timeOfUuidv7(id) ?? 0)), [...accountIds]],
  );
  return new Map(rows.map((row) => [row.id, resultOf(row)]));
}

function resultOf({ status, statusText, target, certificates, ...row }: Row): AlertResult {
  const expiry = certificateExpiryOf(certificates);
  return {
    ...row,
    statusCode: typeof status === 'number' && status >= 100 && status <= 999 ? Math.trunc(status) : null,
    statusText: typeof statusText === 'string' ? statusText : null,
    certificate:
      expiry === null
        ? null
        : {
            domain: expiry.host ?? hostOf(target),
            expiresAt: expiry.expiresAt === null ? null : new Date(expiry.expiresAt),
            daysRemaining: expiry.daysRemaining,
          },
  };
}

function hostOf(target: unknown): string | null {
  if (typeof target !== 'string' || target === '') return null;
  return URL.canParse(target) ? new URL(target).hostname : target.slice(0, 253);
}
