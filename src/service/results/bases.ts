import { minuteMs } from '../../durations.ts';
import { serviceCheckType } from '../checks/types/table.ts';
import { dayOf } from '../db/partitions.ts';
import type { Db, Queryable } from '../db/database.ts';
import { upgradedAt } from '../db/upgraded.ts';
import { uuidv7 } from '../engine/ids.ts';
import { differenceOf } from './difference.ts';
import type { ResultToStore } from './store-result.ts';

/**
 * Uneventful runs of a check repeat most of the result before: the request, the assertions, most headers, the certificate.
 * The body that they repeat is their base: it is stored once a day, and of each result only what differs from it.
 */
export type ResultBases = {
  /** Replaces bodies by what differs from their base. `fresh`: bases that have to be stored in the same transaction. */
  shorten: (results: readonly ResultToStore[], now: number) => { results: ResultToStore[]; fresh: Base[] };
  /** Call it after the transaction, with the same time. */
  areStored: (bases: readonly Base[], now: number) => void;
};

export type Base = {
  id: string;
  startedAt: number;
  /** JSON text. */
  body: string;
  /** When it was stored last; null = never. */
  storedAt: number | null;
  /** How many results in a row have had little in common with it. */
  misfits: number;
};

/** Memory of a replica, enough for 100,000 checks. When it is full, checks without a base store whole bodies. */
const mostBytes = 128 * 1024 * 1024;
/** A difference that is longer than this share of the body is not worth a second read. */
const mostShare = 0.6;
const misfitsUntilReplaced = 3;
/** It is stored again after this time, because a database that was set back has lost it. */
const againMs = 10 * minuteMs;

/**
 * Keeps a base for each check of the day in memory. Each replica has its own. Bodies stay whole before `from`: replicas of an
 * earlier release may still read them.
 */
export function createResultBases(from = 0): ResultBases {
  const bases = new Map<string, Base>();
  let day = 0;
  let bytes = 0;

  function keep({ checkId, startedAt, body }: ResultToStore): void {
    bytes -= bases.get(checkId)?.body.length ?? 0;
    bases.delete(checkId);
    if (bytes + body.length > mostBytes) return;
    bytes += body.length;
    bases.set(checkId, { id: uuidv7(startedAt), startedAt, body, storedAt: null, misfits: 0 });
  }

  /** Null: the result is stored as it is. */
  function shortened(result: ResultToStore): { result: ResultToStore; base: Base } | null {
    const { checkId, checkType, startedAt, body } = result;
    if (serviceCheckType(checkType)?.sharesBodies !== true || dayOf(startedAt) !== day) return null;
    const base = bases.get(checkId);
    if (base === undefined) {
      // The first run of a day is only remembered: checks that run rarely have no use for a base.
      keep(result);
      return null;
    }
    const difference = differenceOf(JSON.parse(base.body), contentOf(result));
    const text = difference === undefined ? body : JSON.stringify(difference);
    if (text.length > body.length * mostShare) {
      base.misfits += 1;
      if (base.misfits >= misfitsUntilReplaced) keep(result);
      return null;
    }
    base.misfits = 0;
    return { result: { ...result, body: text, baseId: base.id }, base };
  }

  return {
    shorten: (results, now) => {
      if (now < from) return { results: [...results], fresh: [] };
      const today = Math.max(day, ...results.map(({ startedAt }) => dayOf(startedAt)));
      if (today > day) {
        bases.clear();
        bytes = 0;
        day = today;
      }
      const fresh = new Set<Base>();
      const short = results.map((whole) => {
        const made = shortened(whole);
        if (made === null) return whole;
        if (now - (made.base.storedAt ?? -Infinity) >= againMs) fresh.add(made.base);
        return made.result;
      });
      return { results: short, fresh: [...fresh] };
    },
    areStored: (stored, now) => {
      for (const base of stored) base.storedAt = now;
    },
  };
}

/** A text with escaped characters may have been made fit for the database, and is not that of its content. */
const contentOf = ({ body, content }: ResultToStore): unknown =>
  content === undefined || body.includes('\\u') ? JSON.parse(body) : content;

/** The migration with which replicas can read bodies that have only what differs. */
const firstMigration = 55;

/** From when on bodies may be stored like that. */
export const basesFrom = (db: Db): Promise<number> => upgradedAt(db, firstMigration);

/** Stores bases. The partitions of their days must exist. */
export async function insertBases(tx: Queryable, bases: readonly Base[]): Promise<void> {
  if (bases.length === 0) return;
  // All writers use the same order. Another transaction of this replica may store the same ones.
  const sorted = [...bases].sort((a, b) => (a.id < b.id ? -1 : 1));
  await tx.query(
    `insert into result_bases (id, started_at, body)
     select * from unnest($1::uuid[], $2::timestamptz[], $3::jsonb[]) on conflict do nothing`,
    [
      sorted.map(({ id }) => id),
      sorted.map(({ startedAt }) => new Date(startedAt)),
      sorted.map(({ body }) => body),
    ],
  );
}
