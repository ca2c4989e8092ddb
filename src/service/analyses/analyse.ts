import type { AnalysisConfig } from '../../config/analysis.ts';
import { toError } from '../../errors.ts';
import type { Log } from '../../log.ts';
import type { Background } from '../engine/background.ts';
import {
  completeAnalysis,
  completeLostAnalyses,
  findAnalysis,
  type Analysis,
  type AnalysisRow,
} from './statements.ts';
import type { Db } from '../db/database.ts';
import type { Encryption } from '../engine/encryption.ts';
import { analyseByModel } from './ask-model.ts';
import { analyseByRules, builtinProvider } from './builtin.ts';
import { gatherFacts, type Facts } from './facts.ts';
import { analysesQueue, type AnalysisItem } from './queue.ts';
import { secretsOfCheck } from './secrets-of-check.ts';
import { hourMs } from '../../durations.ts';

/** Performs queued root cause analyses. */

type Deps = {
  db: Db;
  encryption: Encryption;
  log: Log;
  now: () => number;
  config: AnalysisConfig;
  /** Timeout of one model call; absent = one minute. */
  modelTimeoutMs?: number;
};

const queue = {
  name: analysesQueue,
  retryLimit: 3,
  retryDelaySeconds: 10,
  expireSeconds: 240,
  concurrency: 2,
};

/** Call before `background.prepare()`. */
export function handleAnalyses(background: Background, deps: Deps): void {
  background.handle<AnalysisItem>(queue, async ({ analysisId }, item) => {
    const row = await findAnalysis(deps.db, { accountId: null, id: analysisId });
    if (row?.status !== 'PENDING') return;
    const begun = deps.now();
    const complete = (by: { provider: string; model: string }, analysis: Analysis) =>
      completeAnalysis(deps.db, {
        id: row.id,
        ...by,
        durationMs: Math.max(0, deps.now() - begun),
        analysis,
      });
    try {
      const facts = await gatherFacts(deps.db, row);
      if (facts === null)
        return await complete(builtinProvider, nothingToSay('The error group was deleted.'));
      const { by, analysis } = await analyse(deps, { row, facts, signal: item.signal });
      await complete(by, analysis);
    } catch (error) {
      if (!item.isLast) throw error;
      deps.log.error({ analysis: row.id, error: toError(error).message }, 'root cause analysis failed');
      await complete(
        builtinProvider,
        nothingToSay('The analysis failed. The log of the service has the reason.'),
      );
    }
  });
}

async function analyse(
  { db, encryption, log, config: { endpoint }, modelTimeoutMs = 60_000 }: Deps,
  { row, facts, signal }: { row: AnalysisRow; facts: Facts; signal: AbortSignal },
): Promise<{ by: { provider: string; model: string }; analysis: Analysis }> {
  if (endpoint !== null) {
    try {
      const { accountId } = row;
      const secrets = await secretsOfCheck(db, encryption, { accountId, check: facts.check });
      const analysis = await analyseByModel(endpoint, facts, { secrets, signal, timeoutMs: modelTimeoutMs });
      return { by: { provider: 'openai-compatible', model: endpoint.model }, analysis };
    } catch (error) {
      // The service is stopping: another replica starts the analysis again.
      if (signal.aborted) throw error;
      log.warn(
        { analysis: row.id, error: toError(error).message },
        'model gave no valid analysis, using rules instead',
      );
    }
  }
  return { by: builtinProvider, analysis: analyseByRules(facts) };
}

const lostAfterMs = hourMs;

/** Completes analyses whose work was lost because the service stopped repeatedly, with a note that says so. */
export async function endLostAnalyses(db: Db, now: number): Promise<void> {
  const analysis = nothingToSay(
    'The analysis could not be finished because the service stopped. Request another one.',
  );
  await completeLostAnalyses(db, { before: new Date(now - lostAfterMs), ...builtinProvider, analysis });
}

const nothingToSay = (rootCause: string): Analysis => ({
  classification: 'UNKNOWN',
  userImpact: 'Not known.',
  rootCause,
  codeFix: null,
  evidence: [],
  referenceLinks: [],
});
