import Type from 'typebox';
import { maxNetworkEntries, parseNetworkEntry } from '../../addresses/network-entry.ts';
import { toError } from '../../errors.ts';
import { badRequest } from '../http/errors.ts';
import { mask } from '../../secrets/secret.ts';
import { Nullable } from '../../protocol/schema.ts';
import { open, strict, strictPartial } from '../http/fields/strict-schema.ts';
import { agentFields } from './agents.ts';
import { LocationKey } from './keys.ts';
import { ignored } from '../http/fields/ignored-fields.ts';

const writable = {
  name: Type.String({ minLength: 1, maxLength: 255 }),
  slugName: Type.String({
    // Excludes the form of cloud regions, which are the values of a check's `locations`.
    pattern: '^(?!(?:us|ap|ca|cn|eu|sa|af|me)(?:-[A-Za-z]+)+-[0-9]+$)[A-Za-z0-9-]{1,30}$',
    description: '1 to 30 letters, digits or hyphens, and not of the form of a cloud region',
  }),
  icon: Type.String({ minLength: 1, maxLength: 64, default: 'location' }),
  proxyUrl: Nullable(Type.String({ minLength: 1, maxLength: 2048 }), {
    default: null,
    description:
      'Proxy of API and URL checks that run here; may hold {{VARIABLE}}. A password is shown masked.',
  }),
  allowedNetworks: Nullable(
    Type.Array(Type.String({ minLength: 1, maxLength: 100 }), { maxItems: maxNetworkEntries }),
    {
      default: null,
      description:
        'Networks that scripts and suites may reach here, such as 10.0.0.0/8, 10.1.2.3:443 or [fd00::/8]:8000-8100. ' +
        'Null = every network except loopback, link-local, metadata and multicast addresses; [] = none.',
    },
  ),
  stopsInOutages: Type.Boolean({
    default: false,
    description:
      'True: agents that hold checks stop them while the service is away. False: they continue, and deliver the results afterwards.',
  }),
};

export const PrivateLocation = open(
  Type.Object(
    {
      id: Type.String({ format: 'uuid' }),
      ...writable,
      keys: Type.Array(LocationKey),
      ...agentFields,
      created_at: Type.String({ format: 'date-time' }),
      updated_at: Nullable(Type.String({ format: 'date-time' })),
    },
    { $id: 'PrivateLocation', title: 'PrivateLocation' },
  ),
);

export const ChangeBody = strictPartial(
  Type.Object({
    ...writable,
    id: ignored,
    keys: ignored,
    agentCount: ignored,
    lastSeen: ignored,
    minAgentVersion: ignored,
    runningAgents: ignored,
    created_at: ignored,
    updated_at: ignored,
  }),
);

export const CreateBody = strict(Type.Object(writable));

/** Masks the password between `user:` and the last @. The rest of a proxy URL is not secret. */
export function masked(proxyUrl: string | null): string | null {
  return proxyUrl === null ? null : proxyUrl.replace(/^([^:/]+:\/\/[^:/?#]*:).*@/, `$1${mask}@`);
}

/** Throws 400 that names the first entry that is no network. */
export function checkAllowedNetworks(networks: readonly string[] | null): void {
  for (const [at, entry] of (networks ?? []).entries()) {
    try {
      parseNetworkEntry(entry);
    } catch (error: unknown) {
      throw badRequest({ [`allowedNetworks.${at}`]: [toError(error).message] });
    }
  }
}

/** Throws 400 for a text that is neither a URL of a proxy nor a template. */
export function checkProxyUrl(proxyUrl: string | null): void {
  if (proxyUrl === null || proxyUrl.includes('{{')) return;
  // The message does not repeat the value, because it may contain a password.
  if (!/^https?:\/\//i.test(proxyUrl) || !URL.canParse(proxyUrl)) {
    throw badRequest({ proxyUrl: ['must be a URL like http://user:password@proxy:3128'] });
  }
}
