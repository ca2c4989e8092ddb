import { writeFile } from 'node:fs/promises';
import { exitCodes } from '../../errors.ts';
import { fieldsOf, itemsOf, type Fields } from '../../json-values.ts';
import { parseArguments, usageError, type Command, type CommandContext } from '../command.ts';
import { testLine } from '../line/project.ts';
import { printable } from '../terminal-text.ts';
import { unusable, type Client } from './client.ts';
import type { ProjectFiles } from './files.ts';
import { outcomeOf, reporters, reportOf, type TestedCheck, type TestReport } from './test-report.ts';
import { bodyOf, isRefusal, refused, withProject } from './with-project.ts';

/** Exit codes by the outcome of a test run. */
const codes = {
  passed: exitCodes.done,
  failed: exitCodes.failed,
  'could not run': exitCodes.couldNotRun,
} as const;

/**
 * `test [DIR]`: runs the checks that apply would create or change, once each and without applying them. Exit code 0 =
 * all passed or there was nothing to run, 1 = a check failed, 2 = a check could not run.
 */
export const test: Command = async (args, context) => {
  const { reporter: chosen = 'text', env = [] } = parseArguments(args, testLine).values;
  const reporter = reporters.find((one) => one === chosen);
  if (reporter === undefined) throw usageError(`--reporter must be one of ${reporters.join(', ')}`, testLine);
  const environmentVariables = env.map(variableOf);
  return withProject(
    args,
    context,
    testLine,
    async ({ client, files, values, signal }) => {
      const wanted = {
        all: values.all,
        ...(values.name === undefined ? {} : { name: values.name }),
        matchTags: (values.tag ?? []).map((tags: string) => tags.split(',')),
        ...(values.location === undefined ? {} : { runLocation: values.location }),
        environmentVariables,
      };
      const path = '/v1/projects/test';
      const started = await client.call('POST', path, { ...bodyOf(files), ...wanted });
      if (isRefusal(started)) {
        refused(started.body, files, context.stderr);
        return exitCodes.couldNotRun;
      }
      if (started.status !== 200 && started.status !== 201) throw unusable(client, path, started);
      const report = await follow(started.body, { client, files, signal, context });
      const text = reportOf[reporter](report);
      if (values.out === undefined) context.stdout(text);
      else {
        await writeFile(values.out, text);
        context.stdout(reportOf.text(report));
      }
      return signal.aborted ? exitCodes.couldNotRun : codes[outcomeOf(report)];
    },
    exitCodes.couldNotRun,
  );
};

function variableOf(text: string): Fields {
  const at = text.indexOf('=');
  if (at < 1) throw usageError(`--env ${text} has no value: write NAME=VALUE`, testLine);
  return { key: text.slice(0, at), value: text.slice(at + 1) };
}

type Following = { client: Client; files: ProjectFiles; signal: AbortSignal; context: CommandContext };

/** Waits for the end of the session. Ctrl-C cancels the runs that can be cancelled, and the rest is not awaited. */
async function follow(started: Fields, following: Following): Promise<TestReport> {
  const { client, files, signal, context } = following;
  const { testSessionId, testSessionLink, startedAt } = started;
  const skipped = itemsOf(started['skipped']).map(fieldsOf);
  const planned = itemsOf(started['checks']).map(fieldsOf);
  const place = (logicalId: unknown) =>
    files.resources.find((one) => one.type === 'check' && one.logicalId === logicalId)?.place([]) ?? '';
  const results = new Map<unknown, Fields>();
  if (typeof testSessionId === 'string') {
    const path = `/v1/test-sessions/${testSessionId}`;
    let shown = -1;
    for (;;) {
      const { status, body } = await client.call('GET', `${path}/completion?maxWaitSeconds=1`);
      const session = status === 408 ? (await client.call('GET', path)).body : body;
      if (status !== 408 && status !== 200) throw unusable(client, path, { status, body });
      for (const result of itemsOf(session['results']).map(fieldsOf))
        if (result['resultType'] === 'FINAL') results.set(result['sequenceId'], result);
      if (results.size !== shown) context.stderr(`${results.size} of ${planned.length} checks finished\n`);
      shown = results.size;
      if (status === 200) break;
      if (signal.aborted) {
        await client.call('POST', `${path}/cancel`, {});
        break;
      }
    }
  }
  const checks: TestedCheck[] = [];
  for (const { logicalId, name, checkType, runLocation, sequenceId, checkId } of planned) {
    const result = results.get(sequenceId);
    const common = {
      logicalId: String(logicalId),
      name: String(name),
      checkType: String(checkType),
      location: String(runLocation),
      place: place(logicalId),
    };
    if (result === undefined) {
      checks.push({
        ...common,
        status: 'cancelled',
        responseTime: null,
        reasons: ['the run was not awaited'],
        link: null,
      });
      continue;
    }
    const path = `/v1/check-results/${String(checkId)}/${String(result['checkResultId'])}`;
    const answer = await client.call('GET', path);
    if (answer.status !== 200) throw unusable(client, path, answer);
    const { body } = answer;
    checks.push({
      ...common,
      // The route answers with a status of results.
      status: body['status'] as TestedCheck['status'],
      responseTime: Number(body['responseTime']),
      reasons: reasonsOf(body),
      link: String(result['checkResultLink']),
    });
  }
  for (const { logicalId, name, checkType, reason } of skipped) {
    checks.push({
      logicalId: String(logicalId),
      name: String(name),
      checkType: String(checkType),
      location: '',
      status: 'skipped',
      responseTime: null,
      reasons: [String(reason)],
      link: null,
      place: place(logicalId),
    });
  }
  return {
    project: files.project.logicalId,
    session: typeof testSessionLink === 'string' ? testSessionLink : null,
    startedAt: typeof startedAt === 'string' ? startedAt : new Date().toISOString(),
    checks: checks.sort((a, b) => (a.logicalId < b.logicalId ? -1 : 1)),
  };
}

/** Most lines per check. */
const mostReasons = 20;

/** Why a result did not pass: its reason, and the assertions that are false. */
function reasonsOf({ reason, assertions }: Fields): string[] {
  const { code, message } = fieldsOf(reason);
  const first = code === undefined ? [] : [`${String(code)}: ${String(message)}`];
  const broken = itemsOf(assertions)
    .map(fieldsOf)
    .filter(({ error }) => typeof error === 'string')
    .map(({ source, property, comparison, target, actual, error }) => {
      const subject = [source, property, comparison, target].filter((part) => part !== '' && part !== null);
      return `${subject.map(String).join(' ')}: ${String(error)} (actual ${JSON.stringify(actual) ?? 'nothing'})`;
    });
  return [...new Set([...first, ...broken])].slice(0, mostReasons).map(printable);
}
