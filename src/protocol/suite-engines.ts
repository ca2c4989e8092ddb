/** Separate from the schemas, which an idle agent does not load. */

/** Programs that suites run on: `node` with a major version, Bun with `major.minor`. */
export const suiteEngines = ['node', 'bun'] as const;
export type SuiteEngine = (typeof suiteEngines)[number];
/** Versions that a check may request, by engine; the first is the default. */
export const engineVersions: { readonly [E in SuiteEngine]: readonly string[] } = {
  node: ['22', '24', '26'],
  bun: ['1.3'],
};
