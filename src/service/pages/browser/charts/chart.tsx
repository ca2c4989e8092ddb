import { useEffect, useId, useRef, useState } from 'preact/hooks';
import type { PlotContent } from './plot.ts';

/**
 * A chart over time. The drawing is for the eyes only; `summary` says the same in a sentence, and a table has the
 * figures.
 */
export function Chart({ title, summary, content }: { title: string; summary: string; content: PlotContent }) {
  const id = useId();
  const place = useRef<HTMLDivElement>(null);
  const [turn, setTurn] = useState(0);
  const [error, setError] = useState(false);
  useEffect(() => {
    const redraw = () => setTurn((number) => number + 1);
    addEventListener('theme', redraw);
    return () => removeEventListener('theme', redraw);
  }, []);
  useEffect(() => {
    let remove: (() => void) | null = null;
    let isWanted = true;
    import('./plot.ts').then(
      ({ drawPlot }) => {
        if (isWanted && place.current !== null) remove = drawPlot(place.current, content);
      },
      () => setError(true),
    );
    return () => {
      isWanted = false;
      remove?.();
    };
  }, [content, turn]);
  return (
    <figure class="chart" aria-labelledby={id}>
      <figcaption>
        <span id={id}>{title}</span>
        <span class="legend">
          {content.series.map(({ name, colour }) => (
            <span key={name} class="legend-entry">
              <span class="swatch" style={{ background: `var(--${colour})` }} aria-hidden="true" /> {name}
            </span>
          ))}
        </span>
      </figcaption>
      <div ref={place} class="plot" aria-hidden="true" />
      {error && <p class="note warn">The chart could not be loaded. Its figures are in the table.</p>}
      <p class="soft">{summary}</p>
      <details class="figures-table">
        <summary>Figures</summary>
        <FiguresTable title={title} content={content} />
      </details>
    </figure>
  );
}

const shownRows = 200;
const format = new Intl.DateTimeFormat(undefined, {
  month: 'short',
  day: 'numeric',
  hour: '2-digit',
  minute: '2-digit',
});

function FiguresTable({ title, content }: { title: string; content: PlotContent }) {
  const from = Math.max(0, content.times.length - shownRows);
  return (
    <div class="scroll" tabIndex={0} role="region" aria-label={`Figures of the chart: ${title}`}>
      <table aria-label={`Figures: ${title}`}>
        <thead>
          <tr>
            <th scope="col">Time</th>
            {content.series.map(({ name }) => (
              <th key={name} scope="col" class="number">
                {name}
              </th>
            ))}
          </tr>
        </thead>
        <tbody>
          {content.times.slice(from).map((time, at) => (
            <tr key={time}>
              <td>{format.format(new Date(time * 1000))}</td>
              {content.series.map(({ name, values }) => {
                const value = values[from + at];
                return (
                  <td key={name} class="number">
                    {typeof value === 'number' ? content.format(value) : '–'}
                  </td>
                );
              })}
            </tr>
          ))}
        </tbody>
      </table>
    </div>
  );
}
