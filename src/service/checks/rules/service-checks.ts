import type { ServiceType } from '../../../protocol/check-types.ts';
import { settleVariables, type SettledCheck } from './rules.ts';
import { type Problems } from '../../http/problems.ts';
import type { CreateBody } from '../fields/schema.ts';
import type { TimeUnit } from '../fields/service-checks.ts';

/** Rules between the fields of checks that the service runs itself. */

type Settled<T extends ServiceType> = Omit<
  CreateBody<T>,
  'locations' | 'privateLocations' | 'environmentVariables'
> &
  Pick<SettledCheck, 'locations' | 'privateLocations' | 'environmentVariables'>;

/** A heartbeat after validation. The fields of `heartbeat` that the service sets are stored elsewhere. */
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

/** Period and grace time in seconds. */
export function secondsOf(timing: HeartbeatTiming): { period: number; grace: number } {
  return {
    period: timing.period * unitSeconds[timing.periodUnit],
    grace: timing.grace * unitSeconds[timing.graceUnit],
  };
}

type Refuse = (field: keyof Refusable, isGiven: boolean, must: string, why?: string) => void;
type Refusable = CreateBody<'HEARTBEAT'> | CreateBody<'AGENTIC'>;

/** The differences between the types: their names, and the fields that only one of them refuses. */
const ownRules: {
  readonly [T in ServiceType]: { what: string; refuseOwn: (body: Refusable, refuse: Refuse) => void };
} = {
  HEARTBEAT: {
    what: 'a HEARTBEAT check',
    refuseOwn: ({ locations }, refuse) =>
      refuse(
        'locations',
        (locations ?? []).length > 0,
        'empty',
        'a HEARTBEAT check has no location: it waits for pings',
      ),
  },
  AGENTIC: {
    what: 'an AGENTIC check',
    refuseOwn: ({ triggerIncident }, refuse) =>
      refuse('triggerIncident', triggerIncident !== null, 'null', 'an AGENTIC check opens no incidents'),
  },
};

/** Refuses fields that other types have and these types do not, if the body sets them. */
function checkInapplicable(type: ServiceType, body: Refusable, problems: Problems): void {
  const { what, refuseOwn } = ownRules[type];
  const refuse: Refuse = (field, isGiven, must, why = `is not for ${what}`) => {
    if (isGiven) problems.add(field, `${why} (must be ${must})`);
  };
  const here = 'which runs in the service, not on an agent';
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
  refuseOwn(body, refuse);
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

/** Like settleCheck, for types that the service runs itself. */
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
