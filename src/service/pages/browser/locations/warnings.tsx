import { plain } from '../base/outside.ts';
import { Status } from '../parts/status.tsx';
import { Ago } from '../parts/time.tsx';
import type { Agent } from './types.ts';

/** What is wrong with the agents of a location, and what to do about it. */

const remedies: { readonly [guard: string]: string } = {
  disk: 'Free some disk space for AGENT_DATA_DIR, or make the folder writable.',
  inodes: 'Delete files on the disk of AGENT_DATA_DIR, or use a volume with more inodes.',
  memory: 'Lower UPTIME_CONCURRENCY and JOB_CONCURRENCY, or give the container more memory.',
  descriptors: 'Raise the limit of open files (ulimit -n, LimitNOFILE), or lower UPTIME_CONCURRENCY.',
  processes: 'Raise the process limit of the container, or lower JOB_CONCURRENCY.',
  pressure: 'Give the agent more cores, memory or a faster disk, or fewer slots.',
  'event-loop': 'Give the agent more processor time, or lower UPTIME_CONCURRENCY.',
  outbox: 'Find out why results are not delivered: location-agent doctor shows what stops the agent.',
  service: 'Run location-agent doctor on the host: it names the proxy, certificate or connection that fails.',
  network: 'Repair what the message names: link, address, route, name server or proxy.',
  clock: 'Run NTP on this host and on that of the service.',
};

export function AgentWarnings({ agents }: { agents: readonly Agent[] }) {
  const raised = agents
    .filter(({ connected }) => connected)
    .flatMap((agent) => (agent.condition?.guards ?? []).map((guard) => ({ agent, guard })));
  const away = agents.filter(({ connected }) => !connected);
  const latest = away[0];
  if (raised.length === 0 && latest === undefined) return null;
  return (
    <section class="card" aria-labelledby="warnings">
      <h2 id="warnings">What to do</h2>
      <ul class="tests">
        {raised.map(({ agent, guard }) => (
          <li key={`${agent.id} ${guard.name}`}>
            <div class="test-line">
              <Status status={guard.stopsJobs ? 'failing' : 'degraded'} word={guard.name} />
              <b class="break">{agent.hostname || agent.id}</b>
              {guard.stopsJobs && <span class="soft">takes no jobs</span>}
            </div>
            <p class="break">{plain(guard.message).replace(/; see docs\/guards\.md$/, '')}</p>
            {remedies[guard.name] !== undefined && <p class="soft">{remedies[guard.name]}</p>}
          </li>
        ))}
        {latest !== undefined && (
          <li>
            <div class="test-line">
              <Status status="missed" word="away" />
              <b class="break">
                {away
                  .slice(0, 5)
                  .map(({ hostname, id }) => hostname || id)
                  .join(', ')}
                {away.length > 5 && `, and ${away.length - 5} more`}
              </b>
              <span class="soft">
                last contact <Ago at={latest.lastSeen} />
              </span>
            </div>
            <p class="soft">
              Agents that you stopped disappear by themselves. If one should run, start it, and run{' '}
              <code>location-agent doctor</code> on its host to see why it does not reach this service.
            </p>
          </li>
        )}
      </ul>
      {raised.length > 0 && <a href="/help/guards.html">More about guards</a>}
    </section>
  );
}
