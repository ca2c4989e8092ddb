import { minuteMs, hourMs, dayMs } from '../durations.ts';

/** The template helper for dates: `{{moment "2 days ago" "YYYY-MM-DD"}}`. Everything is UTC. */

const unitMs: { readonly [unit: string]: number | undefined } = {
  millisecond: 1,
  second: 1000,
  minute: minuteMs,
  hour: hourMs,
  day: dayMs,
  week: 7 * dayMs,
};

const unitNames: { readonly [short: string]: string | undefined } = {
  ms: 'millisecond',
  s: 'second',
  sec: 'second',
  m: 'minute',
  min: 'minute',
  h: 'hour',
  hr: 'hour',
  d: 'day',
  w: 'week',
  y: 'year',
};

/**
 * The moment that a phrase means, in milliseconds since the epoch, or null if it is not understood. Supported: "now",
 * "today", "yesterday", "tomorrow", "3 days ago", "in 2 hours", "2 hours from now", "+1 week", "last month", "next
 * year", a number of milliseconds since the epoch, and any ISO date.
 */
export function momentOf(phrase: string, now: number): number | null {
  const text = phrase.trim().toLowerCase();
  switch (text) {
    case '':
    case 'now':
      return now;
    case 'today':
      return startOfDay(now);
    case 'yesterday':
      return startOfDay(now) - dayMs;
    case 'tomorrow':
      return startOfDay(now) + dayMs;
    default:
  }
  const ago = /^(an?|\d{1,9}) ([a-z]+) (ago|before now|from now|hence|later)$/.exec(text);
  if (ago !== null) return shift(now, count(ago[1]) * (/ago|before/.test(ago[3] ?? '') ? -1 : 1), ago[2]);
  const ahead = /^in (an?|\d{1,9}) ([a-z]+)$/.exec(text);
  if (ahead !== null) return shift(now, count(ahead[1]), ahead[2]);
  const signed = /^([+-]) ?(\d{1,9}) ?([a-z]+)$/.exec(text);
  if (signed !== null) return shift(now, Number(signed[2]) * (signed[1] === '-' ? -1 : 1), signed[3]);
  const named = /^(last|next|this) ([a-z]+)$/.exec(text);
  if (named !== null) return shift(now, named[1] === 'last' ? -1 : named[1] === 'next' ? 1 : 0, named[2]);
  if (/^\d{10,16}$/.test(text)) return Number(text);
  if (!/^\d{4}-\d{2}/.test(text)) return null;
  const parsed = Date.parse(phrase.trim());
  return Number.isNaN(parsed) ? null : parsed;
}

function startOfDay(now: number): number {
  return Math.floor(now / dayMs) * dayMs;
}

function count(text: string | undefined): number {
  return text === 'a' || text === 'an' ? 1 : Number(text);
}

function shift(now: number, amount: number, unitText: string | undefined): number | null {
  const plain = (unitText ?? '').replace(/(?<=..)s$/, '');
  const unit = unitNames[plain] ?? plain;
  const ms = unitMs[unit];
  if (ms !== undefined) return valid(now + amount * ms);
  const months =
    unit === 'month' ? amount : unit === 'quarter' ? 3 * amount : unit === 'year' ? 12 * amount : null;
  if (months === null) return null;
  // The 31st becomes the last day of a shorter month.
  const date = new Date(now);
  const day = date.getUTCDate();
  date.setUTCDate(1);
  date.setUTCMonth(date.getUTCMonth() + months);
  const last = new Date(Date.UTC(date.getUTCFullYear(), date.getUTCMonth() + 1, 0)).getUTCDate();
  date.setUTCDate(Math.min(day, last));
  return valid(date.getTime());
}

/** The last valid time: 8.64e15 ms after the epoch. */
function valid(time: number): number | null {
  return Math.abs(time) <= 8.64e15 ? time : null;
}

const monthNames =
  'January February March April May June July August September October November December'.split(' ');
const dayNames = 'Sunday Monday Tuesday Wednesday Thursday Friday Saturday'.split(' ');

const tokens =
  /\[([^\]]*)\]|YYYY|YY|MMMM|MMM|MM|M|DDDD|DDD|DD|Do|D|dddd|ddd|d|HH|H|hh|h|mm|m|ss|s|SSS|A|a|ZZ|Z|X|x|Q/g;

/** `time` (milliseconds since the epoch) in a format of tokens such as "YYYY-MM-DD", "X" or "[week] ddd". */
export function formatMoment(time: number, format: string): string {
  const date = new Date(time);
  const two = (value: number) => String(value).padStart(2, '0');
  const year = date.getUTCFullYear();
  const month = date.getUTCMonth();
  const day = date.getUTCDate();
  const hour = date.getUTCHours();
  const dayOfYear = Math.floor((startOfDay(time) - Date.UTC(year, 0, 1)) / dayMs) + 1;
  const values: { readonly [token: string]: () => string } = {
    YYYY: () => String(year).padStart(4, '0'),
    YY: () => two(year % 100),
    Q: () => String(Math.floor(month / 3) + 1),
    MMMM: () => monthNames[month] ?? '',
    MMM: () => (monthNames[month] ?? '').slice(0, 3),
    MM: () => two(month + 1),
    M: () => String(month + 1),
    DDDD: () => String(dayOfYear).padStart(3, '0'),
    DDD: () => String(dayOfYear),
    DD: () => two(day),
    Do: () => `${day}${ordinal(day)}`,
    D: () => String(day),
    dddd: () => dayNames[date.getUTCDay()] ?? '',
    ddd: () => (dayNames[date.getUTCDay()] ?? '').slice(0, 3),
    d: () => String(date.getUTCDay()),
    HH: () => two(hour),
    H: () => String(hour),
    hh: () => two(hour % 12 === 0 ? 12 : hour % 12),
    h: () => String(hour % 12 === 0 ? 12 : hour % 12),
    mm: () => two(date.getUTCMinutes()),
    m: () => String(date.getUTCMinutes()),
    ss: () => two(date.getUTCSeconds()),
    s: () => String(date.getUTCSeconds()),
    SSS: () => String(date.getUTCMilliseconds()).padStart(3, '0'),
    A: () => (hour < 12 ? 'AM' : 'PM'),
    a: () => (hour < 12 ? 'am' : 'pm'),
    Z: () => '+00:00',
    ZZ: () => '+0000',
    X: () => String(Math.floor(time / 1000)),
    x: () => String(time),
  };
  return format.replace(
    tokens,
    (token, literal: string | undefined) => literal ?? values[token]?.() ?? token,
  );
}

function ordinal(day: number): string {
  if (day >= 11 && day <= 13) return 'th';
  return ['th', 'st', 'nd', 'rd'][day % 10] ?? 'th';
}
