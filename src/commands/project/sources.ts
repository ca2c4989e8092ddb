import { existsSync } from 'node:fs';
import { dirname, join, relative, resolve } from 'node:path';
import { isFields, type Fields } from '../../json-values.ts';
import { lockFileNames } from '../../script/suite/install/package-manager.ts';
import { textFilesOf } from '../run/text-files.ts';
import { parse, type Source } from './yaml-source.ts';

/** The YAML and JSON documents of a project. Those of Playwright projects in its folder are no resources. */

/** The fields of a resource, and the file that has it. */
type Described = { file: string; fields: Readonly<Fields> };
type Named = { file: string; suite: unknown };

/** A file of the folder with its documents and the problems of reading it. */
export type ParsedFile = { name: string; sources: Source[]; problems: string[] };

/** Reads the files `names`. */
export async function parsedFiles(folder: string, names: readonly string[]): Promise<ParsedFile[]> {
  const parsed: ParsedFile[] = [];
  for (const name of names) {
    const problems: string[] = [];
    parsed.push({ name, sources: await parse(folder, name, problems), problems });
  }
  return parsed;
}

/** The resources of these files. */
export const describedIn = (parsed: readonly ParsedFile[]): Described[] =>
  parsed.flatMap(({ sources }) =>
    sources.flatMap(({ file, value }) =>
      (Array.isArray(value) ? (value as unknown[]) : [value]).flatMap((item) =>
        isFields(item) && isResource(item) ? [{ file, fields: item }] : [],
      ),
    ),
  );

/** The files whose text is a script of these resources, or one of its dependencies. None of them describes a resource. */
export const textFilesIn = (folder: string, described: readonly Described[]): Set<string> =>
  new Set(
    described.flatMap(({ file, fields }) =>
      textFilesOf(fields).map((named) =>
        relative(folder, resolve(folder, dirname(file), String(named.file))),
      ),
    ),
  );

/**
 * The documents of the files, without those that belong to a Playwright project and describe no resource, and without texts.
 * `described`: the resources of files with code.
 */
export function sourcesIn({
  folder,
  parsed,
  described,
  problems,
}: {
  folder: string;
  parsed: readonly ParsedFile[];
  described: readonly Described[];
  problems: string[];
}): Source[] {
  const all = [...describedIn(parsed), ...described];
  const suites = suiteFolders(
    folder,
    all.map(({ file, fields }) => ({ file, suite: fields['suite'] })),
  );
  const texts = textFilesIn(folder, all);
  return parsed.flatMap((file) => {
    if (texts.has(file.name)) return [];
    if (!isInSuite(file.name, suites)) {
      problems.push(...file.problems);
      return file.sources;
    }
    return file.sources.filter(({ value }) =>
      Array.isArray(value) ? value.length > 0 && value.every(isResource) : isResource(value),
    );
  });
}

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
