import { join, resolve } from 'node:path';
import { exitCodes } from '../../errors.ts';
import { fieldsOf, itemsOf, type Fields } from '../../json-values.ts';
import { packBundle } from '../../script/suite/bundle/pack.ts';
import { packedLines, upload } from '../bundle.ts';
import { parseArguments, usageError, type CommandContext } from '../command.ts';
import type { CommandSpec } from '../line/spec.ts';
import { inTemporaryFolder } from '../temporary-folder.ts';
import { printable } from '../terminal-text.ts';
import { unusable, withClient, type Client } from './client.ts';
import { readProject, type FileResource, type ProjectFiles } from './files.ts';
import { problemsOf } from './validate.ts';

/** What commands on a folder and an account have in common. */

export type Run<Values> = {
  client: Client;
  files: ProjectFiles;
  values: Values;
  /** Fires with Ctrl-C. */
  signal: AbortSignal;
};

type ValuesOf<S extends CommandSpec> = ReturnType<typeof parseArguments<S['options']>>['values'];

/**
 * Reads and validates the files of a command's folder, and calls `work` with them. Returns the exit code; `invalid` =
 * the files are not valid, and each problem has been printed.
 */
export async function withProject<const S extends CommandSpec>(
  args: readonly string[],
  { env, stderr }: CommandContext,
  spec: S,
  work: (run: Run<ValuesOf<S>>) => Promise<number>,
  invalid: number = exitCodes.failed,
): Promise<number> {
  const { values, positionals } = parseArguments<S['options']>(args, spec);
  const [folder = '.', ...others] = positionals;
  if (others.length > 0) throw usageError(`${spec.name} takes one folder`, spec);
  const read = await readProject(resolve(folder), env, { env, stderr });
  const problems = [...read.problems, ...problemsOf(read)];
  for (const problem of problems) stderr(`${printable(problem)}\n`);
  if (problems.length > 0) return invalid;
  const stopping = new AbortController();
  const stop = () => stopping.abort();
  process.once('SIGINT', stop).once('SIGTERM', stop);
  try {
    return await withClient(env, async (client) => {
      const files = await withSuites(client, await withAdoption(client, read, stderr), stderr);
      return work({ client, files, values, signal: stopping.signal });
    });
  } finally {
    process.off('SIGINT', stop).off('SIGTERM', stop);
  }
}

/** Names the existing resources that the project takes over, in the account from which they were exported. */
async function withAdoption(
  client: Client,
  files: ProjectFiles,
  stderr: (text: string) => void,
): Promise<ProjectFiles> {
  const { adoption, project } = files;
  if (adoption === null) return files;
  const { id } = await read(client, '/v1/accounts/me');
  if (id !== adoption.account) {
    stderr('location-agent: adopt.yaml is of another account and has no effect here\n');
    return files;
  }
  const path = `/v1/projects/${encodeURIComponent(project.logicalId)}`;
  const own = await client.call('GET', path);
  if (own.status !== 200 && own.status !== 404) throw unusable(client, path, own);
  const bound = new Set(
    itemsOf(own.body['resources'])
      .map(fieldsOf)
      .filter(({ detached }) => detached !== true)
      .map(({ type, logicalId }) => `${String(type)}/${String(logicalId)}`),
  );
  const resources = files.resources.map((resource): FileResource => {
    const key = `${resource.type}/${resource.logicalId}`;
    const physicalId = bound.has(key) ? undefined : adoption.ids.get(key);
    return physicalId === undefined || resource.physicalId !== undefined
      ? resource
      : { ...resource, physicalId };
  });
  return { ...files, resources };
}

/** Uploads the suites of the files. Content that the service has already is not sent again. */
async function withSuites(
  client: Client,
  files: ProjectFiles,
  stderr: (text: string) => void,
): Promise<ProjectFiles> {
  const folders = [...new Set(files.resources.flatMap(({ suite }) => suite ?? []))];
  if (folders.length === 0) return files;
  const bundles = new Map<string, { codeBundlePath: string; workingDir: string }>();
  await inTemporaryFolder(async (temporary, signal) => {
    for (const folder of folders) {
      const archive = join(temporary, 'bundle.tgz');
      const packed = await packBundle({ folder, to: archive });
      // The service names a bundle by its digest.
      const known = await client.call('GET', `/v1/playwright-bundles/${packed.digest}`);
      const { transport, serviceUrl } = client;
      if (known.status !== 200) {
        stderr(packedLines(packed));
        await upload({ transport, serviceUrl, archive, packed, signal });
      }
      bundles.set(folder, { codeBundlePath: packed.digest, workingDir: packed.workingDir });
    }
  });
  const resources = files.resources.map((resource): FileResource => {
    const bundle = bundles.get(resource.suite ?? '');
    if (bundle === undefined) return resource;
    const { codeBundlePath, workingDir } = bundle;
    return { ...resource, payload: { workingDir, ...resource.payload, codeBundlePath } };
  });
  return { ...files, resources };
}

async function read(client: Client, path: string): Promise<Fields> {
  const answer = await client.call('GET', path);
  if (answer.status === 200) return answer.body;
  throw unusable(client, path, answer);
}

/** The body of a deployment of these files. */
export const bodyOf = ({ project, resources }: ProjectFiles) => ({
  project,
  resources: resources.map(({ place: _place, suite: _suite, ...resource }) => resource),
});

/** Prints why a project or its deployment was refused, with the place of each field. Returns the exit code. */
export function refused(
  body: Readonly<Fields>,
  { resources }: ProjectFiles,
  stderr: (text: string) => void,
): number {
  const named = Object.entries(fieldsOf(body['attributes']));
  for (const [path, reasons] of named) {
    for (const reason of itemsOf(reasons)) stderr(`${printable(lineAt(resources, path, String(reason)))}\n`);
  }
  stderr(`location-agent: ${printable(String(body['message']))}\n`);
  return exitCodes.failed;
}

/** Whether an answer is about the files. After any other answer than this or success, a command cannot continue. */
export const isRefusal = ({ status, body }: { status: number; body: Readonly<Fields> }): boolean =>
  (status === 400 || status === 409) && typeof body['message'] === 'string';

function lineAt(resources: readonly FileResource[], path: string, reason: string): string {
  const [resource] = resources
    .filter(({ type, logicalId }) => `${path}.`.startsWith(`${type}/${logicalId}.`))
    .sort((a, b) => b.logicalId.length - a.logicalId.length);
  if (resource === undefined) return `${path} ${reason}`;
  const field = path.slice(`${resource.type}/${resource.logicalId}.`.length);
  return `${resource.place(field.split('.'))}: ${resource.type}/${resource.logicalId}: ${field} ${reason}`;
}
