import { list, object, text, type Fields } from '../base/outside.ts';
import { milliseconds } from '../base/words.ts';
import { Moment } from '../parts/time.tsx';
import { Facts, Part, Scroll } from './part.tsx';

/** What an SSL check found: the connection, the grade with its reasons, and every certificate of the chain. */
export function Ssl({ details }: { details: Fields }) {
  const response = object(details['response']);
  const baseline = object(response['securityBaseline']);
  const chain = list(response['chain']).slice(0, 20).map(object);
  const accepted = object(response['accepted']);
  const earliest = object(response['earliestExpiry']);
  const names = list(object(response['certificate'])['sans']);
  const rules = Object.entries(baseline).filter(([, rule]) => object(rule)['violated'] === true);
  return (
    <>
      <Part title="TLS connection">
        <Facts
          facts={[
            ['Address', details['resolvedIp']],
            ['Version', [details['tlsVersion'], details['cipherSuite']].filter(Boolean).join(' · ')],
            ['Handshake', milliseconds(details['handshakeTimeMs'])],
            ['Grade', details['baselineGrade']],
            ['Name is right', response['hostnameVerified']],
            ['Chain is trusted', response['chainTrusted']],
            ['Why not', response['chainTrustDetail']],
            ['Missing certificate', response['missingIntermediate']],
            ['Chain is in order', response['chainOrdered']],
            ['Revocation', response['ocspStatus']],
            [
              'First to expire',
              [
                earliest['subjectCN'],
                earliest['daysUntilExpiry'] === undefined
                  ? ''
                  : `in ${text(earliest['daysUntilExpiry'], 10)} days`,
              ]
                .filter(Boolean)
                .join(' · '),
            ],
            [
              'Versions accepted',
              list(accepted['versions'])
                .map((one) => text(one, 10))
                .join(', '),
            ],
            [
              'Weak suites accepted',
              list(accepted['weakCiphers'])
                .map((one) => text(one, 60))
                .join(', '),
            ],
            [
              'Names',
              names
                .slice(0, 50)
                .map((name) => text(name, 200))
                .join(', '),
            ],
          ]}
        />
        {rules.length > 0 && (
          <ul>
            {rules.map(([name, rule]) => (
              <li key={name}>
                {text(object(rule)['reason'], 500)}{' '}
                <span class="soft">({text(object(rule)['severity'], 10)})</span>
              </li>
            ))}
          </ul>
        )}
      </Part>
      {chain.length > 0 && (
        <Part title="Certificates">
          <Scroll label="Certificate chain">
            <table>
              <thead>
                <tr>
                  <th scope="col">Certificate</th>
                  <th scope="col">Issued by</th>
                  <th scope="col">Key</th>
                  <th scope="col">Signature</th>
                  <th scope="col">Valid until</th>
                </tr>
              </thead>
              <tbody>
                {chain.map((link, at) => (
                  <tr key={at}>
                    <td>{text(link['subjectCN'] || link['subject'], 300)}</td>
                    <td>{text(link['issuerCN'] || link['issuer'], 300)}</td>
                    <td>{`${text(link['keyAlgorithm'], 20)} ${text(link['keySizeBits'] ?? '', 6)}`}</td>
                    <td>{text(link['signatureAlgorithm'], 30)}</td>
                    <td>{typeof link['notAfter'] === 'string' ? <Moment at={link['notAfter']} /> : null}</td>
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
