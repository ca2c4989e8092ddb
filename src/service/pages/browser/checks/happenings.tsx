import { Moment } from '../parts/time.tsx';
import { linkOfMark, type Mark } from './timeline.ts';

/** What happened to the check, as text: the marks of the chart. */
export function Happenings({ marks, checkId }: { marks: readonly Mark[]; checkId: string }) {
  if (marks.length === 0) return null;
  return (
    <section class="card" aria-label="What happened">
      <h2>What happened</h2>
      <ul class="tests">
        {[...marks]
          .sort((a, b) => (a.at < b.at ? 1 : -1))
          .slice(0, 50)
          .map((mark) => ({ ...mark, href: linkOfMark(mark, checkId) }))
          .map((mark) => (
            <li key={`${mark.kind} ${mark.id}`} class="test-line">
              <Moment at={mark.at} />
              <span class="word">{mark.kind}</span>
              <span class="break">
                {mark.href === undefined ? mark.text : <a href={mark.href}>{mark.text}</a>}
              </span>
            </li>
          ))}
      </ul>
    </section>
  );
}
