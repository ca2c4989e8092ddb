import { get, getAll, send } from '../base/service.ts';
import type { Body, Choice, Source } from './fields/row.ts';

/** What the account has for fields that choose: locations, groups, snippets, channels and so on. */

type Location = { name: string; region: string; code: string; runningAgents: readonly unknown[] };
type PrivateLocation = { name: string; slugName: string; runningAgents: readonly unknown[] };
type Named = { id: string | number; name: string };
type Channel = { id: number; type: string; config: { [field: string]: unknown } };
type Certificate = { id: string; host: string; subject: string; expiresAt: string };
type Runtime = { name: string; stage: string };

/** `isServed`: for locations, whether an agent runs there. */
export type Chosen = Choice & { readonly isServed?: boolean };
export type Choices = { readonly [S in Source]: readonly Chosen[] } & {
  readonly channels: readonly { readonly id: number; readonly title: string }[];
};

/** All pages of a list. */
const all = <Entry>(path: string, signal: AbortSignal): Promise<Entry[]> => getAll<Entry>(path, signal, 50);

async function services(signal: AbortSignal): Promise<Named[]> {
  const found: Named[] = [];
  let nextId: string | null = null;
  do {
    const page: { entries: Named[]; nextId: string | null } = await get(
      `/v1/status-pages/services?limit=100${nextId === null ? '' : `&nextId=${nextId}`}`,
      signal,
    );
    found.push(...page.entries);
    nextId = page.nextId;
  } while (nextId !== null && found.length < 5000);
  return found;
}

const byName = ({ id, name }: Named): Chosen => ({ value: id, title: name });
const servedFirst = (one: Chosen, other: Chosen) => Number(other.isServed) - Number(one.isServed);

/** The words for a channel: its type and where it leads. */
function channelTitle({ type, config }: Channel): string {
  const where = config['name'] ?? config['address'] ?? config['number'] ?? config['url'] ?? '';
  return `${type.toLowerCase().replaceAll('_', ' ')} ${typeof where === 'string' ? where : ''}`.trim();
}

/** Reads everything that the form of a check chooses from. */
export async function readChoices(signal: AbortSignal): Promise<Choices> {
  const [locations, privateLocations, groups, snippets, runtimes, ofPages, channels, certificates] =
    await Promise.all([
      get<Location[]>('/v1/locations', signal),
      all<PrivateLocation>('/v1/private-locations', signal),
      all<Named>('/v1/check-groups', signal),
      all<Named>('/v1/snippets', signal),
      get<Runtime[]>('/v1/runtimes', signal),
      services(signal),
      all<Channel>('/v1/alert-channels', signal),
      all<Certificate>('/v1/client-certificates', signal),
    ]);
  return {
    locations: locations
      .map(({ code, name, region, runningAgents }) => ({
        value: code,
        title: `${name}, ${region}`,
        isServed: runningAgents.length > 0,
      }))
      .sort(servedFirst),
    privateLocations: privateLocations
      .map(({ slugName, name, runningAgents }) => ({
        value: slugName,
        title: name,
        isServed: runningAgents.length > 0,
      }))
      .sort(servedFirst),
    groups: groups.map(byName),
    snippets: snippets.map(byName),
    runtimes: runtimes.map(({ name, stage }) => ({ value: name, title: `${name} (${stage.toLowerCase()})` })),
    services: ofPages.map(byName),
    certificates: certificates.map(({ id, host, subject, expiresAt }) => ({
      value: id,
      title: `${host}: ${subject}, until ${expiresAt.slice(0, 10)}`,
    })),
    channels: channels.map((channel) => ({ id: channel.id, title: channelTitle(channel) })),
  };
}

/** Locations in which an agent runs; a new check begins in one if there is only one. */
export function onlyServed(choices: Choices): { locations: string[]; privateLocations: string[] } {
  const own = choices.privateLocations.filter(({ isServed }) => isServed);
  const public_ = choices.locations.filter(({ isServed }) => isServed);
  const slugs = (list: readonly Chosen[]) => list.map(({ value }) => String(value));
  if (own.length === 1) return { locations: [], privateLocations: slugs(own) };
  if (own.length === 0 && public_.length === 1) return { locations: slugs(public_), privateLocations: [] };
  return { locations: [], privateLocations: [] };
}

export type Bundle = { key: string; size: number; created_at: string };

/** The newest code bundles of the account. */
export const readBundles = (signal: AbortSignal): Promise<Bundle[]> =>
  get<Bundle[]>('/v1/playwright-bundles?limit=50', signal);

/** Uploads a code bundle. Throws as `send`. */
export const uploadBundle = (file: Blob): Promise<Bundle> =>
  send<Bundle>('POST', '/v1/playwright-bundles', file);

/** Reads a check with everything that its form shows. */
export const readCheck = (id: string, signal: AbortSignal): Promise<Body> =>
  get<Body>(`/v1/checks/${encodeURIComponent(id)}?includeDependencies=true`, signal);
