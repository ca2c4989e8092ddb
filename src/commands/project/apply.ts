import { createInterface } from 'node:readline/promises';
import { exitCodes } from '../../errors.ts';
import { fieldsOf, type Fields } from '../../json-values.ts';
import type { Command, CommandContext } from '../command.ts';
import { applyLine, planLine } from '../line/project.ts';
import { unusable, type Client } from './client.ts';
import type { ProjectFiles } from './files.ts';
import { changesOf, planLines } from './report.ts';
import { begin, deployPath, follow, type Ended } from './deployment.ts';
import { bodyOf, isRefusal, refused, withProject } from './with-project.ts';

/** Exit code of `plan` if there are changes. */
const hasChanges = 2;

/** `plan [DIR] [--keep] [--json]`: shows what `apply` would change. Exit code 0 = nothing, 2 = changes, 1 = any error. */
export const plan: Command = async (args, context) =>
  withProject(args, context, planLine, async ({ client, files, values: { keep, json } }) => {
    const body = await previewOf(client, files, { keep, stderr: context.stderr });
    if (body === null) return exitCodes.failed;
    context.stdout(json ? `${JSON.stringify(body)}\n` : planLines(body));
    return changesOf(body['diff']).length === 0 ? exitCodes.done : hasChanges;
  });

/** `apply [DIR] [--yes] [--keep] [--schedule]`: makes the account what the files describe. */
export const apply: Command = async (args, context) =>
  withProject(args, context, applyLine, async ({ client, files, values, signal }) => {
    const { keep, json, yes, schedule } = values;
    const { stderr } = context;
    const send = async (body: object, more: string) => {
      const query = `preserveResources=${keep}&scheduleOnDeploy=${schedule}${more}`;
      const started = await begin(client, { query, body }, { signal, stderr });
      return started.status === 202 ? follow(client, started.body, { signal, stderr }) : started;
    };
    // One pass is enough unless a person has to see the deletions first.
    let ended = await send(bodyOf(files), yes || keep ? '' : '&refuseDeletions=true');
    let shown = false;
    if (codeOf(ended) === 'DELETIONS') {
      const preview = await previewOf(client, files, { keep, stderr });
      if (preview === null) return exitCodes.failed;
      shown = true;
      if (!json) context.stdout(planLines(preview));
      const deleted = changesOf(preview['diff']).filter(({ action }) => action === 'DELETE').length;
      if (!(await isConfirmed(deleted, context))) return exitCodes.couldNotRun;
      ended = await send({ ...bodyOf(files), planToken: preview['planToken'] }, '');
    }
    const { status, body } = ended;
    if (isRefusal(ended)) return refused(body, files, stderr);
    if (status !== 200) throw unusable(client, deployPath, ended);
    if (json) context.stdout(`${JSON.stringify(body)}\n`);
    if (body['status'] !== 'SUCCEEDED') return refused(fieldsOf(body['error']), files, stderr);
    if (json) return exitCodes.done;
    if (!shown) context.stdout(planLines(fieldsOf(body['result'])));
    context.stdout(`applied: ${files.project.logicalId}\n`);
    return exitCodes.done;
  });

const codeOf = ({ body }: Ended): unknown => fieldsOf(body['error'])['code'];

type Printing = { stderr: (text: string) => void };

async function previewOf(
  client: Client,
  files: ProjectFiles,
  { keep, stderr }: Printing & { keep: boolean },
): Promise<Fields | null> {
  const query = `dryRun=true&preserveResources=${keep}`;
  const answer = await client.call('POST', `${deployPath}?${query}`, bodyOf(files));
  if (answer.status === 200) return answer.body;
  if (!isRefusal(answer)) throw unusable(client, deployPath, answer);
  refused(answer.body, files, stderr);
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
