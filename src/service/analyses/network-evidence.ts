/** What details of results say of the way to the target, where they have it. Pure, and careful: the form may grow. */

type Json = { readonly [name: string]: unknown };
const object = (value: unknown): Json =>
  typeof value === 'object' && value !== null && !Array.isArray(value) ? (value as Json) : {}; // any object is a Json
const list = (value: unknown): readonly unknown[] => (Array.isArray(value) ? value : []);

/** Sentences; none where the details have no such evidence. */
export function describeNetwork(details: Json): string[] {
  const within = [details, object(details['network']), object(details['networkEvidence'])];
  return within.flatMap((place) => [
    ...traceroute(place['traceroute']),
    ...capture(place['packetCapture'] ?? place['pcap']),
  ]);
}

function traceroute(value: unknown): string[] {
  const hops = list(Array.isArray(value) ? value : object(value)['hops']).map(object);
  if (hops.length === 0) return [];
  const addressOf = (hop: Json) => hop['address'] ?? hop['ip'] ?? hop['host'];
  const answered = hops.filter((hop) => typeof addressOf(hop) === 'string');
  const last = answered.at(-1);
  const reached = object(value)['reached'];
  if (last === undefined) return [`None of ${hops.length} hops on the way to the target answered.`];
  const at = hops.indexOf(last) + 1;
  const silent = hops.length - at;
  if (reached === true || (reached !== false && silent === 0)) {
    return [
      `The way to the target was traced over ${hops.length} hops, to ${String(addressOf(last)).slice(0, 64)}.`,
    ];
  }
  const beyond = silent === 0 ? 'the target did not' : `none of the ${silent} beyond did`;
  return [
    `On the way to the target hop ${at} (${String(addressOf(last)).slice(0, 64)}) was the last that answered; ${beyond}.`,
  ];
}

function capture(value: unknown): string[] {
  const { retransmissions, resets, packets, summary } = object(value);
  if (typeof summary === 'string' && summary !== '') return [`Captured packets: ${summary.slice(0, 300)}`];
  const counts = Object.entries({ packets, retransmissions, resets }).flatMap(([name, count]) =>
    typeof count === 'number' ? [`${count} ${name}`] : [],
  );
  return counts.length === 0 ? [] : [`Captured packets: ${counts.join(', ')}.`];
}
