import { list, object, text, type Fields } from '../base/outside.ts';
import { milliseconds } from '../base/words.ts';
import { Facts, Part, Scroll } from './part.tsx';

/** What a gRPC check called, and what it got: status, message, metadata and trailers. */
export function Grpc({ details }: { details: Fields }) {
  const request = object(details['request']);
  const response = object(details['response']);
  const phases = object(details['timingPhases']);
  const status = [response['grpcStatusName'], response['grpcStatusMessage']].filter(Boolean).join(': ');
  const methods = list(response['discoveredMethods']);
  const sent = request['message'];
  const message = response['responseMessage'];
  return (
    <>
      <Part title="gRPC call">
        <Facts
          facts={[
            ['Method', response['grpcMethod']],
            ['Target', `${text(response['host'], 300)}:${text(response['port'], 10)}`],
            ['Address', response['resolvedIp']],
            ['Status', status],
            ['Health', response['healthStatusLabel']],
            ['Messages', response['messages']],
            ['Lookup', milliseconds(phases['dns'])],
            ['Connection and call', milliseconds(phases['connect'])],
            [
              'Reflection',
              typeof details['reflectionMs'] === 'number' ? milliseconds(details['reflectionMs']) : null,
            ],
            [
              'Methods of the server',
              methods
                .slice(0, 50)
                .map((name) => text(name, 200))
                .join(', '),
            ],
          ]}
        />
        {typeof sent === 'string' && sent !== '' ? (
          <pre class="body" tabIndex={0} aria-label="Request message">
            {text(sent, 65_536)}
          </pre>
        ) : null}
        {typeof message === 'string' && message !== '' ? (
          <pre class="body" tabIndex={0} aria-label="Response message">
            {text(message, 65_536)}
          </pre>
        ) : null}
      </Part>
      <Entries title="Metadata sent" entries={request['metadata']} />
      <Entries title="Metadata" entries={response['metadata']} />
      <Entries title="Trailers" entries={response['trailers']} />
    </>
  );
}

function Entries({ title, entries }: { title: string; entries: unknown }) {
  const rows = list(entries).slice(0, 100).map(object);
  if (rows.length === 0) return null;
  return (
    <Part title={title}>
      <Scroll label={`${title}: all entries`}>
        <table aria-label={title}>
          <thead>
            <tr>
              <th scope="col">Key</th>
              <th scope="col">Value</th>
            </tr>
          </thead>
          <tbody>
            {rows.map((row, at) => (
              <tr key={at}>
                <td>{text(row['key'], 256)}</td>
                <td>{text(row['value'], 2000)}</td>
              </tr>
            ))}
          </tbody>
        </table>
      </Scroll>
    </Part>
  );
}
