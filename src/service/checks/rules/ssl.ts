import { sslProperties, type Assertion } from '../../../protocol/assertions.ts';
import type { SslRequest } from '../../../protocol/requests.ts';
import type { Problems } from '../../http/problems.ts';

/** Rules between the fields of an SSL check's request. */

/** Adds a problem for each setting that contradicts another one. */
export function checkSsl(
  { sslConfig, sslClientCertificateId, assertions }: SslRequest,
  problems: Problems,
): void {
  const { clientCertificateMode: mode, serverName, alertDaysBeforeExpiry, failDaysBeforeExpiry } = sslConfig;
  if (serverName !== null && /[\s/@]|:\/\//.test(serverName) && !serverName.includes('{{')) {
    problems.add('request.sslConfig.serverName', 'must be a host name or an IP address, not a URL');
  }
  if (mode === 'explicit' && sslClientCertificateId === null) {
    problems.add(
      'request.sslClientCertificateId',
      'is required when clientCertificateMode is explicit: give the id of a stored client certificate',
    );
  }
  if (failDaysBeforeExpiry > alertDaysBeforeExpiry) {
    problems.add(
      'request.sslConfig.failDaysBeforeExpiry',
      `must not be above alertDaysBeforeExpiry (${failDaysBeforeExpiry} is above ${alertDaysBeforeExpiry})`,
    );
  }
  for (const [index, assertion] of assertions.entries()) {
    checkSslAssertion(assertion, `request.assertions.${index}`, problems);
  }
}

function checkSslAssertion(
  { source, property, comparison }: Assertion,
  path: string,
  problems: Problems,
): void {
  const properties = sslProperties[source];
  if (properties === undefined) return;
  const allowed = Object.hasOwn(properties, property) ? properties[property] : undefined;
  if (allowed === undefined) {
    problems.add(`${path}.property`, `must be one of ${Object.keys(properties).join(', ')}`);
  } else if (!allowed.includes(comparison)) {
    problems.add(`${path}.comparison`, `must be one of ${allowed.join(', ')} for ${property}`);
  }
}
