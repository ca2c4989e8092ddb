import { useEffect, useLayoutEffect, useMemo, useRef, useState } from 'preact/hooks';
import { plain, text } from '../base/outside.ts';
import { setQuery, usePlace } from '../base/router.ts';
import { Part } from './part.tsx';
import type { Run } from './types.ts';

const shownLines = 500;
const clock = new Intl.DateTimeFormat(undefined, { timeStyle: 'medium' });

const typingMs = 200;

/** The log of a run, with a search that is part of the address. */
export function Log({ run }: { run: Run }) {
  const lines = run.log ?? [];
  const searched = usePlace().query.get('log') ?? '';
  const [wanted, setWanted] = useState(searched);
  const timer = useRef<ReturnType<typeof setTimeout>>(undefined);
  // The address changes by other means too. Before the next key: a later effect would undo what was typed meanwhile.
  useLayoutEffect(() => {
    clearTimeout(timer.current);
    setWanted(searched);
  }, [searched]);
  useEffect(() => () => clearTimeout(timer.current), []);
  const search = (value: string) => {
    setWanted(value);
    clearTimeout(timer.current);
    timer.current = setTimeout(() => setQuery({ log: value.trim() === '' ? null : value }), typingMs);
  };
  const [limit, setLimit] = useState(shownLines);
  const found = useMemo(() => {
    const words = wanted.trim().toLowerCase();
    const numbered = lines.map((line, at) => ({ ...line, at, shown: plain(line.msg) }));
    return words === ''
      ? numbered
      : numbered.filter(({ shown, level }) => `${level} ${shown}`.toLowerCase().includes(words));
  }, [lines, wanted]);
  if (lines.length === 0) return null;
  return (
    <Part title="Log">
      <div class="filters">
        <label>
          <span class="hidden-text">Search the log</span>
          <input
            type="search"
            placeholder="Search the log"
            value={wanted}
            maxLength={200}
            spellcheck={false}
            autocomplete="off"
            onInput={({ currentTarget: { value } }) => search(value)}
          />
        </label>
        <span class="soft" role="status">
          {wanted.trim() === ''
            ? `${lines.length} ${lines.length === 1 ? 'line' : 'lines'}`
            : `${found.length} of ${lines.length} lines`}
        </span>
      </div>
      <ol class="log" tabIndex={0} aria-label="Log lines">
        {found.slice(0, limit).map(({ at, time, level, shown }) => (
          <li key={at} class={`log-${['warn', 'error', 'debug'].includes(level) ? level : 'info'}`}>
            <time dateTime={dateOf(time)}>{clock.format(new Date(time))}</time>
            <span class="log-level">{text(level, 10)}</span>
            <span class="log-text">{shown}</span>
          </li>
        ))}
      </ol>
      {found.length > limit && (
        <button type="button" onClick={() => setLimit(limit * 4)}>
          Show {found.length - limit} more lines
        </button>
      )}
    </Part>
  );
}

const dateOf = (time: number) => (Math.abs(time) < 8e15 ? new Date(time).toISOString() : '');
