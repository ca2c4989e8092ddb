import { kindOfAddress } from '../../addresses/address-kind.ts';
import type { SslConfig } from '../../protocol/ssl.ts';
import { performRequest } from '../http/request.ts';
import type { ExecutionContext } from '../interface/executor.ts';
import { ResolveError, type Network } from '../interface/network.ts';
import { withTimeLimit } from '../../time-limit.ts';
import type { Certificate } from './certificate.ts';
import { readCrl } from './crl.ts';
import { ocspRequest, readOcsp, type OcspAnswer, type RevocationStatus } from './ocsp.ts';

/** Whether the leaf has been revoked: from the stapled answer, the authority's responder and its list. */

type Source = 'stapled' | 'ocsp' | 'crl';
export type Revocation = {
  /** Null = nobody said. */
  status: RevocationStatus | null;
  source: Source | null;
  /** Every answer, in the order in which it was had. */
  answers: (Omit<OcspAnswer, 'scts'> & { source: Source; url: string | null })[];
  /** SCTs came in the stapled answer. */
  hasScts: boolean;
};

const maxOcspBytes = 65_536;
const maxCrlBytes = 20 * 1024 * 1024;
/** An authority that lets the agent wait must not look like a slow target. */
const maxFetchMs = 5000;
const loopback = /^(?:127\.|::1$|0\.0\.0\.0$|::$)/;

/**
 * Reads the stapled answer and, as far as `mode` demands and nothing is known yet, asks the authority. The addresses in a
 * certificate are the target's words: link-local, metadata and loopback addresses are refused. Problems are part of the
 * answers; only `context.signal` rejects.
 */
export async function findRevocation(
  certificates: { leaf: Certificate; issuer: Certificate | null; stapled: Buffer | null },
  mode: SslConfig['revocation'],
  context: ExecutionContext,
): Promise<Revocation> {
  const { leaf, issuer, stapled } = certificates;
  const now = context.now();
  const found: Revocation = { status: null, source: null, answers: [], hasScts: false };
  const add = (source: Source, url: string | null, { scts, ...answer }: OcspAnswer) => {
    found.answers.push({ ...answer, source, url });
    if (scts) found.hasScts = true;
    if (answer.problem === null && answer.status !== null && found.status !== 'revoked') {
      found.status = answer.status;
      found.source = source;
    }
  };
  const failed = (problem: string): OcspAnswer => ({
    status: null,
    thisUpdate: null,
    nextUpdate: null,
    revokedAt: null,
    scts: false,
    problem,
  });
  if (stapled !== null && stapled.length > 0) add('stapled', null, readOcsp(stapled, { leaf, issuer, now }));
  if (mode === 'stapled' || issuer === null) return found;
  const [ocspUrl] = leaf.facts.ocspUrls;
  if (found.status === null && ocspUrl !== undefined) {
    const answer = await fetchBytes(
      ocspUrl,
      { body: ocspRequest(leaf, issuer), limit: maxOcspBytes },
      context,
    );
    add(
      'ocsp',
      ocspUrl,
      'bytes' in answer ? readOcsp(answer.bytes, { leaf, issuer, now }) : failed(answer.problem),
    );
  }
  const [crlUrl] = leaf.facts.crlUrls;
  // Since 2025 large authorities have only lists, so `ocsp` falls back to them where a certificate names no responder.
  if (crlUrl !== undefined && (mode === 'crl' || ocspUrl === undefined) && found.status !== 'revoked') {
    const answer = await fetchBytes(crlUrl, { body: null, limit: maxCrlBytes }, context);
    const read =
      'bytes' in answer
        ? { ...readCrl(answer.bytes, { leaf, issuer, now }), scts: false }
        : failed(answer.problem);
    add('crl', crlUrl, read);
  }
  return found;
}

/** The network without addresses that no authority has. */
function guarded(network: Network): Network {
  return {
    ...network,
    resolve: async (hostname, options) => {
      const resolved = await network.resolve(hostname, options);
      const refused = resolved.addresses.find(
        ({ address }) => kindOfAddress(address) === 'never' || loopback.test(address),
      );
      if (refused === undefined) return resolved;
      throw new ResolveError(
        'ERR_INVALID_IP_ADDRESS',
        `${hostname} is ${refused.address}, which is not allowed here`,
      );
    },
  };
}

async function fetchBytes(
  text: string,
  { body, limit }: { body: Buffer | null; limit: number },
  context: ExecutionContext,
): Promise<{ bytes: Buffer } | { problem: string }> {
  const url = URL.canParse(text) ? new URL(text) : null;
  if (url === null || !/^https?:$/.test(url.protocol)) return { problem: 'the address is no http address' };
  const signal = withTimeLimit(context.signal, maxFetchMs);
  const report = await performRequest(
    {
      url,
      method: body === null ? 'GET' : 'POST',
      headers: body === null ? [] : ['content-type', 'application/ocsp-request'],
      body,
      followRedirects: false,
      skipSsl: false,
      family: 4,
      proxy: null,
      clientCertificates: [],
      keepBody: true,
      maxBytes: limit,
    },
    { ...context, signal, network: guarded(context.network) },
  ).catch((error: unknown) => {
    // The deadline of the attempt, or an error of the agent itself.
    if (context.signal.aborted || !signal.aborted) throw error;
    return null;
  });
  if (report === null) return { problem: `no complete answer within ${maxFetchMs} ms` };
  if (report.failure !== null) return { problem: report.failure.message };
  const { response } = report;
  if (response?.status !== 200) return { problem: `the answer was status ${response?.status ?? 'none'}` };
  const bytes = Buffer.concat(response.chunks);
  return response.cut ? { problem: `the answer is larger than ${limit} bytes` } : { bytes };
}
