/** Reads Prometheus' text format (version 0.0.4), strictly. */

export type Family = {
  type: string;
  help: string;
  samples: { name: string; labels: Record<string, string>; value: number }[];
};

/** Suffixes of the series that a histogram has. */
const ofHistograms = ['_bucket', '_sum', '_count'];

/** Families by name. Throws for a line that the format does not have, a series twice, or one without its family. */
export function parsePrometheus(text: string): Map<string, Family> {
  const families = new Map<string, Family>();
  const seen = new Set<string>();
  const familyOf = (name: string): Family => {
    const suffix = ofHistograms.find((end) => name.endsWith(end)) ?? '';
    const family = families.get(name) ?? families.get(name.slice(0, name.length - suffix.length));
    if (family === undefined) throw new Error(`a series without its family: ${name}`);
    return family;
  };
  for (const line of text.split('\n')) {
    if (line === '') continue;
    const about = /^# (HELP|TYPE) ([a-zA-Z_:][a-zA-Z0-9_:]*) (.+)$/.exec(line);
    if (about !== null) {
      const [, kind, name = '', rest = ''] = about;
      const family = families.get(name) ?? { type: '', help: '', samples: [] };
      if (family[kind === 'HELP' ? 'help' : 'type'] !== '') throw new Error(`told twice: ${line}`);
      family[kind === 'HELP' ? 'help' : 'type'] = rest;
      families.set(name, family);
      continue;
    }
    const sample = /^([a-zA-Z_:][a-zA-Z0-9_:]*)(?:\{(.*)\})? (-?[0-9.e+-]+|[+-]Inf|NaN)$/.exec(line);
    if (sample === null) throw new Error(`no line of the format: ${line}`);
    const [, name = '', inner = '', value] = sample;
    const series = line.slice(0, line.lastIndexOf(' '));
    if (seen.has(series)) throw new Error(`a series twice: ${series}`);
    seen.add(series);
    familyOf(name).samples.push({ name, labels: labelsOf(inner, line), value: Number(value) });
  }
  return families;
}

function labelsOf(inner: string, line: string): Record<string, string> {
  const labels: Record<string, string> = {};
  const pair = /([a-zA-Z_][a-zA-Z0-9_]*)="((?:[^"\\\n]|\\["\\n])*)"(,|$)/y;
  while (pair.lastIndex < inner.length) {
    const found = pair.exec(inner);
    if (found === null) throw new Error(`labels that cannot be read: ${line}`);
    const [, name = '', text = ''] = found;
    if (name in labels) throw new Error(`a label twice: ${line}`);
    labels[name] = text.replaceAll(/\\(.)/g, (_, sign: string) => (sign === 'n' ? '\n' : sign));
  }
  return labels;
}
