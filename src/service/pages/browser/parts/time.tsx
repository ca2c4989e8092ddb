import { useEffect, useLayoutEffect, useRef, useState } from 'preact/hooks';

/** Moments and durations. */

const shown = new Set<() => void>();
let timer: ReturnType<typeof setInterval> | null = null;

/** Calls `write` every 15 s while the tab is visible. */
function onTick(write: () => void): () => void {
  shown.add(write);
  timer ??= setInterval(() => {
    if (!document.hidden) for (const one of shown) one();
  }, 15_000);
  return () => {
    shown.delete(write);
    if (shown.size > 0 || timer === null) return;
    clearInterval(timer);
    timer = null;
  };
}

/** "3 min ago", "in 20 s"; the exact moment is in the tooltip. */
export function Ago({
  at,
  none = 'never',
  isAhead = false,
}: {
  at: string | null | undefined;
  none?: string;
  /** What is planned: once the moment has passed, it is due. */
  isAhead?: boolean;
}) {
  return at ? <Distance at={at} isAhead={isAhead} /> : <span class="soft">{none}</span>;
}

/** Writes its text itself: a list has hundreds of these, and drawing them again costs more than everything else in it. */
function Distance({ at, isAhead }: { at: string; isAhead: boolean }) {
  const element = useRef<HTMLTimeElement>(null);
  const written = useRef('');
  const write = () => {
    const left = Date.parse(at) - Date.now();
    const text = isAhead && left < 0 ? 'due' : distance(left);
    if (text === written.current || element.current === null) return;
    element.current.textContent = text;
    written.current = text;
  };
  useLayoutEffect(write);
  useEffect(() => onTick(write), [at]);
  return <time ref={element} dateTime={at} title={moment(at)} />;
}

/** The time that is left until a moment, renewed each second while it is less than two minutes. */
export function Countdown({ to }: { to: string }) {
  const left = Date.parse(to) - Date.now();
  const [, setTurn] = useState(0);
  const isNear = left < 120_000;
  useEffect(() => {
    const ms = isNear ? 1000 : 15_000;
    const ticking = setInterval(() => !document.hidden && setTurn((turn) => turn + 1), ms);
    return () => clearInterval(ticking);
  }, [isNear]);
  // A timer is not read out at each change, unlike other texts of a status line.
  return (
    <span role="timer" aria-live="off">
      {left < 1000 ? 'now' : `in ${lasting(left)}`}
    </span>
  );
}

/** The exact moment in the reader's time zone. */
export function Moment({ at }: { at: string | null | undefined }) {
  if (!at) return <span class="soft">–</span>;
  return <time dateTime={at}>{moment(at)}</time>;
}

const momentFormat = new Intl.DateTimeFormat(undefined, {
  year: 'numeric',
  month: 'short',
  day: 'numeric',
  hour: '2-digit',
  minute: '2-digit',
  second: '2-digit',
});
export const moment = (at: string | number): string => momentFormat.format(new Date(at));

/** A distance in milliseconds in words: negative = past. */
export function distance(ms: number): string {
  const text = lasting(Math.abs(ms));
  if (Math.abs(ms) < 1000) return 'now';
  return ms < 0 ? `${text} ago` : `in ${text}`;
}

/** A duration in milliseconds in words, such as "3 min". */
export function lasting(ms: number): string {
  const seconds = Math.round(ms / 1000);
  if (seconds < 100) return `${seconds} s`;
  if (seconds < 6000) return `${Math.round(seconds / 60)} min`;
  if (seconds < 172_800) return `${Math.round(seconds / 3600)} h`;
  return `${Math.round(seconds / 86_400)} days`;
}
