import { list, object, text, type Fields } from '../base/outside.ts';
import { Moment, moment } from '../parts/time.tsx';
import { Facts, Part, Scroll } from './part.tsx';

/** Certificates of a run: that of the target, and the own one that was offered to it. */

/** "12 days left", "expired 3 days ago"; empty for anything but a number. */
export const daysText = (value: unknown): string =>
  typeof value !== 'number' ? '' : value < 0 ? `expired ${-value} days ago` : `${value} days left`;

/** A time, or the text that is there instead. */
export const dateOf = (value: unknown) =>
  typeof value === 'string' && !Number.isNaN(Date.parse(value)) ? <Moment at={value} /> : text(value, 60);

/** The same as text. */
export const dateText = (value: unknown): string =>
  typeof value === 'string' && !Number.isNaN(Date.parse(value)) ? moment(value) : text(value, 60);

/** Names of a certificate as one text. */
export const namesText = (value: unknown): string =>
  list(value)
    .slice(0, 100)
    .map((name) => text(name, 200))
    .join(', ');

export function Certificates({ details }: { details: Fields }) {
  const { host, certificate } = object(details['sslCheck']);
  return (
    <>
      <Certificate value={object(details['certificate'])} title="Certificate" />
      <Certificate
        value={object(certificate)}
        title={host === undefined ? 'Certificate' : `Certificate of ${text(host, 253)}`}
      />
      <OwnCertificate value={object(details['clientCertificate'])} />
    </>
  );
}

function Certificate({ value: certificate, title }: { value: Fields; title: string }) {
  if (certificate['subject'] === undefined) return null;
  const chain = list(certificate['chain']).slice(0, 20).map(object);
  return (
    <Part title={title}>
      <Facts
        facts={[
          ['Subject', certificate['subject']],
          ['Issuer', certificate['issuer']],
          ['Valid from', dateText(certificate['validFrom'])],
          ['Valid until', dateText(certificate['validTo'])],
          ['Expiry', daysText(certificate['daysRemaining'])],
          ['Names', namesText(certificate['altNames'])],
          ['Trusted', certificate['authorized']],
          ['Error', certificate['authorizationError']],
          [
            'Connection',
            [certificate['protocol'], certificate['cipher'], certificate['alpn']].filter(Boolean).join(' · '),
          ],
          ['Serial number', certificate['serial']],
          ['SHA-256', certificate['fingerprint256']],
        ]}
      />
      {chain.length > 0 && (
        <Scroll label={`Chain: ${title}`}>
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

function OwnCertificate({ value }: { value: Fields }) {
  if (value['subject'] === undefined && value['host'] === undefined) return null;
  return (
    <Part title="Client certificate">
      <Facts
        facts={[
          ['Stored for', value['host']],
          ['Subject', value['subject']],
          ['Issuer', value['issuer']],
          ['Valid until', dateText(value['validTo'])],
          ['Expiry', daysText(value['daysRemaining'])],
        ]}
      />
    </Part>
  );
}
