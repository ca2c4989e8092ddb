import type { PublicRetryStrategy } from '../fields/fields.ts';
import type { AlertSettings } from '../../accounts/alert-settings.ts';

import { serviceCheckType } from '../types/table.ts';
import type { ApiRequest, KeyValue } from '../../../protocol/requests.ts';

/**
 * The effective settings of a check and its group (facts, 5.1). Pure functions; statements filter by the same rules
 * through effective-checks.ts.
 */

export type Variable = { key: string; value: string; locked: boolean; secret: boolean };

type AlertFields = {
  alertSettings: AlertSettings;
  alertChannelSubscriptions: { alertChannelId: number; activated: boolean }[];
};

/** Defaults of a group for its API checks. `url` is `{{GROUP_BASE_URL}}`. */
export type ApiCheckDefaults = Pick<
  ApiRequest,
  'headers' | 'queryParameters' | 'basicAuth' | 'assertions'
> & {
  url: string;
};

/** Setup and teardown scripts of a check or a group: local text or a snippet's id, never both. */
export type PhaseSources = {
  localSetupScript: string | null;
  setupSnippetId: number | null;
  localTearDownScript: string | null;
  tearDownSnippetId: number | null;
};

/** A group with decrypted secrets. Null = the check's own setting applies. */
export type GroupSettings = PhaseSources &
  AlertFields & {
    activated: boolean;
    muted: boolean;
    locations: string[];
    privateLocations: string[];
    runParallel: boolean | null;
    runtimeId: string | null;
    retryStrategy: PublicRetryStrategy | 'FALLBACK' | null;
    /** Decides in first-generation groups without a retryStrategy. */
    doubleCheck: boolean | null;
    apiCheckDefaults: ApiCheckDefaults | null;
    environmentVariables: Variable[];
    useGlobalAlertSettings: boolean | null;
  };

type Locations = { locations: string[]; privateLocations: string[] };

/** If either list of the group is not empty, both replace the check's own. */
export function mergedLocations(check: Locations, group: Locations): Locations {
  const { locations, privateLocations } = locationsCount(group) > 0 ? group : check;
  return { locations, privateLocations };
}

const locationsCount = ({ locations, privateLocations }: Locations) =>
  locations.length + privateLocations.length;

type Retries = { retryStrategy: PublicRetryStrategy | null; doubleCheck: boolean };

/**
 * The group's own strategy replaces the check's; FALLBACK keeps the check's. Without either, the group's doubleCheck
 * decides if it is set.
 */
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

/** Merges variables of several scopes, the strongest first (check, group, account). Each key occurs once. */
export function mergedVariables(...scopes: readonly (readonly Variable[])[]): Variable[] {
  const byKey = new Map<string, Variable>();
  // The strongest scope is written last, at the position of the first scope that had the key.
  for (const scope of [...scopes].reverse()) for (const variable of scope) byKey.set(variable.key, variable);
  return [...byKey.values()];
}

/** The group's pairs with names that the check does not have, then the check's pairs. */
function mergedPairs(
  check: readonly KeyValue[],
  group: readonly KeyValue[],
  nameOf: (key: string) => string,
): KeyValue[] {
  const own = new Set(check.map(({ key }) => nameOf(key)));
  return [...group.filter(({ key }) => !own.has(nameOf(key))), ...check];
}

/** An API check's request with its group's defaults. The check's own entries win, and assertions of both apply. */
export function mergedRequest(request: ApiRequest, defaults: ApiCheckDefaults): ApiRequest {
  return {
    ...request,
    headers: mergedPairs(request.headers, defaults.headers, (key) => key.toLowerCase()),
    queryParameters: mergedPairs(request.queryParameters, defaults.queryParameters, (key) => key),
    basicAuth: request.basicAuth ?? defaults.basicAuth,
    assertions: [...request.assertions, ...defaults.assertions],
  };
}

/**
 * The effective alert settings. If the group has an alert policy, it applies, and only the group's channels are
 * notified.
 */
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

/** The fields of a check that a group's settings can change. */
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

/**
 * A check with its group's settings applied. Scripts do not change: the group's scripts run in addition to the
 * check's.
 */
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

/** Scripts of both phases in running order: setup from group to check, teardown in reverse. */
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
