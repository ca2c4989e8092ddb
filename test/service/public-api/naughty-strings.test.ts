import { afterAll, beforeAll, expect, test } from 'vitest';
import { createChance, fitting, type Components, type Schema } from '../../helpers/fuzz-input.ts';
import { naughtyStrings } from '../../helpers/naughty-strings.ts';
import { startServiceWithEverything, type Everything } from '../../helpers/service/one-of-everything.ts';
import type { Fields, TestService } from '../../helpers/service/service.ts';

/**
 * Texts that break programs, through every text field of every body of the public API: each is stored and read back
 * unchanged, or refused with 400 that names the field. NAUGHTY_STRINGS=all tries all texts in all fields; without it,
 * each field gets some, and all fields together get all.
 */

// oxlint-disable-next-line eslint/no-restricted-properties -- settings of this test
const isComplete = process.env['NAUGHTY_STRINGS'] === 'all';

const own = [
  'a\u0000b',
  'half \ud800 of a pair',
  '\udfff',
  `combining ${'e\u0301\u0302\u0303\u0304'.repeat(200)}`,
  `\u202eright\u2066 to left\u2069\u202c`,
  '\u{e0041}\u{e007f}\ufeff\u200b',
  '\u0001\u001b[31mred\u001b[0m\u0085\u2028\u2029',
];
const all = [...own, ...naughtyStrings];
const perField = 1;

let service: TestService;
let everything: Everything;
let close: () => Promise<void>;
beforeAll(async () => {
  ({ service, everything, close } = await startServiceWithEverything());
});
afterAll(async () => close());

type Operation = {
  method: string;
  path: string;
  requestBody?: { content: { [type: string]: { schema: Schema } } };
};
/** Steps to a text in a body: names of fields, and indexes of lists. */
type Place = readonly (string | number)[];
type Field = { operation: Operation; base: Fields; place: Place };

async function readDocument(): Promise<{ operations: Operation[]; components: Components }> {
  const { body } = await service.call<{
    paths: { [path: string]: { [method: string]: Omit<Operation, 'method' | 'path'> } };
    components: { schemas: Components };
  }>('GET', '/openapi.json');
  // A stream of events does not end.
  const finite = Object.entries(body.paths).filter(([path]) => path !== '/v1/events');
  const operations = finite.flatMap(([path, methods]) =>
    Object.entries(methods).map(([method, operation]) => ({
      ...operation,
      method: method.toUpperCase(),
      path,
    })),
  );
  return { operations, components: body.components.schemas };
}

/** Every text field of a schema, with the value that surrounds it where the base has none. */
function textFields(
  schema: Schema,
  options: { base: unknown; components: Components; place?: Place },
): { place: Place; body: unknown }[] {
  const { base, components, place = [] } = options;
  if (place.length > 6) return [];
  if (schema.$ref !== undefined) {
    const found = components[schema.$ref.split('/').at(-1) ?? ''] ?? {};
    return textFields(found, options);
  }
  const parts = schema.anyOf ?? schema.oneOf ?? schema.allOf;
  if (parts !== undefined) {
    // The alternative that the base has, and the others with values of their own.
    return parts.flatMap((part) => textFields(part, options));
  }
  const types = [schema.type ?? []].flat();
  if (types.includes('string') && schema.enum === undefined && schema.const === undefined) {
    return [{ place, body: base }];
  }
  const chance = createChance(7);
  if (types.includes('object')) {
    const isObject = typeof base === 'object' && base !== null && !Array.isArray(base);
    const holder = isObject ? base : required(schema, components);
    return Object.entries(schema.properties ?? {}).flatMap(([name, next]) =>
      textFields(next, {
        base: (holder as Fields)[name],
        components,
        place: [...place, name],
      }).map((found) => ({ place: found.place, body: { ...holder, [name]: found.body } })),
    );
  }
  if (types.includes('array')) {
    const [first] = Array.isArray(base) ? (base as unknown[]) : [];
    return textFields(schema.items ?? {}, {
      base: first ?? fitting(schema.items ?? {}, { chance, components }),
      components,
      place: [...place, 0],
    }).map((found) => ({ place: found.place, body: [found.body] }));
  }
  return [];
}

function required(schema: Schema, components: Components): Fields {
  const name = schema.$ref?.split('/').at(-1);
  if (name !== undefined) return required(components[name] ?? {}, components);
  const only = (schema.required ?? []).map((each) => [each, schema.properties?.[each] ?? {}] as const);
  return Object.fromEntries(
    only.map(([each, next]) => [each, fitting(next, { chance: createChance(7), components, name: each })]),
  );
}

function valueAt(value: unknown, place: Place): unknown {
  return place.reduce<unknown>((holder, step) => (holder as Fields | undefined)?.[String(step)], value);
}

function withValue(value: unknown, place: Place, text: string): unknown {
  const [step, ...rest] = place;
  if (step === undefined) return text;
  if (Array.isArray(value))
    return value.map((item, index) => (index === step ? withValue(item, rest, text) : item));
  return { ...(value as Fields), [step]: withValue((value as Fields)[String(step)], rest, text) };
}

/** Whether an error of a body names the field, or a part of the body that holds it. */
function names(attributes: unknown, place: Place): boolean {
  const own = place.join('.');
  return Object.keys(attributes as object).some(
    (key) =>
      key === own || key.startsWith(`${own}.`) || own.startsWith(`${key}.`) || key.startsWith(`${own}[`),
  );
}

let taken = 0;

/** The body with such neighbours of the text that the text is what is judged. */
function reachable(value: unknown, place: Place, { method, path }: Operation): Fields {
  const [isChange, isTry] = [method === 'PUT', path.endsWith('/try')];
  const body = { ...(value as Fields) }; // bodies are objects
  const own = place.at(-1);
  const set = (holder: unknown, field: string, to: unknown): void => {
    if (typeof holder === 'object' && holder !== null && field in holder && own !== field) {
      (holder as Fields)[field] = to;
    }
  };
  set(body['triggerIncident'], 'serviceId', everything.ids['service']);
  const { assertions } = (body['request'] ?? {}) as Fields;
  for (const each of Array.isArray(assertions) ? assertions : []) {
    set(each, 'property', '$.a');
    if (path.includes('traceroute'))
      Object.assign(each as Fields, { source: 'JSON_RESPONSE', comparison: 'EQUALS' });
  }
  // Unique in an account.
  taken += 1;
  if ('script' in body && !('frequency' in body || 'locations' in body))
    set(body, 'name', `snippet ${taken}`);
  if ('value' in body) set(body, 'key', isChange ? 'TOKEN' : `KEY_${taken}`);
  set(body, 'slugName', `office-${taken}`);
  // Its location may have another name by now.
  if (isTry) Object.assign(body, { locations: ['eu-west-1'], privateLocations: [] });
  if ('cards' in body) set(body, 'url', `page-${taken}`);
  return body;
}

const allFields = async (): Promise<Field[]> => {
  const { operations, components } = await readDocument();
  return operations.flatMap((operation) => {
    const schema = operation.requestBody?.content['application/json']?.schema;
    if (schema === undefined || /\/(cancel|deploy|projects\/test)$/.test(operation.path)) return [];
    // The resource that is read, tried or shown.
    const resource = operation.path.replace(/\/(\{[^}]+\}|try|previews)$/, '');
    const base = everything.bodies.get(operation.path) ?? everything.bodies.get(resource);
    const found = textFields(schema, { base: base ?? required(schema, components), components });
    const places = new Set<string>();
    return found
      .filter(({ place }) => !places.has(place.join()) && places.add(place.join()))
      .map(({ place, body }) => ({ operation, base: body as Fields, place }));
  });
};

// All texts in all fields are more than 150,000 requests.
const timeout = isComplete ? 6 * 3_600_000 : 600_000;

test('every text is stored as it was sent, or refused by its field', { timeout }, async () => {
  const fields = await allFields();
  expect(fields.length).toBeGreaterThan(300);
  const faults: string[] = [];
  const { operations } = await readDocument();
  const readable = new Set(operations.filter(({ method }) => method === 'GET').map(({ path }) => path));
  const counts = { stored: 0, refused: 0, unseen: 0 };
  let next = 0;
  for (const { operation, base, place } of fields) {
    const { method } = operation;
    const some = isComplete ? all : Array.from({ length: perField }, () => all[next++ % all.length] ?? '');
    for (const text of some) {
      const body = reachable(withValue(base, place, text), place, operation);
      const what = `${method} ${operation.path} ${place.join('.')} ${JSON.stringify(text).slice(0, 100)}`;
      // A status without a description, or a body that is not as described, throws.
      const answer = await service
        .call(method, everything.pathOf(operation.path), { body })
        .catch((error: unknown) => {
          faults.push(`${what}: ${String(error).slice(0, 500)}`);
          return null;
        });
      if (answer === null) continue;
      if (answer.status >= 500) faults.push(`${what}: ${answer.status}`);
      else if (answer.status === 400) {
        if (names(answer.body['attributes'], place)) counts.refused += 1;
        else faults.push(`${what}: 400 ${JSON.stringify(answer.body['attributes']).slice(0, 300)}`);
      } else if (answer.status < 300) {
        const shows = method === 'PUT' && readable.has(operation.path);
        const { body: shown } = shows ? await service.call('GET', everything.pathOf(operation.path)) : answer;
        const read = valueAt(shown, place);
        if (/\/(try|previews)$/.test(operation.path)) {
          // The answer is a session or an address. Only the name is in it.
          if (place.join() === 'name' && read !== undefined && read !== `Test run of ${text}`)
            faults.push(`${what}: read back as ${JSON.stringify(read).slice(0, 100)}`);
        } else if (read === undefined || read === '') counts.unseen += 1;
        // Host names have no case.
        else if (read === text || (place[0] === 'host' && read === text.toLowerCase())) counts.stored += 1;
        else faults.push(`${what}: read back as ${JSON.stringify(read).slice(0, 100)}`);
      } else if (answer.status === 404 && place.includes('matchTags')) counts.refused += 1;
      // A key of a sign-in that is not one.
      else if (answer.status === 401 && names(answer.body['attributes'], place)) counts.refused += 1;
      else faults.push(`${what}: ${answer.status} ${JSON.stringify(answer.body).slice(0, 200)}`);
    }
  }
  expect(faults).toEqual([]);
  const storing = fields.filter(({ operation }) => !/\/(try|previews)$/.test(operation.path));
  expect(counts.stored).toBeGreaterThan(storing.length / 2);
  expect(counts.refused).toBeGreaterThan(100);
  expect(counts.unseen).toBeLessThan(counts.stored / 10);
});
