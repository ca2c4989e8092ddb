import { fieldsOf, itemsOf, type Fields } from '../../json-values.ts';
import { rounded } from '../../rounding.ts';

type Parts = { details: Fields; timings: unknown; assertions: readonly unknown[] };

const milliseconds = (value: unknown): number => (typeof value === 'number' ? rounded(value, 3) : 0);

/** A hop in the public form. A silent one has no address and no times. */
function publicHop(hop: unknown): Fields {
  const {
    hop: number,
    address,
    name,
    sent,
    lossPercent,
    asn,
    asOrganization,
    others,
    error,
    ...times
  } = fieldsOf(hop);
  const lost = typeof lossPercent === 'number' ? lossPercent : 100;
  const isSilent = address === null || address === undefined;
  return {
    hop_number: number,
    main_ip: address ?? null,
    main_host: name ?? null,
    sent,
    received: Math.round(((typeof sent === 'number' ? sent : 0) * (100 - lost)) / 100),
    loss_percentage: lost,
    ...(isSilent
      ? {}
      : {
          rtt: {
            last_ms: times['lastMs'],
            avg_ms: times['avgMs'],
            best_ms: times['bestMs'],
            worst_ms: times['worstMs'],
            stddev_ms: times['stddevMs'],
          },
        }),
    ...(asn === undefined ? {} : { asn, asn_org: asOrganization ?? null }),
    ...(others === undefined ? {} : { other_ips: others }),
    ...(error === undefined ? {} : { error }),
  };
}

/** A trace in the public form (facts, section 3.3). */
export function tracerouteForm({ details, timings, assertions }: Parts): Fields {
  const { request, requestError, traceroute, protocol, way: _way, source: _source, ...response } = details;
  const { dns, total } = fieldsOf(timings);
  return {
    totalHops: details['totalHops'] ?? 0,
    destinationReached: details['destinationReached'] ?? false,
    finalHopLatency: fieldsOf(details['finalHopLatency'])['avg'] ?? null,
    timingPhases: { dns: milliseconds(dns), total: milliseconds(total) },
    requestError: requestError ?? null,
    request: request ?? null,
    assertions,
    response: {
      ...response,
      probeProtocol: protocol ?? null,
      hops: itemsOf(fieldsOf(traceroute)['hops']).map(publicHop),
    },
  };
}
