import { isIP } from 'node:net';
import type { IpFamily, ResolvedAddress } from '../interface/network.ts';
import { cachedFile } from './file.ts';

export type HostsFile = {
  /**
   * Addresses of a lower-case name without trailing dot, in the file's order; undefined if the family has no entry
   * for it.
   */
  lookup: (name: string, family: IpFamily) => readonly ResolvedAddress[] | undefined;
};

type Entries = { readonly [F in IpFamily]: Map<string, ResolvedAddress[]> };

/** Parses hosts(5): an address, then its names; `#` starts a comment. Lines without an address are ignored. */
export function parseHosts(text: string): Entries {
  const entries: Entries = { 4: new Map(), 6: new Map() };
  for (const line of text.split('\n')) {
    const [address, ...names] = line.replace(/#.*/, '').trim().split(/\s+/);
    if (address === undefined) continue;
    const version = isIP(address);
    if (version === 0) continue;
    const family: IpFamily = version === 4 ? 4 : 6;
    for (const name of names) {
      const key = name.toLowerCase().replace(/\.$/, '');
      const listed = entries[family].get(key);
      if (listed === undefined) entries[family].set(key, [{ address, family }]);
      else if (!listed.some((other) => other.address === address)) listed.push({ address, family });
    }
  }
  return entries;
}

/** The hosts file at `path`, parsed again when it changes. */
export function openHostsFile(path: string, now: () => number): HostsFile {
  const entries = cachedFile(path, parseHosts, now);
  return { lookup: (name, family) => entries()[family].get(name) };
}
