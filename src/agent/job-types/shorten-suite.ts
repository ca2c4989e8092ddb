import type { Result } from '../../protocol/result.ts';
import { shortened } from '../../shortened.ts';

/**
 * Shorter and shorter forms of a suite's details, for a result that is too large. Steps are removed first, then the
 * output of passed tests, then long texts, then tests, with failed tests last. Totals always stay. Empty if the run
 * did not reach its tests.
 */
export function* shorterDetails(details: Result['details']): Generator<Result['details']> {
  const { tests } = details;
  if (!Array.isArray(tests)) return;
  yield details;
  let kept = (tests as unknown[]).map((test) => test as Test); // objects, created by the agent's own runner
  yield { ...details, tests: kept.map((test) => (isPassed(test) ? { ...test, steps: [] } : test)) };
  kept = kept.map((test) => ({ ...test, steps: [] }));
  yield { ...details, tests: kept };
  kept = kept.map((test) => (isPassed(test) ? { ...test, errors: [], attachments: [] } : test));
  yield { ...details, tests: kept };
  const rest = { ...details, errors: shortTexts(details['errors']) };
  kept = kept.map((test) => ({ ...test, errors: shortTexts(test['errors']), attachments: [] }));
  yield { ...rest, tests: kept };
  const byNeed = [...kept.filter((test) => !isPassed(test)), ...kept.filter(isPassed)];
  const leftOut = Number(details['testsLeftOut'] ?? 0);
  for (let count = Math.floor(kept.length / 2); ; count = Math.floor(count / 2)) {
    const wanted = new Set(byNeed.slice(0, count));
    yield {
      ...rest,
      tests: kept.filter((test) => wanted.has(test)),
      testsLeftOut: leftOut + kept.length - count,
    };
    if (count === 0) return;
  }
}

type Test = Readonly<Record<string, unknown>>;

const isPassed = ({ status, degraded }: Test): boolean =>
  (status === 'passed' || status === 'skipped') && degraded !== true;

function shortTexts(texts: unknown): unknown[] {
  const list = Array.isArray(texts) ? (texts as unknown[]) : [];
  return list.slice(0, 3).map((text) => (typeof text === 'string' ? shortened(text, 499) : text));
}
