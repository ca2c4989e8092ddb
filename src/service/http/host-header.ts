import type { FastifyInstance, FastifyRequest } from 'fastify';
import { badRequest } from './errors.ts';

/**
 * Refuses requests whose host is ambiguous (RFC 9112, 3.2): a proxy in front of the service may have judged another
 * host than the service would use. Node's parser refuses a missing Host of HTTP/1.1, and bodies with two lengths.
 */
export function refuseAmbiguousHosts(app: FastifyInstance): void {
  app.addHook('onRequest', async (request) => {
    const reason = hostProblem(request);
    if (reason !== null) throw badRequest({ host: [reason] });
  });
}

/** Letters, digits and what IPv6 addresses and ports need; a host name that was not encoded has nothing else. */
const authority = /^(?:\[[0-9a-f:.]+\]|[a-z0-9._~%!$&'()*+,;=-]+)(?::\d{0,5})?$/i;

function hostProblem({ raw }: FastifyRequest): string | null {
  const hosts = raw.rawHeaders.filter(
    (_, index, all) => index % 2 === 1 && /^host$/i.test(all[index - 1] ?? ''),
  );
  const [host] = hosts;
  if (hosts.length > 1) return 'must be sent once';
  if (host !== undefined && host !== '' && !authority.test(host)) return 'is not a valid host';
  const [, named] = /^[a-z][a-z0-9+.-]*:\/\/([^/?#]*)/i.exec(raw.url ?? '') ?? [];
  if (named !== undefined && named.toLowerCase() !== host?.toLowerCase()) {
    return 'must be the host of the request line';
  }
  return null;
}
