import { lookup } from 'node:dns';
import { ResolveError, type IpFamily, type ResolvedAddress } from '../interface/network.ts';

/**
 * Resolves addresses with the operating system's getaddrinfo, which also uses other sources (nsswitch.conf) but runs
 * on the process's small thread pool. An abort stops waiting; the lookup itself cannot be stopped. Rejects with
 * ResolveError ENOTFOUND or EAI_AGAIN, or with `signal.reason`.
 */
export function lookupByOs(name: string, family: IpFamily, signal: AbortSignal): Promise<ResolvedAddress[]> {
  return new Promise((resolve, reject) => {
    const onAbort = () => reject(signal.reason);
    if (signal.aborted) {
      onAbort();
      return;
    }
    signal.addEventListener('abort', onAbort, { once: true });
    lookup(name, { family, all: true, verbatim: true }, (error, addresses) => {
      signal.removeEventListener('abort', onAbort);
      if (error !== null) {
        const code = error.code === 'EAI_AGAIN' || error.code === 'EAI_FAIL' ? 'EAI_AGAIN' : 'ENOTFOUND';
        reject(
          new ResolveError(code, `${name} could not be resolved by the operating system: ${error.code}`),
        );
        return;
      }
      // glibc returns 127.0.0.1 twice if the hosts file also has localhost for ::1.
      const distinct = new Set(addresses.map(({ address }) => address));
      resolve([...distinct].map((address) => ({ address, family })));
    });
  });
}
