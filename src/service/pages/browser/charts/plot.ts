import uPlot from 'uplot';

/** The drawing itself, with uPlot; loaded when the first chart is drawn. */

export type Series = {
  readonly name: string;
  /** A custom property of styles/colours.css, without `--`. */
  readonly colour: string;
  readonly values: readonly (number | null)[];
  /** Points without a line. */
  readonly isPoints?: boolean;
  /** Filled down to the series before it, for phases on top of each other. */
  readonly isFilled?: boolean;
};
/** A moment, or a time, that is marked behind the lines. Seconds since the epoch. A click opens `href`. */
export type ShownMark = {
  readonly from: number;
  readonly to: number;
  readonly colour: string;
  readonly href?: string | undefined;
};

export type PlotContent = {
  /** Seconds since the epoch. */
  readonly times: readonly number[];
  readonly series: readonly Series[];
  readonly marks: readonly ShownMark[];
  readonly range: { readonly from: number; readonly to: number };
  readonly format: (value: number) => string;
  /** The reader has selected a time by dragging. */
  readonly onZoom?: ((from: number, to: number) => void) | undefined;
  /** The reader has clicked on a mark. */
  readonly onOpen?: ((href: string) => void) | undefined;
  readonly max?: number | undefined;
};

const height = 250;

/** Draws into the element and returns a function that removes the drawing. */
export function drawPlot(element: HTMLElement, content: PlotContent): () => void {
  const styles = getComputedStyle(document.documentElement);
  const colourOf = (name: string) => resolved(element, styles.getPropertyValue(`--${name}`));
  const soft = colourOf('soft');
  const grid = { stroke: colourOf('line'), width: 1 };
  const axis = { stroke: soft, grid, ticks: grid, font: '12px system-ui' };
  const colours = new Map(content.marks.map(({ colour }) => [colour, colourOf(colour)]));
  const width = () => Math.max(200, element.clientWidth);
  const plot = new uPlot(
    {
      width: width(),
      height,
      legend: { show: false },
      cursor: { drag: { x: content.onZoom !== undefined, y: false }, points: { size: 6 } },
      scales: {
        x: { time: true, range: [content.range.from, content.range.to] },
        y: { range: (_plot, _min, max) => [0, content.max ?? Math.max(1, (max || 1) * 1.08)] },
      },
      axes: [
        axis,
        {
          ...axis,
          size: labelSpace,
          values: (_plot, values) => values.map((value) => content.format(value)),
        },
      ],
      series: [
        {},
        ...content.series.map((one): uPlot.Series => {
          const stroke = colourOf(one.colour);
          if (one.isPoints)
            return {
              label: one.name,
              stroke,
              paths: () => null,
              points: { show: true, size: 6, fill: stroke },
            };
          return {
            label: one.name,
            stroke,
            width: 1.6,
            spanGaps: false,
            points: { show: content.times.length < 60, size: 4 },
            ...(one.isFilled ? { fill: `color-mix(in srgb, ${stroke} 22%, transparent)` } : {}),
          };
        }),
      ],
      hooks: {
        drawClear: [
          (own) => {
            for (const { from, to, colour } of content.marks) {
              const left = own.valToPos(Math.max(from, content.range.from), 'x', true);
              const right = own.valToPos(Math.min(to, content.range.to), 'x', true);
              own.ctx.save();
              own.ctx.globalAlpha = right - left > 3 ? 0.14 : 0.75;
              own.ctx.fillStyle = colours.get(colour) ?? soft;
              own.ctx.fillRect(left, own.bbox.top, Math.max(2, right - left), own.bbox.height);
              own.ctx.restore();
            }
          },
        ],
        setSelect: [
          (own) => {
            if (own.select.width < 4 || content.onZoom === undefined) return;
            const { left, width: wide } = own.select;
            content.onZoom(own.posToVal(left, 'x'), own.posToVal(left + wide, 'x'));
          },
        ],
      },
    },
    [[...content.times], ...content.series.map(({ values }) => [...values])],
    element,
  );
  openMarks(plot, content);
  const observer = new ResizeObserver(() => plot.setSize({ width: width(), height }));
  observer.observe(element);
  return () => {
    observer.disconnect();
    plot.destroy();
  };
}

/** A label such as "2500 ms" needs more space than "100 %". In pixels, with the ticks next to it. */
const labelSpace: uPlot.Axis.Size = (_plot, labels) =>
  Math.max(64, 20 + 8 * Math.max(0, ...(labels ?? []).map((label) => label.length)));

/** A mark is this near to a click that opens it, in pixels. */
const reach = 5;
/** Further than this, the pointer was dragged to select a time. */
const slack = 3;

/** Opens the mark under a click, and shows that a mark can be clicked. The narrowest mark lies on top. */
function openMarks(plot: uPlot, { marks, range, onOpen }: PlotContent): void {
  if (onOpen === undefined) return;
  const linked = marks
    .filter(({ href }) => href !== undefined)
    .sort((a, b) => a.to - a.from - (b.to - b.from));
  const hrefAt = ({ offsetX }: MouseEvent) => {
    const at = (time: number) => plot.valToPos(Math.min(Math.max(time, range.from), range.to), 'x');
    return linked.find(({ from, to }) => offsetX >= at(from) - reach && offsetX <= at(to) + reach)?.href;
  };
  let pressedAt = 0;
  plot.over.addEventListener('mousedown', ({ clientX }) => (pressedAt = clientX));
  plot.over.addEventListener('mousemove', (event) =>
    plot.over.classList.toggle('on-mark', hrefAt(event) !== undefined),
  );
  plot.over.addEventListener('click', (event) => {
    const href = Math.abs(event.clientX - pressedAt) > slack ? undefined : hrefAt(event);
    if (href !== undefined) onOpen(href);
  });
}

/** A canvas does not know light-dark(), so the browser resolves the colour on an element. */
function resolved(element: HTMLElement, colour: string): string {
  const probe = document.createElement('span');
  probe.style.color = colour;
  element.append(probe);
  const value = getComputedStyle(probe).color;
  probe.remove();
  return value;
}
