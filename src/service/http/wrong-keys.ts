import { countedAddress } from './address-limit.ts';
import { createCallLimit } from './call-limit.ts';
import { TooManyRequests } from './errors.ts';

/**
 * Limits requests with wrong keys by the address that they come from, whichever keys and accounts they name, within
 * this replica. Each such request costs a search in the database.
 */
export type WrongKeys = {
  /** Throws HttpError 429 if the address has sent too many wrong keys. */
  check(address: string): void;
  /** Counts a wrong key. */
  count(address: string): void;
};

/** Wrong keys of one address in a minute; an IPv6 network of 64 bits counts as one address. */
export const wrongKeysPerMinute = 60;

export function createWrongKeys({ now }: { now: () => number }): WrongKeys {
  const limit = createCallLimit({ perMinute: wrongKeysPerMinute, now });
  return {
    check: (address) => {
      if (!limit.isReached(countedAddress(address))) return;
      throw new TooManyRequests(
        `Too many requests with wrong keys from your address (at most ${wrongKeysPerMinute} in a minute)`,
        limit.secondsLeft(),
      );
    },
    count: (address) => void limit.take(countedAddress(address)),
  };
}
