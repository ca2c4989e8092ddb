import { join, relative } from 'node:path';
import type { PackageManager, SuitePlace } from '../place/place.ts';
import { readIfThere } from '../../process/read-if-there.ts';

/** Reads the registry settings of a project's own files, and explains a failed install with them. */

type Variables = { readonly [name: string]: string };

export type RegistrySettings = {
  /** The files that were read, relative to the project. */
  files: string[];
  /** The registry that they name; null = none. */
  registry: string | null;
  /** Variables that they contain: `${NPM_TOKEN}`. */
  variables: string[];
};

const fileNames: { readonly [N in PackageManager['name']]: readonly string[] } = {
  npm: ['.npmrc'],
  pnpm: ['.npmrc', 'pnpm-workspace.yaml'],
  yarn: ['.yarnrc.yml', '.yarnrc', '.npmrc'],
  bun: ['bunfig.toml', '.npmrc'],
};

/** Reads the files in the lock file's folder and in the working folder. Never throws. */
export function readRegistrySettings(
  place: Pick<SuitePlace, 'project' | 'working'>,
  { name, folder }: { name: PackageManager['name']; folder: string },
): RegistrySettings {
  const found: RegistrySettings = { files: [], registry: null, variables: [] };
  for (const each of new Set([place.working, folder])) {
    for (const file of fileNames[name]) {
      const text = beginningOf(join(each, file));
      if (text === null) continue;
      found.files.push(relative(place.project, join(each, file)));
      found.registry ??=
        /^\s*(?:@[\w.-]+:)?(?:registry|npmRegistryServer)\s*[=: ]\s*["']?(https?:[^\s"']+)/m.exec(
          text,
        )?.[1] ?? null;
      for (const variable of namedIn(text))
        if (!found.variables.includes(variable)) found.variables.push(variable);
    }
  }
  return found;
}

/**
 * Lines of the project's .npmrc with variables that `env` has. In a project's file, pnpm does not expand variables for
 * credentials, because a repository could send them anywhere; in its user's file it does. A check's variables are meant
 * for its own project.
 */
export function linesWithVariables(folder: string, env: Variables): string[] {
  return (beginningOf(join(folder, '.npmrc')) ?? '').split(/\r?\n/).filter((line) => {
    const named = namedIn(line);
    // A line with a variable that is not set is skipped completely.
    return /^\s*[^#;\s=][^=]*=/.test(line) && named.length > 0 && named.every((name) => name in env);
  });
}

const namedIn = (text: string): string[] =>
  [...text.matchAll(/\$\{(\w+)\??\}/g)].flatMap(([, name]) => name ?? []);

/** A sentence about variables that the project's settings need and the check does not have; null = none are missing. */
export function missingVariables({ files, variables }: RegistrySettings, env: Variables): string | null {
  const missing = variables.filter((name) => (env[name] ?? '') === '');
  if (missing.length === 0) return null;
  return `${files.join(', ')} needs ${missing.join(', ')}, which the check does not have: add it to the check's variables`;
}

/** Additions to the message about a registry that was unreachable or slow. */
export function networkAdvice(
  line: string,
  { settings, env }: { settings: RegistrySettings; env: Variables },
): string[] {
  const missing = missingVariables(settings, env);
  return [
    ...(settings.registry === null || /https?:\/\//.test(line)
      ? []
      : [`packages are fetched from ${settings.registry}: check that it answers, and fast enough`]),
    ...(/certificate|_CERT|UNABLE_TO_/i.test(line)
      ? ['set NODE_EXTRA_CA_CERTS of the agent to a file of authorities to trust']
      : []),
    ...(missing === null ? [] : [missing]),
  ];
}

const refused =
  /\bE40[13]\b|_40[13]\b|\b40[13] (?:Unauthorized|Forbidden)|- 40[13]$|: 40[13]\b|Invalid authentication|YN0041/i;
const notSet = /Failed to replace env in config: \$\{(\w+)|Environment variable not found \((\w+)\)/;

/**
 * If an install failed because a registry requires credentials: which registry, and the remedy. Null = it failed for
 * another reason. `lines` = the output; `env` = the installer's environment.
 */
export function credentialsAdvice(
  lines: readonly string[],
  { settings, env }: { settings: RegistrySettings; env: Variables },
): string | null {
  // Other managers continue without unset variables, and the registry then rejects them.
  const stopped = lines.map((line) => (/^\s*WARN\b/.test(line) ? null : notSet.exec(line))).find(Boolean);
  if (stopped !== undefined && stopped !== null) {
    const variable = stopped[1] ?? stopped[2] ?? '';
    return `${settings.files.join(', ')} needs ${variable}, which the check does not have: add it to the check's variables`;
  }
  const line = lines.find((each) => refused.test(each));
  if (line === undefined) return null;
  const asked = /https?:\/\/[^\s"')]+/.exec(line)?.[0] ?? settings.registry ?? '';
  const host = URL.canParse(asked) ? new URL(asked).origin : null;
  const status = /\b40[13]\b|(?<=[E_])40[13]\b/.exec(line)?.[0] ?? '401';
  const what = `the registry${host === null ? '' : ` ${host}`} rejected this check's credentials (${status})`;
  const { variables } = settings;
  const missing = missingVariables(settings, env);
  if (missing !== null) return `${what}: ${missing}`;
  if (variables.length > 0)
    return `${what}: check the value of ${variables.join(', ')} in the check's variables, and its read permissions`;
  return (
    `${what}: the project's settings take none from a variable; add //${host === null ? 'host' : new URL(asked).host}/` +
    ":_authToken=${NPM_TOKEN} to its .npmrc, and NPM_TOKEN to the check's variables"
  );
}

const beginningOf = (file: string): string | null => readIfThere(file)?.slice(0, 256 * 1024) ?? null;
