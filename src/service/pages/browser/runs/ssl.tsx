import { list, object, text, type Fields } from '../base/outside.ts';
import { milliseconds } from '../base/words.ts';
import { StatusMark } from '../parts/status.tsx';
import { dateOf, dateText, daysText, namesText } from './certificate.tsx';
import { Facts, Part, Scroll } from './part.tsx';

/** What an SSL check found: the connection, the baseline with its rules, revocation, and every certificate of the chain. */
export function Ssl({ details }: { details: Fields }) {
  const response = object(details['response']);
  const baseline = object(response['securityBaseline']);
  return (
    <>
      <Connection details={details} response={response} />
      <Baseline baseline={baseline} />
      <Revocation response={response} />
      <Chain chain={list(response['chain']).slice(0, 20).map(object)} />
    </>
  );
}

const categories: { readonly [category: string]: string } = {
  dns: 'the name was not resolved',
  connect: 'no connection',
  timeout: 'time ran out',
  handshake: 'the handshake failed',
  hostname: 'the certificate is for other names',
  chain: 'the chain is not trusted',
};

const joined = (values: readonly unknown[], max = 100): string =>
  values
    .slice(0, 50)
    .filter((value) => value !== null && value !== undefined && value !== '')
    .map((value) => text(value, max))
    .join(' · ');

function Connection({ details, response }: { details: Fields; response: Fields }) {
  const request = object(details['request']);
  const accepted = object(response['accepted']);
  const earliest = object(response['earliestExpiry']);
  const category = text(details['failureCategory'], 40);
  return (
    <Part title="TLS connection">
      <Facts
        facts={[
          ['Failed because', category === '' ? '' : (categories[category] ?? category)],
          ['Error', details['requestError']],
          ['Server', joined([request['hostname'], request['port']], 300)],
          ['Name asked for', request['serverName']],
          ['STARTTLS', request['startTls']],
          ['Address', details['resolvedIp'] ?? response['resolvedIp']],
          ['Version', joined([details['tlsVersion'] ?? response['protocol'], details['cipherSuite']])],
          [
            'Handshake',
            typeof details['handshakeTimeMs'] === 'number' ? milliseconds(details['handshakeTimeMs']) : '',
          ],
          ['Name is right', response['hostnameVerified'] ?? details['hostnameVerified']],
          ['Chain is trusted', response['chainTrusted'] ?? details['chainTrusted']],
          ['Why not', joined([response['chainTrustDetail'], response['chainTrustReason']], 500)],
          ['Chain is incomplete', response['incompleteChain'] === true ? true : null],
          ['Missing certificate', response['missingIntermediate']],
          ['Chain is in order', response['chainOrdered']],
          ['First to expire', joined([earliest['subjectCN'], daysText(earliest['daysUntilExpiry'])], 300)],
          ['Versions accepted', joined(list(accepted['versions']), 10)],
          ['Weak suites accepted', joined(list(accepted['weakCiphers']), 60)],
          ['Not everything was tried', accepted['incomplete']],
        ]}
      />
    </Part>
  );
}

const rules: { readonly [rule: string]: string } = {
  minTLSVersion: 'Oldest TLS version',
  minKeySizeBits: 'Size of the key',
  weakSignatureAlgorithm: 'Signatures are strong',
  weakCipherSuite: 'Cipher suites are strong',
  knownBadCA: 'Authority is trusted by browsers',
  recommendedTLSVersion: 'Recommended TLS version',
  recommendedKeySizeBits: 'Recommended size of the key',
  ocspMustStapleRespected: 'Stapled response where it is demanded',
  sctPresent: 'Certificate timestamps (SCT)',
};
const severities: { readonly [severity: string]: string } = {
  fail: 'fails the check',
  degrade: 'degrades the check',
  ignore: 'is ignored',
};
const verdicts: { readonly [verdict: string]: string } = {
  pass: 'passed',
  warn: 'degraded',
  fail: 'failed',
};
const notRules = new Set(['verdict', 'grade', 'reasons']);

function Baseline({ baseline }: { baseline: Fields }) {
  const verdict = text(baseline['verdict'], 20);
  const shown = Object.entries(baseline)
    .filter(([name]) => !notRules.has(name))
    .slice(0, 30)
    .map(([name, rule]) => ({ name, ...ruleOf(object(rule)) }));
  if (verdict === '' && shown.length === 0) return null;
  return (
    <Part title="Security baseline">
      <p>
        <StatusMark status={verdicts[verdict] ?? verdict} /> Verdict <b>{verdict}</b>, grade{' '}
        <b>{text(baseline['grade'], 4)}</b>
      </p>
      {shown.length > 0 && (
        <Scroll label="List of rules">
          <table aria-label="Rules of the security baseline">
            <thead>
              <tr>
                <th scope="col">Result</th>
                <th scope="col">Rule</th>
                <th scope="col">A violation</th>
                <th scope="col">Reason</th>
              </tr>
            </thead>
            <tbody>
              {shown.map(({ name, status, severity, reason }) => (
                <tr key={name}>
                  <td>
                    <StatusMark status={status} />
                  </td>
                  <td>{rules[name] ?? text(name, 100)}</td>
                  <td>{severities[severity] ?? severity}</td>
                  <td>{reason}</td>
                </tr>
              ))}
            </tbody>
          </table>
        </Scroll>
      )}
    </Part>
  );
}

function ruleOf(rule: Fields): { status: string; severity: string; reason: string } {
  const severity = text(rule['severity'], 20);
  const violated = { fail: 'failed', degrade: 'degraded' }[severity] ?? 'violated, but ignored';
  return {
    status: rule['violated'] === true ? violated : 'passed',
    severity,
    reason: text(rule['reason'], 500),
  };
}

const sources: { readonly [source: string]: string } = {
  stapled: 'stapled by the server (OCSP)',
  ocsp: "the authority's OCSP responder",
  crl: "the authority's revocation list (CRL)",
};

function Revocation({ response }: { response: Fields }) {
  const revocation = object(response['revocation']);
  const answers = list(revocation['answers']).slice(0, 10).map(object);
  const source = text(revocation['source'], 40);
  const status = response['ocspStatus'] ?? revocation['status'];
  if (status === undefined && answers.length === 0) return null;
  return (
    <Part title="Revocation">
      <Facts
        facts={[
          ['Status', status ?? 'unknown: nobody answered'],
          ['Known from', sources[source] ?? source],
          ['Stapled', response['ocspStapled']],
        ]}
      />
      {answers.length > 0 && (
        <Scroll label="Answers about revocation">
          <table aria-label="Answers about revocation">
            <thead>
              <tr>
                <th scope="col">Asked</th>
                <th scope="col">Status</th>
                <th scope="col">Of</th>
                <th scope="col">Valid until</th>
                <th scope="col">Problem</th>
              </tr>
            </thead>
            <tbody>
              {answers.map((answer, at) => (
                <tr key={at}>
                  <td class="break">
                    {sources[text(answer['source'], 40)] ?? text(answer['source'], 40)}
                    {answer['url'] ? <div class="soft">{text(answer['url'], 300)}</div> : null}
                  </td>
                  <td>
                    {text(answer['status'] ?? '–', 40)}
                    {answer['revokedAt'] ? <div>since {dateOf(answer['revokedAt'])}</div> : null}
                  </td>
                  <td>{dateOf(answer['thisUpdate'])}</td>
                  <td>{dateOf(answer['nextUpdate'])}</td>
                  <td>{text(answer['problem'], 300)}</td>
                </tr>
              ))}
            </tbody>
          </table>
        </Scroll>
      )}
    </Part>
  );
}

function Chain({ chain }: { chain: readonly Fields[] }) {
  if (chain.length === 0) return null;
  return (
    <Part title="Certificates">
      <Scroll label="Certificate chain">
        <table aria-label="Certificate chain">
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
                <td>{nameOf(link)}</td>
                <td>
                  {link['selfSigned'] === true ? 'itself' : text(link['issuerCN'] || link['issuer'], 300)}
                </td>
                <td>{keyOf(link)}</td>
                <td>{text(link['signatureAlgorithm'], 30)}</td>
                <td>
                  {dateOf(link['notAfter'])} <span class="soft">{daysText(link['daysUntilExpiry'])}</span>
                </td>
              </tr>
            ))}
          </tbody>
        </table>
      </Scroll>
      {chain.map((link, at) => (
        <details key={at} open={at === 0}>
          <summary>
            {at === 0 ? 'Certificate of the server' : `Certificate ${at + 1}`}: {nameOf(link)}
          </summary>
          <Facts
            facts={[
              ['Subject', link['subject']],
              ['Issuer', link['issuer']],
              ['Names', namesText(link['sans']) + (link['sansTruncated'] === true ? ', …' : '')],
              ['Serial number', link['serialNumber']],
              ['SHA-256', link['fingerprintSha256']],
              ['Valid from', dateText(link['notBefore'])],
              ['Valid until', dateText(link['notAfter'])],
              ['Key', keyOf(link)],
              ['Self-signed', link['selfSigned']],
              ['Is an authority', link['isCA']],
              ['Must be stapled', link['mustStaple']],
              ['Certificate timestamps', link['scts']],
              ['OCSP responder', namesText(link['ocspUrls'])],
              ['Revocation list', namesText(link['crlUrls'])],
            ]}
          />
        </details>
      ))}
    </Part>
  );
}

const nameOf = (link: Fields): string => text(link['subjectCN'] || link['subject'], 300);

const keyOf = ({ keyAlgorithm, keySizeBits, curve }: Fields): string =>
  [text(keyAlgorithm, 20), text(keySizeBits ?? '', 6), curve ? `(${text(curve, 30)})` : '']
    .filter(Boolean)
    .join(' ');
