import { useEffect, useRef, useState } from 'preact/hooks';

/** Moments and durations. */

const listeners = new Set<() => void>();
let timer: ReturnType<typeof setInterval> | null = null;

/** A moment's distance from now as text, which is drawn again when it changes: every 15 s a visible tab looks for that. */
function useDistance(at: string | null | undefined): string {
  const textNow = () => (at ? distance(Date.parse(at) - Date.now()) : '');
  const text = textNow();
  const latest = useRef({ text, textNow });
  latest.current = { text, textNow };
  const [, setTurn] = useState(0);
  useEffect(() => {
    const listener = () => {
      if (latest.current.textNow() !== latest.current.text) setTurn((turn) => turn + 1);
    };
    listeners.add(listener);
    timer ??= setInterval(() => {
      if (!document.hidden) for (const one of listeners) one();
    }, 15_000);
    return () => {
      listeners.delete(listener);
      if (listeners.size > 0 || timer === null) return;
      clearInterval(timer);
      timer = null;
    };
  }, []);
  return text;
}

/** "3 min ago", "in 20 s"; the exact moment is in the tooltip. */
export function Ago({ at, none = 'never' }: { at: string | null | undefined; none?: string }) {
  const text = useDistance(at);
  if (!at) return <span class="soft">{none}</span>;
  return (
    <time dateTime={at} title={moment(at)}>
      {text}
    </time>
  );
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
