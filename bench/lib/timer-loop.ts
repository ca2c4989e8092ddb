/**
 * A bare timer loop as a child process: as many evenly spread moments in each period as an agent has checks, and nothing to do when
 * one has come. Arguments: moments in each period, period in milliseconds. The end of standard input ends it; it then sends how
 * late it was.
 */
import { percentile } from './processes.ts';

export type TimerFigures = { count: number; p50: number; p99: number };

const [count = 1, periodMs = 60_000] = process.argv.slice(2).map(Number);
const stepMs = periodMs / count;
const late: number[] = [];
const begun = performance.now();
let index = 1;
let timer: NodeJS.Timeout;

function next(): void {
  let dueAt = begun + index * stepMs;
  for (; dueAt <= performance.now(); dueAt = begun + ++index * stepMs) late.push(performance.now() - dueAt);
  timer = setTimeout(next, Math.max(0, dueAt - performance.now()));
}

next();
console.log('{"ready":true}');
process.stdin.resume().once('end', () => {
  clearTimeout(timer);
  const figures: TimerFigures = {
    count: late.length,
    p50: percentile(late, 0.5),
    p99: percentile(late, 0.99),
  };
  console.log(JSON.stringify(figures));
});
