/**
 * Reads PromQL as far as our rules and dashboards use it, and says what is wrong with an expression: unknown metrics, labels that a
 * metric does not have, values that a label cannot have, rates of gauges, groupings by labels that are gone.
 */

export type KnownMetric = {
  type: string;
  labels: { readonly [label: string]: readonly string[] | null };
};

export type Checked = {
  /** Labels that its series may have; null: it is a scalar. */
  labels: ReadonlySet<string> | null;
  metrics: ReadonlySet<string>;
  mistakes: string[];
};

/** What Prometheus adds to whatever it scrapes. */
const ofTargets = ['job', 'instance'];
const aggregations = ['sum', 'max', 'min', 'avg', 'count', 'topk', 'bottomk'];
const ofCounters = ['rate', 'increase'];
const ofGauges = ['delta', 'avg_over_time', 'max_over_time', 'min_over_time'];
const functions = [...ofCounters, ...ofGauges, 'histogram_quantile', 'time', 'absent'];
const operators = ['==', '!=', '>=', '<=', '>', '<', '+', '-', '*', '/', 'and', 'or', 'unless'];
const duration = /^(\d+(ms|[smhdwy]))+$|^\$__(rate_interval|range|interval)$/;

const token =
  /\s*(?:("(?:[^"\\]|\\.)*")|(\$__\w+)|(\d+(?:ms|[smhdwy])(?:\d+[smhdw])*)|(\d+(?:\.\d+)?)|([a-zA-Z_:][\w:]*)|(==|!=|>=|<=|=~|!~|[-+*/(){}[\],=<>:]))/y;

function tokensOf(expr: string): string[] {
  const tokens: string[] = [];
  token.lastIndex = 0;
  while (expr.slice(token.lastIndex).trim() !== '') {
    const from = token.lastIndex;
    const found = token.exec(expr);
    if (found === null) throw new Error(`cannot be read from: ${expr.slice(from)}`);
    tokens.push(found[0].trim());
  }
  return tokens;
}

type Node = { labels: Set<string> | null; series: string | null; range: boolean };

export function checkPromql(expr: string, known: ReadonlyMap<string, KnownMetric>): Checked {
  const mistakes: string[] = [];
  const metrics = new Set<string>();
  const tokens = tokensOf(expr);
  let at = 0;
  const peek = () => tokens[at];
  const take = (wanted?: string): string => {
    const next = tokens[at];
    if (next === undefined || (wanted !== undefined && next !== wanted)) {
      throw new Error(`${wanted ?? 'more'} expected instead of ${next ?? 'the end'} in ${expr}`);
    }
    at += 1;
    return next;
  };
  const list = (): string[] => {
    const names: string[] = [];
    take('(');
    while (peek() !== ')') {
      names.push(take());
      if (peek() === ',') take();
    }
    take(')');
    return names;
  };
  const demand = (names: readonly string[], { labels }: Node, why: string) => {
    for (const name of names) {
      if (labels?.has(name) !== true) mistakes.push(`${why} ${name}: there is no such label`);
    }
  };

  /** A name, which a histogram has with three suffixes. */
  const metricOf = (name: string): (KnownMetric & { name: string; bucket: boolean }) | null => {
    const plain = known.get(name);
    if (plain !== undefined) {
      if (plain.type === 'histogram') mistakes.push(`${name} is a histogram: _bucket, _sum or _count`);
      return { ...plain, name, bucket: false };
    }
    const base = name.replace(/_(bucket|sum|count)$/, '');
    const histogram = known.get(base);
    if (base === name || histogram?.type !== 'histogram') return null;
    return { ...histogram, name: base, bucket: name.endsWith('_bucket') };
  };

  const selector = (name: string): Node => {
    const metric = metricOf(name);
    if (metric === null) mistakes.push(`${name}: there is no such metric`);
    else metrics.add(metric.name);
    const labels = new Set([...Object.keys(metric?.labels ?? {}), ...ofTargets]);
    if (metric?.bucket === true) labels.add('le');
    if (peek() === '{') {
      take();
      while (peek() !== '}') {
        const label = take();
        const operator = take();
        const text = JSON.parse(take()) as string; // a quoted token
        if (!['=', '!=', '=~', '!~'].includes(operator)) throw new Error(`${operator} in ${expr}`);
        if (!labels.has(label)) mistakes.push(`${name}: it has no label ${label}`);
        const values = metric?.labels[label] ?? null;
        if (values !== null && !text.startsWith('$')) {
          for (const value of operator.includes('~') ? text.split('|') : [text]) {
            if (value !== '' && !values.includes(value)) mistakes.push(`${label} is never ${value}`);
          }
        }
        if (peek() === ',') take();
      }
      take('}');
    }
    return { labels, series: metric === null ? null : metric.type, range: false };
  };

  const call = (name: string): Node => {
    const grouping = (): { kind: string; names: string[] } | null => {
      if (peek() !== 'by' && peek() !== 'without') return null;
      return { kind: take(), names: list() };
    };
    const before = aggregations.includes(name) ? grouping() : null;
    const args: Node[] = [];
    take('(');
    while (peek() !== ')') {
      args.push(expression());
      if (peek() === ',') take();
    }
    take(')');
    const inner = args.at(-1) ?? { labels: null, series: null, range: false };
    if (aggregations.includes(name)) {
      const group = before ?? grouping();
      if (name.endsWith('k')) return { ...inner, series: null };
      if (group === null) return { labels: new Set(), series: null, range: false };
      demand(group.names, inner, group.kind);
      const kept = [...(inner.labels ?? [])].filter((label) => !group.names.includes(label));
      return { labels: new Set(group.kind === 'by' ? group.names : kept), series: null, range: false };
    }
    if (!functions.includes(name)) mistakes.push(`${name}: no function of ours`);
    if ([...ofCounters, ...ofGauges].includes(name)) {
      if (!inner.range) mistakes.push(`${name} needs a range`);
      const wanted = ofCounters.includes(name) ? ['counter', 'histogram'] : ['gauge'];
      if (!wanted.includes(inner.series ?? '')) mistakes.push(`${name} of a ${inner.series}`);
    } else if (inner.range) mistakes.push(`${name} takes no range`);
    const labels = new Set(inner.labels);
    if (name === 'histogram_quantile' && !labels.delete('le')) mistakes.push(`${name} without le`);
    return { labels: name === 'time' ? null : labels, series: null, range: false };
  };

  const operand = (): Node => {
    const next = take();
    if (next === '-' || next === '+') return operand();
    if (/^\d/.test(next) && !duration.test(next)) return { labels: null, series: null, range: false };
    if (next === '(') {
      const inner = expression();
      take(')');
      return { ...inner, series: null };
    }
    if (!/^[a-zA-Z_:]/.test(next)) throw new Error(`${next} in ${expr}`);
    const isCall = peek() === '(' || (aggregations.includes(next) && /^(by|without)$/.test(peek() ?? ''));
    const node = isCall ? call(next) : selector(next);
    if (peek() !== '[') return node;
    take();
    const length = take();
    if (!duration.test(length)) mistakes.push(`${length} is no duration`);
    take(']');
    return { ...node, range: true };
  };

  const expression = (): Node => {
    let left = operand();
    while (operators.includes(peek() ?? '')) {
      const operator = take();
      const matching = peek() === 'on' || peek() === 'ignoring' ? { kind: take(), names: list() } : null;
      const right = operand();
      if (left.range || right.range) mistakes.push(`${operator} of a range`);
      if (matching !== null) {
        demand(matching.names, left, matching.kind);
        demand(matching.names, right, matching.kind);
      } else if (left.labels !== null && right.labels !== null) {
        const both = [left.labels, right.labels];
        const differ = both.flatMap((labels, side) =>
          [...labels].filter((label) => !both[1 - side]?.has(label)),
        );
        if (differ.length > 0) mistakes.push(`${operator}: one side alone has ${differ.join(', ')}`);
      }
      left = { labels: left.labels ?? right.labels, series: null, range: false };
    }
    return left;
  };

  const whole = expression();
  if (at < tokens.length) throw new Error(`${peek()} is left over in ${expr}`);
  if (whole.range) mistakes.push('it is a range');
  return { labels: whole.labels, metrics, mistakes };
}
