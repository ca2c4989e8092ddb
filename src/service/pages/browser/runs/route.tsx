import { list, object, text, type Fields } from '../base/outside.ts';
import { milliseconds } from '../base/words.ts';
import { Moment } from '../parts/time.tsx';
import { Facts, Part, Scroll } from './part.tsx';

const endings: { readonly [reason: string]: string } = {
  destinationReached: 'at the target',
  maxHops: 'at the greatest number of hops',
  maxUnknownHops: 'after too many silent hops',
  timeout: 'when the time ran out',
  unreachable: 'at a router that does not forward',
  loop: 'in a circle',
};

/** What a traceroute check found besides its hops: the target's figures, the end of the route, and how it changed. */
export function Route({ details, checkId }: { details: Fields; checkId: string }) {
  const latency = object(details['finalHopLatency']);
  const change = object(details['routeChange']);
  const changed = list(change['hops']).slice(0, 64).map(object);
  const reason = text(details['truncationReason'], 40);
  const port = details['port'] === null || details['port'] === undefined ? '' : text(details['port'], 6);
  const previous = text(change['previousResultId'], 40);
  const before = text(change['previousStartedAt'], 40);
  return (
    <>
      <Part title="Route">
        <Facts
          facts={[
            [
              'Target',
              [details['hostname'], details['resolvedIp']]
                .filter(Boolean)
                .map((one) => text(one, 300))
                .join(' · '),
            ],
            ['Probes', [text(details['protocol'], 10), port].filter(Boolean).join(' · ')],
            ['Hops', details['totalHops']],
            ['Ends', endings[reason] ?? reason],
            [
              'Circle',
              list(details['loop'])
                .slice(0, 64)
                .map((one) => text(one, 60))
                .join(' → '),
            ],
            [
              'Latency',
              typeof latency['avg'] === 'number'
                ? ['min', 'avg', 'max'].map((name) => `${name} ${milliseconds(latency[name])}`).join(' · ')
                : '',
            ],
            ['Packet loss', typeof details['packetLoss'] === 'number' ? `${details['packetLoss']} %` : null],
            ['Error', details['requestError']],
          ]}
        />
      </Part>
      {changed.length > 0 && (
        <Part title="Changed route">
          <p class="soft">
            The route was another one at {Number.isNaN(Date.parse(before)) ? before : <Moment at={before} />}
            {/^[0-9a-f-]{36}$/.test(previous) ? (
              <>
                {' '}
                (<a href={`/checks/${checkId}/runs/${previous}`}>that run</a>)
              </>
            ) : null}
            .
          </p>
          <Scroll label="Changed hops">
            <table aria-label="Changed hops">
              <thead>
                <tr>
                  <th scope="col">Hop</th>
                  <th scope="col">Before</th>
                  <th scope="col">Now</th>
                </tr>
              </thead>
              <tbody>
                {changed.map((hop, at) => (
                  <tr key={at}>
                    <td>{text(hop['hop'], 4)}</td>
                    <td>{addressesOf(hop['before'])}</td>
                    <td>{addressesOf(hop['after'])}</td>
                  </tr>
                ))}
              </tbody>
            </table>
          </Scroll>
        </Part>
      )}
    </>
  );
}

const addressesOf = (value: unknown): string =>
  list(value)
    .slice(0, 5)
    .map((one) => text(one, 60))
    .join(', ') || 'no hop';

/** More routers that answered at the distance of a hop. */
const others = (hop: Fields): string => {
  const all = list(hop['others']).slice(0, 4);
  return all.length === 0 ? '' : `and ${all.map((one) => text(one, 60)).join(', ')} `;
};

const measures = ['last', 'avg', 'best', 'worst', 'stddev'] as const;

/** The hops of a traceroute, which is a check's own or the evidence of a failed one. */
export function Trace({ value }: { value: unknown }) {
  const trace = object(value);
  const hops = list(trace['hops']).slice(0, 64).map(object);
  if (hops.length === 0 && !trace['unavailable']) return null;
  return (
    <Part title="Traceroute">
      {trace['unavailable'] ? <p>Not available: {text(trace['unavailable'], 500)}</p> : null}
      {hops.length > 0 && (
        <>
          <p class="soft">
            To {text(trace['address'], 60)}
            {trace['port'] === null || trace['port'] === undefined
              ? ''
              : ` port ${text(trace['port'], 6)}`}{' '}
            by {text(trace['way'], 10).toUpperCase()}
            {trace['reached'] === true ? '' : ': not reached'}
          </p>
          <Scroll label="Hops">
            <table aria-label="Hops">
              <thead>
                <tr>
                  <th scope="col">Hop</th>
                  <th scope="col">Address</th>
                  <th scope="col" class="number">
                    Loss
                  </th>
                  {measures.map((name) => (
                    <th key={name} scope="col" class="number">
                      {name}
                    </th>
                  ))}
                </tr>
              </thead>
              <tbody>
                {hops.map((hop, at) => (
                  <tr key={at}>
                    <td>{text(hop['hop'], 4)}</td>
                    <td>
                      {text(hop['address'] ?? '*', 60)} <span class="soft">{text(hop['name'], 200)}</span>{' '}
                      {hop['asn'] === undefined ? null : (
                        <span class="soft">
                          AS{text(hop['asn'], 10)} {text(hop['asOrganization'], 200)}{' '}
                        </span>
                      )}
                      {others(hop)}
                      {text(hop['error'], 200)}
                    </td>
                    <td class="number">{text(hop['lossPercent'], 6)} %</td>
                    {measures.map((name) => (
                      <td key={name} class="number">
                        {milliseconds(hop[`${name}Ms`])}
                      </td>
                    ))}
                  </tr>
                ))}
              </tbody>
            </table>
          </Scroll>
        </>
      )}
    </Part>
  );
}
