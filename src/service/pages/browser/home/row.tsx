import { setQuery } from '../base/router.ts';
import { milliseconds, percent } from '../base/words.ts';
import { Bars } from '../parts/bars.tsx';
import { pure } from '../parts/pure.ts';
import { StatusMark } from '../parts/status.tsx';
import { Ago } from '../parts/time.tsx';
import { WaitText } from '../parts/wait.tsx';
import type { Entry } from './types.ts';

/** One check of the list. It is drawn again only when its entry is another object. */

const shownTags = 3;

type RowProps = { readonly entry: Entry; readonly hasGroup: boolean };

function Cells({ entry, hasGroup }: RowProps) {
  const { state, reason, waits } = entry;
  return (
    <div role="row" class={`check-row ${state}`}>
      <div role="cell" class="check-state">
        <StatusMark status={state} />
      </div>
      <div role="cell" class="check-name">
        <a href={`/checks/${entry.id}`}>{entry.name}</a>
        {entry.muted && <span class="word">muted</span>}
        {reason !== null && state !== 'passing' && <span class="check-reason">{reason}</span>}
        {waits !== null && (
          <span class="check-wait">
            <WaitText wait={waits} />
          </span>
        )}
      </div>
      <div role="cell" class="check-kind">
        <span class="check-type">{entry.checkType}</span>
        {hasGroup && entry.groupId !== null && (
          <a class="check-group" href={`/groups/${entry.groupId}`}>
            {entry.groupName}
          </a>
        )}
        {entry.tags.slice(0, shownTags).map((tag) => (
          <button key={tag} type="button" class="tag" onClick={() => setQuery({ tag })}>
            <span class="hidden-text">Only the tag </span>
            {tag}
          </button>
        ))}
        {entry.tags.length > shownTags && (
          <span class="soft" title={entry.tags.slice(shownTags).join(', ')}>
            +{entry.tags.length - shownTags}
          </span>
        )}
      </div>
      <div role="cell" class="check-bars">
        <Bars bars={entry.bars} />
      </div>
      <div role="cell" class="check-figure">
        <span class="check-label">Availability </span>
        {entry.availability === null ? <span class="soft">–</span> : percent(entry.availability)}
      </div>
      <div role="cell" class="check-figure">
        <span class="check-label">p95 </span>
        {entry.p95 === null ? <span class="soft">–</span> : milliseconds(entry.p95)}
      </div>
      <div role="cell" class="check-time">
        <span class="check-label">Last run </span>
        <Ago at={entry.lastRunAt} />
      </div>
      <div role="cell" class="check-time">
        <span class="check-label">Next run </span>
        {state === 'paused' ? (
          <span class="soft">paused</span>
        ) : (
          <Ago at={entry.nextRunAt} none="–" isAhead />
        )}
      </div>
    </div>
  );
}

/** A live event replaces only the entries that it changes, so that all other rows stay as they are drawn. */
export const Row = pure(Cells);
