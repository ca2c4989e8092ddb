import { createServer, type Server } from 'node:http';
import type { AddressInfo } from 'node:net';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { limitScriptNetwork } from '../../../src/script/process/script-network.ts';
import { builtProgram } from '../../helpers/build.ts';
import { hasPlaywright, startRunner, type TestRunner } from '../../helpers/scripts/playwright.ts';

/** How far the pages of a real Chromium reach. */
describe.runIf(hasPlaywright)('pages of browser checks', { timeout: 60_000 }, () => {
  const servers: Server[] = [];
  let runner: TestRunner;
  let allowed = '';
  let foreign = '';
  let foreignRequests = 0;

  const started = async (answer: Parameters<typeof createServer>[1]): Promise<string> => {
    const server = createServer(answer);
    servers.push(server);
    await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
    return `127.0.0.1:${(server.address() as AddressInfo).port}`; // a TCP server's
  };

  beforeAll(async () => {
    await builtProgram();
    foreign = await started((_request, response) => {
      foreignRequests += 1;
      response.end('secret');
    });
    allowed = await started((request, response) => {
      const locations: { [path: string]: string } = {
        '/metadata': 'http://169.254.169.254/latest/',
        '/foreign': `http://${foreign}/`,
      };
      const location = locations[request.url ?? ''];
      response.writeHead(location === undefined ? 200 : 302, {
        'content-type': 'text/html',
        ...(location === undefined ? {} : { location }),
      });
      response.end('<title>home</title><h1>hello</h1>');
    });
    limitScriptNetwork(() => ({ allowed: ['0.0.0.0/0', allowed], denied: [], ownPorts: [], configured: [] }));
    runner = startRunner();
  }, 120_000);

  afterAll(async () => {
    await runner.close();
    limitScriptNetwork(() => 'unlimited');
    for (const server of servers) server.close();
  });

  test('load from allowed networks and from servers of the script, and follow no redirect to others', async () => {
    const { run, log } = runner.start(
      `import { test, expect } from '@playwright/test';
       import { createServer } from 'node:http';
       test('all', async ({ page, request }) => {
         await page.goto('http://${allowed}/');
         await expect(page.locator('h1')).toHaveText('hello');
         const own = createServer((_, response) => response.end('<h1>own</h1>'));
         await new Promise((resolve) => own.listen(0, '127.0.0.1', resolve));
         await page.goto('http://127.0.0.1:' + own.address().port + '/');
         await expect(page.locator('h1')).toHaveText('own');
         own.close();
         for (const path of ['metadata', 'foreign']) {
           const error = await page.goto('http://${allowed}/' + path).then(() => 'loaded', ({ message }) => message);
           console.log(path, error.split('\\n')[0]);
         }
         const error = await request.get('http://169.254.169.254/').then(() => 'loaded', ({ message }) => message);
         console.log('request', error.split('\\n')[0]);
       });`,
      {},
    );
    const { failure } = await run;
    expect({ failure, log: failure === null ? [] : log }).toEqual({ failure: null, log: [] });
    const text = log.join('\n');
    expect(text).toMatch(/metadata .*net::ERR_\w+/);
    expect(text).toMatch(/foreign .*net::ERR_CONNECTION_REFUSED/);
    expect(text).toMatch(/request .*EACCES 169\.254\.169\.254:80/);
    expect(text).toContain('The connection to 169.254.169.254:80 was refused');
    expect(text).toContain(`The connection to ${foreign} was refused`);
    expect(text).not.toContain(`The connection to ${allowed} was refused`);
    expect(foreignRequests).toBe(0);
  });
});
