import type { JobOf } from '../../protocol/job.ts';
import type { NamedSecret } from '../../secrets/scrubber/scrubber.ts';
import { secretsOfHeader } from '../../sensitive-headers.ts';

/** Secrets of a job outside its variables. */

/** The passphrases, the password and the locked values of an API job's request, and the password in its URL. */
export function secretsOfApi({ clientCertificates, request }: JobOf<'API'>): NamedSecret[] {
  const { basicAuth, headers, queryParameters } = request;
  return [
    ...secretsOfCertificates({ clientCertificates }),
    ...(basicAuth === null ? [] : literal('basicAuth.password', basicAuth.password)),
    ...[...headers, ...queryParameters].flatMap(({ key, value, locked }) =>
      locked ? literal(key, value) : [],
    ),
    ...secretsOfUrl({ request }),
  ];
}

/** The passphrases of a job's client certificates. */
export function secretsOfCertificates({
  clientCertificates,
}: Pick<JobOf<'API'>, 'clientCertificates'>): NamedSecret[] {
  return clientCertificates.flatMap(({ passphrase }) =>
    passphrase === null ? [] : [{ name: 'clientCertificates.passphrase', value: passphrase }],
  );
}

/** The passphrases of a GRPC job, and the values of its sensitive metadata. */
export function secretsOfGrpc({ clientCertificates, request }: JobOf<'GRPC'>): NamedSecret[] {
  return [
    ...secretsOfCertificates({ clientCertificates }),
    ...request.grpcConfig.metadata.flatMap(({ key, value }) =>
      secretsOfHeader(key, value).flatMap((secret) => literal(key, secret)),
    ),
  ];
}

/** The password in the URL of a job's request. */
export function secretsOfUrl({ request }: { request: { url: string } }): NamedSecret[] {
  return passwordsOf('request.url', request.url);
}

/**
 * The decoded password in `url`; an empty list if the text is not a URL or has no password. `name` names the field of
 * the URL.
 */
export function passwordsOf(name: string, url: string): NamedSecret[] {
  if (!URL.canParse(url)) return [];
  const { password } = new URL(url);
  if (password === '') return [];
  return [{ name: `${name} password`, value: decoded(password) }];
}

/** A value that the job itself contains. A value rendered from variables is as secret as they are. */
function literal(name: string, value: string): NamedSecret[] {
  return value === '' || value.includes('{{') ? [] : [{ name, value }];
}

function decoded(text: string): string {
  try {
    return decodeURIComponent(text);
  } catch {
    return text;
  }
}
