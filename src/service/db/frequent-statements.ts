import { createHash } from 'node:crypto';
import { sqlState } from './database.ts';

/**
 * Statements that are worth preparing. The loops of the service repeat a few dozen statements, and to parse and plan one
 * of them takes the database longer than to run it. A statement that was only asked for now and then is not prepared: it
 * is planned for its own values, and its plan takes no memory.
 */
export type FrequentStatements = {
  /**
   * Counts a use, one for each transaction: `seen` has the statements that the transaction has used. Returns the name under
   * which the statement is prepared, or undefined.
   */
  nameOf: (sql: string, seen?: Set<string>) => string | undefined;
  /** Whether a statement with a name failed because of its preparation. It has no name any more, and can be repeated. */
  isUnprepared: (error: unknown, sql: string) => boolean;
  /** Notes how long a prepared statement took, in milliseconds. */
  took: (milliseconds: number) => void;
  /** Changes when plans that were made before are to be given up. */
  plansOf: () => number;
};

/** So many uses within this time make a statement frequent. */
const uses = 20;
const withinMs = 60_000;
/** Plans take memory in each connection. */
const mostPrepared = 100;
/** Texts that are counted at a time. */
const mostCounted = 1_000;

/**
 * A plan is made for tables as they are, and kept until the database has examined them anew. One that was made while a table was
 * empty reads all of it, after an outage for each of thousands of results. So plans are made again when a statement takes this long.
 */
const slowMs = 20;
/** At most so often: to plan all statements takes a connection some ten milliseconds. */
const betweenPlansMs = 15_000;

/** invalid_sql_statement_name and duplicate_prepared_statement: a pooler uses several connections for one of ours. */
const poolerStates = ['26000', '42P05'];
/** feature_not_supported: an upgrade of the tables has changed the columns of `select *`. */
const changedState = '0A000';

export function createFrequentStatements(now: () => number = () => performance.now()): FrequentStatements {
  const names = new Map<string, string>();
  const refused = new Set<string>();
  let counts = new Map<string, number>();
  let since = now();
  let isOff = false;
  let plans = 0;
  let plannedAt = -Infinity;

  return {
    nameOf: (sql, seen) => {
      if (isOff) return undefined;
      const known = names.get(sql);
      if (known !== undefined) return known;
      if (names.size >= mostPrepared || refused.has(sql) || seen?.has(sql) === true) return undefined;
      seen?.add(sql);
      if (now() - since > withinMs || counts.size > mostCounted) {
        counts = new Map();
        since = now();
      }
      const count = (counts.get(sql) ?? 0) + 1;
      counts.set(sql, count);
      if (count < uses) return undefined;
      const name = nameFor(sql);
      names.set(sql, name);
      return name;
    },
    isUnprepared: (error, sql) => {
      const state = sqlState(error);
      // It may have failed on several connections at once.
      if (state === null || !(names.has(sql) || refused.has(sql) || isOff)) return false;
      if (poolerStates.includes(state)) isOff = true;
      else if (state === changedState) {
        names.delete(sql);
        refused.add(sql);
      } else return false;
      return true;
    },
    took: (milliseconds) => {
      if (milliseconds < slowMs || now() - plannedAt < betweenPlansMs) return;
      plannedAt = now();
      plans += 1;
    },
    plansOf: () => plans,
  };
}

/** Of the text alone: behind a pooler, a name must not mean the statement of another client. */
const nameFor = (sql: string) => `frequent_${createHash('sha256').update(sql).digest('hex').slice(0, 32)}`;
