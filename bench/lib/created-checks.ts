/** Creates checks through the API, as the embedded database has no other way in. Returns their ids. */
export async function createChecks({
  url,
  apiKey,
  count,
  everySeconds,
}: {
  url: string;
  apiKey: string;
  count: number;
  everySeconds: number;
}): Promise<string[]> {
  const atOnce = 10;
  const ids: string[] = [];
  const create = async (number: number): Promise<string> => {
    const answer = await fetch(`${url}/v1/checks/url`, {
      method: 'POST',
      headers: { authorization: `Bearer ${apiKey}`, 'content-type': 'application/json' },
      body: JSON.stringify({
        name: `Check ${number} of the benchmark`,
        privateLocations: ['local'],
        frequency: 0,
        frequencyOffset: everySeconds,
        request: {
          url: 'https://shop.example.com/api/v1/health?full=1',
          assertions: [{ source: 'STATUS_CODE', comparison: 'EQUALS', target: '200', property: '' }],
        },
      }),
    });
    const text = await answer.text();
    if (answer.status !== 201) throw new Error(`${answer.status} ${text}`);
    return (JSON.parse(text) as { id: string }).id;
  };
  for (let from = 0; from < count; from += atOnce) {
    const some = Array.from({ length: Math.min(atOnce, count - from) }, (_, n) => create(from + n));
    ids.push(...(await Promise.all(some)));
  }
  return ids;
}
