import { list, object, text, type Fields } from '../base/outside.ts';
import { milliseconds } from '../base/words.ts';
import { Json } from '../parts/json.tsx';
import { Moment } from '../parts/time.tsx';
import { Facts, Part, Scroll } from './part.tsx';
import { Ssl } from './ssl.tsx';
import type { Run } from './types.ts';

/** What is known about names, packets, connections and certificates. */
export function Network({ run }: { run: Run }) {
  const details = object(run.details);
  return (
    <>
      {run.checkType === 'DNS' && <Dns details={details} />}
      {run.checkType === 'ICMP' && <Icmp details={details} />}
      {run.checkType === 'TCP' && <Tcp details={details} />}
      {run.checkType === 'SSL' && <Ssl details={details} />}
      <Certificate value={details['certificate'] ?? details['tls']} />
      <Trace value={details['traceroute']} />
      <Packets value={details['packetCapture']} />
    </>
  );
}

function Dns({ details }: { details: Fields }) {
  const request = object(details['request']);
  const server = object(details['nameServerInfo']);
  const response = object(details['response']);
  return (
    <Part title="DNS answer">
      <Facts
        facts={[
          ['Query', `${text(request['recordType'], 20)} ${text(request['query'], 300)}`],
          ['Name server', [server['name'], server['host'], server['port']].filter(Boolean).join(' · ')],
          ['Protocol', request['protocol']],
          ['Response code', response['returnCode']],
          ['Tries', details['tries']],
        ]}
      />
      {response['text'] ? (
        <pre class="body" tabIndex={0} aria-label="DNS answer as text">
          {text(response['text'], 50_000)}
        </pre>
      ) : null}
      {response['answer'] !== undefined && (
        <details>
          <summary>Answer as JSON</summary>
          <Json value={response['answer']} />
        </details>
      )}
    </Part>
  );
}

function Icmp({ details }: { details: Fields }) {
  const latency = object(details['latency']);
  const pings = list(details['pingResults']).slice(0, 100).map(object);
  return (
    <Part title="ICMP packets">
      <Facts
        facts={[
          ['Target', [details['hostname'], details['resolvedIp']].filter(Boolean).join(' · ')],
          [
            'Packets',
            `${text(details['packetsReceived'] ?? 0)} of ${text(details['packetsSent'] ?? 0)} answered`,
          ],
          ['Packet loss', typeof details['packetLoss'] === 'number' ? `${details['packetLoss']} %` : null],
          [
            'Latency',
            ['min', 'avg', 'max'].map((name) => `${name} ${milliseconds(latency[name])}`).join(' · '),
          ],
        ]}
      />
      {pings.length > 0 && (
        <Scroll label="List of packets">
          <table aria-label="Packets">
            <thead>
              <tr>
                <th scope="col">Packet</th>
                <th scope="col">Answered</th>
                <th scope="col" class="number">
                  Round trip
                </th>
                <th scope="col" class="number">
                  TTL
                </th>
              </tr>
            </thead>
            <tbody>
              {pings.map((ping, at) => (
                <tr key={at}>
                  <td>{text(ping['sequence'], 10)}</td>
                  <td>{ping['success'] === true ? 'yes' : 'no'}</td>
                  <td class="number">{milliseconds(ping['rtt'])}</td>
                  <td class="number">{text(ping['ttl'] ?? '–', 10)}</td>
                </tr>
              ))}
            </tbody>
          </table>
        </Scroll>
      )}
    </Part>
  );
}

function Tcp({ details }: { details: Fields }) {
  const request = object(details['request']);
  const response = object(details['response']);
  return (
    <Part title="TCP connection">
      <Facts
        facts={[
          ['Target', `${text(request['hostname'], 300)}:${text(request['port'], 6)}`],
          ['Address', details['resolvedIp']],
          ['Sent', request['data']],
          ['Error', response['error']],
        ]}
      />
      {response['data'] ? (
        <pre class="body" tabIndex={0} aria-label="Data received">
          {text(response['data'], 50_000)}
        </pre>
      ) : null}
    </Part>
  );
}

function Certificate({ value }: { value: unknown }) {
  const certificate = object(value);
  if (certificate['subject'] === undefined) return null;
  const chain = list(certificate['chain']).slice(0, 20).map(object);
  return (
    <Part title="Certificate">
      <Facts
        facts={[
          ['Subject', certificate['subject']],
          ['Issuer', certificate['issuer']],
          ['Days remaining', certificate['daysRemaining']],
          [
            'Names',
            list(certificate['altNames'])
              .slice(0, 50)
              .map((name) => text(name, 200))
              .join(', '),
          ],
          ['Trusted', certificate['authorized']],
          ['Error', certificate['authorizationError']],
          ['Protocol', [certificate['protocol'], certificate['cipher']].filter(Boolean).join(' · ')],
          ['SHA-256', certificate['fingerprint256']],
        ]}
      />
      {chain.length > 0 && (
        <Scroll label="Certificate chain">
          <table aria-label="Certificate chain">
            <thead>
              <tr>
                <th scope="col">Certificate</th>
                <th scope="col">Issued by</th>
                <th scope="col">Valid until</th>
              </tr>
            </thead>
            <tbody>
              {chain.map((link, at) => (
                <tr key={at}>
                  <td>{text(link['subject'], 300)}</td>
                  <td>{text(link['issuer'], 300)}</td>
                  <td>{dateOf(link['validTo'])}</td>
                </tr>
              ))}
            </tbody>
          </table>
        </Scroll>
      )}
    </Part>
  );
}

const dateOf = (value: unknown) =>
  typeof value === 'string' && !Number.isNaN(Date.parse(value)) ? <Moment at={value} /> : text(value, 60);

const measures = ['last', 'avg', 'best', 'worst', 'stddev'] as const;

function Trace({ value }: { value: unknown }) {
  const trace = object(value);
  const hops = list(trace['hops']).slice(0, 64).map(object);
  if (hops.length === 0 && !trace['unavailable']) return null;
  return (
    <Part title="Traceroute">
      {trace['unavailable'] ? <p>Not available: {text(trace['unavailable'], 500)}</p> : null}
      {hops.length > 0 && (
        <>
          <p class="soft">
            To {text(trace['address'], 60)} port {text(trace['port'], 6)} by{' '}
            {text(trace['way'], 10).toUpperCase()}
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

function Packets({ value }: { value: unknown }) {
  const capture = object(value);
  if (!capture['summary'] && !capture['unavailable']) return null;
  return (
    <Part title="Packet capture">
      {capture['unavailable'] ? <p>Not available: {text(capture['unavailable'], 500)}</p> : null}
      {typeof capture['summary'] === 'object' ? (
        <Facts facts={Object.entries(object(capture['summary'])).slice(0, 30)} />
      ) : (
        <p>{text(capture['summary'])}</p>
      )}
      {capture['summary'] ? <p class="soft">The packets are among the files of this run.</p> : null}
    </Part>
  );
}
