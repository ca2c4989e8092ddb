import { afterEach, expect, test } from 'vitest';
import { until } from '../e2e/program.ts';
import { startAgent, type Agent } from './containers.ts';
import { docker, processesOf, runLabel, runName } from './engine.ts';
import { makeCheck, newLocation, resultsOf, targets, told, trigger, untilHeld, world } from './world.ts';

/** Containers that end: asked to, and killed. */

const running: Agent[] = [];
afterEach(async () => {
  await Promise.all(running.splice(0).map((agent) => agent.remove()));
});
const started = async (options: Parameters<typeof startAgent>[0]): Promise<Agent> => {
  const agent = await startAgent(options);
  running.push(agent);
  return agent;
};

/** A check whose target answers once it is released; its session, with the check's request under way. */
async function heldCheck(name: string, slug: string): Promise<string> {
  const request = { url: `http://targets/hold/${name}` };
  const [session = ''] = await trigger([await makeCheck('url', slug, { request })]);
  await untilHeld(name);
  return session;
}

test.each(['uptime', 'full'] as const)(
  '%s: SIGTERM drains the running check; readiness fails, liveness does not',
  async (image) => {
    const slug = `drained-${image}`;
    const { key } = await newLocation(slug);
    const agent = await started({ image, network: world.network, key });
    expect([await agent.probe('readiness'), await agent.probe('liveness')]).toEqual([200, 200]);
    const session = await heldCheck(slug, slug);
    // As `docker stop` and Kubernetes do: to the first process.
    await agent.signal('TERM');
    await until(async () => (await agent.probe('readiness')) === 503, 'readiness 503', 10_000);
    expect(await agent.probe('liveness')).toBe(200);
    await targets(`/release/${slug}`);
    expect(await agent.exited()).toBe(0);
    const [result] = await resultsOf(session);
    expect(result?.status).toBe('passed');
    expect(await agent.logs()).not.toContain(key);
  },
);

test('the health check of an image reports that the agent is alive', async () => {
  const { key } = await newLocation('healthy');
  const agent = await started({ image: 'uptime', network: world.network, key });
  // Asked as the engine asks it: in the container, with its environment and its user.
  const { exitCode } = await agent.container.exec(['health-probe']);
  expect(exitCode).toBe(0);
  const { exitCode: other } = await agent.container.exec(['health-probe', '9']);
  expect(other).toBe(1);
});

test.each(['uptime', 'full'] as const)(
  '%s: killed with a result in its outbox; a new container on the data volume delivers it',
  async (image) => {
    const slug = `killed-${image}`;
    const { key } = await newLocation(slug);
    const volume = `image-tests-${runName}-${slug}`;
    await docker('volume', 'create', '--label', `${runLabel}=${runName}`, volume);
    const mounts = { '/var/lib/location-agent': volume };
    const first = await started({
      image,
      network: world.network,
      key,
      mounts,
      serviceUrl: `http://targets:4401`,
    });
    const session = await heldCheck(slug, slug);
    await targets('/gate/closed');
    try {
      await targets(`/release/${slug}`);
      await until(async () => (await first.metric('outbox_results')) === 1, 'a result in the outbox', 30_000);
      await first.signal('KILL');
      expect(await first.exited()).toBe(137);
    } finally {
      await targets('/gate/open');
    }
    // Takes the freed number of the namespace, so that the second agent cannot inspect the first one's process.
    const sleeps = ['--entrypoint', 'sleep', 'location-agent:full', '300'];
    const between = await docker('run', '--detach', '--rm', '--label', `${runLabel}=${runName}`, ...sleeps);
    const second = await started({ image, network: world.network, key, mounts });
    const startedAt = Date.now();
    const [result, ...more] = await resultsOf(session);
    expect(result?.status, result && told(result)).toBe('passed');
    // At once, not after the silence for which an owner on another machine is waited for.
    expect(Date.now() - startedAt).toBeLessThan(15_000);
    expect(more).toEqual([]);
    await until(async () => (await second.metric('outbox_results')) === 0, 'an empty outbox', 30_000);
    // A health check of the engine that has just ended is one for a moment.
    const zombies = async () => (await processesOf(second.id)).filter(({ state }) => state.startsWith('Z'));
    await until(async () => (await zombies()).length === 0, 'no zombie', 5_000);
    await docker('rm', '--force', between);
    // A volume goes after what uses it.
    await Promise.all(running.splice(0).map((agent) => agent.remove()));
    await docker('volume', 'rm', volume);
  },
);
