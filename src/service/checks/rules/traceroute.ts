import { tracerouteProperties, type Assertion } from '../../../protocol/assertions.ts';
import type { TracerouteRequest } from '../../../protocol/requests.ts';
import { defaultUnknownHops, tracePort } from '../../../protocol/traceroute.ts';
import type { Problems } from '../../http/problems.ts';

/** Rules between the fields of a TRACEROUTE check's request. */

/** The request with the defaults that depend on other fields. ICMP has no port: one that is given is dropped. */
export function tracerouteRequest(request: TracerouteRequest, problems: Problems): TracerouteRequest {
  const { maxHops, maxUnknownHops, assertions } = request;
  if (maxUnknownHops !== null && maxUnknownHops > maxHops) {
    problems.add(
      'request.maxUnknownHops',
      `must not be above maxHops (${maxUnknownHops} is above ${maxHops})`,
    );
  }
  for (const [index, assertion] of assertions.entries()) {
    checkAssertion(assertion, `request.assertions.${index}`, problems);
  }
  return {
    ...request,
    port: tracePort(request),
    maxUnknownHops: maxUnknownHops ?? Math.min(defaultUnknownHops, maxHops),
  };
}

function checkAssertion({ source, property, comparison }: Assertion, path: string, problems: Problems): void {
  const properties = tracerouteProperties[source];
  if (properties === undefined) return;
  const allowed = Object.hasOwn(properties, property) ? properties[property] : undefined;
  if (allowed === undefined) {
    const names = Object.keys(properties).map((name) => (name === '' ? 'empty' : name));
    problems.add(`${path}.property`, `must be ${names.length > 1 ? 'one of ' : ''}${names.join(', ')}`);
  } else if (!allowed.includes(comparison)) {
    problems.add(`${path}.comparison`, `must be one of ${allowed.join(', ')} for ${source}`);
  }
}
