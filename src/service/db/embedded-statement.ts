import { parse, protocol, type PGlite } from '@electric-sql/pglite';
import type { FrequentStatements } from './frequent-statements.ts';

/**
 * Each statement of the embedded database is one message of the wire protocol. The engine's own `query` sends six, and
 * each of them costs as much as a small statement. A transaction prepares statements that it repeats, and statements that
 * the service repeats stay prepared.
 */

/** Uses of a statement in one transaction from which on it is prepared: planning costs more than most executions. */
const usesUntilPrepared = 10;
/** Most statements that one transaction prepares. */
const mostPrepared = 50;

/** Statements that a transaction has prepared because it repeats them. */
export type Prepared = { uses: Map<string, number>; names: Map<string, string>; seen: Set<string> };

/** Statements that stay prepared: which are frequent, and which the engine has. */
export type Lasting = { frequent: FrequentStatements; known: Set<string>; plans: number };

export const nothingPrepared = (): Prepared => ({ uses: new Map(), names: new Map(), seen: new Set() });

let lastName = 0;

/**
 * Runs one statement and returns its rows. The caller holds the engine, so that nothing else runs meanwhile.
 * `prepared`: of the transaction, if there is one.
 */
export async function runStatement<Row>(
  engine: PGlite,
  {
    sql,
    params,
    prepared,
    lasting,
  }: { sql: string; params: readonly unknown[]; prepared: Prepared | null; lasting: Lasting },
): Promise<Row[]> {
  const { serialize } = protocol;
  const lastingName = lasting.frequent.nameOf(sql, prepared?.seen);
  const ofTransaction = prepared?.names.get(sql);
  const name = lastingName ?? ofTransaction ?? newName(sql, prepared);
  const isKnown = lastingName === undefined ? ofTransaction !== undefined : lasting.known.has(name);
  // A statement that failed may have left its name behind.
  const isFresh = isKnown || lastingName === undefined;
  const plans = lasting.frequent.plansOf();
  if (lasting.plans !== plans) {
    await engine.execProtocolStream(serialize.query('discard plans'), { syncToFs: false });
    lasting.plans = plans;
  }
  const message = Buffer.concat([
    ...(isFresh ? [] : [serialize.close({ type: 'S', name })]),
    ...(isKnown ? [] : [serialize.parse({ text: sql, name })]),
    serialize.bind({ statement: name, values: params.map(wireText) }),
    serialize.describe({ type: 'P' }),
    serialize.execute({}),
    serialize.sync(),
  ]);
  const started = performance.now();
  const answers = await engine.execProtocolStream(message, { syncToFs: false }).catch((error: unknown) => {
    lasting.frequent.isUnprepared(error, sql);
    throw error;
  });
  if (lastingName !== undefined) {
    lasting.frequent.took(performance.now() - started);
    lasting.known.add(lastingName);
  } else if (name !== '') prepared?.names.set(sql, name);
  const [result] = parse.parseResults(answers, engine.parsers);
  return (result?.rows ?? []) as Row[]; // the caller names the row type of its own SQL
}

/** The name under which a statement is prepared; empty = for this use only. */
function newName(sql: string, prepared: Prepared | null): string {
  if (prepared === null || prepared.names.size >= mostPrepared) return '';
  const uses = (prepared.uses.get(sql) ?? 0) + 1;
  prepared.uses.set(sql, uses);
  return uses < usesUntilPrepared ? '' : `repeated_${++lastName}`;
}

/** Forgets what a transaction has prepared. */
export async function closePrepared(engine: PGlite, { names }: Prepared): Promise<void> {
  if (names.size === 0) return;
  const { serialize } = protocol;
  const closes = [...names.values()].map((name) => serialize.close({ type: 'S', name }));
  await engine.execProtocolStream(Buffer.concat([...closes, serialize.sync()]), { syncToFs: false });
}

/** A parameter as the server's own client writes it, too: its text, of which the statement says the type. */
function wireText(value: unknown): string | null {
  if (value === null || value === undefined) return null;
  if (typeof value === 'string') return value;
  if (Buffer.isBuffer(value)) return `\\x${value.toString('hex')}`;
  if (value instanceof Date) return value.toISOString();
  if (Array.isArray(value)) return `{${value.map(elementText).join(',')}}`;
  return typeof value === 'object' ? JSON.stringify(value) : String(value);
}

/** An element of an array's text. Quotation marks keep commas, braces and the word NULL as they are. */
function elementText(value: unknown): string {
  if (Array.isArray(value)) return wireText(value) ?? 'NULL';
  const text = wireText(value);
  return text === null ? 'NULL' : `"${text.replaceAll(/["\\]/g, '\\$&')}"`;
}
