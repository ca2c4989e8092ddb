import { useEffect, useState } from 'preact/hooks';
import { get, repeatAfterMs, send, SignedOut } from './service.ts';

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
/** The service does not tell who is signed in; it is asked again. */
let isUnreachable = false;
const listeners = new Set<() => void>();
const change = (to: User | null | undefined) => {
  user = to;
  if (to !== undefined) isUnreachable = false;
  for (const listener of listeners) listener();
};
const between = typeof BroadcastChannel === 'undefined' ? null : new BroadcastChannel('session');
between?.addEventListener('message', ({ data }) => {
  if (data === 'out') change(null);
  else void readUser();
});

/** Between attempts while the service does not answer. */
const againMs = 3000;
let again: ReturnType<typeof setTimeout> | undefined;

/** Reads who is signed in. A service that does not answer is asked again: it ends no session. */
export async function readUser(): Promise<void> {
  try {
    change(await get<User>('/v1/me'));
  } catch (error) {
    if (error instanceof SignedOut) return change(null);
    isUnreachable = true;
    change(user);
    clearTimeout(again);
    again = setTimeout(() => void readUser(), repeatAfterMs(error) ?? againMs);
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
  const [, setTurn] = useState(isUnreachable);
  useEffect(() => {
    const listener = () => {
      setValue(user);
      setTurn(isUnreachable);
    };
    listeners.add(listener);
    listener();
    return () => void listeners.delete(listener);
  }, []);
  return value;
}

/** Whether nothing is known about the user because the service does not answer. */
export const isUserUnreachable = (): boolean => isUnreachable;

const ranks: { readonly [R in Role]: number } = { READ_ONLY: 0, READ_RUN: 1, READ_WRITE: 2, ADMIN: 3 };
/** Whether the user has this role or a higher one. Buttons that would be refused are not shown. */
export function useMay(role: Role): boolean {
  const value = useUser();
  return value !== null && value !== undefined && ranks[value.role] >= ranks[role];
}
