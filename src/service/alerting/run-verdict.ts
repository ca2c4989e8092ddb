import type { AlertSettings } from '../accounts/alert-settings.ts';
import type { FinishedPart } from '../results/finished-run-statements.ts';
import type { CheckStatus } from './state-machine.ts';

/** The status that a run gives its check, across all locations. */
export type RunVerdict = {
  /** Null = undecided, because every location errored. */
  verdict: CheckStatus | null;
  /** When the newest part started, milliseconds since the epoch. */
  at: number;
  /** The result that an alert is about; null without a verdict. */
  resultId: string | null;
  /** Locations whose status matches the verdict. */
  locations: string[];
};

/**
 * A run fails when at least one location fails. If the failure threshold is enabled, it fails when that percentage of
 * the measured locations fails.
 * A run that does not fail is degraded when at least one location is.
 */
export function verdictOf(
  parts: readonly FinishedPart[],
  { parallelRunFailureThreshold: { enabled, percentage } }: AlertSettings,
): RunVerdict {
  const measured = parts.filter(({ status }) => status !== 'errored');
  const of = (status: FinishedPart['status']) => measured.filter((part) => part.status === status);
  const failed = of('failed');
  const degraded = of('degraded');
  // A single location is 100 %, so its failure always reaches the threshold.
  const isEnough = enabled ? failed.length * 100 >= percentage * measured.length : true;
  const at = Math.max(
    ...(measured.length > 0 ? measured : parts).map(({ startedAt }) => startedAt.getTime()),
  );
  if (measured.length === 0) return { verdict: null, at, resultId: null, locations: [] };
  const verdictFrom = (verdict: CheckStatus, matching: readonly FinishedPart[]): RunVerdict => ({
    verdict,
    at,
    resultId: matching[0]?.resultId ?? null,
    locations: [...new Set(matching.map(({ runLocation }) => runLocation))],
  });
  if (failed.length > 0 && isEnough) return verdictFrom('failing', failed);
  if (degraded.length > 0) return verdictFrom('degraded', degraded);
  const passed = of('passed');
  // Fewer locations failed than the threshold requires.
  return verdictFrom('passing', passed.length > 0 ? passed : measured);
}
