import { useEffect, useState } from 'preact/hooks';
import { get, send } from './service.ts';

/** The signed-in user: the account and the role of the API key with which the session began. */

export type Role = 'ADMIN' | 'READ_WRITE' | 'READ_RUN' | 'READ_ONLY';
export type User = {
  readonly account: { readonly id: string; readonly name: string };
  readonly role: Role;
  readonly keyName: string;
  readonly maskedKey: string;
  readonly expiresAt: string | null;
  /** Address at which agents reach the service. */
  readonly serviceUrl: string;
  /** Image of its agents. */
  readonly agentImage: string;
};

/** Undefined: not known yet. Null: signed out. */
let user: User | null | undefined;
const listeners = new Set<() => void>();
const change = (to: User | null) => {
  user = to;
  for (const listener of listeners) listener();
};
const between = typeof BroadcastChannel === 'undefined' ? null : new BroadcastChannel('session');
between?.addEventListener('message', ({ data }) => {
  if (data === 'out') change(null);
  else void readUser();
});

/** Reads who is signed in. */
export async function readUser(): Promise<void> {
  try {
    change(await get<User>('/v1/me'));
  } catch {
    change(null);
  }
}

/** Signs in with an API key. Throws as `send`. */
export async function signIn(apiKey: string): Promise<void> {
  change(await send<User>('POST', '/v1/sign-in', { apiKey }));
  between?.postMessage('in');
}

/** Ends the session, in all tabs. */
export async function signOut(): Promise<void> {
  await send('POST', '/v1/sign-out', {}).catch(() => undefined);
  change(null);
  between?.postMessage('out');
}

/** The session has ended on the service. */
export const forgetUser = (): void => change(null);

/** The signed-in user; undefined = not known yet, null = signed out. */
export function useUser(): User | null | undefined {
  const [value, setValue] = useState(user);
  useEffect(() => {
    const listener = () => setValue(user);
    listeners.add(listener);
    listener();
    return () => void listeners.delete(listener);
  }, []);
  return value;
}

const ranks: { readonly [R in Role]: number } = { READ_ONLY: 0, READ_RUN: 1, READ_WRITE: 2, ADMIN: 3 };
/** Whether the user has this role or a higher one. Buttons that would be refused are not shown. */
export function useMay(role: Role): boolean {
  const value = useUser();
  return value !== null && value !== undefined && ranks[value.role] >= ranks[role];
}
