import { existsSync } from 'node:fs';
import { dirname, join, relative, resolve } from 'node:path';
import { isFields } from '../../json-values.ts';
import { lockFileNames } from '../../script/suite/install/package-manager.ts';
import { parse, type Source } from './yaml-source.ts';

/** The YAML and JSON documents of a project. Those of Playwright projects in its folder are no resources. */

/** What a resource of a file has as its `suite`. */
type Named = { file: string; suite: unknown };

/**
 * The documents of the files `names`, without those that belong to a Playwright project and describe no resource.
 * `suites`: those that files with code name.
 */
export async function sourcesIn({
  folder,
  names,
  suites: others,
  problems,
}: {
  folder: string;
  names: readonly string[];
  suites: readonly Named[];
  problems: string[];
}): Promise<Source[]> {
  const parsed: { name: string; sources: Source[]; problems: string[] }[] = [];
  for (const name of names) {
    const own: string[] = [];
    parsed.push({ name, sources: await parse(folder, name, own), problems: own });
  }
  const named = parsed.flatMap(({ sources }) => sources.flatMap(suitesOf));
  const suites = suiteFolders(folder, [...named, ...others]);
  return parsed.flatMap((file) => {
    if (!isInSuite(file.name, suites)) {
      problems.push(...file.problems);
      return file.sources;
    }
    return file.sources.filter(({ value }) =>
      Array.isArray(value) ? value.length > 0 && value.every(isResource) : isResource(value),
    );
  });
}

const suitesOf = ({ file, value }: Source): Named[] =>
  (Array.isArray(value) ? (value as unknown[]) : [value]).flatMap((item) =>
    isFields(item) && isResource(item) ? [{ file, suite: item['suite'] }] : [],
  );

/** The folders of suites, with `/` at the end, relative to the project's. */
function suiteFolders(folder: string, suites: readonly Named[]): string[] {
  const found = new Set<string>();
  for (const { file, suite } of suites) {
    const root =
      typeof suite === 'string' ? workspaceIn(folder, resolve(folder, dirname(file), suite)) : null;
    if (root !== null) found.add(`${relative(folder, root)}/`);
  }
  return [...found];
}

/** The workspace that a suite belongs to; null = the project's own folder, or one outside of it. */
function workspaceIn(folder: string, suite: string): string | null {
  const isInside = (path: string) => path !== folder && !relative(folder, path).startsWith('..');
  if (!isInside(suite)) return null;
  for (let at = suite; isInside(at); at = dirname(at))
    if (lockFileNames.some((name) => existsSync(join(at, name)))) return at;
  return suite;
}

/** Whether a document of a suite's folder describes a resource nevertheless. */
const isResource = (value: unknown): boolean =>
  isFields(value) && 'logicalId' in value && ('kind' in value || 'checkType' in value);

/** Whether a file is in one of these folders. */
const isInSuite = (file: string, suites: readonly string[]): boolean =>
  suites.some((suite) => file.startsWith(suite));
