import Type, { type Static } from 'typebox';
import { Nullable, StringEnum } from './schema.ts';
import { engineVersions, suiteEngines, type SuiteEngine } from './suite-engines.ts';

/** The Playwright suite in a job: a customer's complete project, run by its own Playwright version. */

export { engineVersions, suiteEngines, type SuiteEngine };

export const suiteBrowsers = ['chromium', 'firefox', 'webkit'] as const;
export type SuiteBrowser = (typeof suiteBrowsers)[number];

/** Time limit of a run in minutes, from its claim to the end of its tests. Later work has its own limits. */
export const suiteMinutes = { default: 30, maximum: 60 } as const;
/** Time limit for installing the dependencies. */
export const installTimeoutMs = 5 * 60_000;

/** Maximum size of a bundle as it is sent (tar.gz), of its unpacked files, and number of its entries. */
export const bundleLimits = {
  archiveBytes: 150 * 1024 * 1024,
  unpackedBytes: 2 * 1024 * 1024 * 1024,
  entries: 100_000,
} as const;

/** Key under which the service stores a bundle. */
export const BundleKey = Type.String({ pattern: '^[A-Za-z0-9._-]{1,128}$' });
/** SHA-256 of the archive, in hex. */
export const BundleDigest = Type.String({ pattern: '^[0-9a-f]{64}$' });

/** Relative to the root of the bundle; the agent refuses paths that leave it. */
const BundlePath = Type.String({ maxLength: 512 });

export const Suite = Type.Object({
  bundle: Type.Object({
    key: BundleKey,
    digest: BundleDigest,
    size: Type.Integer({ minimum: 1, maximum: bundleLimits.archiveBytes }),
  }),
  /** The working folder of all commands; empty = the root of the bundle. */
  workingDir: Type.String({ maxLength: 512, default: '' }),
  /** Null = chosen by the lock file. */
  installCommand: Nullable(Type.String({ maxLength: 4096 }), { default: null }),
  /** Without config, projects and tags, which are added; null = `playwright test` of the package manager. */
  testCommand: Nullable(Type.String({ maxLength: 4096 }), { default: null }),
  /** Relative to workingDir; null = Playwright's own search. */
  configPath: Nullable(BundlePath, { default: null }),
  projects: Type.Array(Type.String({ minLength: 1, maxLength: 256 }), { maxItems: 50, default: [] }),
  /**
   * Runs tests that match any of these: each is a tag, or several tags that a test must all have (`@smoke
   * @checkout`).
   */
  tags: Type.Array(Type.String({ minLength: 1, maxLength: 512 }), { maxItems: 50, default: [] }),
  engine: Nullable(
    Type.Object({ name: StringEnum(suiteEngines), version: Type.String({ minLength: 1, maxLength: 32 }) }),
    { default: null },
  ),
  /** A hint: browsers that the config names are installed as well. */
  browsers: Type.Array(StringEnum(suiteBrowsers), { maxItems: 3, default: [] }),
  maxMinutes: Type.Integer({ minimum: 1, maximum: suiteMinutes.maximum, default: suiteMinutes.default }),
  /** Neither read the cache of earlier runs nor store what this run installs. */
  refreshCache: Type.Boolean({ default: false }),
});
export type Suite = Static<typeof Suite>;
