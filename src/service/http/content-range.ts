import type { FastifyInstance, FastifyRequest, RouteOptions } from 'fastify';

/**
 * Sends `content-range` with lists: which entries an answer holds and how many there are, in the form of RFC 9110,
 * section 14.4, for example `items 10-19/57`. Lists by cursor have no positions; they send `x-total-count`.
 */

declare module 'fastify' {
  interface FastifyContextConfig {
    /**
     * Counts the entries on all pages of a list. Called only if a full page leaves the total open; absent = not
     * counted.
     */
    countAll?: (request: FastifyRequest) => Promise<number>;
    /** The answer field that holds the list; absent = the answer is the list. */
    listIn?: string;
    /** The list is read by cursor: its answers send `x-total-count`. */
    isByCursor?: boolean;
  }
  interface FastifyRequest {
    /** As `countAll` of the route, set by its handler, which knows the filter; null = the list is too long to count. */
    countAll?: () => Promise<number | null>;
  }
}

/** A page of a list: `offset` entries precede it; `total` is null if not counted. */
export type ListedPage = { offset: number; count: number; total: number | null };

/** `items 10-19/57`; `items 10-19/*` without a total; `items *` and the total for a page without entries. */
export function contentRange({ offset, count, total }: ListedPage): string {
  const range = count === 0 ? '*' : `${offset}-${offset + count - 1}`;
  return `items ${range}/${total ?? '*'}`;
}

const header = {
  'content-range': {
    type: 'string',
    description:
      'Which entries these are, from 0, and how many there are: `items 0-9/57`; `*` where the service does not count, ' +
      'and for a page without entries.',
  },
};

const totalHeader = {
  'x-total-count': {
    type: 'integer',
    description:
      'How many entries all pages have; absent where there are more than the service counts (10,000).',
  },
};

type Keywords = { [keyword: string]: unknown };

const isObject = (value: unknown): value is Keywords => typeof value === 'object' && value !== null;

/** Makes a list by cursor send its total, and documents it. */
function sendTotal(route: RouteOptions): void {
  const responses = route.schema?.response;
  if (route.schema === undefined || !isObject(responses) || !isObject(responses['200'])) return;
  route.schema = {
    ...route.schema,
    response: { ...responses, 200: { ...responses['200'], headers: totalHeader } },
  };
  route.preSerialization = [
    ...[route.preSerialization ?? []].flat(),
    async (request, reply, payload) => {
      const total = reply.statusCode === 200 ? await request.countAll?.() : null;
      if (total !== null && total !== undefined) void reply.header('x-total-count', total);
      return payload;
    },
  ];
}

/** The schema of the answer if it is a list. */
function listSchemaOf(route: RouteOptions): Keywords | null {
  if (![route.method].flat().includes('GET') || !isObject(route.schema?.response)) return null;
  const schema: unknown = (route.schema.response as Keywords)['200'];
  if (!isObject(schema)) return null;
  return schema['type'] === 'array' || route.config?.listIn !== undefined ? schema : null;
}

/**
 * Makes GET routes of this instance that return a list send `content-range`, and documents it in their schemas. Call
 * it before the routes.
 */
export function sendContentRanges(instance: FastifyInstance): void {
  instance.addHook('onRoute', (route) => {
    if (route.config?.isByCursor === true) return sendTotal(route);
    const schema = listSchemaOf(route);
    if (schema === null || route.schema === undefined) return;
    route.schema = {
      ...route.schema,
      response: { ...(route.schema.response as Keywords), 200: { ...schema, headers: header } },
    };
    route.preSerialization = [
      ...[route.preSerialization ?? []].flat(),
      async (request, reply, payload) => {
        const { countAll, listIn } = request.routeOptions.config;
        const list: unknown = listIn !== undefined && isObject(payload) ? payload[listIn] : payload;
        if (reply.statusCode === 200 && Array.isArray(list)) {
          const count = request.countAll ?? countAll;
          const page = await pageOf(request, list.length, count);
          void reply.header('content-range', contentRange(page));
        }
        return payload;
      },
    ];
  });
}

/** A partly filled page is the last one and gives the total. A full page needs `countAll`; null = not counted. */
async function pageOf(
  request: FastifyRequest,
  count: number,
  countAll: ((request: FastifyRequest) => Promise<number | null>) | undefined,
): Promise<ListedPage> {
  const { limit, page } = request.query as { limit?: number; page?: number }; // of the route's own schema
  // Without a limit, the whole list is one page.
  if (limit === undefined) return { offset: 0, count, total: count };
  const offset = ((page ?? 1) - 1) * limit;
  if (count < limit && (count > 0 || offset === 0)) return { offset, count, total: offset + count };
  const total = countAll === undefined ? null : await countAll(request);
  // Entries may have been deleted since the page was read.
  return { offset, count, total: total === null ? null : Math.max(total, count === 0 ? 0 : offset + count) };
}
