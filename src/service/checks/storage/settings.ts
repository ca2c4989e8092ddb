import type { PublicRetryStrategy } from '../fields/fields.ts';
import type { AlertSettings } from '../../accounts/alert-settings.ts';

import { serviceCheckType } from '../types/table.ts';
import type { ApiRequest, KeyValue } from '../../../protocol/requests.ts';

/**
 * What counts of a check's own settings and those of its group (facts, 5.1). Pure; statements select by the same rules
 * through db/effective-checks.ts.
 */

export type Variable = { key: string; value: string; locked: boolean; secret: boolean };

type AlertFields = {
  alertSettings: AlertSettings;
  alertChannelSubscriptions: { alertChannelId: number; activated: boolean }[];
};

/** What a group's API checks have besides their own. `url` is `{{GROUP_BASE_URL}}`. */
export type ApiCheckDefaults = Pick<
  ApiRequest,
  'headers' | 'queryParameters' | 'basicAuth' | 'assertions'
> & {
  url: string;
};

/** Setup and teardown of a check or a group: local text or the id of a snippet, never both. */
export type PhaseSources = {
  localSetupScript: string | null;
  setupSnippetId: number | null;
  localTearDownScript: string | null;
  tearDownSnippetId: number | null;
};

/** A group with its secret values in the clear. Null = what the check says. */
export type GroupSettings = PhaseSources &
  AlertFields & {
    activated: boolean;
    muted: boolean;
    locations: string[];
    privateLocations: string[];
    runParallel: boolean | null;
    runtimeId: string | null;
    retryStrategy: PublicRetryStrategy | 'FALLBACK' | null;
    /** Of groups of the first generation: without a retryStrategy it decides. */
    doubleCheck: boolean | null;
    apiCheckDefaults: ApiCheckDefaults | null;
    environmentVariables: Variable[];
    useGlobalAlertSettings: boolean | null;
  };

type Locations = { locations: string[]; privateLocations: string[] };

/** Where either list of the group is not empty, both take the place of the check's. */
export function mergedLocations(check: Locations, group: Locations): Locations {
  const { locations, privateLocations } = locationsCount(group) > 0 ? group : check;
  return { locations, privateLocations };
}

const locationsCount = ({ locations, privateLocations }: Locations) =>
  locations.length + privateLocations.length;

type Retries = { retryStrategy: PublicRetryStrategy | null; doubleCheck: boolean };

/** An own strategy of the group replaces the check's; FALLBACK keeps it; without either the group's doubleCheck, if it has one. */
export function mergedRetries(
  check: Retries,
  group: Pick<GroupSettings, 'retryStrategy' | 'doubleCheck'>,
): Retries {
  const { retryStrategy, doubleCheck } = group;
  const own = { retryStrategy: check.retryStrategy, doubleCheck: check.doubleCheck };
  if (retryStrategy === 'FALLBACK') return own;
  if (retryStrategy !== null) return { retryStrategy, doubleCheck: false };
  return doubleCheck === null ? own : { retryStrategy: null, doubleCheck };
}

/** Variables of several scopes, the strongest first (check, group, account): each key once. */
export function mergedVariables(...scopes: readonly (readonly Variable[])[]): Variable[] {
  const byKey = new Map<string, Variable>();
  // The strongest are written last, in the place of the first that had the key.
  for (const scope of [...scopes].reverse()) for (const variable of scope) byKey.set(variable.key, variable);
  return [...byKey.values()];
}

/** The group's pairs whose names the check does not have, then the check's. */
function mergedPairs(
  check: readonly KeyValue[],
  group: readonly KeyValue[],
  nameOf: (key: string) => string,
): KeyValue[] {
  const own = new Set(check.map(({ key }) => nameOf(key)));
  return [...group.filter(({ key }) => !own.has(nameOf(key))), ...check];
}

/** An API check's request with its group's defaults: its own entries win, assertions of both hold. */
export function mergedRequest(request: ApiRequest, defaults: ApiCheckDefaults): ApiRequest {
  return {
    ...request,
    headers: mergedPairs(request.headers, defaults.headers, (key) => key.toLowerCase()),
    queryParameters: mergedPairs(request.queryParameters, defaults.queryParameters, (key) => key),
    basicAuth: request.basicAuth ?? defaults.basicAuth,
    assertions: [...request.assertions, ...defaults.assertions],
  };
}

/** The alerting that counts: a group that has a policy decides it, and then only its channels are told. */
export function mergedAlerts<A extends AlertFields & { useGlobalAlertSettings: boolean }>(
  check: A,
  group: Pick<GroupSettings, keyof AlertFields | 'useGlobalAlertSettings'>,
) {
  const { useGlobalAlertSettings, alertSettings, alertChannelSubscriptions } = group;
  if (useGlobalAlertSettings === null) return {};
  return {
    useGlobalAlertSettings,
    alertSettings: useGlobalAlertSettings ? check.alertSettings : alertSettings,
    alertChannelSubscriptions,
  };
}

/** What a check must have so that a group's settings can be laid over it. */
type Mergeable = Locations &
  Retries &
  AlertFields & {
    activated: boolean;
    muted: boolean;
    runParallel: boolean;
    runtimeId: string | null;
    environmentVariables: Variable[];
    useGlobalAlertSettings: boolean;
    request?: object;
  };

/** A check with its group's settings applied. Scripts stay: those of the group run besides, not instead. */
export function withGroupSettings<C extends Mergeable>(checkType: string, check: C, group: GroupSettings): C {
  const { request } = check;
  const own = serviceCheckType(checkType);
  const defaults = own?.hasHttpDefaults === true ? group.apiCheckDefaults : null;
  return {
    ...check,
    ...(own?.hasLocations === false ? {} : mergedLocations(check, group)),
    ...(own?.isRetried === false ? {} : mergedRetries(check, group)),
    ...mergedAlerts(check, group),
    activated: check.activated && group.activated,
    muted: check.muted || group.muted,
    runParallel: own?.hasLocations === false ? false : (group.runParallel ?? check.runParallel),
    runtimeId: own?.hasRuntime === false ? null : (check.runtimeId ?? group.runtimeId),
    environmentVariables: mergedVariables(check.environmentVariables, group.environmentVariables),
    ...(request === undefined || defaults === null
      ? {}
      : { request: mergedRequest(request as ApiRequest, defaults) }), // the request of an API check
  };
}

/** One script that a phase runs. */
export type PhaseSource = {
  origin: 'group' | 'check';
  local: string | null;
  snippetId: number | null;
};

/** Scripts of both phases in the order in which they run: outside in, then inside out. */
export function phaseSources(
  check: PhaseSources,
  group: PhaseSources | null,
): { setup: PhaseSource[]; teardown: PhaseSource[] } {
  const sources = [
    ...(group === null ? [] : [{ origin: 'group' as const, of: group }]),
    { origin: 'check' as const, of: check },
  ];
  const filled = ({ local, snippetId }: PhaseSource) =>
    (local !== null && local !== '') || snippetId !== null;
  return {
    setup: sources
      .map(({ origin, of }) => ({ origin, local: of.localSetupScript, snippetId: of.setupSnippetId }))
      .filter(filled),
    teardown: sources
      .map(({ origin, of }) => ({ origin, local: of.localTearDownScript, snippetId: of.tearDownSnippetId }))
      .filter(filled)
      .reverse(),
  };
}
