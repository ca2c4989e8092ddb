import { list, object, text, type Fields } from '../base/outside.ts';
import { bytes, milliseconds } from '../base/words.ts';
import { Json } from '../parts/json.tsx';
import { Addresses } from './addresses.tsx';
import { Certificates } from './certificate.tsx';
import { Facts, Part, Scroll } from './part.tsx';
import { Grpc } from './grpc.tsx';
import { Ssl } from './ssl.tsx';
import { Route, Trace } from './route.tsx';
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
      {run.checkType === 'GRPC' && <Grpc details={details} />}
      {run.checkType === 'TRACEROUTE' && <Route details={details} checkId={run.checkId} />}
      <Addresses details={details} />
      <Certificates details={details} />
      <Trace value={details['traceroute']} />
      <Packets value={details['packetCapture']} />
    </>
  );
}

function Dns({ details }: { details: Fields }) {
  const request = object(details['request']);
  const server = object(details['nameServerInfo']);
  const response = object(details['response']);
  const tls = object(details['tls']);
  return (
    <Part title="DNS answer">
      <Facts
        facts={[
          ['Query', `${text(request['recordType'], 20)} ${text(request['query'], 300)}`],
          ['Name server', [server['name'], server['host'], server['port']].filter(Boolean).join(' · ')],
          ['Protocol', request['protocol']],
          ['Response code', response['returnCode']],
          ['Tries', details['tries']],
          [
            'TLS',
            [tls['protocol'], tls['cipher']]
              .filter(Boolean)
              .map((part) => text(part, 100))
              .join(' · '),
          ],
          ['Certificate is trusted', tls['authorized']],
          ['Why not', tls['error']],
          ['HTTP', details['httpVersion']],
          ['Asked again over TCP', details['truncatedRetry'] === true ? true : null],
          ['Answers ignored', details['ignoredAnswers'] === 0 ? null : details['ignoredAnswers']],
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
  const error = object(response['error']);
  return (
    <Part title="TCP connection">
      <Facts
        facts={[
          ['Target', `${text(request['hostname'], 300)}:${text(request['port'], 6)}`],
          ['Address', details['resolvedIp']],
          ['Protocol', details['ipFamily']],
          ['Sent', request['data']],
          ['Error', joined([error['code'] ?? response['error'], error['syscall']])],
          ['Received', bytes(response['size'])],
          ['Cut off', response['truncated'] === true ? true : null],
        ]}
      />
      {response['data'] ? <Data response={response} /> : null}
    </Part>
  );
}

/** Data that is no text is stored in base64, and shown as the dump that tools for the network print. */
function Data({ response }: { response: Fields }) {
  const data = text(response['data'], 50_000);
  const dump = response['dataEncoding'] === 'base64' ? hexDump(data) : null;
  return (
    <>
      {dump !== null && <p class="soft">The data is not text. It is shown as hexadecimal bytes.</p>}
      <pre class={dump === null ? 'body' : 'body dump'} tabIndex={0} aria-label="Data received">
        {dump ?? data}
      </pre>
    </>
  );
}

const bytesOfLine = 16;

/** Null if it is no base64. */
function hexDump(base64: string): string | null {
  let binary: string;
  try {
    binary = atob(base64);
  } catch {
    return null;
  }
  const lines: string[] = [];
  for (let at = 0; at < binary.length; at += bytesOfLine) {
    const line = binary.slice(at, at + bytesOfLine);
    const hex = Array.from(line, (one) => one.charCodeAt(0).toString(16).padStart(2, '0')).join(' ');
    lines.push(
      `${at.toString(16).padStart(6, '0')}  ${hex.padEnd(bytesOfLine * 3)} ${line.replaceAll(/[^\x20-\x7e]/g, '.')}`,
    );
  }
  return lines.join('\n');
}

const joined = (values: readonly unknown[]): string =>
  values
    .filter(Boolean)
    .map((value) => text(value, 300))
    .join(' · ');

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
