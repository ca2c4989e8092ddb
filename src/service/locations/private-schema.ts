import Type from 'typebox';
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
