import type { FastifyRequest } from 'fastify';

/**
 * preValidation hook for query fields that are objects: `startsAt[gte]=2026-03-04`, or JSON as in
 * `startsAt={"gte":"2026-03-04"}`. Any other value stays unchanged, and the schema refuses it.
 */
export function readQueryObjects(...names: readonly string[]) {
  return async (request: FastifyRequest): Promise<void> => {
    const query = request.query as { [name: string]: unknown }; // the parser's own object, ours to change
    for (const name of names) {
      const members = Object.entries(query).flatMap(([key, value]) => {
        const member =
          key.startsWith(`${name}[`) && key.endsWith(']') ? key.slice(name.length + 1, -1) : null;
        return member === null ? [] : [{ key, member, value }];
      });
      if (members.length > 0 && query[name] === undefined) {
        for (const { key } of members) delete query[key];
        query[name] = Object.fromEntries(members.map(({ member, value }) => [member, value]));
      } else if (typeof query[name] === 'string' && query[name].startsWith('{')) {
        query[name] = parsed(query[name]);
      }
    }
  };
}

function parsed(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    return text;
  }
}
