import type { ServiceType } from '../../../protocol/check-types.ts';
import { settleVariables, type SettledCheck } from './rules.ts';
import type { Problems } from '../../api/problems.ts';
import type { CreateBody } from '../fields/schema.ts';
import type { TimeUnit } from '../fields/service-checks.ts';

/** Rules between the fields of checks that the service runs itself. */

type Settled<T extends ServiceType> = Omit<
  CreateBody<T>,
  'locations' | 'privateLocations' | 'environmentVariables'
> &
  Pick<SettledCheck, 'locations' | 'privateLocations' | 'environmentVariables'>;

/** A heartbeat whose fields are settled. What the service sets of `heartbeat` is stored elsewhere. */
export type SettledHeartbeat = Omit<Settled<'HEARTBEAT'>, 'heartbeat'> & { heartbeat: HeartbeatTiming };
export type SettledAgentic = Settled<'AGENTIC'>;
export type SettledServiceCheck = SettledHeartbeat | SettledAgentic;

export type HeartbeatTiming = { period: number; periodUnit: TimeUnit; grace: number; graceUnit: TimeUnit };

const unitSeconds: { readonly [unit in TimeUnit]: number } = {
  seconds: 1,
  minutes: 60,
  hours: 3600,
  days: 86_400,
};
const shortestPeriod = 30;
const longest = 365 * unitSeconds.days;

/** Period and grace in seconds. */
export function secondsOf(timing: HeartbeatTiming): { period: number; grace: number } {
  return {
    period: timing.period * unitSeconds[timing.periodUnit],
    grace: timing.grace * unitSeconds[timing.graceUnit],
  };
}

type Refusable = CreateBody<'HEARTBEAT'> | CreateBody<'AGENTIC'>;

/** What the other types have and these have not: the reason, where a value was given. */
function checkInapplicable(type: ServiceType, body: Refusable, problems: Problems): void {
  const what = type === 'HEARTBEAT' ? 'a HEARTBEAT check' : 'an AGENTIC check';
  const refuse = (field: keyof Refusable, isGiven: boolean, must: string, why = `is not for ${what}`) => {
    if (isGiven) problems.add(field, `${why} (must be ${must})`);
  };
  const here = 'which the service itself runs: no agent gets it';
  refuse(
    'privateLocations',
    (body.privateLocations ?? []).length > 0,
    'empty',
    `a private location does not take ${what}, ${here}`,
  );
  refuse('doubleCheck', body.doubleCheck, 'false');
  refuse('retryStrategy', body.retryStrategy !== null, 'null');
  refuse('shouldFail', body.shouldFail, 'false');
  refuse('runParallel', body.runParallel, 'false');
  refuse('runtimeId', body.runtimeId !== null, 'null');
  refuse('scriptPath', body.scriptPath !== null, 'null');
  refuse('setupSnippetId', body.setupSnippetId !== null, 'null');
  refuse('tearDownSnippetId', body.tearDownSnippetId !== null, 'null');
  refuse('localSetupScript', (body.localSetupScript ?? '') !== '', 'null');
  refuse('localTearDownScript', (body.localTearDownScript ?? '') !== '', 'null');
  if (type === 'HEARTBEAT') {
    const locations = `${what} runs at no location: it waits for pings`;
    refuse('locations', (body.locations ?? []).length > 0, 'empty', locations);
    return;
  }
  refuse('triggerIncident', body.triggerIncident !== null, 'null', `${what} opens no incidents`);
}

function settleTiming(heartbeat: CreateBody<'HEARTBEAT'>['heartbeat'], problems: Problems): HeartbeatTiming {
  const { period, periodUnit, grace, graceUnit } = heartbeat;
  const timing = { period, periodUnit, grace, graceUnit };
  const seconds = secondsOf(timing);
  if (seconds.period < shortestPeriod || seconds.period > longest) {
    problems.add('heartbeat.period', `must be from 30 seconds to 365 days (${period} ${periodUnit} is not)`);
  }
  if (seconds.grace > longest) {
    problems.add('heartbeat.grace', `must be at most 365 days (${grace} ${graceUnit} is more)`);
  }
  return timing;
}

/** As settleCheck, for types that the service runs itself. */
export function settleServiceCheck(
  type: ServiceType,
  body: Refusable,
  problems: Problems,
): SettledServiceCheck {
  checkInapplicable(type, body, problems);
  const shared = {
    locations: body.locations ?? [],
    privateLocations: [],
    environmentVariables: settleVariables(body.environmentVariables, problems),
    localSetupScript: null,
    localTearDownScript: null,
  };
  if (!('heartbeat' in body)) return { ...body, ...shared };
  return { ...body, ...shared, heartbeat: settleTiming(body.heartbeat, problems) };
}
