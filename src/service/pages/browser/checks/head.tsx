import type { ComponentChildren } from 'preact';
import { every } from '../base/words.ts';
import { Status } from '../parts/status.tsx';
import { Ago } from '../parts/time.tsx';
import { WaitText } from '../parts/wait.tsx';
import { targetOf, typeWords, type Check, type InShort } from './types.ts';

/** What the check is and how it is doing. */
export function Head({
  check,
  inShort,
  children,
}: {
  check: Check;
  inShort: InShort | null;
  children: ComponentChildren;
}) {
  const target = targetOf(check);
  const { frequency, frequencyOffset = null } = check;
  return (
    <>
      <header class="page-head">
        <h1>{check.name}</h1>
        {inShort !== null && <Status status={inShort.state} />}
        {check.muted && <Status status="muted" />}
        {children}
      </header>
      <p class="check-line">
        <span>{typeWords[check.checkType] ?? check.checkType}</span>
        {target !== '' && <code class="break">{target}</code>}
        {frequency !== undefined && check.checkType !== 'HEARTBEAT' && (
          <span class="soft">{every({ frequency, frequencyOffset })}</span>
        )}
        {inShort?.nextRunAt && (
          <span class="soft">
            next run <Ago at={inShort.nextRunAt} isAhead />
          </span>
        )}
        {check.tags.map((tag) => (
          <a key={tag} class="word" href={`/?tag=${encodeURIComponent(tag)}`}>
            {tag}
          </a>
        ))}
      </p>
      {inShort?.waits && (
        <p class="note warn" role="status">
          <WaitText wait={inShort.waits} />
        </p>
      )}
      {inShort?.reason && (
        <p class={`verdict ${inShort.state === 'degraded' ? 'degraded' : 'failed'}`}>{inShort.reason}</p>
      )}
    </>
  );
}
