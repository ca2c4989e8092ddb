import { readFileSync, rmSync, writeFileSync } from 'node:fs';
import { createServer } from 'node:net';
import { join } from 'node:path';
import { afterAll, describe, expect, test } from 'vitest';
import { AgentError, JobAborted } from '../../../../src/errors.ts';
import { installEnvironment, registrySettings } from '../../../../src/script/suite/install/environment.ts';
import { causeOf, networkTrouble, stillTrying } from '../../../../src/script/suite/install/output.ts';
import { SuiteFailed } from '../../../../src/script/suite/place/place.ts';
import {
  dataFolder,
  enginesHere,
  managersFolder,
  placeOf,
  runOf,
  type RunOf,
} from '../../../helpers/suites/suite-install.ts';
import { closedPort } from '../../../helpers/network/closed-port.ts';
import { reachesRegistry } from '../../../helpers/suites/suite-registry.ts';

/** Installs that do not end well: whose fault it is, and what the run says of it. */

afterAll(() => rmSync(dataFolder, { recursive: true, force: true }));

async function failure(options: RunOf): Promise<{ error: unknown; log: string[] }> {
  const run = runOf(options);
  const error: unknown = await run.install().then(
    () => expect.fail('it was installed'),
    (thrown: unknown) => thrown,
  );
  return { error, log: run.log.map(({ msg }) => msg) };
}

function reasonOf(error: unknown): { code: string; message: string } {
  if (!(error instanceof SuiteFailed)) throw error;
  return error.reason;
}

const managers = ['npm', 'pnpm', 'yarn-classic', 'yarn-modules', 'bun'];

describe.runIf(enginesHere.length > 0 && (await reachesRegistry()))(
  'a lock file that package.json has left behind',
  () => {
    test.each([
      ['npm', /exit code 1: npm ci .*\ncode EUSAGE; `npm ci` can only install packages when/],
      ['pnpm', /exit code 1: pnpm install .*\n.*ERR_PNPM_OUTDATED_LOCKFILE/],
      ['yarn-classic', /exit code 1: yarn install .*\nerror Your lockfile needs to be updated/],
      ['yarn-modules', /exit code 1: yarn install .*\n.*YN0028: .*The lockfile would have been modified/],
      ['bun', /exit code 1: bun install .*\nerror: lockfile had changes, but lockfile is frozen/],
    ])(
      '%s: the reason names the cause',
      async (name, told) => {
        const place = placeOf(join(managersFolder, name));
        const file = join(place.project, 'package.json');
        writeFileSync(file, readFileSync(file, 'utf8').replace('7.0.0', '6.0.0'));
        const { error, log } = await failure({ place });
        expect(reasonOf(error)).toMatchObject({
          code: 'INSTALL_FAILED',
          message: expect.stringMatching(told),
        });
        expect(log.at(-1)).toBe('Failed to run install command');
      },
      60_000,
    );
  },
);

describe.skipIf(enginesHere.length === 0)('an unreachable registry', () => {
  test.each(managers)(
    '%s: is our trouble, not a failed check',
    async (name) => {
      const beneath = {
        npm_config_registry: `http://127.0.0.1:${await closedPort()}/`,
        npm_config_fetch_retries: '0',
        YARN_HTTP_RETRY: '0',
      };
      const { error } = await failure({ place: placeOf(join(managersFolder, name)), beneath });
      expect(error).toBeInstanceOf(AgentError);
      expect(error).toMatchObject({
        code: 'NETWORK_UNAVAILABLE',
        message: expect.stringMatching(/^the package registry cannot be reached: .*refused/i),
      });
    },
    60_000,
  );

  test('npm: a registry that accepts connections and never responds', async () => {
    const server = createServer((socket) => socket.on('error', () => undefined));
    await new Promise<void>((listening) => server.listen(0, '127.0.0.1', listening));
    const { port } = server.address() as { port: number }; // it listens on TCP
    const beneath = {
      npm_config_registry: `http://127.0.0.1:${port}/`,
      npm_config_fetch_retries: '0',
      npm_config_fetch_timeout: '1000',
    };
    const { error } = await failure({ place: placeOf(join(managersFolder, 'npm')), beneath });
    server.close();
    expect(error).toMatchObject({
      code: 'NETWORK_UNAVAILABLE',
      message: expect.stringContaining('network timeout at: http://127.0.0.1:'),
    });
  }, 60_000);

  test('an install that was still trying when its time was over', () => {
    const line = 'info There appears to be trouble with your network connection. Retrying...';
    expect(stillTrying(['[1/4] Resolving packages...', line, line])).toBe(line);
    expect(stillTrying([line, '[2/4] Fetching', '[3/4] Linking', '[4/4] Building'])).toBe(null);
  });

  test('retries, and output of project scripts, are not the reason of a failure', () => {
    const retried = [
      ' WARN  GET https://r.example/a error (ECONNREFUSED). Will retry in 1 second. 2 retries left.',
    ];
    expect(networkTrouble('pnpm', [...retried, ' ERR_PNPM_OUTDATED_LOCKFILE  Cannot install'])).toBe(null);
    expect(networkTrouble('npm', ['Error: connect ECONNREFUSED 127.0.0.1:5432', 'npm error code 1'])).toBe(
      null,
    );
    expect(causeOf('npm', ['Error: connect ECONNREFUSED', 'npm error code 1', 'npm error path /x'])).toBe(
      'Error: connect ECONNREFUSED',
    );
  });
});

describe.skipIf(enginesHere.length === 0)('installCommand', () => {
  const npm = () => placeOf(join(managersFolder, 'npm'));

  test('a failed install has the last lines in the reason, and all of them in the log', async () => {
    const installCommand = 'seq 1 40; echo "cannot find the widget" >&2; exit 7';
    const { error, log } = await failure({ place: npm(), suite: { installCommand } });
    const { message } = reasonOf(error);
    expect(message).toMatch(/^the install command failed with exit code 7: seq 1 40;/);
    expect(message).toMatch(/\n40\n/);
    expect(message).toMatch(/cannot find the widget/);
    expect(message.split('\n').length).toBeLessThan(20);
    expect(log).toEqual(expect.arrayContaining(['1', '40', 'Failed to run install command']));
  });

  test('an install that does not finish is killed at its limit', async () => {
    const { error, log } = await failure({
      place: npm(),
      suite: { installCommand: 'echo begun; sleep 60' },
      timeoutMs: 1500,
    });
    expect(reasonOf(error).message).toMatch(
      /^the install command did not finish within 2 s, in stage install: /,
    );
    expect(log).toEqual(expect.arrayContaining(['begun', 'Command timed out']));
  });

  test('a cancelled install has the reason of the cancellation', async () => {
    const cancel = new AbortController();
    const reason = new JobAborted('cancelled');
    setTimeout(() => cancel.abort(reason), 500);
    const { error } = await failure({
      place: npm(),
      suite: { installCommand: 'sleep 60' },
      signal: cancel.signal,
    });
    expect(error).toBe(reason);
  });

  test('browsers that it would install are left out, with a line in the log', async () => {
    const run = runOf({
      place: npm(),
      suite: {
        installCommand: 'echo "browsers: $PLAYWRIGHT_SKIP_BROWSER_DOWNLOAD" # npx playwright install',
      },
    });
    await run.install();
    const log = run.log.map(({ msg }) => msg);
    expect(log).toContain(
      '"playwright install" is not needed in installCommand: the agent installs browsers itself',
    );
    expect(log).toContain('browsers: 1');
  });

  test('sees the variables of the check, and those of the agent beneath them', async () => {
    const run = runOf({
      place: npm(),
      env: { NPM_TOKEN: 't0ken', https_proxy: 'http://own:1' },
      beneath: {
        HTTPS_PROXY: 'http://agent:1',
        HTTP_PROXY: 'http://agent:2',
        npm_config_registry: 'http://r.example/',
      },
      suite: {
        installCommand:
          'echo "$NPM_TOKEN $HTTPS_PROXY $https_proxy $http_proxy [$npm_config_registry]"; npm config get registry',
      },
    });
    await run.install();
    const log = run.log.map(({ msg }) => msg);
    expect(log).toContain('t0ken http://own:1 http://own:1 http://agent:2 []');
    expect(log).toContain('http://r.example/');
    expect(await run.say('ls -A "$HOME" | grep -c rc')).toBe('0\nexit code 1');
  });
});

test.skipIf(enginesHere.length === 0)(
  'an install that replaces its home by a link deletes nothing elsewhere',
  async () => {
    const other = placeOf(null);
    writeFileSync(join(other.home, '.npmrc'), 'of another');
    const run = runOf({
      place: placeOf(join(managersFolder, 'npm')),
      suite: { installCommand: `mv "$HOME" "$HOME-away" && ln -s '${other.home}' "$HOME"; ls -ld "$HOME"` },
    });
    await run.install();
    expect(readFileSync(join(other.home, '.npmrc'), 'utf8')).toBe('of another');
  },
);

test('the environment of installers', () => {
  const env = installEnvironment(
    { NODE_ENV: 'production', no_proxy: 'a' },
    {
      NO_PROXY: 'b',
      HTTP_PROXY: 'http://p:1',
      npm_config_registry: 'http://r/',
      NODE_EXTRA_CA_CERTS: '/ca.pem',
    },
  );
  expect(env).toEqual({
    HTTP_PROXY: 'http://p:1',
    http_proxy: 'http://p:1',
    NO_PROXY: 'a',
    no_proxy: 'a',
    NODE_EXTRA_CA_CERTS: '/ca.pem',
    PLAYWRIGHT_SKIP_BROWSER_DOWNLOAD: '1',
    PUPPETEER_SKIP_DOWNLOAD: '1',
    PUPPETEER_SKIP_CHROMIUM_DOWNLOAD: '1',
  });
});

test('the agent settings for registries are written to the home', () => {
  expect(
    registrySettings({
      NPM_CONFIG_REGISTRY: 'http://r.example:8080/npm/',
      npm_config__auth_token: 'x',
      HTTPS_PROXY: 'http://p:1',
      npm_config_bad: 'two\nlines',
    }),
  ).toEqual({
    '.npmrc': 'fetch-timeout=70000\nregistry="http://r.example:8080/npm/"\n_auth-token="x"\n',
    '.yarnrc.yml':
      'npmRegistryServer: "http://r.example:8080/npm"\nunsafeHttpWhitelist: ["r.example"]\nhttpsProxy: "http://p:1"\n',
  });
  expect(registrySettings({ NODE_EXTRA_CA_CERTS: '/ca.pem' })).toEqual({ '.npmrc': 'fetch-timeout=70000\n' });
});
