import Type from 'typebox';

/** A field that the service sets. A change may contain it; the value is ignored. */
export const ignored = Type.Optional(
  Type.Unknown({
    description: 'Set by the service and ignored here, so that what was read can be sent back.',
  }),
);

/** The ignored fields that nearly every resource has. */
export const ignoredStamps = { id: ignored, created_at: ignored, updated_at: ignored };
