/** How agents get the runs of light checks in these scenarios: CHAOS_MODE, or as the service does it by default. */
export type Mode = 'queue' | 'assignments';

const modes: readonly Mode[] = ['queue', 'assignments'];

export const mode: Mode = modes.find((known) => known === process.env['CHAOS_MODE']) ?? 'assignments';

/** Why the mode that was asked for cannot be used; null = it can. */
export const wrongMode = (): string | null => {
  const given = process.env['CHAOS_MODE'];
  return given === undefined || given === mode ? null : `CHAOS_MODE must be one of ${modes.join(', ')}`;
};
