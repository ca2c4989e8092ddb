import { describe, expect, it } from 'vitest';
import { parse } from 'yaml';
import { readServiceConfig } from '../../../src/config/service.ts';
import { composeFile, dockerRun, helmLines } from '../../../src/service/pages/browser/locations/install.ts';

/** The commands that start agents, ready to paste. */

const to = (image: string) => ({ origin: 'https://checks.example', key: 'pl_key', slug: 'office', image });
const ofRegistry = 'registry.example:5000/team/location-agent';

describe('commands that start agents', () => {
  it('name the image, the service and the key', () => {
    const image = `${ofRegistry}:1.2.3`;
    expect(dockerRun(to(image)).split('\n').at(-2)?.trim()).toBe(image);
    for (const text of [dockerRun(to(image)), composeFile(to(image)), helmLines(to(image))]) {
      expect(text).toContain('https://checks.example');
      expect(text).toContain('pl_key');
    }
    expect(parse(composeFile(to(image)))).toMatchObject({
      services: { agent: { image, environment: { SERVICE_URL: 'https://checks.example' } } },
    });
  });

  it.each([
    ['location-agent:0.1.0', 'location-agent --set image.tag=0.1.0'],
    [`${ofRegistry}:1.2.3`, `${ofRegistry} --set image.tag=1.2.3`],
    [ofRegistry, ofRegistry],
    [`${ofRegistry}@sha256:abc`, `${ofRegistry} --set image.digest=sha256:abc`],
  ])('give the chart the parts of %s', (image, values) => {
    expect(helmLines(to(image)).split('\n').at(-1)?.trim()).toBe(`--set image.repository=${values}`);
  });

  it('take no image that a shell would read', () => {
    const read = (image: string) => readServiceConfig({ SERVICE_AGENT_IMAGE: image }).agentImage;
    expect(read(`${ofRegistry}:1.2.3`)).toBe(`${ofRegistry}:1.2.3`);
    expect(read('')).toBeNull();
    for (const image of ['a b', 'a;b', '$(a)', '-a', "a'b"])
      expect(() => read(image)).toThrow('SERVICE_AGENT_IMAGE');
  });
});
