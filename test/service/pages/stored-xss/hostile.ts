import type { Page } from 'playwright';
import type { Fields } from '../../../helpers/service/service.ts';

/** Texts that try to run a script, in every field of a body that takes free text, and all pages that show them. */

/** Calls `fired` if any part of it runs. It breaks out of attributes, scripts, templates and text areas. */
export const payload =
  `"'\`><script>fired(1)</script><img src=x onerror=fired(2)><svg/onload=fired(3)>` +
  `</textarea></title></script>{{fired(4)}}\${fired(5)}]]><a href="javascript:fired(6)">\u2028\u2029\u202eend`;
/** A hostile text that begins with a name, so that a test can tell which field a page shows. */
const named = (mark: string) => `${mark}${payload}`;
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
  { spared, mark }: { spared: readonly string[]; mark: string },
): Fields {
  const schema = document.paths[path]?.post?.requestBody?.content['application/json']?.schema ?? {};
  return hostile(document, schema, { value: base, at: '', spared, mark }) as Fields; // as its base
}

function hostile(
  document: ApiDocument,
  given: Schema,
  { value, at, spared, mark }: { value: unknown; at: string; spared: readonly string[]; mark: string },
): unknown {
  if (spared.includes(at)) return value;
  const ref = given.$ref?.split('/').at(-1) ?? '';
  const schema = document.components.schemas[ref] ?? given;
  for (const one of schema.anyOf ?? []) {
    const changed = hostile(document, one, { value, at, spared, mark });
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
        mark,
      }),
    ]);
    return { ...own, ...Object.fromEntries(entries.filter(([, changed]) => changed !== undefined)) };
  }
  if (schema.items !== undefined) {
    const { items } = schema;
    if (value !== undefined && !Array.isArray(value)) return value;
    if (Array.isArray(value) && value.length > 0)
      return value.map((one: unknown, index) =>
        hostile(document, items, { value: one, at: `${at}.${index}`, spared, mark }),
      );
    const one = hostile(document, items, { value: undefined, at: `${at}.0`, spared, mark });
    return one === undefined ? value : [one];
  }
  if (schema.type !== 'string' || schema.enum !== undefined || schema.const !== undefined) return value;
  if (schema.pattern !== undefined || schema.format !== undefined) return value;
  if (/url|logo|icon|redirect/i.test(at)) return address;
  const most = schema.maxLength ?? Infinity;
  return (
    [named(mark), `${mark}${shortPayload}`, shortPayload].find(({ length }) => length <= most) ?? shortPayload
  );
}

/** Every text of a value replaced by a hostile one that begins with a mark of its own; `marks` collects their paths. */
export function hostileTexts(value: unknown, marks: Map<string, string> = new Map(), at = ''): unknown {
  if (typeof value === 'string') {
    const mark = `m${marks.size}:`;
    marks.set(mark, at);
    return named(mark);
  }
  if (Array.isArray(value))
    return value.map((one: unknown, index) => hostileTexts(one, marks, `${at}.${index}`));
  if (typeof value !== 'object' || value === null) return value;
  return Object.fromEntries(
    Object.entries(value).map(([name, one]) => [name, hostileTexts(one, marks, `${at}.${name}`)]),
  );
}

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
