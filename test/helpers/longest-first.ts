import { BaseSequencer, type TestSpecification } from 'vitest/node';
import longTests from '../long-tests.json' with { type: 'json' };

/** Of the files that are not in `long-tests.json`, those that take longest. */
const slowFiles = [
  'e2e/main-job',
  'e2e/metric-names',
  'agent/agent',
  'service/artifacts/artifacts',
  'script/child/capture/capture-verdicts',
  'service/notifications/deliver',
  'service/alerting/follow-alerts',
  'script/child/capture/capture-plain-script',
  'service/heartbeats/heartbeats',
  'script/suite/hostile-suites',
  'service/agents/suite-jobs',
  'service/sessions/cancel-sessions',
  'service/agents/script-jobs',
  'service/scheduling/scheduler',
  'service/scheduling/missed-runs',
  'commands/run/run-folder',
  'commands/project/test',
  'commands/project/suite',
  'service/db/volume',
  'fuzz/all-targets',
  'fuzz/zzuf',
].map((name) => `test/${name}.test.ts`);

const longest = [...longTests, ...slowFiles];

/**
 * The files that take longest begin first, so that no worker is left with one of them when all others have ended. In a fresh
 * clone nobody has measured yet, and the runner would go by the size of files.
 */
export class LongestFirst extends BaseSequencer {
  override async sort(files: TestSpecification[]): Promise<TestSpecification[]> {
    const rankOf = ({ moduleId }: TestSpecification): number => {
      const rank = longest.findIndex((name) => moduleId.endsWith(`/${name}`));
      return rank < 0 ? longest.length : rank;
    };
    const others = await super.sort(files);
    return others.toSorted((a, b) => rankOf(a) - rankOf(b));
  }
}
