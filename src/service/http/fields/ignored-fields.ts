import Type from 'typebox';
import { isFields } from '../../../json-values.ts';

/** A field that the service sets. A change may contain it; the value is ignored. */
export const ignored = Type.Optional(
  Type.Unknown({
    description: 'Set by the service and ignored here, so that what was read can be sent back.',
  }),
);

/** The ignored fields that nearly every resource has. */
export const ignoredStamps = { id: ignored, created_at: ignored, updated_at: ignored };

/** Whether a property of a schema is such a field, which has nothing but a description. */
export const isIgnored = (schema: unknown): boolean =>
  isFields(schema) && Object.keys(schema).every((word) => word === 'description');
