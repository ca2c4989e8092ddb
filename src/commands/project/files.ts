import { readdir, readFile, stat } from 'node:fs/promises';
import { dirname, extname, join, relative, resolve } from 'node:path';
import type { Environment } from '../../config/read.ts';
import { exitCodes, FatalError, toError } from '../../errors.ts';
import { fieldsOf, isFields, type Fields } from '../../json-values.ts';
import type { loadCode } from './code/load.ts';
import { codeFile } from './code/messages.ts';
import { describedIn, parsedFiles, sourcesIn, textFilesIn } from './sources.ts';
import { withTexts, type TextFile } from '../run/text-files.ts';
import { fieldsOfSource, placeOf, type Source } from './yaml-source.ts';

/** Reads the resources of a project from a folder of YAML, JSON, TypeScript and JavaScript files. */

/** A resource as the service takes it, and where it is. */
export type FileResource = {
  type: string;
  logicalId: string;
  physicalId?: string;
  member?: boolean;
  protected?: boolean;
  payload: Fields;
  /** Folder of a suite that is bundled for the check. */
  suite?: string;
  /** `file:line` of a field. */
  place: (path: readonly string[]) => string;
};

export type ProjectFiles = {
  project: { logicalId: string; name: string; repoUrl: string | null };
  resources: FileResource[];
  /** Ids of existing resources of one account, by type and logical id; null = none are to be taken over. */
  adoption: { account: string; ids: ReadonlyMap<string, string> } | null;
  /** One line per problem: file, line, field and remedy. */
  problems: string[];
};

const endings = ['.yaml', '.yml', '.json'];
const projectFile = /^project\.(ya?ml|json)$/;
const adoptionFile = /^adopt\.ya?ml$/;

/** For files with code: the environment that they see, and where their output is printed. */
export type Running = { env: Environment; stderr: (text: string) => void };

/** Reads a folder. Throws FatalError if there is no project in it. `env`: null = values of the environment are not needed. */
export async function readProject(
  folder: string,
  env: Environment | null,
  running: Running = { env: {}, stderr: () => undefined },
): Promise<ProjectFiles> {
  const names = await filesIn(folder);
  const problems: string[] = [];
  const parsed = await parsedFiles(
    folder,
    names.filter((name) => !codeFile.test(name)),
  );
  const texts = textFilesIn(folder, describedIn(parsed));
  const code = await codeOf(
    folder,
    names.filter((name) => !texts.has(name)),
    running,
  );
  const described = code.resources.map(({ place, fields }) => ({
    file: fileOf(place),
    fields: fieldsOf(fields),
  }));
  const sources = sourcesIn({ folder, parsed, described, problems });
  problems.push(...code.problems);
  const heads = [
    ...sources
      .filter(({ file }) => projectFile.test(file))
      .map((source) => ({ about: fieldsOfSource(source), place: placeOf(source, []) })),
    ...code.resources
      .filter(({ kind }) => kind === 'project')
      .map(({ logicalId, fields, place }) => ({ about: { ...fieldsOf(fields), logicalId }, place })),
  ];
  const [head, second] = heads;
  if (head === undefined && code.problems.length > 0) return nothing(problems);
  if (head === undefined) {
    const wrong = problems.find((problem) => projectFile.test(problem.slice(0, problem.indexOf(':'))));
    throw new FatalError(
      'CONFIGURATION',
      wrong ?? `${folder} has no project.yaml: create one with logicalId and projectName`,
      { exitCode: exitCodes.configuration },
    );
  }
  if (second !== undefined)
    problems.push(`${second.place}: the project is also in ${head.place}: remove one of them`);
  const about: Fields = head.about;
  const { logicalId, projectName, repoUrl = null, checks = {} } = about;
  if (typeof logicalId !== 'string')
    problems.push(`${head.place}: logicalId is required: give the project a name of its own`);
  const reader = { folder, env, defaults: isFields(checks) ? checks : {}, problems };
  const resources: FileResource[] = [];
  for (const item of [...sources.flatMap(itemsOfSource), ...code.resources.flatMap(itemOfCode)]) {
    const resource = await resourceOf(item, reader);
    if (resource !== null) resources.push(resource);
  }
  checkIds(resources, problems);
  return {
    project: {
      logicalId: String(logicalId),
      name: typeof projectName === 'string' ? projectName : String(logicalId),
      repoUrl: typeof repoUrl === 'string' ? repoUrl : null,
    },
    resources,
    adoption: adoptionOf(sources, problems),
    problems,
  };
}

const nothing = (problems: string[]): ProjectFiles => ({
  project: { logicalId: '', name: '', repoUrl: null },
  resources: [],
  adoption: null,
  problems,
});

type Code = Awaited<ReturnType<typeof loadCode>>;

async function codeOf(folder: string, names: readonly string[], running: Running): Promise<Code> {
  const files = names.filter((name) => codeFile.test(name));
  if (files.length === 0) return { resources: [], problems: [] };
  const { loadCode } = await import('./code/load.ts');
  return loadCode({ folder, files, ...running });
}

/** What `adopt.yaml` says, which `export` writes. */
function adoptionOf(sources: readonly Source[], problems: string[]): ProjectFiles['adoption'] {
  const source = sources.find(({ file }) => adoptionFile.test(file));
  if (source === undefined) return null;
  const { account, resources } = fieldsOfSource(source);
  if (typeof account !== 'string' || !isFields(resources)) {
    problems.push(
      `${placeOf(source, [])}: must have account and resources: export again, or delete the file`,
    );
    return null;
  }
  const ids = Object.entries(resources).map(([key, id]): [string, string] => [key, String(id)]);
  return { account, ids: new Map(ids) };
}

async function filesIn(folder: string): Promise<string[]> {
  try {
    const entries = await readdir(folder, { recursive: true, withFileTypes: true });
    return entries
      .filter(
        (entry) => entry.isFile() && (endings.includes(extname(entry.name)) || codeFile.test(entry.name)),
      )
      .map((entry) => relative(folder, join(entry.parentPath, entry.name)))
      .filter(
        (name) =>
          !/(^|\/)(node_modules|\.[^/]+)\//.test(name) &&
          !/(^|\/)(package|package-lock|tsconfig)\.json$|(^|\/)pnpm-(lock|workspace)\.yaml$|\.schema\.json$/.test(
            name,
          ),
      )
      .sort();
  } catch (error) {
    throw new FatalError('CONFIGURATION', `cannot read ${folder}: ${toError(error).message}`, {
      exitCode: exitCodes.couldNotRun,
    });
  }
}

type Reader = { folder: string; env: Environment | null; defaults: Fields; problems: string[] };

/** A resource as a file has it. Paths in it are relative to the folder of `file`. */
type Item = { value: unknown; file: string; place: Place };

function itemsOfSource(source: Source): Item[] {
  const { file } = source;
  if (projectFile.test(file) || adoptionFile.test(file)) return [];
  const whole = source.value;
  const values: unknown[] = Array.isArray(whole) ? whole : [whole];
  return values.map((value, index) => {
    const base = Array.isArray(whole) ? [index] : [];
    return { value, file, place: (path) => placeOf(source, [...base, ...path.map(indexOf)]) };
  });
}

/** The file of a place. */
const fileOf = (place: string): string => place.replace(/:\d+$/, '');

function itemOfCode({ kind, logicalId, fields, place }: Code['resources'][number]): Item[] {
  if (kind === 'project') return [];
  const value = { ...fieldsOf(fields), kind, logicalId };
  return [{ value, file: fileOf(place), place: () => place }];
}

async function resourceOf({ value, file, place }: Item, reader: Reader): Promise<FileResource | null> {
  const { problems, defaults } = reader;
  if (!isFields(value)) {
    problems.push(`${place([])}: must be a resource: an object with kind and logicalId`);
    return null;
  }
  const {
    kind = 'checkType' in value ? 'check' : undefined,
    logicalId,
    physicalId,
    member,
    protected: keep,
    suite,
    ...own
  } = value;
  for (const [field, text] of Object.entries({ kind, logicalId })) {
    if (typeof text !== 'string') problems.push(`${place([field])}: ${field} is required: add it as a text`);
  }
  if (typeof kind !== 'string' || typeof logicalId !== 'string') return null;
  const bundled = suite === undefined ? null : await suiteFolder(suite, { file, place, reader });
  const whole = kind === 'check' ? { ...defaults, ...own } : own;
  const texts = await withTexts(whole, (named) => textOf(named, { file, place, reader }));
  const payload = withEnvironment(texts, { place, reader }, []);
  return {
    type: kind,
    logicalId,
    ...(physicalId === undefined ? {} : { physicalId: String(physicalId) }),
    ...(typeof member === 'boolean' ? { member } : {}),
    ...(typeof keep === 'boolean' ? { protected: keep } : {}),
    payload: isFields(payload) ? payload : {},
    ...(bundled === null ? {} : { suite: bundled }),
    place,
  };
}

const indexOf = (part: string): string | number => (/^\d+$/.test(part) ? Number(part) : part);

type Place = FileResource['place'];

type Beside = { file: string; place: Place; reader: Reader };

/** A folder next to the file that names it. Null = there is none, and the problem is noted. */
async function suiteFolder(path: unknown, { file, place, reader }: Beside): Promise<string | null> {
  const folder = resolve(reader.folder, dirname(file), String(path));
  const found = typeof path === 'string' ? await stat(folder).catch(() => null) : null;
  if (found?.isDirectory() === true) return folder;
  reader.problems.push(`${place(['suite'])}: suite names no folder (${String(path)}): correct the path`);
  return null;
}

/** The text of a file next to the one that names it. Null = there is none, and the problem is noted. */
async function textOf(
  { path, file: named }: TextFile,
  { file, place, reader }: Beside,
): Promise<string | null> {
  const found = resolve(reader.folder, dirname(file), String(named));
  const isInside = !relative(reader.folder, found).startsWith('..');
  const text = isInside ? await readFile(found, 'utf8').catch(() => null) : null;
  if (text === null)
    reader.problems.push(
      `${place(path)}: ${path.join('.')} names no file of the folder (${String(named)}): correct the path`,
    );
  return text;
}

/** `{env: NAME}` stands for the value of an environment variable, so that secrets are not in the files. */
function withEnvironment(
  value: unknown,
  { place, reader }: { place: Place; reader: Reader },
  path: readonly string[],
): unknown {
  if (Array.isArray(value)) {
    return value.map((item: unknown, index) =>
      withEnvironment(item, { place, reader }, [...path, String(index)]),
    );
  }
  if (!isFields(value)) return value;
  const name = value['env'];
  if (typeof name === 'string' && Object.keys(value).length === 1) {
    if (reader.env === null) return 'a value of the environment';
    const text = reader.env[name];
    if (text !== undefined && text !== '') return text;
    reader.problems.push(`${place(path)}: ${path.join('.')} needs the environment variable ${name}: set it`);
    return '';
  }
  return Object.fromEntries(
    Object.entries(value).map(([field, member]) => [
      field,
      withEnvironment(member, { place, reader }, [...path, field]),
    ]),
  );
}

function checkIds(resources: readonly FileResource[], problems: string[]): void {
  const seen = new Map<string, FileResource>();
  for (const resource of resources) {
    const key = `${resource.type}/${resource.logicalId}`;
    const first = seen.get(key);
    if (first !== undefined) {
      problems.push(
        `${resource.place(['logicalId'])}: logicalId ${resource.logicalId} is also in ${first.place(['logicalId'])}: choose another one`,
      );
    }
    seen.set(key, resource);
  }
}
