import { posix } from 'node:path';
import type { ReasonCode } from '../../protocol/reasons.ts';
import { serviceCheckType } from '../checks/types/table.ts';
import type {
  ApiScripts,
  CheckScript,
  PhaseScript,
  PlaywrightConfig,
  ScriptFile,
} from '../../protocol/script.ts';
import { phaseSources, type PhaseSource, type PhaseSources } from '../checks/storage/settings.ts';

/** Customer code of a job: scripts, and the files that they may require. */

export type Snippet = { id: number; name: string; script: string };

/** A job cannot be built from the stored data. The message gives the cause, `code` is the reason of its run. */
export class UnbuildableJobError extends Error {
  readonly code: ReasonCode;
  constructor(message: string, code: ReasonCode = 'INVALID_JOB') {
    super(message);
    this.code = code;
    this.name = 'UnbuildableJobError';
  }
}

type Code = {
  script?: string | null;
  dependencies?: ScriptFile[] | null;
};

/** Whether a run of this check needs code. If not, snippets are not read. */
export function needsCode(
  checkType: string,
  check: Partial<PhaseSources>,
  group: Partial<PhaseSources> | null,
): boolean {
  const code = serviceCheckType(checkType)?.code ?? 'none';
  if (code !== 'phases') return code === 'script';
  const { setup, teardown } = phaseSources(completed(check), group === null ? null : completed(group));
  return setup.length + teardown.length > 0;
}

/** The stored definition may be older than these fields. */
const completed = (phases: Partial<PhaseSources>): PhaseSources => ({
  localSetupScript: phases.localSetupScript ?? null,
  setupSnippetId: phases.setupSnippetId ?? null,
  localTearDownScript: phases.localTearDownScript ?? null,
  tearDownSnippetId: phases.tearDownSnippetId ?? null,
});

/**
 * Dependencies, plus all snippets if any text mentions them, because paths that are built at run time cannot be
 * detected.
 * A dependency with the same path takes precedence.
 */
function filesOf(
  texts: readonly string[],
  dependencies: readonly ScriptFile[],
  snippets: readonly Snippet[],
) {
  const mentioned = [...texts, ...dependencies.map(({ content }) => content)].some((text) =>
    text.includes('snippets'),
  );
  if (!mentioned) return [...dependencies];
  const own = new Set(dependencies.map(({ path }) => posix.normalize(path)));
  const shared = snippets
    .map(({ name, script }) => ({ path: `snippets/${name}.js`, content: script }))
    .filter(({ path }) => !own.has(path));
  return [...dependencies, ...shared];
}

/** Setup and teardown scripts of an API check and its group; undefined = none. Throws UnbuildableJobError. */
export function apiScriptsOf(options: {
  runtimeId: string;
  check: Partial<PhaseSources>;
  group: Partial<PhaseSources> | null;
  code: Code | null;
  snippets: readonly Snippet[];
}): ApiScripts | undefined {
  const { check, group, snippets } = options;
  const { setup, teardown } = phaseSources(completed(check), group === null ? null : completed(group));
  if (setup.length + teardown.length === 0) return undefined;
  const phase = (sources: readonly PhaseSource[]): PhaseScript[] =>
    sources.map(({ origin, local, snippetId }) => {
      if (snippetId === null) return { origin, content: local ?? '' };
      const snippet = snippets.find(({ id }) => id === snippetId);
      if (snippet === undefined) throw new UnbuildableJobError(`the snippet ${snippetId} does not exist`);
      return { origin, content: snippet.script };
    });
  const phases = { setup: phase(setup), teardown: phase(teardown) };
  const texts = [...phases.setup, ...phases.teardown].map(({ content }) => content);
  return {
    runtimeId: options.runtimeId,
    ...phases,
    files: filesOf(texts, options.code?.dependencies ?? [], snippets),
  };
}

/** The script of a browser or multi-step check. */
export function checkScriptOf(options: {
  runtimeId: string;
  definition: { scriptPath?: string | null; playwrightConfig?: PlaywrightConfig | null };
  code: Code | null;
  snippets: readonly Snippet[];
}): CheckScript {
  const { definition, code } = options;
  const path = definition.scriptPath ?? null;
  const dependencies = code?.dependencies ?? [];
  const entry =
    path === null
      ? undefined
      : dependencies.find((file) => posix.normalize(file.path) === posix.normalize(path));
  const content = code?.script ?? entry?.content ?? '';
  return {
    runtimeId: options.runtimeId,
    content,
    path,
    // The script already has this path.
    files: filesOf(
      [content],
      dependencies.filter((file) => file !== entry),
      options.snippets,
    ),
    playwrightConfig: definition.playwrightConfig ?? null,
  };
}
