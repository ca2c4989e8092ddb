import { createInterface } from 'node:readline/promises';
import { exitCodes, FatalError } from '../../errors.ts';
import { fieldsOf, type Fields } from '../../json-values.ts';
import type { Command, CommandContext } from '../command.ts';
import { applyLine, planLine } from '../line/project.ts';
import type { Client } from './client.ts';
import type { ProjectFiles } from './files.ts';
import { changesOf, planLines } from './report.ts';
import { bodyOf, refused, withProject } from './with-project.ts';

/** Exit code of `plan` if there are changes. */
const hasChanges = 2;

/** `plan [DIR] [--keep] [--json]`: shows what `apply` would change. Exit code 0 = nothing, 2 = changes, 1 = problems. */
export const plan: Command = async (args, context) =>
  withProject(args, context, planLine, async ({ client, files, values: { keep, json } }) => {
    const body = await previewOf(client, files, { keep, stderr: context.stderr });
    if (body === null) return exitCodes.failed;
    context.stdout(json ? `${JSON.stringify(body)}\n` : planLines(body['diff']));
    return changesOf(body['diff']).length === 0 ? exitCodes.done : hasChanges;
  });

/** `apply [DIR] [--yes] [--keep] [--schedule]`: makes the account what the files describe. */
export const apply: Command = async (args, context) =>
  withProject(args, context, applyLine, async ({ client, files, values, signal }) => {
    const { keep, json, yes, schedule } = values;
    const preview = await previewOf(client, files, { keep, stderr: context.stderr });
    if (preview === null) return exitCodes.failed;
    if (!json) context.stdout(planLines(preview['diff']));
    const changes = changesOf(preview['diff']);
    const deleted = changes.filter(({ action }) => action === 'DELETE').length;
    if (deleted > 0 && !yes && !(await isConfirmed(deleted, context))) return exitCodes.couldNotRun;
    const query = `preserveResources=${keep}&scheduleOnDeploy=${schedule}`;
    const body = { ...bodyOf(files), planToken: preview['planToken'] };
    const started = await client.call('POST', `/v1/projects/deploy?${query}`, body);
    if (started.status !== 202) return refused(started, files, context.stderr);
    const ended = await follow(client, started.body, { signal, stderr: context.stderr });
    if (json) context.stdout(`${JSON.stringify(ended)}\n`);
    if (ended['status'] === 'SUCCEEDED') {
      if (!json) context.stdout(`applied: ${files.project.logicalId}\n`);
      return exitCodes.done;
    }
    return refused({ status: 400, body: fieldsOf(ended['error']) }, files, context.stderr);
  });

type Printing = { stderr: (text: string) => void };

async function previewOf(
  client: Client,
  files: ProjectFiles,
  { keep, stderr }: Printing & { keep: boolean },
): Promise<Fields | null> {
  const answer = await client.call(
    'POST',
    `/v1/projects/deploy?dryRun=true&preserveResources=${keep}`,
    bodyOf(files),
  );
  if (answer.status === 200) return answer.body;
  refused(answer, files, stderr);
  return null;
}

async function isConfirmed(deleted: number, { stderr }: Pick<CommandContext, 'stderr'>): Promise<boolean> {
  if (!process.stdin.isTTY) {
    stderr(
      `location-agent: ${deleted} resources would be deleted: give --yes to delete them, or --keep to keep them\n`,
    );
    return false;
  }
  const terminal = createInterface({ input: process.stdin, output: process.stderr });
  const answer = await terminal.question(`Delete ${deleted} resources? [y/N] `);
  terminal.close();
  return /^y(es)?$/i.test(answer.trim());
}

/** Follows a deployment to its end; Ctrl-C cancels it. */
async function follow(
  client: Client,
  { id, logicalId }: Fields,
  { signal, stderr }: Printing & { signal: AbortSignal },
): Promise<Fields> {
  const path = `/v1/projects/${encodeURIComponent(String(logicalId))}/deployments/${String(id)}`;
  let last = -1;
  let isCancelled = false;
  for (;;) {
    if (signal.aborted && !isCancelled) {
      isCancelled = true;
      await client.call('POST', `${path}/cancel`);
    }
    const { status, body } = await client.call('GET', `${path}/completion?maxWaitSeconds=1`);
    if (status === 200) return body;
    if (status !== 408) {
      throw new FatalError('CONFIGURATION', `the service answered ${status} to ${path}`, {
        exitCode: exitCodes.couldNotRun,
      });
    }
    const { progress } = (await client.call('GET', path)).body;
    if (typeof progress === 'number' && progress !== last) stderr(`${progress} %\n`);
    last = Number(progress);
  }
}
