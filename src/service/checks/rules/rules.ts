import type { Problems } from '../../http/problems.ts';
import type { JobType, ProbeType } from '../../../protocol/check-types.ts';
import type { Assertion } from '../../../protocol/assertions.ts';
import { serviceCheckTypes } from '../types/table.ts';
import { isSecretVariable } from '../../engine/encryption.ts';
import type { phaseFields, PublicRetryStrategy } from '../fields/fields.ts';
import type { CreateBody, StoredRequest } from '../fields/schema.ts';
import { checkDependencies } from './dependencies.ts';
import { checkGrpc } from './grpc.ts';
import { checkSsl } from './ssl.ts';
import { tracerouteRequest } from './traceroute.ts';

/**
 * Rules between fields, which no schema can express. They run on a complete check: the body of a create, or a change
 * merged into the stored check.
 */

const templated = (text: string) => text.includes('{{');

function checkUrl(url: string, problems: Problems): void {
  if (templated(url)) return;
  if (!/^https?:\/\//i.test(url)) {
    problems.add('request.url', 'must begin with http:// or https://');
  } else if (!URL.canParse(url)) {
    problems.add('request.url', 'is not a URL');
  }
}

function checkHostname(hostname: string, problems: Problems, path = 'request.hostname'): void {
  if (!templated(hostname) && /[\s/@]|:\/\//.test(hostname)) {
    problems.add(path, 'must be a host name or an IP address, not a URL');
  }
}

/** TCP: resolves the aliases `url` and `body` of hostname and data. */
function tcpRequest(request: CreateBody<'TCP'>['request'], problems: Problems): StoredRequest<'TCP'> {
  const { url, body, ...rest } = request;
  if (rest.hostname !== undefined && url !== undefined) {
    problems.add('request.url', 'is an alias of hostname: set only one of the two');
  }
  // `data` is null if omitted.
  if (rest.data !== null && body !== undefined && body !== null) {
    problems.add('request.body', 'is an alias of data: set only one of the two');
  }
  const hostname = rest.hostname ?? url;
  if (hostname === undefined) problems.add('request.hostname', 'is required');
  else checkHostname(hostname, problems);
  return { ...rest, hostname: hostname ?? '', data: rest.data ?? body ?? null };
}

const dnsPorts = { UDP: 53, TCP: 53, DOT: 853, DOH: 443 } as const;

/** DNS: replaces a null port by the default, so that answers contain a number. */
function dnsRequest(request: StoredRequest<'DNS'>, problems: Problems): StoredRequest<'DNS'> {
  const nameServer = request.nameServer ?? '';
  const isUrl = nameServer.includes('://');
  if (
    isUrl &&
    (request.protocol !== 'DOH' || !/^https?:\/\//i.test(nameServer) || !URL.canParse(nameServer))
  ) {
    problems.add(
      'request.nameServer',
      request.protocol === 'DOH'
        ? 'must be a host name, an IP address or an https:// URL'
        : 'must be a host name or an IP address; a URL only with protocol DOH',
    );
    return request;
  }
  if (/\s/.test(nameServer)) problems.add('request.nameServer', 'must not contain spaces');
  if (/\s/.test(request.query)) problems.add('request.query', 'must not contain spaces');
  const ownPort = isUrl ? Number(new URL(nameServer).port) : 0;
  return { ...request, nameServer, port: request.port ?? (ownPort || dnsPorts[request.protocol]) };
}

const patternProperty: readonly string[] = ['TEXT_BODY', 'RESPONSE_DATA', 'TEXT_ANSWER', 'TEXT_RESPONSE'];
const pathProperty: readonly string[] = ['JSON_BODY', 'JSON_ANSWER', 'JSON_RESPONSE', 'GRPC_RESPONSE'];
const numericSources: readonly string[] = [
  'STATUS_CODE',
  'RESPONSE_TIME',
  'LATENCY',
  'GRPC_STATUS_CODE',
  'HOP_COUNT',
  'PACKET_LOSS',
];
const latencyProperties: readonly string[] = ['avg', 'min', 'max', 'stdDev'];

function isPattern(text: string): boolean {
  try {
    return new RegExp(text) instanceof RegExp;
  } catch {
    return false;
  }
}

function checkAssertion(assertion: Assertion, path: string, problems: Problems): void {
  const { source, property, comparison, target, regex } = assertion;
  if (pathProperty.includes(source) && property !== '' && !property.startsWith('$')) {
    problems.add(`${path}.property`, 'must be a JSONPath, which begins with $');
  }
  if (patternProperty.includes(source) && !isPattern(property)) {
    problems.add(`${path}.property`, 'is not a regular expression');
  }
  if (source === 'LATENCY' && !latencyProperties.includes(property)) {
    problems.add(`${path}.property`, `must be one of ${latencyProperties.join(', ')}`);
  }
  if (source === 'HEADERS' && property === '') {
    problems.add(`${path}.property`, 'must be a header name');
  }
  if (regex !== null && !isPattern(regex)) problems.add(`${path}.regex`, 'is not a regular expression');
  const compares = comparison === 'GREATER_THAN' || comparison === 'LESS_THAN';
  if (compares && numericSources.includes(source) && !templated(target) && !isNumber(target)) {
    problems.add(`${path}.target`, `must be a number with ${comparison}`);
  }
}

const isNumber = (text: string) => text.trim() !== '' && Number.isFinite(Number(text));

/**
 * Fills in a retry strategy; null means "no retries". `type` null = of a group. Fields that a kind of retry does not
 * have are refused; the others get their defaults.
 */
export function settleRetryStrategy(
  strategy: PublicRetryStrategy | null,
  type: JobType | null,
  problems: Problems,
): PublicRetryStrategy | null {
  if (strategy === null) return null;
  if (strategy.onlyOn.length > 0 && type !== null && !serviceCheckTypes[type].mayRetryOnlyOn) {
    problems.add('retryStrategy.onlyOn', 'is for API and URL checks only');
  }
  const { maxRetries, maxDurationSeconds, ...rest } = strategy;
  if (strategy.type !== 'SINGLE_RETRY') {
    return { ...rest, maxRetries: maxRetries ?? 2, maxDurationSeconds: maxDurationSeconds ?? 600 };
  }
  if (maxRetries !== undefined) problems.add('retryStrategy.maxRetries', 'is not accepted with SINGLE_RETRY');
  if (maxDurationSeconds !== undefined) {
    problems.add('retryStrategy.maxDurationSeconds', 'is not accepted with SINGLE_RETRY');
  }
  return rest;
}

/** A check after validation: no aliases, no null lists, all defaults filled in. */
export type SettledCheck<T extends ProbeType = ProbeType> = Omit<
  CreateBody<T>,
  'locations' | 'privateLocations' | 'environmentVariables' | 'request'
> & {
  locations: string[];
  privateLocations: string[];
  environmentVariables: { key: string; value: string; locked: boolean; secret: boolean }[];
  request: StoredRequest<T>;
};

function settleRequest<T extends ProbeType>(type: T, request: CreateBody<T>['request'], problems: Problems) {
  const settled: { [K in ProbeType]: () => StoredRequest<K> } = {
    URL: () => {
      const own = request as StoredRequest<'URL'>; // `request` is the body's of `type`; so in each row
      checkUrl(own.url, problems);
      return own;
    },
    API: () => {
      const own = request as StoredRequest<'API'>; // as above
      checkUrl(own.url, problems);
      return own;
    },
    TCP: () => tcpRequest(request as CreateBody<'TCP'>['request'], problems), // as above
    DNS: () => dnsRequest(request as StoredRequest<'DNS'>, problems), // as above
    ICMP: () => {
      const own = request as StoredRequest<'ICMP'>; // as above
      checkHostname(own.hostname, problems);
      return own;
    },
    SSL: () => {
      const own = request as StoredRequest<'SSL'>; // as above
      checkHostname(own.sslConfig.hostname, problems, 'request.sslConfig.hostname');
      checkSsl(own, problems);
      return own;
    },
    GRPC: () => {
      const own = request as StoredRequest<'GRPC'>; // as above
      checkHostname(own.url, problems, 'request.url');
      checkGrpc(own, problems);
      return own;
    },
    TRACEROUTE: () => {
      const own = request as StoredRequest<'TRACEROUTE'>; // as above
      checkHostname(own.url, problems, 'request.url');
      return tracerouteRequest(own, problems);
    },
  };
  return settled[type]();
}

function checkOrder(
  problems: Problems,
  low: readonly [string, number | null | undefined],
  high: readonly [string, number | null | undefined],
): void {
  if (typeof low[1] === 'number' && typeof high[1] === 'number' && low[1] > high[1]) {
    problems.add(low[0], `must not be above ${high[0]} (${low[1]} is above ${high[1]})`);
  }
}

/** Fields with the same rules in checks of every type. */
type Shared = Pick<
  CreateBody<'URL'>,
  | 'groupId'
  | 'locations'
  | 'privateLocations'
  | 'environmentVariables'
  | 'retryStrategy'
  | keyof typeof phaseFields
>;

/** Each of setup and teardown is a snippet or a text, not both. */
export function checkPhases(
  phases: Pick<CreateBody<'URL'>, keyof typeof phaseFields>,
  problems: Problems,
): void {
  for (const [snippet, local] of [
    ['setupSnippetId', 'localSetupScript'],
    ['tearDownSnippetId', 'localTearDownScript'],
  ] as const) {
    if (phases[snippet] === null || phases[local] === null || phases[local] === '') continue;
    const reason = `set only one of ${snippet} and ${local}: a check has one script per phase`;
    problems.add(snippet, reason);
    problems.add(local, reason);
  }
}

/** Marks secret variables. A duplicate key is a problem. */
export function settleVariables(
  variables: CreateBody<'URL'>['environmentVariables'],
  problems: Problems,
): SettledCheck['environmentVariables'] {
  const settled = (variables ?? []).map((variable) => ({ ...variable, secret: isSecretVariable(variable) }));
  const keys = new Set<string>();
  for (const [index, { key }] of settled.entries()) {
    if (keys.has(key)) problems.add(`environmentVariables.${index}.key`, `is given twice (${key})`);
    keys.add(key);
  }
  return settled;
}

/** Validates the shared fields of a check and fills in their defaults. */
export function settleShared(type: JobType, body: Shared, problems: Problems) {
  const locations = body.locations ?? [];
  const privateLocations = body.privateLocations ?? [];
  // A check in a group may leave its locations to the group.
  if (locations.length + privateLocations.length === 0 && (body.groupId ?? null) === null) {
    const reason = 'Set at least one of locations and privateLocations';
    problems.add('locations', reason);
    problems.add('privateLocations', reason);
  }
  checkPhases(body, problems);
  return {
    locations,
    privateLocations,
    environmentVariables: settleVariables(body.environmentVariables, problems),
    retryStrategy: settleRetryStrategy(body.retryStrategy, type, problems),
    // An empty text is not a script, and must not make the check require a runtime.
    localSetupScript: body.localSetupScript === '' ? null : body.localSetupScript,
    localTearDownScript: body.localTearDownScript === '' ? null : body.localTearDownScript,
  };
}

/** Validates the assertions of a request; `where` is the request's path. */
export function checkAssertions(assertions: readonly Assertion[], where: string, problems: Problems): void {
  for (const [index, assertion] of assertions.entries()) {
    checkAssertion(assertion, `${where}.assertions.${index}`, problems);
  }
}

/**
 * Validates a complete check: resolves aliases and fills in defaults. Problems between its fields are added to
 * `problems`.
 */
export function settleCheck<T extends ProbeType>(
  type: T,
  body: CreateBody<T>,
  problems: Problems,
): SettledCheck<T> {
  const request = settleRequest(type, body.request, problems);
  checkAssertions(request.assertions, 'request', problems);
  checkOrder(
    problems,
    ['degradedResponseTime', body.degradedResponseTime],
    ['maxResponseTime', body.maxResponseTime],
  );
  if ('maxPacketLossThreshold' in body) {
    checkOrder(
      problems,
      ['degradedPacketLossThreshold', body.degradedPacketLossThreshold],
      ['maxPacketLossThreshold', body.maxPacketLossThreshold],
    );
  }
  if ('dependencies' in body) checkDependencies(body.dependencies, problems);
  const settled = { ...body, ...settleShared(type, body, problems), request };
  return settled as unknown as SettledCheck<T>; // the compiler cannot subtract fields from a generic type
}
