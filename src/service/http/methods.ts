import type { FastifyInstance } from 'fastify';

/** `/v1/checks/:id` → the pattern of its paths; `*` is the rest of a path. */
function patternOf(url: string): RegExp {
  const parts = url.split(/(:[^/]+|\*)/).map((part) => {
    if (part === '*') return '.*';
    return part.startsWith(':') ? '[^/]+' : part.replaceAll(/[.+?^${}()|[\]\\]/g, '\\$&');
  });
  return new RegExp(`^${parts.join('')}$`);
}

/**
 * Returns a function that lists a path's methods in alphabetical order. All matching routes count, because a more
 * general route may serve a method of the path. An empty list means that no route matches. Call it before the routes
 * are registered.
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
