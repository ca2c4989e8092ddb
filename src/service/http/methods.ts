import type { FastifyInstance } from 'fastify';

/** `/v1/checks/:id` → what its paths look like; `*` is the rest of a path. */
function patternOf(url: string): RegExp {
  const parts = url.split(/(:[^/]+|\*)/).map((part) => {
    if (part === '*') return '.*';
    return part.startsWith(':') ? '[^/]+' : part.replaceAll(/[.+?^${}()|[\]\\]/g, '\\$&');
  });
  return new RegExp(`^${parts.join('')}$`);
}

/**
 * Which methods a path has, in alphabetical order: of all routes that match it, as a method of a path may be that of a more general
 * one. None = there is no such path. Called before the routes are registered: it hears of each.
 */
export function rememberMethods(app: FastifyInstance): (path: string) => string[] {
  const routes = new Map<string, { pattern: RegExp; methods: Set<string> }>();
  app.addHook('onRoute', ({ url, method }) => {
    const route = routes.get(url) ?? { pattern: patternOf(url), methods: new Set() };
    for (const name of [method].flat()) route.methods.add(name);
    routes.set(url, route);
  });
  return (path) => {
    const found = [...routes.values()].filter(({ pattern }) => pattern.test(path));
    const methods = new Set(found.flatMap((route) => [...route.methods]));
    if (methods.size > 0) methods.add('OPTIONS');
    return [...methods].sort();
  };
}
