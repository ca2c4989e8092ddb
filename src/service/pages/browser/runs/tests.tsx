import { count, list, object, plain, text, type Fields } from '../base/outside.ts';
import { milliseconds } from '../base/words.ts';
import { StatusMark } from '../parts/status.tsx';
import { FileTable } from './files.tsx';
import { Facts, Part } from './part.tsx';
import type { Run } from './types.ts';

/** Tests of suites and scripts with their steps, errors and files. */

/** The status of a test of a suite, as other statuses are named. */
function suiteTestStatus({ status, degraded }: Fields): 'passed' | 'degraded' | 'failed' | 'skipped' {
  if (status === 'skipped') return 'skipped';
  if (status !== 'passed' && status !== 'flaky') return 'failed';
  return degraded === true || status === 'flaky' ? 'degraded' : 'passed';
}

/** Project, file, describe blocks, title. */
function testTitle({ titlePath, title, project }: Fields): string {
  const path = list(titlePath)
    .slice(0, 20)
    .map((part) => text(part, 200))
    .filter(Boolean);
  const place = text(project, 100);
  return text((place === '' ? '' : `[${place}] `) + (path.length > 0 ? path.join(' › ') : text(title)), 500);
}

const rank = { failed: 0, degraded: 1, passed: 2, skipped: 3 };

export function Tests({ run }: { run: Run }) {
  const details = object(run.details);
  const isSuite = run.checkType === 'PLAYWRIGHT';
  const tests = list(details['tests']).slice(0, 1000).map(object);
  if (isSuite) tests.sort((a, b) => rank[suiteTestStatus(a)] - rank[suiteTestStatus(b)]);
  const leftOut = count(details['testsLeftOut']);
  const stages = list(details['stages']).slice(0, 50).map(object);
  return (
    <>
      {isSuite && (
        <Part title="Suite">
          <Facts
            facts={[
              ['Tests', totalsText(details['totals'])],
              ['Playwright', details['playwrightVersion']],
              ['Engine', nameOf(details['engine'])],
              ['Package manager', nameOf(details['packageManager'])],
              ['Dependency cache', details['dependencyCache']],
              ['Exit code', details['exitCode']],
              ...stages.map(
                (stage) =>
                  [text(stage['name'] ?? stage['stage'], 60), milliseconds(stage['durationMs'])] as const,
              ),
            ]}
          />
        </Part>
      )}
      {tests.length > 0 && (
        <Part title="Tests">
          <ul class="tests">
            {tests.map((test, at) => (
              <Test key={at} test={test} isSuite={isSuite} run={run} />
            ))}
          </ul>
          {leftOut > 0 && <p class="soft">{leftOut} more tests are only in the JSON report.</p>}
        </Part>
      )}
    </>
  );
}

function nameOf(value: unknown): string {
  const { name, version } = object(value);
  return name ? `${text(name, 40)} ${text(version ?? '', 40)}`.trim() : '';
}

/** "4 passed, 1 failed" */
export function totalsText(value: unknown): string {
  const totals = object(value);
  return ['passed', 'failed', 'flaky', 'skipped', 'timedOut', 'interrupted', 'degraded']
    .filter((name) => count(totals[name]) > 0)
    .map((name) => `${count(totals[name])} ${name === 'timedOut' ? 'timed out' : name}`)
    .join(', ');
}

function Test({ test, isSuite, run }: { test: Fields; isSuite: boolean; run: Run }) {
  const status = isSuite ? suiteTestStatus(test) : scriptTestStatus(test);
  const retries = count(test['retries']);
  const names = list(test['attachments'])
    .slice(0, 20)
    .map((each) => object(each)['artifact']);
  const files = (run.artifacts ?? []).filter(({ name }) => names.includes(name));
  const steps = list(test['steps']);
  return (
    <li>
      <div class="test-line">
        <StatusMark status={status} />
        <span class="break">{isSuite ? testTitle(test) : text(test['title'], 300)}</span>
        <span class="soft">
          {text(test['status'], 40)}
          {retries > 0 && `, ${retries} ${retries === 1 ? 'retry' : 'retries'}`}
        </span>
        <span class="number">{milliseconds(test['durationMs'])}</span>
      </div>
      <Errors errors={list(test['errors'])} />
      {steps.length > 0 && (
        <details open={status === 'failed'}>
          <summary>
            Steps <span class="count">{steps.length}</span>
          </summary>
          <Steps steps={steps} depth={0} />
        </details>
      )}
      {files.length > 0 && <FileTable files={files} />}
    </li>
  );
}

const scriptTestStatus = ({ degraded, status }: Fields) =>
  degraded === true
    ? 'degraded'
    : status === 'passed'
      ? 'passed'
      : status === 'skipped'
        ? 'skipped'
        : 'failed';

export function Errors({ errors }: { errors: readonly unknown[] }) {
  return (
    <>
      {errors.slice(0, 20).map((error, at) => (
        <pre key={at} class="reason body" tabIndex={0} aria-label="Error">
          {plain(typeof error === 'object' ? (object(error)['message'] ?? error) : error)}
        </pre>
      ))}
    </>
  );
}

/** Steps with their nested steps, to a depth of 6. */
function Steps({ steps, depth }: { steps: readonly unknown[]; depth: number }) {
  return (
    <ul class="steps">
      {steps
        .slice(0, 300)
        .map(object)
        .map((step, at) => (
          <li key={at}>
            <span class="test-line">
              {Boolean(step['error']) && <StatusMark status="failed" />}
              <span class="break">{text(step['title'] ?? step['description'], 300)}</span>
              <span class="number">{milliseconds(step['durationMs'])}</span>
            </span>
            {Boolean(step['error']) && <Errors errors={[step['error']]} />}
            {depth < 6 && list(step['steps']).length > 0 && (
              <Steps steps={list(step['steps'])} depth={depth + 1} />
            )}
          </li>
        ))}
    </ul>
  );
}
