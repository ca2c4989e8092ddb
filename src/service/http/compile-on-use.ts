import type { FastifyServerOptions } from 'fastify';

type OnCreate = NonNullable<NonNullable<FastifyServerOptions['ajv']>['onCreate']>;

/**
 * Makes a validator compile a route's schema with the route's first request: all of them together take a second of every start
 * of the service, and of most routes nothing is asked for days.
 */
export const compileOnUse: OnCreate = (ajv) => {
  const compile = ajv.compile.bind(ajv);
  const later = (schema: Parameters<typeof compile>[0]) => {
    let compiled: ReturnType<typeof compile> | null = null;
    const validate = Object.assign(
      (data: unknown): unknown => {
        compiled ??= compile(schema);
        const isValid: unknown = compiled(data);
        validate.errors = compiled.errors;
        return isValid;
      },
      { errors: null as ReturnType<typeof compile>['errors'] },
    );
    return validate;
  };
  // What compiles a schema here calls the result, and reads its errors.
  ajv.compile = later as unknown as typeof ajv.compile;
};
