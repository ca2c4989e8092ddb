import type { Wait } from '../base/wait.ts';
import { Countdown } from './time.tsx';

/** Why a check does not run now, in a sentence. The time until the first run counts down. */
export function WaitText({ wait: { reason, message, until } }: { wait: Wait }) {
  if (reason !== 'FIRST_RUN' || until === null) return <>{message}</>;
  return (
    <>
      First run <Countdown to={until} />
    </>
  );
}
