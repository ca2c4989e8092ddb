import { mkdir, readdir, readFile, writeFile } from 'node:fs/promises';
import { dirname, join, relative, resolve } from 'node:path';
import { exitCodes, FatalError } from '../../errors.ts';
import { fieldsOf, itemsOf, type Fields } from '../../json-values.ts';
import { fileSchemaName } from '../../service/projects/files/file-schema.ts';
import { parseArguments, usageError, type Command } from '../command.ts';
import { exportLine } from '../line/project.ts';
import { printable } from '../terminal-text.ts';
import { unusable, withClient, type Client } from './client.ts';
import { inTemporaryFolder } from '../temporary-folder.ts';
import { filesOf, type Exported } from './exported-files.ts';
import type { ExportedFile } from './exported-scripts.ts';
import { hasOtherFiles, withSuiteFolders, writeFolder, type ExportedFolder } from './exported-suites.ts';

/** `export [DIR] [--project ID | --unowned] [--overwrite]`: writes the resources of an account as files. */
export const exportProject: Command = async (args, { env, stdout, stderr }) => {
  const { values, positionals } = parseArguments(args, exportLine);
  const [folder = '.', ...others] = positionals;
  if (others.length > 0) throw usageError('export takes one folder', exportLine);
  const { project, unowned, overwrite } = values;
  if (project !== undefined && unowned)
    throw usageError('--project and --unowned exclude each other', exportLine);
  const note = (line: string) => stderr(`location-agent: ${printable(line)}\n`);
  const write = async (client: Client, temporary: string, signal: AbortSignal): Promise<number> => {
    const exported = await read(client, { project, unowned });
    const { resources } = exported;
    const suites = await withSuiteFolders({ client, resources, temporary, signal, note });
    const { files, variables, adopted } = filesOf({ ...exported, resources: suites.resources });
    const target = resolve(folder);
    if (!overwrite) await refuseToOverwrite(target, files, suites.folders);
    for (const { path, text } of files) {
      await mkdir(dirname(join(target, path)), { recursive: true });
      await writeFile(join(target, path), text);
    }
    for (const one of suites.folders) await writeFolder(target, one);
    for (const path of await strangers(target, files, suites.folders))
      note(`${path} was there before and is part of the project too: delete it if it is left over`);
    if (variables.length > 0)
      note(`secret values are not exported: set ${variables.join(', ')} for plan and apply`);
    if (adopted > 0) note(`adopt.yaml lets apply take over ${adopted} resources that no project owns`);
    const { length } = suites.folders;
    const more = length === 0 ? '' : ` and ${length} ${length === 1 ? 'folder' : 'folders'} of suites`;
    stdout(`${files.length} files${more} in ${printable(target)}\n`);
    return exitCodes.done;
  };
  return withClient(env, (client) =>
    inTemporaryFolder((temporary, signal) => write(client, temporary, signal)),
  );
};

async function read(
  client: Client,
  { project, unowned }: { project: string | undefined; unowned: boolean },
): Promise<Exported> {
  const query =
    project === undefined ? (unowned ? '?unowned=true' : '') : `?project=${encodeURIComponent(project)}`;
  const head = project === undefined ? null : await projectOf(client, project);
  const { accountId, resources } = await get(client, `/v1/resources${query}`);
  const { name, repoUrl } = { ...head };
  return {
    accountId: String(accountId),
    schemaUrl: new URL(`schemas/${fileSchemaName}`, client.serviceUrl).href,
    project: {
      logicalId: project ?? 'monitoring',
      name: typeof name === 'string' ? name : 'Monitoring',
      repoUrl: typeof repoUrl === 'string' ? repoUrl : null,
    },
    // The route answers in this form (ProjectResource).
    resources: itemsOf(resources).map((one) => ({ ...fieldsOf(one) })) as unknown as Exported['resources'],
  };
}

async function projectOf(client: Client, logicalId: string): Promise<Fields> {
  const path = `/v1/projects/${encodeURIComponent(logicalId)}`;
  const answer = await client.call('GET', path);
  if (answer.status === 200) return answer.body;
  if (answer.status !== 404) throw unusable(client, path, answer);
  throw new FatalError('CONFIGURATION', `the account has no such project: ${printable(logicalId)}`, {
    exitCode: exitCodes.couldNotRun,
    remedy: 'GET /v1/projects lists them',
  });
}

async function get(client: Client, path: string) {
  const answer = await client.call('GET', path);
  if (answer.status === 200) return answer.body;
  throw unusable(client, path, answer);
}

/** Files that differ are not written over unless the user asks for it. */
async function refuseToOverwrite(
  folder: string,
  files: readonly ExportedFile[],
  suites: readonly ExportedFolder[],
): Promise<void> {
  const differing: string[] = [];
  for (const { path, text } of files) {
    const now = await readFile(join(folder, path), 'utf8').catch(() => text);
    if (now !== text) differing.push(path);
  }
  for (const suite of suites) if (await hasOtherFiles(folder, suite)) differing.push(suite.path);
  const [first] = differing;
  if (first === undefined) return;
  const more = differing.length === 1 ? '' : ` and ${differing.length - 1} more`;
  throw new FatalError('CONFIGURATION', `${first}${more} would be overwritten in ${folder}`, {
    exitCode: exitCodes.couldNotRun,
    remedy: 'export into an empty folder, or give --overwrite',
  });
}

/** Resource files of the folder that this export did not write. */
async function strangers(
  folder: string,
  files: readonly ExportedFile[],
  suites: readonly ExportedFolder[],
): Promise<string[]> {
  const own = new Set(files.map(({ path }) => path));
  const entries = await readdir(folder, { recursive: true, withFileTypes: true });
  return entries
    .filter((entry) => entry.isFile() && /\.(ya?ml|json)$/.test(entry.name))
    .map((entry) => relative(folder, join(entry.parentPath, entry.name)))
    .filter(
      (path) =>
        !own.has(path) &&
        !suites.some((suite) => path.startsWith(`${suite.path}/`)) &&
        !/(^|\/)(node_modules|\.[^/]+)\//.test(path) &&
        !/(^|\/)(package|package-lock|tsconfig)\.json$|(^|\/)pnpm-(lock|workspace)\.yaml$/.test(path),
    )
    .sort();
}
