import { useEffect, useState } from 'preact/hooks';
import { Refused, send, withQuery } from '../base/service.ts';
import { Badge } from '../parts/badge.tsx';
import type { PageBody, StatusPage } from './pages.ts';
import { Subscribers } from './subscribers.tsx';

/** Next to the form of a status page: its preview, its badge and its subscribers. */
export function Beside({ stored, body }: { stored: StatusPage | null; body: PageBody }) {
  return (
    <div>
      <Preview id={stored?.id ?? null} body={body} />
      {stored !== null && (
        <section class="card" aria-labelledby="badge">
          <h2 id="badge">Badge</h2>
          {stored.isPrivate ? (
            <p class="soft">A private page has no badge: its image would be public.</p>
          ) : (
            <Badge
              name={stored.name}
              image={`/v1/badges/status-pages/${stored.url}`}
              link={`/status/${stored.url}`}
            />
          )}
        </section>
      )}
      {stored !== null && <Subscribers pageId={stored.id} />}
    </div>
  );
}

/** Waits for a pause in typing. */
const pauseMs = 600;
/** After a failure of the service. */
const againMs = 3000;

const made = (id: string | null, text: string, signal: AbortSignal) =>
  send<{ url: string }>('POST', withQuery('/v1/status-pages/previews', { id }), JSON.parse(text), signal);

/** The page as it would be saved. While the form is not correct, the last preview stays. */
function Preview({ id, body }: { id: string | null; body: PageBody }) {
  const [shown, setShown] = useState<string | null>(null);
  const [problem, setProblem] = useState<string | null>(null);
  const [turn, setTurn] = useState(0);
  const text = JSON.stringify(body);
  const isIncomplete = body.name === '' || body.url === '';
  useEffect(() => {
    if (isIncomplete) return;
    const ending = new AbortController();
    const timers: ReturnType<typeof setTimeout>[] = [];
    const failed = (error: unknown) => {
      if (ending.signal.aborted) return;
      const isFault = error instanceof Refused && error.status < 500;
      setProblem(isFault ? wordsOf(error) : 'The service cannot make a preview at the moment.');
      if (!isFault) timers.push(setTimeout(() => setTurn(turn + 1), againMs));
    };
    const make = () =>
      made(id, text, ending.signal).then(({ url }) => {
        setShown(url);
        setProblem(null);
      }, failed);
    timers.push(setTimeout(() => void make(), shown === null ? 0 : pauseMs));
    return () => {
      for (const timer of timers) clearTimeout(timer);
      ending.abort();
    };
  }, [id, text, isIncomplete, turn]);
  const hint = isIncomplete ? 'The preview needs a name and an address.' : problem;
  return (
    <section class="card" aria-labelledby="preview">
      <h2 id="preview">Preview</h2>
      <p class="hint" aria-live="polite">
        {hint ?? 'The page as the form has it, also before you save it.'}
      </p>
      {shown !== null && <iframe class="preview" title="Preview of the page" src={shown} sandbox="" />}
    </section>
  );
}

const wordsOf = ({ message, attributes }: Refused): string => {
  const [first] = Object.entries(attributes);
  return first === undefined ? message : `Not shown yet: ${first[0]} ${first[1].join(', ')}.`;
};
