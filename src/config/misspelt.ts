import { editDistance, nearestName } from '../nearest-name.ts';
import type { Environment } from './read.ts';
import { anyCaseVariables, secretPrefix, secretVariables, variables } from './variables.ts';

/** Finds names of variables that are probably misspelt names of ours. */

export type Misspelt = { readonly name: string; readonly nearest: string };

const ours = [...Object.keys(variables), ...secretVariables.map((name) => `${name}_FILE`)];
const known: ReadonlySet<string> = new Set([...ours, ...anyCaseVariables.map((name) => name.toLowerCase())]);

/** Names of other programs that are near to ours, and those that scripts of checks have. */
const foreign: ReadonlySet<string> = new Set(
  (
    'FTP_PROXY ALL_PROXY SOCKS_PROXY RSYNC_PROXY WS_PROXY WSS_PROXY HTTP_PROXY_HOST ' +
    'SERVICE_RUN SERVICE_RUN_SOURCE SERVICE_CHECK_ID SERVICE_CHECK_RUN_ID SERVICE_REGION ' +
    'NODE_EXTRA_CA_CERTS_FILE PLAYWRIGHT_SKIP_BROWSER_DOWNLOAD PLAYWRIGHT_BROWSERS_CHANNEL'
  ).split(' '),
);

/** Two words with which only variables of this program begin, such as AGENT_HEALTH_. */
const prefixes: ReadonlySet<string> = new Set(
  ours
    .filter((name) => /^[A-Z0-9]+_[A-Z0-9]+_/.test(name))
    .map((name) => /^[A-Z0-9]+_[A-Z0-9]+_/.exec(name)?.[0] ?? '')
    // These words also begin names of other programs.
    .filter(
      (prefix) => !/^(?:NODE|NPM|PLAYWRIGHT|SERVICE_ACCOUNT|SERVICE_API|ANALYSIS_API|API_KEY)_/.test(prefix),
    ),
);

/** Variables that Kubernetes and Docker links set for each service, whatever its name is. */
function isServiceLink(name: string, value: string): boolean {
  return (
    /_SERVICE_(?:HOST|PORT(?:_\w+)?)$/.test(name) ||
    /_PORT_\d+_(?:TCP|UDP|SCTP)(?:_(?:PROTO|PORT|ADDR))?$/.test(name) ||
    (/_(?:PORT|NAME)$/.test(name) && /^(?:(?:tcp|udp|sctp):\/\/|\/[^/]+\/)/.test(value))
  );
}

const letters = (name: string): string => name.toUpperCase().replaceAll(/[^A-Z0-9]/g, '');

const lettersOfOurs: ReadonlyMap<string, string> = new Map(ours.map((name) => [name, letters(name)]));

/** How many edits still count as a mistake: short names resemble each other by chance. */
function isNear({ name, plain }: { name: string; plain: string }, own: string): boolean {
  if (plain === lettersOfOurs.get(own)) return true;
  const most = own.length < 14 ? 1 : 2;
  // Each additional character is an edit, and most names differ by more of them.
  if (Math.abs(name.length - own.length) > most) return false;
  const typed = name.toUpperCase();
  if (own.length > 7) return editDistance(typed, own) <= most;
  // A missing, additional or swapped character; another character makes another short name, such as APP_KEY.
  const sorted = (text: string): string => text.split('').toSorted().join('');
  return editDistance(typed, own) <= 1 && (typed.length !== own.length || sorted(typed) === sorted(own));
}

/** The misspelt names of this environment, with the nearest name of ours. Values are not examined further. */
export function misspeltVariables(env: Environment): Misspelt[] {
  return Object.entries(env).flatMap(([name, value = '']) => {
    if (known.has(name) || foreign.has(name.toUpperCase())) return [];
    if (name.startsWith(secretPrefix) || isServiceLink(name, value)) return [];
    const typed = { name, plain: letters(name) };
    const near = ours.filter((own) => isNear(typed, own));
    const [prefix = ''] = /^[A-Z0-9]+_[A-Z0-9]+_/.exec(name) ?? [];
    const candidates =
      near.length > 0 || !prefixes.has(prefix) ? near : ours.filter((own) => own.startsWith(prefix));
    const [first] = candidates;
    if (first === undefined) return [];
    return [{ name, nearest: nearestName(name, candidates) ?? first }];
  });
}
