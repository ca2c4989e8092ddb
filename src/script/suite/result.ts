import { reasonOf, type Reason } from '../../protocol/reasons.ts';
import type { Engine, PackageManager, ProgramEnd } from './place/place.ts';
import { boundNames } from './program.ts';
import type { SuiteReport } from './report/report.ts';
import type { SuiteDetails, SuiteRun, SuiteTotals } from '../interface/suite-run.ts';

/** The facts that a run collects on its way. */
export type SuiteFacts = {
  /** Time limit of the run in milliseconds, up to the end of its tests. */
  limitMs: number;
  startTime: number;
  engine: Engine | null;
  packageManager: Pick<PackageManager, 'name' | 'version'> | null;
  dependencyCache: SuiteDetails['dependencyCache'];
  playwrightVersion: string | null;
  testMs: number;
  exitCode: number | null;
  /** The stage in which it was stopped early. */
  endedIn: string | null;
};

export function emptyFacts(limitMs: number): SuiteFacts {
  return {
    limitMs,
    startTime: Date.now(),
    engine: null,
    packageManager: null,
    dependencyCache: null,
    playwrightVersion: null,
    testMs: 0,
    exitCode: null,
    endedIn: null,
  };
}

/** The reason for a run that was stopped early. */
export function cutReason(facts: SuiteFacts, cut: 'deadline' | 'cancelled' | null): Reason {
  return cut === 'cancelled'
    ? reasonOf('CANCELLED', 'The run was cancelled.')
    : reasonOf('SCRIPT_TIMEOUT', `Your check run has reached the maximum run time of ${facts.limitMs} ms.`);
}

/** The reason for a suite that was killed because it exceeded a limit; null = it exceeded none. */
export function exceededReason({ exceeded }: Pick<ProgramEnd, 'exceeded'>): Reason | null {
  if (exceeded === null) return null;
  return reasonOf(
    'SCRIPT_KILLED',
    `The suite was killed: it used more ${boundNames[exceeded]} than allowed.`,
  );
}

const noTests: SuiteTotals = {
  tests: 0,
  passed: 0,
  failed: 0,
  flaky: 0,
  skipped: 0,
  timedOut: 0,
  interrupted: 0,
  degraded: 0,
};

/** The outcome of a run: `report` null = its tests never started; `reason` takes precedence over the report. */
export function runOf(
  facts: SuiteFacts,
  more: { stages: SuiteDetails['stages']; report?: SuiteReport; reason: Reason | null },
): SuiteRun {
  const { report, reason } = more;
  const errors = [
    ...(reason === null ? [] : [reason.message]),
    ...(facts.endedIn === null ? [] : [facts.endedIn]),
    ...(report?.errors ?? []),
  ];
  const { engine, packageManager } = facts;
  return {
    failure: reason ?? report?.failure ?? null,
    degraded: reason === null ? (report?.degraded ?? null) : null,
    durationMs: Math.round(facts.testMs),
    details: {
      playwrightVersion: report?.playwrightVersion ?? facts.playwrightVersion,
      engine: engine === null ? null : { name: engine.name, version: engine.version },
      packageManager:
        packageManager === null ? null : { name: packageManager.name, version: packageManager.version },
      dependencyCache: facts.dependencyCache,
      startTime: facts.startTime,
      endTime: Date.now(),
      stages: more.stages,
      runStatus: report?.runStatus ?? null,
      exitCode: facts.exitCode,
      totals: report?.totals ?? noTests,
      errors: [...new Set(errors)],
      tests: report?.tests ?? [],
      testsLeftOut: report?.testsLeftOut ?? 0,
    },
    files: report?.files ?? [],
  };
}
