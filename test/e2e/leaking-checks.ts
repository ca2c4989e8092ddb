import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { gzipSync } from 'node:zlib';
import { makeZip } from '../secrets/files/make-zip.ts';
import { suiteSecrets } from './leaking-suite.ts';

/** Checks whose scripts, requests and target put secrets wherever they can. */

export const checkSecrets = {
  ofAccount: suiteSecrets.ofAccount,
  ofGroup: 'group-hazel-tree-%41-6612',
  ofCheck: suiteSecrets.ofCheck,
  inSource: suiteSecrets.inSource,
  fromSetup: 'made-in-the-setup-30071',
  fromTeardown: 'made-in-the-teardown-49112',
  fromHelper: 'named-by-the-helper-55810',
  atRunTime: 'made-at-run-time-90125',
  ofHost: 'secret-of-the-host-27712',
  header: 'bearer-that-nobody-named-3361',
  cookie: 'cookie-that-nobody-named-4410',
};
const { ofAccount, ofGroup, ofCheck, inSource, fromSetup, fromTeardown, fromHelper, atRunTime, ofHost } =
  checkSecrets;

/** What the setup script does before anything of it is known as a secret, and after. */
const groupSetup = `
console.log('before', '${fromSetup}', JSON.stringify(process.env.ACCOUNT));
process.env.SERVICE_SECRET_MADE = '${fromSetup}';
console.log('after', encodeURIComponent(process.env.GROUP), Buffer.from(process.env.SERVICE_SECRET_MADE).toString('base64'));
request.headers['x-made'] = process.env.SERVICE_SECRET_MADE;
request.headers.authorization = 'Bearer ' + process.env.BEARER;`;
const setup = `
const { secret } = require('@location-agent/helpers');
process.env.HELPED = secret('${fromHelper}');
request.url += '&made=' + encodeURIComponent(process.env.SERVICE_SECRET_MADE);
request.queryParameters.literal = '${inSource}';
request.body = JSON.stringify({ token: process.env.TOKEN, helped: process.env.HELPED, account: process.env.ACCOUNT });
console.error({ token: process.env.TOKEN, nested: [request.headers] });`;
const teardown = `
console.warn('teardown', response.body, response.headers, request.url);
process.env.SERVICE_SECRET_LATE = '${fromTeardown}';
response.body = response.body + ' and ${fromTeardown} and ${inSource}';`;

const throwing = (what: string) => `${what === 'setup' ? '' : 'console.log(response.body);'}
const error = new TypeError('thrown with ' + process.env.TOKEN + ' ' + process.env.GROUP + ' ${fromSetup}');
error.cause = new Error('because of ' + process.env.ACCOUNT);
error.detail = { token: process.env.TOKEN };
throw error;`;

const browserScript = (url: string): string => `import { test, expect } from '@playwright/test';
import { writeFileSync } from 'node:fs';
test('shop ${inSource}', async ({ page, context, request }, info) => {
  const { TOKEN, GROUP, ACCOUNT } = process.env;
  console.log('before it is one', '${atRunTime}', GROUP);
  process.env.SERVICE_SECRET_RUN = '${atRunTime}';
  await context.setExtraHTTPHeaders({ authorization: 'Bearer ' + process.env.BEARER, 'x-group': encodeURIComponent(GROUP) });
  await page.goto('${url}/page?token=' + encodeURIComponent(TOKEN) + '&run=${atRunTime}');
  await page.fill('#p', ACCOUNT);
  await test.step('step ' + GROUP, () => page.evaluate((value) => console.error('page', value), ACCOUNT));
  const nested = await (await request.post('${url}/nested', { headers: { cookie: 'sid=' + process.env.COOKIE }, data: { TOKEN } })).body();
  await info.attach('nested', { body: nested, contentType: 'application/zip' });
  const report = await (await request.get('${url}/report')).body();
  await info.attach('report', { body: report, contentType: 'text/html' });
  await info.attach('packed ${inSource}', { body: await (await request.get('${url}/packed')).body(), contentType: 'application/gzip' });
  const file = info.outputPath('of-${inSource}.txt');
  writeFileSync(file, [TOKEN, GROUP, ACCOUNT, '${ofHost}'].join(' '));
  await info.attach('file', { path: file });
  expect.soft(await page.title()).toBe('not ' + GROUP);
  throw new Error('ends with ' + TOKEN, { cause: ACCOUNT });
});`;

const multiStepScript = (url: string): string => `import { test, expect } from '@playwright/test';
test('calls', async ({ request }) => {
  const { TOKEN, GROUP, ACCOUNT } = process.env;
  process.env.SERVICE_SECRET_RUN = '${atRunTime}';
  const response = await request.post('${url}/plain?account=' + encodeURIComponent(ACCOUNT), {
    headers: { authorization: 'Bearer ' + process.env.BEARER, 'x-api-key': process.env.BEARER }, form: { TOKEN, GROUP, literal: '${inSource}' } });
  expect.soft(await response.text()).toBe(GROUP + ' alone');
  await request.get('http://127.0.0.1:1/' + encodeURIComponent(TOKEN), { headers: { cookie: 'sid=' + process.env.COOKIE } });
});`;

/** What the checks meet: it says all that a run can know back to it, in each form. */
export async function startTelltale(locationKey: string) {
  let seen = '';
  const common = [ofAccount, ofGroup, ofCheck, inSource, ofHost, locationKey].join(' | ');
  // The secrets that each run knows: an unknown secret cannot be masked.
  const ofApi = `${common} | ${fromSetup} end`;
  const ofScripts = `${common} | ${atRunTime} end`;
  const nested = await makeZip([['inner.zip', await makeZip([[`${inSource}.txt`, ofScripts]])]]);
  const report = await makeZip([['report.json', JSON.stringify({ ofScripts })]]);
  const html = `<script>const zip = "data:application/zip;base64,${report.toString('base64')}"</script>`;
  const target = createServer((request, response) => {
    const chunks: Buffer[] = [];
    request.on('data', (chunk: Buffer) => chunks.push(chunk));
    request.on('end', () => {
      const body = Buffer.concat(chunks).toString();
      seen += `${request.url} ${JSON.stringify(request.headers)} ${body}\n`;
      response.setHeader('set-cookie', `sid=${checkSecrets.cookie}; Path=/`);
      const path = (request.url ?? '').split('?', 1)[0];
      response.setHeader('x-echo', encodeURIComponent(path === '/echo' ? ofApi : ofScripts));
      if (path === '/nested') return response.end(nested);
      if (path === '/packed') return response.end(gzipSync(ofScripts));
      if (path === '/echo') return response.end(`${ofApi} ${body} ${request.url}`);
      if (path === '/plain') return response.end(`${ofScripts} ${body} ${request.url}`);
      response.setHeader('content-type', 'text/html');
      if (path === '/report') return response.end(html);
      return response.end(`<title>${ofGroup}</title><input id="p"><script>console.log("${ofHost}")</script>`);
    });
  });
  await new Promise<void>((resolve) => target.listen(0, '127.0.0.1', resolve));
  return {
    url: `http://127.0.0.1:${(target.address() as AddressInfo).port}`, // a TCP server's
    /** All that it was sent. */
    seen: () => seen,
    close: () => {
      target.closeAllConnections();
      target.close();
    },
  };
}

/** Checks to be made: path of the API and body. They belong to a group that has `leakingGroup`. */
export function leakingChecks(url: string, common: object): [path: string, body: object][] {
  const request = {
    method: 'POST',
    url: `${url}/echo?token={{TOKEN}}`,
    headers: [{ key: 'x-account', value: '{{GROUP}}' }],
    basicAuth: { username: 'somebody', password: ofCheck },
    assertions: [
      { source: 'TEXT_BODY', comparison: 'EQUALS', target: '{{TOKEN}} alone' },
      { source: 'HEADERS', property: 'x-echo', comparison: 'EQUALS', target: `not ${inSource}` },
    ],
  };
  const environmentVariables = [
    { key: 'TOKEN', value: ofCheck, secret: true },
    { key: 'LITERAL', value: inSource, secret: true },
    // Not secrets: masked as values of headers, which appear nowhere else.
    { key: 'BEARER', value: checkSecrets.header },
    { key: 'COOKIE', value: checkSecrets.cookie },
  ];
  const check = (name: string, fields: object) => ({ name, ...common, environmentVariables, ...fields });
  const api = (name: string, fields: object): [string, object] => [
    '/v1/checks/api',
    check(name, { request, ...fields }),
  ];
  const scripts = { localSetupScript: setup, localTearDownScript: teardown };
  const retryStrategy = { type: 'FIXED', baseBackoffSeconds: 0, maxRetries: 1 };
  return [
    api('whole', { ...scripts, retryStrategy }),
    api('setup throws', { localSetupScript: throwing('setup') }),
    api('teardown throws', { localTearDownScript: throwing('teardown') }),
    api('nobody there', { ...scripts, request: { ...request, url: 'http://127.0.0.1:1/?{{TOKEN}}=1' } }),
    api('no such host', {
      localSetupScript: "request.url = 'http://' + process.env.LITERAL + '.invalid/' + process.env.TOKEN;",
    }),
    ['/v1/checks/browser', check('visit', { script: browserScript(url) })],
    ['/v1/checks/multistep', check('calls', { script: multiStepScript(url) })],
  ];
}

export const leakingGroup = {
  name: 'a group',
  doubleCheck: false,
  environmentVariables: [{ key: 'GROUP', value: ofGroup, secret: true }],
  localSetupScript: groupSetup,
};
