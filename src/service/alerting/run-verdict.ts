import type { AlertSettings } from '../accounts/alert-settings.ts';
import type { FinishedPart } from '../results/finished-run-statements.ts';
import type { CheckStatus } from './state-machine.ts';

/** What a run says about its check, all locations together. */
export type RunVerdict = {
  /** Null = nothing: every location errored. */
  verdict: CheckStatus | null;
  /** When the newest part started, milliseconds since the epoch. */
  at: number;
  /** The result that an alert is about; null without a verdict. */
  resultId: string | null;
  /** Locations that say what the verdict says. */
  locations: string[];
};

/**
 * A run fails when one location fails, or as many of those that could measure (in percent) as the settings say; it is
 * degraded when it does not fail and a location is.
 */
export function verdictOf(
  parts: readonly FinishedPart[],
  { parallelRunFailureThreshold: { enabled, percentage } }: AlertSettings,
): RunVerdict {
  const measured = parts.filter(({ status }) => status !== 'errored');
  const of = (status: FinishedPart['status']) => measured.filter((part) => part.status === status);
  const failed = of('failed');
  const degraded = of('degraded');
  // One location alone is all of them, so that no run of it is below the threshold.
  const isEnough = enabled ? failed.length * 100 >= percentage * measured.length : true;
  const at = Math.max(
    ...(measured.length > 0 ? measured : parts).map(({ startedAt }) => startedAt.getTime()),
  );
  if (measured.length === 0) return { verdict: null, at, resultId: null, locations: [] };
  const say = (verdict: CheckStatus, telling: readonly FinishedPart[]): RunVerdict => ({
    verdict,
    at,
    resultId: telling[0]?.resultId ?? null,
    locations: [...new Set(telling.map(({ runLocation }) => runLocation))],
  });
  if (failed.length > 0 && isEnough) return say('failing', failed);
  if (degraded.length > 0) return say('degraded', degraded);
  const passed = of('passed');
  // Too few failed.
  return say('passing', passed.length > 0 ? passed : measured);
}
