import { execFileSync } from 'node:child_process';
import { readFileSync } from 'node:fs';
import { describe, expect, test } from 'vitest';
import { NoBrowser, openBrowser } from '../../../src/service/agentic/browser.ts';
import { usualLimits } from '../../../src/service/agentic/perform.ts';
import { createArtifactFiles } from '../../../src/service/artifacts/files.ts';
import { builtProgram } from '../../helpers/build.ts';
import { agenticBench, secret } from '../../helpers/service/agentic-bench.ts';
import type { Fields } from '../../helpers/service/service.ts';

/** Agentic checks from the schedule to the result: a real page in a real browser, and a peer for the model. */

// The browser's process is a compiled file.
await builtProgram();
const hasBrowser = await openBrowser(null).then(
  async ({ close }) => {
    await close();
    return true;
  },
  (error: unknown) => {
    // A browser that is installed but does not start is a fault, not a reason to skip.
    if (!(error instanceof NoBrowser)) throw error;
    process.stderr.write('skipped here: agentic checks in a browser, which this machine does not have\n');
    return false;
  },
);

describe('agentic checks', { timeout: 120_000 }, () => {
  const bench = agenticBench();
  const { results, run } = bench;

  const does = (label: string) => [
    [
      { name: 'navigate', arguments: { url: bench.url } },
      { name: 'type', arguments: { selector: '#password', text: '{{PASSWORD}}' } },
    ],
    [
      { name: 'click', arguments: { selector: `text="${label}"` } },
      { name: 'read', arguments: {} },
    ],
    [{ name: 'assert', arguments: { condition: 'the page welcomes', expected: 'Welcome, {{PASSWORD}}' } }],
    [{ name: 'finish', arguments: { summary: 'signed in', done: 'yes' } }],
  ];

  test.skipIf(!hasBrowser)(
    'the first run records a script, later ones replay and repair it, and no secret is sent',
    async () => {
      const { db, model, service, url, checkId, stored, folder } = bench;
      model.answers.push(...does('Sign in'));
      const first = await run();
      expect(first).toMatchObject({
        status: 'passed',
        checkType: 'AGENTIC',
        runLocation: 'service',
        reason: null,
      });
      expect(first.details).toMatchObject({
        summary: 'signed in',
        errors: [],
        assertions: [{ condition: 'the page welcomes', passed: true, expected: 'Welcome, {{PASSWORD}}' }],
      });
      expect(first.details.steps[0]).toMatchObject({
        type: 'tool_call',
        name: 'navigate',
        sequenceNumber: 1,
      });
      expect(model.asked).toHaveLength(4);
      const whole = await service.call('GET', `/v1/check-results/${checkId}/${String(first['id'])}`);
      expect(whole.body['agenticCheckResult']).toEqual({
        summary: 'signed in',
        prompt: 'Sign in with {{PASSWORD}}: the page must welcome Ann.',
        assertions: first.details['assertions'],
        suggestions: [],
        steps: first.details.steps,
        errors: [],
        artifactManifest: {
          'screenshot.jpg': 'The page as the run left it',
          'script.json': 'The actions of the run, which later runs do again',
        },
      });
      const [picture, script] = await Promise.all(
        (whole.body['artifacts'] as { url: string }[]).map(async (artifact) => {
          const answer = await fetch(artifact.url, {
            headers: { authorization: `Bearer ${service.account.key}` },
          });
          return Buffer.from(await answer.arrayBuffer());
        }),
      );
      expect(picture!.subarray(0, 3)).toEqual(Buffer.from([0xff, 0xd8, 0xff]));
      expect(JSON.parse(script!.toString())).toEqual([
        { tool: 'navigate', input: { url } },
        { tool: 'type', input: { selector: '#password', text: '{{PASSWORD}}' } },
        { tool: 'click', input: { selector: 'text="Sign in"' } },
        expect.objectContaining({ tool: 'assert' }),
      ]);
      expect(JSON.stringify([first, whole.body, model.asked.map(({ body }) => body)])).not.toContain(secret);

      // A disk that is full costs the files, not the run.
      bench.files = createArtifactFiles(folder, { reserveBytes: Number.MAX_SAFE_INTEGER });
      const second = await run();
      bench.files = stored;
      const ofSecond = await service.call('GET', `/v1/check-results/${checkId}/${String(second['id'])}`);
      expect(ofSecond.body).toMatchObject({
        agenticCheckResult: { artifactManifest: {} },
        artifacts: [
          { name: 'screenshot.jpg', state: 'lost', url: null },
          { name: 'script.json', state: 'lost', url: null },
        ],
      });
      expect(second).toMatchObject({ status: 'passed', details: { replayed: true } });
      expect(model.asked).toHaveLength(4);

      bench.button = 'Log in';
      // The old label is waited for in vain before.
      await db.query(
        `update agentic_states set actions = jsonb_set(actions, '{2,input,selector}', '"text=\\"Sign in\\" >> nth=0 >> css=x:bad("') where check_id = $1`,
        [checkId],
      );
      model.answers.push(...does('Log in'));
      expect(await run()).toMatchObject({ status: 'passed', details: { replayed: false } });
      expect(await run()).toMatchObject({ status: 'passed', details: { replayed: true } });
      expect(model.asked).toHaveLength(8);
    },
  );

  test.skipIf(!hasBrowser)(
    'a failed assertion fails the check; missing variables are suggested; cloud metadata addresses are blocked',
    async () => {
      const { db, model, url, checkId } = bench;
      await db.query(
        `update checks set definition = definition || '{"prompt": "Open {{SHOP}} and sign in as ann."}' where id = $1`,
        [checkId],
      );
      const suggestion = {
        category: 'configuration',
        summary: 'The shop has no accounts.',
        prompt: 'sign in as ann',
        promptReplacement: 'look at the title',
        secrets: 'ANN_PASSWORD, not a name!',
      };
      model.answers.push(
        [{ name: 'navigate', arguments: { url: 'http://169.254.169.254/latest' } }],
        [{ name: 'navigate', arguments: { url: 'file:///etc/passwd' } }],
        [
          { name: 'navigate', arguments: { url } },
          { name: 'assert', arguments: { condition: 'it says so', expected: 'Goodbye' } },
          { name: 'suggest', arguments: suggestion },
          { name: 'suggest', arguments: { ...suggestion, category: 'money' } },
        ],
        [{ name: 'finish', arguments: { summary: 'it does not say so', done: 'yes' } }],
      );
      const result = await run();
      expect(result).toMatchObject({
        status: 'failed',
        hasFailures: true,
        reason: { code: 'ASSERTION_FAILED' },
      });
      const outputs = result.details.steps
        .filter(({ type }) => type === 'tool_result')
        .map(({ output }) => String(output));
      expect(outputs.slice(0, 2)).toEqual([
        expect.stringContaining('failed'),
        'failed: the URL must begin with http:// or https://',
      ]);
      expect(result.details['suggestions']).toEqual([
        {
          category: 'credentials',
          summary: expect.stringContaining('{{SHOP}}') as string,
          prompt: '{{SHOP}}',
          promptReplacement: null,
          secrets: ['SHOP'],
        },
        { ...suggestion, secrets: ['ANN_PASSWORD', 'not', 'a'] },
      ]);
    },
  );

  test.skipIf(!hasBrowser)('redirects are checked too; page texts are limited', async () => {
    const { model, url } = bench;
    model.answers.push(
      [
        { name: 'navigate', arguments: { url: `${url}redirect` } },
        { name: 'navigate', arguments: { url: `${url}huge` } },
        { name: 'read', arguments: {} },
      ],
      [{ name: 'finish', arguments: { summary: 'nothing', done: 'no' } }],
    );
    const { status, details } = await run();
    expect(status).toBe('failed');
    const [redirected] = details.steps.filter(({ type }) => type === 'tool_result');
    // It is the proxy that has answered.
    expect(redirected?.['output']).toContain('ERR_HTTP_RESPONSE_CODE_FAILURE');
    expect(JSON.stringify(model.asked.at(-1)!.body).length).toBeLessThan(20_000);
  });

  test.skipIf(!hasBrowser).each([
    ['a model that fails', () => [500], { status: 'errored', reason: { code: 'INTERNAL', owner: 'ours' } }],
    [
      'a run that takes too long',
      () => {
        // Enough for the browser's start on a busy machine.
        bench.limits = { ...usualLimits, runMs: 8_000 };
        return [[{ name: 'navigate', arguments: { url: bench.url } }], { silence: true as const }];
      },
      {
        status: 'failed',
        reason: { code: 'TIMEOUT', message: 'the task was not completed within 8 s' },
        artifacts: [{ name: 'screenshot.jpg', type: 'screenshot', state: 'stored' }],
      },
    ],
    [
      'too many tokens',
      () => [{ content: 'I think.', tokens: usualLimits.tokens + 1 }],
      {
        status: 'failed',
        reason: { code: 'TEST_FAILED', message: expect.stringContaining('200000 tokens') as string },
      },
    ],
    [
      'too many turns',
      () => {
        bench.limits = { ...usualLimits, turns: 3 };
        return ['I think.', 'I think on.', 'And on.', 'On.'];
      },
      {
        status: 'failed',
        reason: { code: 'TEST_FAILED', message: expect.stringContaining('3 turns') as string },
      },
    ],
  ])('ends the run: %s', async (_what, answers, expected) => {
    const { model } = bench;
    model.answers.push(...answers());
    expect(await run()).toMatchObject(expected);
    expect(model.answers.length).toBeLessThanOrEqual(1);
  });

  test.skipIf(!hasBrowser)(
    'the browser gets none of the service environment; a crashed browser is an internal error',
    async () => {
      const { url } = bench;
      const { page, close } = await openBrowser(null);
      try {
        await page.goto(url);
        const own = descendants().filter((pid) => commandOf(pid) !== '');
        expect(own.some((pid) => commandOf(pid).includes('browser-main'))).toBe(true);
        for (const pid of own) expect(environmentOf(pid)).not.toMatch(/VITEST|npm_|SERVICE_|ANALYSIS_/);
      } finally {
        await close();
      }
      await expect(page.goto(url)).rejects.toThrow('the browser exited');
      expect(descendants().filter((pid) => /browser-main|chrom/.test(commandOf(pid)))).toEqual([]);
    },
  );

  test.skipIf(!hasBrowser)('a screenshot masks secrets wherever they are on the page', async () => {
    const { page, close } = await openBrowser(null);
    const places = (word: string) => [
      `<p>It is ${word}.</p>`,
      `<input value="${word}">`,
      `<textarea>${word}</textarea>`,
      `<select><option>${word}</option></select>`,
      `<div contenteditable>${word}</div>`,
      `<iframe srcdoc="<p>It is ${word}.</p>"></iframe>`,
    ];
    const pictureOf = async (html: string, secrets: string[]) => {
      await page.goto(`data:text/html,<style>* { font: 16px monospace }</style>${encodeURIComponent(html)}`);
      return page.screenshot(secrets);
    };
    try {
      const others = places('swallow');
      for (const [index, html] of places('dolphin').entries()) {
        const secrets = ['dolphin', 'swallow'];
        const isSame = async (masked: string[]) =>
          (await pictureOf(html, masked)) === (await pictureOf(others[index]!, masked));
        expect([html, await isSame([]), await isSame(secrets)]).toEqual([html, false, true]);
      }
    } finally {
      await close();
    }
  });

  test.skipIf(!hasBrowser)(
    'a cancelled session stops the run, and its result has the steps so far',
    async () => {
      const { model, service, url, checkId, checks } = bench;
      model.answers.push([{ name: 'navigate', arguments: { url } }], { silence: true });
      const { body } = await service.call<{ sessions: Fields[] }>('POST', '/v2/check-sessions/trigger', {
        body: { target: { checkId: [checkId] } },
      });
      const id = String(body.sessions[0]!['checkSessionId']);
      await checks.tick();
      await expect.poll(() => model.asked.length, { timeout: 30_000 }).toBe(2);
      expect((await service.call('GET', `/v2/check-sessions/${id}`)).body).toMatchObject({
        status: 'PROGRESS',
        inProgress: [{ checkType: 'AGENTIC', state: 'RUNNING', runLocation: 'service' }],
      });
      expect((await service.call('POST', `/v2/check-sessions/${id}/cancel`)).status).toBe(204);
      await checks.idle();
      expect((await service.call('GET', `/v2/check-sessions/${id}`)).body).toMatchObject({
        status: 'CANCELLED',
      });
      const [result] = await results();
      expect(result).toMatchObject({ status: 'cancelled', isCancelled: true, reason: { code: 'CANCELLED' } });
      expect(result?.details.steps.length).toBeGreaterThan(0);
    },
  );
});

/** Processes below this one. */
function descendants(): number[] {
  const rows = execFileSync('ps', ['-e', '-o', 'pid=,ppid='], { encoding: 'utf8' })
    .trim()
    .split('\n')
    .map((line) => line.trim().split(/\s+/).map(Number));
  const found = new Set([process.pid]);
  for (let grew = true; grew;) {
    grew = false;
    for (const [pid = 0, parent = 0] of rows) {
      if (found.has(parent) && !found.has(pid)) {
        found.add(pid);
        grew = true;
      }
    }
  }
  found.delete(process.pid);
  return [...found];
}

function readProc(pid: number, name: string): string {
  try {
    return readFileSync(`/proc/${pid}/${name}`, 'utf8').replaceAll('\0', '\n');
  } catch {
    return '';
  }
}
const commandOf = (pid: number) => readProc(pid, 'cmdline');
const environmentOf = (pid: number) => readProc(pid, 'environ');
