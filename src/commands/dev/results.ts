import { pause } from '../../agent/link/backoff.ts';
import type { Result } from '../../protocol/result.ts';
import type { ApiClient } from './api.ts';
import type { KnownCheck } from './samples.ts';
import { resultLine } from '../run/report.ts';

type ShownResult = Pick<
  Result,
  'status' | 'checkType' | 'responseTime' | 'reason' | 'startedAt' | 'resultType'
> & {
  id: string;
};

const pollMs = 1500;

/** Prints a line for each new result of `checks` until `untilMs` have passed or the signal fires. Never rejects. */
export async function watchResults(
  api: ApiClient,
  checks: readonly KnownCheck[],
  options: { print: (line: string) => void; untilMs: number; signal: AbortSignal },
): Promise<void> {
  const seen = new Set<string>();
  const from = Math.floor(Date.now() / 1000);
  const end = performance.now() + options.untilMs;
  while (!options.signal.aborted && performance.now() < end) {
    const fresh: { name: string; result: ShownResult }[] = [];
    for (const { id, name } of checks) {
      if (options.signal.aborted) return;
      const results = (await api
        .get(`/v1/check-results/${id}?limit=10&resultType=ALL&from=${from}`)
        .catch(() => [])) as ShownResult[]; // the answer of our API
      for (const result of results) {
        if (seen.has(result.id)) continue;
        seen.add(result.id);
        fresh.push({ name, result });
      }
    }
    fresh.sort((a, b) => a.result.startedAt.localeCompare(b.result.startedAt));
    for (const { name, result } of fresh) {
      options.print(
        resultLine(result, name) + (result.resultType === 'ATTEMPT' ? '  (will be retried)' : ''),
      );
    }
    await pause(pollMs, options.signal);
  }
}
