import type { CreateBody } from './check-schemas.ts';
import { settleShared, type Problems, type SettledCheck } from './check-rules.ts';

/** Rules between the fields of checks that are Playwright suites. */

/** A suite whose fields are settled: no null lists, each default written down. */
export type SettledSuite = Omit<
  CreateBody<'PLAYWRIGHT'>,
  'locations' | 'privateLocations' | 'environmentVariables'
> &
  Pick<SettledCheck, 'locations' | 'privateLocations' | 'environmentVariables'>;

/** As settleCheck, for suites. */
export function settleSuite(body: CreateBody<'PLAYWRIGHT'>, problems: Problems): SettledSuite {
  return { ...body, ...settleShared('PLAYWRIGHT', body, problems) } as unknown as SettledSuite; // as in settleCheck
}
