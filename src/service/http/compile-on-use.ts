import type { FastifyServerOptions } from 'fastify';

type OnCreate = NonNullable<NonNullable<FastifyServerOptions['ajv']>['onCreate']>;

/**
 * Compiles a route's validator with its first request. Compiling all of them would add a second to every start, and
 * most routes are not used for days.
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
  // Callers call the compiled function and read its errors.
  ajv.compile = later as unknown as typeof ajv.compile;
};
