import { useEffect, useState } from 'preact/hooks';
import { go, usePlace } from '../base/router.ts';
import { Refused, SignedOut } from '../base/service.ts';
import { signIn, useUser } from '../base/user.ts';
import { Button } from '../parts/button.tsx';

/** Asks for an API key. The address stays, so that a link from an alert opens its page after the sign-in. */
export function SignIn() {
  const user = useUser();
  const { path, query } = usePlace();
  const [key, setKey] = useState('');
  const [error, setError] = useState<string | null>(null);
  const [isBusy, setBusy] = useState(false);
  useEffect(() => {
    document.title = 'Sign in';
    if (user !== null && user !== undefined && path === '/sign-in') go('/', { replace: true });
  }, [user, path]);
  const submit = async (event: Event) => {
    event.preventDefault();
    if (key.trim() === '') return setError('Enter an API key.');
    setBusy(true);
    setError(null);
    try {
      await signIn(key.trim());
    } catch (reason) {
      if (reason instanceof SignedOut) setError('This key was refused. Check it, or create another one.');
      else if (reason instanceof Refused || reason instanceof Error) setError(reason.message);
    }
    setBusy(false);
  };
  return (
    <main class="sign-in">
      <form class="card" onSubmit={(event) => void submit(event)}>
        <h1>
          <span class="brand-mark" aria-hidden="true" /> Sign in
        </h1>
        {query.get('reason') === 'used' && (
          <p class="note">
            That sign-in address was used already, or it is too old. Start `npm start` again for a new one.
          </p>
        )}
        <label for="key">API key of the account</label>
        <input
          id="key"
          type="password"
          autocomplete="current-password"
          spellcheck={false}
          value={key}
          aria-invalid={error !== null}
          aria-describedby="key-error"
          onInput={({ currentTarget: { value } }) => setKey(value)}
        />
        <p id="key-error" class="error" role="alert">
          {error}
        </p>
        <Button type="submit" class="main" isOff={isBusy}>
          Sign in
        </Button>
        <p class="soft">
          The key stays on the service: this browser keeps a cookie that ends when you sign out.
        </p>
      </form>
    </main>
  );
}
