import { list, object, text } from '../base/outside.ts';

const measures = ['last', 'avg', 'best', 'worst', 'stddev'] as const;

/** The traceroute and packet capture of an attempt that failed because of the network; empty if there are none. */
export function networkText(details: unknown): string {
  const { traceroute, packetCapture } = object(details);
  const { hops, address, port, way, reached, unavailable } = object(traceroute);
  const packets = object(packetCapture);
  const lines = list(hops).slice(0, 30).map(hopLine);
  const head = `Traceroute to ${text(address, 50)} port ${text(port, 5)} by ${text(way, 10).toUpperCase()}`;
  const names = measures.map((name) => name.padStart(9)).join('');
  return [
    ...(lines.length === 0
      ? []
      : [
          head + (reached === true ? '' : ': not reached'),
          `hop  ${'address'.padEnd(24)}  loss${names}`,
          ...lines,
        ]),
    ...(unavailable ? [`No traceroute: ${text(unavailable, 300)}`] : []),
    ...(packets['summary'] ? [`Packets: ${text(packets['summary'], 300)}`] : []),
    ...(packets['unavailable'] ? [`No packets: ${text(packets['unavailable'], 300)}`] : []),
  ].join('\n');
}

function hopLine(value: unknown): string {
  const { hop, address, lossPercent, name, error, ...figures } = object(value);
  const times = measures.map((measure) => time(figures[`${measure}Ms`])).join('');
  const words = [name, error].filter(Boolean).map((word) => `  ${text(word, 100)}`);
  const place = `${text(hop, 3).padStart(3)}  ${text(address ?? '*', 50).padEnd(24)}`;
  return `${place}${`${text(lossPercent, 5)}%`.padStart(6)}${times}${words.join('')}`;
}

const time = (value: unknown) => (typeof value === 'number' ? value.toFixed(1) : '-').padStart(9);
