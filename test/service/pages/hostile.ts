import type { Page } from 'playwright';
import type { Fields } from '../../helpers/service/service.ts';

/** Texts that try to run a script, in every field of a body that takes free text, and all pages that show them. */

/** Calls `fired` if any part of it runs. It breaks out of attributes, scripts, templates and text areas. */
export const payload =
  `"'\`><script>fired(1)</script><img src=x onerror=fired(2)><svg/onload=fired(3)>` +
  `</textarea></title></script>{{fired(4)}}\${fired(5)}]]><a href="javascript:fired(6)">\u2028\u2029\u202eend`;
const shortPayload = '<img src=x onerror=fired(7)>';
const address = 'javascript:fired(8)//';

type Schema = {
  $ref?: string;
  type?: string | string[];
  enum?: unknown[];
  const?: unknown;
  format?: string;
  pattern?: string;
  maxLength?: number;
  properties?: { [name: string]: Schema };
  items?: Schema;
  anyOf?: Schema[];
};
export type ApiDocument = {
  paths: {
    [path: string]: { post?: { requestBody?: { content: { 'application/json'?: { schema: Schema } } } } };
  };
  components: { schemas: { [name: string]: Schema } };
};

/** The body of a `POST`, with a hostile text in each field that takes free text, also in those that it leaves out. */
export function hostileBody(
  document: ApiDocument,
  path: string,
  base: Fields,
  spared: readonly string[],
): Fields {
  const schema = document.paths[path]?.post?.requestBody?.content['application/json']?.schema ?? {};
  return hostile(document, schema, { value: base, at: '', spared }) as Fields; // as its base
}

function hostile(
  document: ApiDocument,
  given: Schema,
  { value, at, spared }: { value: unknown; at: string; spared: readonly string[] },
): unknown {
  if (spared.includes(at)) return value;
  const ref = given.$ref?.split('/').at(-1) ?? '';
  const schema = document.components.schemas[ref] ?? given;
  for (const one of schema.anyOf ?? []) {
    const changed = hostile(document, one, { value, at, spared });
    if (changed !== value) return changed;
  }
  if (schema.properties !== undefined) {
    if (value !== undefined && (typeof value !== 'object' || value === null)) return value;
    if (value === undefined) return value;
    const own = value as Fields; // an object, and no list: the schema says so
    const names = Object.keys(schema.properties);
    const entries = names.map((name): [string, unknown] => [
      name,
      hostile(document, schema.properties?.[name] ?? {}, {
        value: own[name],
        at: at === '' ? name : `${at}.${name}`,
        spared,
      }),
    ]);
    return { ...own, ...Object.fromEntries(entries.filter(([, changed]) => changed !== undefined)) };
  }
  if (schema.items !== undefined) {
    const { items } = schema;
    if (value !== undefined && !Array.isArray(value)) return value;
    if (Array.isArray(value) && value.length > 0)
      return value.map((one: unknown, index) =>
        hostile(document, items, { value: one, at: `${at}.${index}`, spared }),
      );
    const one = hostile(document, items, { value: undefined, at: `${at}.0`, spared });
    return one === undefined ? value : [one];
  }
  if (schema.type !== 'string' || schema.enum !== undefined || schema.const !== undefined) return value;
  if (schema.pattern !== undefined || schema.format !== undefined) return value;
  if (/url|logo|icon|redirect/i.test(at)) return address;
  return (schema.maxLength ?? Infinity) >= payload.length ? payload : shortPayload;
}

/** Every text of a value replaced, except those of these fields. */
export function hostileTexts(value: unknown, kept: readonly string[] = []): unknown {
  if (typeof value === 'string') return payload;
  if (Array.isArray(value)) return value.map((one: unknown) => hostileTexts(one, kept));
  if (typeof value !== 'object' || value === null) return value;
  return Object.fromEntries(
    Object.entries(value).map(([name, one]) => [name, kept.includes(name) ? one : hostileTexts(one, kept)]),
  );
}

/** Details of a run with everything that a page of a run can show, all texts hostile. */
export const hostileDetails: { readonly [kind: string]: object } = {
  http: hostileTexts({
    request: { method: 'x', url: 'x', headers: { 'x-own': 'x' }, data: 'x' },
    response: {
      status: 200,
      statusText: 'x',
      httpVersion: 'x',
      href: 'x',
      headers: { [payload]: 'x', several: ['x', 'x'] },
      body: 'x',
    },
    hops: [{ url: 'x', status: 301, timings: { dns: 1, total: 1 }, address: 'x' }],
    certificate: {
      subject: 'x',
      issuer: 'x',
      altNames: ['x'],
      authorized: false,
      authorizationError: 'x',
      protocol: 'x',
      chain: [{ subject: 'x', issuer: 'x' }],
    },
    traceroute: {
      address: 'x',
      port: 443,
      way: 'x',
      hops: [{ hop: 1, address: 'x', name: 'x', error: 'x' }],
    },
    packetCapture: { summary: { [payload]: 'x' }, unavailable: 'x' },
  }) as object,
  dns: hostileTexts({
    request: { recordType: 'x', query: 'x', protocol: 'x' },
    nameServerInfo: { name: 'x', host: 'x' },
    response: { returnCode: 'x', text: 'x', answer: [{ [payload]: 'x' }] },
  }) as object,
  tcp: hostileTexts({
    request: { hostname: 'x', port: 'x', data: 'x' },
    resolvedIp: 'x',
    response: { error: 'x', data: 'x' },
    traceroute: { unavailable: 'x' },
  }) as object,
  icmp: hostileTexts({
    hostname: 'x',
    resolvedIp: 'x',
    pingResults: [{ sequence: 'x', ttl: 'x' }],
  }) as object,
  script: hostileTexts({
    summary: 'x',
    errors: ['x', { message: 'x' }],
    tests: [
      {
        title: 'x',
        status: 'x',
        errors: ['x'],
        steps: [{ title: 'x', error: 'x', steps: [{ title: 'x' }] }],
      },
    ],
    pages: [
      { url: 'x', consoleErrors: ['x'], networkErrors: ['x'], webVitals: { [payload]: { score: 'x' } } },
    ],
    apiCalls: [
      {
        request: { method: 'x', url: 'x' },
        response: { status: 'x' },
        error: 'x',
        assertions: [{ title: 'x' }],
      },
    ],
    totals: { passed: 1 },
    playwrightVersion: 'x',
    engine: { name: 'x' },
    stages: [{ name: 'x', durationMs: 1 }],
  }) as object,
};

export const hostileAssertion = hostileTexts({
  source: 'x',
  property: 'x',
  comparison: 'x',
  target: 'x',
  regex: 'x',
  actual: 'x',
  error: 'x',
}) as object;

/** Watches whether anything hostile runs in the pages of a browser, also in their frames. */
export async function watchAttacks(page: Page): Promise<string[]> {
  const attacks: string[] = [];
  await page
    .context()
    .exposeBinding('fired', ({ frame }, part) => void attacks.push(`${part} ran at ${frame.url()}`));
  page.on('dialog', (dialog) => {
    attacks.push(`dialog at ${page.url()}: ${dialog.message()}`);
    void dialog.dismiss();
  });
  page.on('console', (message) => {
    const text = message.text();
    if (/content security policy/i.test(text)) attacks.push(`${text} at ${page.url()}`);
  });
  page.on('request', (request) => {
    // The source of the image that a hostile text names.
    if (new URL(request.url()).pathname.endsWith('/x'))
      attacks.push(`image ${request.url()} at ${page.url()}`);
  });
  return attacks;
}

/** Elements and attributes of a document that hostile texts would make. */
export const madeElements = (page: Page): Promise<string[]> =>
  page.evaluate<string[]>(`[...document.querySelectorAll('*')].flatMap((one) =>
    [...one.attributes]
      .filter(({ name, value }) => /^on/i.test(name) ||
        (/^(href|src|action|srcdoc|xlink:href|formaction)$/i.test(name) && /^\\s*javascript:/i.test(value)))
      .map(({ name, value }) => one.tagName + ' ' + name + '=' + value))`);
