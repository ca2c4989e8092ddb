/**
 * What API keys may do. Each route needs a role: `access` in its `config`, or else what its method suggests. A key may
 * use the routes of its own role and of all roles after it.
 */

/** From the one that may do most to the one that may do least. */
export const roles = ['ADMIN', 'READ_WRITE', 'READ_RUN', 'READ_ONLY'] as const;
export type Role = (typeof roles)[number];

declare module 'fastify' {
  interface FastifyRequest {
    /** The role of the request's API key. Routes without authentication have the least one. */
    role: Role;
  }
  interface FastifyContextConfig {
    /** The role that the route needs; absent = READ_ONLY for GET and HEAD, READ_WRITE for other methods. */
    access?: Role;
  }
}

/** Whether a key of `role` may do what needs the role `needed`. */
export function mayAct(role: Role, needed: Role): boolean {
  return roles.indexOf(role) <= roles.indexOf(needed);
}

const readingMethods = ['GET', 'HEAD', 'OPTIONS'];

/** The role that a route of the public API needs. */
export function neededRole(method: string, access: Role | undefined): Role {
  return access ?? (readingMethods.includes(method) ? 'READ_ONLY' : 'READ_WRITE');
}
