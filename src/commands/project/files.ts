import { readdir, readFile, stat } from 'node:fs/promises';
import { dirname, extname, join, relative, resolve } from 'node:path';
import type { Document, LineCounter } from 'yaml';
import type { Environment } from '../../config/read.ts';
import { exitCodes, FatalError, toError } from '../../errors.ts';
import { isFields, type Fields } from '../../json-values.ts';
import { textFields } from '../../service/projects/file-schema.ts';

/** Reads the resources of a project from a folder of YAML and JSON files. */

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

type Source = { file: string; document: Document; lines: LineCounter };

/** Reads a folder. Throws FatalError if there is no project in it. `env`: null = values of the environment are not needed. */
export async function readProject(folder: string, env: Environment | null): Promise<ProjectFiles> {
  const names = await filesIn(folder);
  const problems: string[] = [];
  const sources: Source[] = [];
  for (const name of names) sources.push(...(await parse(folder, name, problems)));
  const head = sources.find(({ file }) => projectFile.test(file));
  if (head === undefined) {
    throw new FatalError(
      'CONFIGURATION',
      `${folder} has no project.yaml: create one with logicalId and projectName`,
      { exitCode: exitCodes.configuration },
    );
  }
  const about = fieldsOfSource(head);
  const { logicalId, projectName, repoUrl = null, checks = {} } = about;
  if (typeof logicalId !== 'string')
    problems.push(`${placeOf(head, [])}: logicalId is required: give the project a name of its own`);
  const reader = { folder, env, defaults: isFields(checks) ? checks : {}, problems };
  const resources: FileResource[] = [];
  for (const source of sources) {
    if (source !== head && !adoptionFile.test(source.file))
      resources.push(...(await resourcesOf(source, reader)));
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
      .filter((entry) => entry.isFile() && endings.includes(extname(entry.name)))
      .map((entry) => relative(folder, join(entry.parentPath, entry.name)))
      .filter(
        (name) =>
          !/(^|\/)(node_modules|\.[^/]+)\//.test(name) &&
          !/(^|\/)(package|package-lock|tsconfig)\.json$|\.schema\.json$/.test(name),
      )
      .sort();
  } catch (error) {
    throw new FatalError('CONFIGURATION', `cannot read ${folder}: ${toError(error).message}`, {
      exitCode: exitCodes.couldNotRun,
    });
  }
}

/** JSON is YAML, so one parser knows the lines of both. */
async function parse(folder: string, file: string, problems: string[]): Promise<Source[]> {
  const { LineCounter, parseAllDocuments } = await import('yaml');
  const lines = new LineCounter();
  const parsed = parseAllDocuments(await readFile(join(folder, file), 'utf8'), { lineCounter: lines });
  const documents = Array.isArray(parsed) ? parsed : [];
  for (const { errors } of documents) {
    for (const { message, linePos } of errors) {
      problems.push(`${file}:${linePos?.[0].line ?? 1}: ${message.split('\n')[0] ?? ''} Correct the syntax.`);
    }
  }
  return documents
    .filter(({ errors, contents }) => errors.length === 0 && contents !== null)
    .map((document) => ({ file, document, lines }));
}

const fieldsOfSource = ({ document }: Source): Fields => {
  const value: unknown = document.toJS();
  return isFields(value) ? value : {};
};

/** The line of the innermost known part of a path. */
function placeOf({ file, document, lines }: Source, path: readonly (string | number)[]): string {
  for (let length = path.length; length >= 0; length--) {
    const node = document.getIn(path.slice(0, length), true);
    const range = isNode(node) ? node.range : undefined;
    if (range !== undefined && range !== null) return `${file}:${lines.linePos(range[0]).line}`;
  }
  return `${file}:1`;
}

const isNode = (node: unknown): node is { range?: readonly number[] & { 0: number } } =>
  typeof node === 'object' && node !== null && 'range' in node;

type Reader = { folder: string; env: Environment | null; defaults: Fields; problems: string[] };

async function resourcesOf(source: Source, reader: Reader): Promise<FileResource[]> {
  const value: unknown = source.document.toJS();
  const items: unknown[] = Array.isArray(value) ? value : [value];
  const found: FileResource[] = [];
  for (const [index, item] of items.entries()) {
    const base = Array.isArray(value) ? [index] : [];
    const resource = await resourceOf(item, { source, base, reader });
    if (resource !== null) found.push(resource);
  }
  return found;
}

type At = { source: Source; base: readonly (string | number)[]; reader: Reader };

async function resourceOf(item: unknown, { source, base, reader }: At): Promise<FileResource | null> {
  const { problems, defaults } = reader;
  const place = (path: readonly string[]) => placeOf(source, [...base, ...path.map(indexOf)]);
  if (!isFields(item)) {
    problems.push(`${place([])}: must be a resource: an object with kind and logicalId`);
    return null;
  }
  const {
    kind = 'checkType' in item ? 'check' : undefined,
    logicalId,
    physicalId,
    member,
    protected: keep,
    suite,
    ...own
  } = item;
  for (const [field, text] of Object.entries({ kind, logicalId })) {
    if (typeof text !== 'string') problems.push(`${place([field])}: ${field} is required: add it as a text`);
  }
  if (typeof kind !== 'string' || typeof logicalId !== 'string') return null;
  const bundled = suite === undefined ? null : await suiteFolder(suite, { source, place, reader });
  const whole = kind === 'check' ? { ...defaults, ...own } : own;
  const payload = withEnvironment(await withTexts(whole, { source, place, reader }), { place, reader }, []);
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

type Beside = { source: Source; place: Place; reader: Reader };

/** A folder next to the file that names it. Null = there is none, and the problem is noted. */
async function suiteFolder(path: unknown, { source, place, reader }: Beside): Promise<string | null> {
  const folder = resolve(reader.folder, dirname(source.file), String(path));
  const found = typeof path === 'string' ? await stat(folder).catch(() => null) : null;
  if (found?.isDirectory() === true) return folder;
  reader.problems.push(`${place(['suite'])}: suite names no folder (${String(path)}): correct the path`);
  return null;
}

/** Scripts in files of their own, next to the file that names them. */
async function withTexts(fields: Fields, { source, place, reader }: Beside): Promise<Fields> {
  const result = { ...fields };
  for (const name of textFields) {
    const path = result[`${name}File`];
    if (path === undefined) continue;
    delete result[`${name}File`];
    const file = resolve(reader.folder, dirname(source.file), String(path));
    const isInside = !relative(reader.folder, file).startsWith('..');
    const text = isInside ? await readFile(file, 'utf8').catch(() => null) : null;
    if (text === null) {
      reader.problems.push(
        `${place([`${name}File`])}: ${name}File names no file of the folder (${String(path)}): correct the path`,
      );
    } else result[name] = text;
  }
  return result;
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
