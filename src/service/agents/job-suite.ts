import { engineVersions, type SuiteEngine } from '../../protocol/suite-engines.ts';
import { type Suite, type SuiteBrowser } from '../../protocol/suite.ts';
import type { BundleRow } from '../bundles/statements.ts';
import { UnbuildableJobError } from './job-scripts.ts';

/** The suite fields of a stored check; settled by api/suite-rules.ts. */
export type SuiteDefinition = {
  codeBundlePath: string;
  installCommand: string | null;
  testCommand: string | null;
  playwrightConfigPath: string | null;
  pwProjects: string[];
  pwTags: string[];
  workingDir: string;
  engine: SuiteEngine | null;
  engineVersion: string | null;
  browsers: SuiteBrowser[];
  maxRunMinutes: number;
};

/** Builds the suite of a job. Throws UnbuildableJobError (BUNDLE_UNAVAILABLE) if its bundle was deleted. */
export function suiteOf(
  definition: Partial<SuiteDefinition>,
  { bundle, refreshCache }: { bundle: BundleRow | null; refreshCache: boolean },
): Suite {
  if (bundle === null) {
    throw new UnbuildableJobError(
      `the code bundle ${definition.codeBundlePath ?? ''} is missing: upload it again`,
      'BUNDLE_UNAVAILABLE',
    );
  }
  const { key, digest, size } = bundle;
  return {
    bundle: { key, digest, size },
    workingDir: definition.workingDir ?? '',
    installCommand: definition.installCommand ?? null,
    testCommand: definition.testCommand ?? null,
    configPath: definition.playwrightConfigPath ?? null,
    projects: definition.pwProjects ?? [],
    tags: definition.pwTags ?? [],
    engine: engineOf(definition),
    browsers: definition.browsers ?? [],
    maxMinutes: definition.maxRunMinutes ?? 30,
    refreshCache,
  };
}

/** Null = neither is set; the default of the agent's project applies. */
function engineOf({ engine = null, engineVersion = null }: Partial<SuiteDefinition>): Suite['engine'] {
  if (engine === null && engineVersion === null) return null;
  const name = engine ?? 'node';
  return { name, version: engineVersion ?? engineVersions[name][0] ?? '' };
}
