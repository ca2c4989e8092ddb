/**
 * What statements on `check_results` need from results that are kept outside the database. The files and their reader are
 * in result-files/; a database without such a reader has all its results in the table.
 */

/** Columns of `check_results` that have the same value in many rows, or a short one: cheap to read. */
export type PlainColumn =
  | 'started_at'
  | 'stopped_at'
  | 'stored_at'
  | 'check_type'
  | 'run_location'
  | 'result_type'
  | 'status'
  | 'has_failures'
  | 'has_errors'
  | 'is_degraded'
  | 'over_max_response_time'
  | 'is_cancelled'
  | 'response_time'
  | 'attempts';

/**
 * Columns that cost more to read. Parts of the body are read one by one; `status_code` is read in place of `details`, if nothing
 * else of them is needed.
 */
export type CostlyColumn =
  | 'id'
  | 'check_id'
  | 'job_id'
  | 'lease_token'
  | 'sequence_id'
  | 'reason'
  | 'totals'
  | 'assertions'
  | 'timings'
  | 'details'
  | 'artifacts'
  | 'log'
  | 'other'
  | 'body_bytes'
  | 'status_code';

export type ResultColumn = PlainColumn | CostlyColumn;

/** Values of a row by which a list is narrowed, before the rest of it is read. */
export type FilterValues = {
  run_location: string;
  check_type: string;
  result_type: string;
  status: string;
  has_failures: boolean;
  sequence_id: string | null;
};

export type WantedResults = {
  checkIds: readonly string[];
  /** Results that started within one of these times, ends included; null = no limit. */
  spans: readonly { from: Date | null; to: Date | null }[];
  /** Columns that the statement uses. The others are null. None = only the number of results is read. */
  columns: readonly ResultColumn[] | 'all';
  /** Which results count for `limit`. The statement has the same conditions. */
  only?: { [C in keyof FilterValues]?: FilterValues[C] | readonly FilterValues[C][] };
  /** The statement reads at most so many, in this order. Those that started at `uncounted` do not count. */
  first?: { limit: number; order: 'newest' | 'oldest'; uncounted?: Date | null };
  /** Bodies that take more bytes in the table than this are left out. */
  maxBodyBytes?: number;
  /**
   * Files that are left out if they cannot be read, for statements on which other work depends: `damaged` ones (the store
   * answers, but not with the file), or `any`. Absent = none, and the statement fails.
   */
  leaveOut?: 'damaged' | 'any';
  /** The store must answer within this time, in milliseconds; otherwise it counts as unavailable. Absent = its own limits. */
  withinMs?: number;
};

/** A column of results from files: the text of an array with a value for each row, or of the one value of all rows. */
export type FiledColumn = { name: string; isArray: boolean; text: string | null };

/**
 * Results from files, as columns of `check_results`, and what tells whether they are still in files. `count`: how many they
 * are. If columns are wanted and there are results, at least one column is an array.
 */
export type FiledPart = { count: number; columns: readonly FiledColumn[]; version: string };

/** Runs statements: the database, or a transaction on it. */
type Statements = {
  query<Row = Record<string, unknown>>(sql: string, params?: readonly unknown[]): Promise<Row[]>;
};

export type FiledResults = {
  /**
   * Reads the results in files. It may return more than is wanted, because the statement has the conditions again. Rejects
   * with StoreUnavailable if a file cannot be read.
   */
  read: (db: Statements, wanted: WantedResults) => Promise<FiledPart>;
  /** Whether files have been added or removed since. */
  isCurrent: (db: Statements, wanted: WantedResults, part: FiledPart) => Promise<boolean>;
};

/** The version of a part when there is no file with wanted results. */
export const noFiles = '';
