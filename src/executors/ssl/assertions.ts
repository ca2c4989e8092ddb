import type { Assertion, AssertionResult } from '../../protocol/assertions.ts';
import { evaluateAssertions } from '../assertions/evaluate.ts';
import { versionName, versionNumber } from './handshake.ts';
import type { SslResponse } from './response.ts';

/** Evaluates the assertions of an SSL check (facts, section 1.4). */
export function assertionsOf(
  assertions: readonly Assertion[],
  response: SslResponse,
  responseTime: number,
): AssertionResult[] {
  const issuer = response.chain[1];
  const certificate = { ...response.certificate, issuerFingerprintSha256: issuer?.fingerprintSha256 ?? null };
  const connection = {
    tlsVersion: response.protocol,
    cipherSuite: response.cipherSuite,
    resolvedIp: response.resolvedIp,
    hostnameVerified: response.hostnameVerified,
    chainTrusted: response.chainTrusted,
    ocspStapled: response.ocspStapled,
    ocspStatus: response.ocspStatus,
  };
  const sources = {
    CERTIFICATE: () => ({ value: certificate }),
    RESPONSE_TIME: () => ({ value: responseTime }),
    JSON_RESPONSE: () => ({ value: response }),
    TEXT_RESPONSE: () => ({ value: JSON.stringify(response) }),
  };
  return assertions.map((assertion) => {
    const version = isVersion(assertion) ? versionNumber(assertion.target) : null;
    const [result] = evaluateAssertions(
      [version === null ? assertion : { ...assertion, target: String(version) }],
      {
        ...sources,
        CONNECTION: () => ({
          value:
            version === null ? connection : { ...connection, tlsVersion: versionNumber(response.protocol) },
        }),
      },
    );
    const found = result as AssertionResult; // one for the one assertion
    return version === null
      ? found
      : { ...found, target: assertion.target, actual: versionName(response.protocol) };
  });
}

/** Versions are compared by their order, in any spelling. */
const isVersion = ({ source, property }: Assertion) => source === 'CONNECTION' && property === 'tlsVersion';
