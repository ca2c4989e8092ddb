import { createHolds, type Holds } from './holds.ts';
import type { LeaseSource } from './leases.ts';

/** Leases of jobs that were not handed out by a service: they need no renewal, and a released job simply ends. */
export function createLocalLeases(): LeaseSource & Pick<Holds, 'abortAll'> {
  const { hold, abortAll } = createHolds();
  return { hold, abortAll, release: () => Promise.resolve() };
}
