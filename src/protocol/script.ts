import Type, { type Static } from 'typebox';
import { Nullable, StringEnum } from './schema.ts';

/** The customer code in a job: the scripts, their files, and the runtime that they need. */

/** Runtimes of the specification (Check.runtimeId), newest first; an agent has some of them. */
export const runtimeIds = [
  '2026.04',
  '2025.04',
  '2024.09',
  '2024.02',
  '2023.09',
  '2023.02',
  '2022.10',
] as const;
export type RuntimeId = (typeof runtimeIds)[number];
export const RuntimeId = StringEnum(runtimeIds);

export const scriptBytes = 1_048_576;

/**
 * A file that a script needs, by its path relative to the script's folder. The agent refuses paths that leave the
 * folder.
 */
export const ScriptFile = Type.Object({
  path: Type.String({ minLength: 1, maxLength: 512 }),
  content: Type.String({ maxLength: scriptBytes }),
});
export type ScriptFile = Static<typeof ScriptFile>;

export const ScriptFiles = Type.Array(ScriptFile, { maxItems: 500 });

/** Settings of Playwright Test that a browser or multi-step check may set; the agent sets all others. */
export const PlaywrightConfig = Type.Object(
  {
    /** Time limit of one test, in milliseconds. */
    timeout: Type.Optional(Type.Integer({ minimum: 1, maximum: 240_000 })),
    use: Type.Optional(Type.Record(Type.String({ maxLength: 64 }), Type.Unknown())),
    expect: Type.Optional(Type.Record(Type.String({ maxLength: 64 }), Type.Unknown())),
  },
  { additionalProperties: true },
);
export type PlaywrightConfig = Static<typeof PlaywrightConfig>;

/** The script of a browser or multi-step check. Snippets are among the files, as `snippets/<name>.js`. */
export const CheckScript = Type.Object({
  /** Runtime of the run: the check's, else its group's, else the account's. */
  runtimeId: Type.String({ minLength: 1, maxLength: 64 }),
  content: Type.String({ maxLength: scriptBytes }),
  /** Relative path; its extension decides how the script is read (`.ts`, `.js`, `.mjs`). Null = `script.ts`. */
  path: Nullable(Type.String({ minLength: 1, maxLength: 512 }), { default: null }),
  files: Type.Array(ScriptFile, { maxItems: 500, default: [] }),
  playwrightConfig: Nullable(PlaywrightConfig, { default: null }),
});
export type CheckScript = Static<typeof CheckScript>;

/** One setup or teardown script of an API check. */
export const PhaseScript = Type.Object({
  origin: StringEnum(['group', 'check']),
  content: Type.String({ maxLength: scriptBytes }),
});
export type PhaseScript = Static<typeof PhaseScript>;

/** Setup and teardown of an API check, each list in execution order. */
export const ApiScripts = Type.Object({
  runtimeId: Type.String({ minLength: 1, maxLength: 64 }),
  setup: Type.Array(PhaseScript, { maxItems: 2 }),
  teardown: Type.Array(PhaseScript, { maxItems: 2 }),
  /** Files that the scripts may require; snippets as `snippets/<name>.js`. */
  files: ScriptFiles,
});
export type ApiScripts = Static<typeof ApiScripts>;
