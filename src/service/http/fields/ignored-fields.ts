import Type from 'typebox';

/** A field that the service sets, in the body of a change. */
export const ignored = Type.Optional(
  Type.Unknown({
    description: 'Set by the service and ignored here, so that what was read can be sent back.',
  }),
);

/** What nearly every resource has of them. */
export const ignoredStamps = { id: ignored, created_at: ignored, updated_at: ignored };
