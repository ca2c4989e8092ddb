import { join, relative } from 'node:path';
import type { PackageManager, SuitePlace } from '../place/place.ts';
import { readIfThere } from '../../process/read-if-there.ts';

/** What a project's own files say of registries, and what a failed install means in their light. */

type Variables = { readonly [name: string]: string };

export type RegistrySettings = {
  /** The files that were read, relative to the project. */
  files: string[];
  /** Where packages come from, as they say; null = nowhere in particular. */
  registry: string | null;
  /** Variables that they name: `${NPM_TOKEN}`. */
  variables: string[];
};

const fileNames: { readonly [N in PackageManager['name']]: readonly string[] } = {
  npm: ['.npmrc'],
  pnpm: ['.npmrc', 'pnpm-workspace.yaml'],
  yarn: ['.yarnrc.yml', '.yarnrc', '.npmrc'],
  bun: ['bunfig.toml', '.npmrc'],
};

/** What the files in the lock file's folder and in the working folder say. Never throws. */
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
 * Lines of the project's .npmrc that name variables which `env` has. pnpm fills none in there where they are credentials, since a
 * repository could send them anywhere: it does in the file of its user. A check's variables are meant for its own project.
 */
export function linesWithVariables(folder: string, env: Variables): string[] {
  return (beginningOf(join(folder, '.npmrc')) ?? '').split(/\r?\n/).filter((line) => {
    const named = namedIn(line);
    // A file with one that can't be filled in is left aside as a whole.
    return /^\s*[^#;\s=][^=]*=/.test(line) && named.length > 0 && named.every((name) => name in env);
  });
}

const namedIn = (text: string): string[] =>
  [...text.matchAll(/\$\{(\w+)\??\}/g)].flatMap(([, name]) => name ?? []);

/** A line that tells of variables that the project's settings name and the check does not have; null = there are none. */
export function missingVariables({ files, variables }: RegistrySettings, env: Variables): string | null {
  const missing = variables.filter((name) => (env[name] ?? '') === '');
  if (missing.length === 0) return null;
  return `${files.join(', ')} needs ${missing.join(', ')}, which the check does not have: add it to the check's variables`;
}

/** What a message of a registry that could not be reached, or was slow, should say besides its own line. */
export function networkAdvice(
  line: string,
  { settings, env }: { settings: RegistrySettings; env: Variables },
): string[] {
  const missing = missingVariables(settings, env);
  return [
    ...(settings.registry === null || /https?:\/\//.test(line)
      ? []
      : [`packages come from ${settings.registry}: does it answer, and fast enough?`]),
    ...(/certificate|_CERT|UNABLE_TO_/i.test(line)
      ? ['NODE_EXTRA_CA_CERTS of the agent names authorities that it shall trust']
      : []),
    ...(missing === null ? [] : [missing]),
  ];
}

const refused =
  /\bE40[13]\b|_40[13]\b|\b40[13] (?:Unauthorized|Forbidden)|- 40[13]$|: 40[13]\b|Invalid authentication|YN0041/i;
const notSet = /Failed to replace env in config: \$\{(\w+)|Environment variable not found \((\w+)\)/;

/**
 * When an install failed because a registry wants credentials: which registry, and what to do. Null = that was not why.
 * `lines` = the output; `env` = what the installer was given.
 */
export function credentialsAdvice(
  lines: readonly string[],
  { settings, env }: { settings: RegistrySettings; env: Variables },
): string | null {
  // Others go on without what they could not fill in, and are refused then.
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
  const what = `the registry${host === null ? '' : ` ${host}`} refused this check's credentials (${status})`;
  const { variables } = settings;
  const missing = missingVariables(settings, env);
  if (missing !== null) return `${what}: ${missing}`;
  if (variables.length > 0)
    return `${what}: look at the value of ${variables.join(', ')} in the check's variables, and at what it may read`;
  return (
    `${what}: the project's settings name none that come from a variable; add //${host === null ? 'host' : new URL(asked).host}/` +
    ":_authToken=${NPM_TOKEN} to its .npmrc, and NPM_TOKEN to the check's variables"
  );
}

const beginningOf = (file: string): string | null => readIfThere(file)?.slice(0, 256 * 1024) ?? null;
