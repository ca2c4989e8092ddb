import { sleep, until } from '../programs.ts';
import type { Scenario } from '../scenario.ts';
import type { World } from '../world.ts';

/** Everything at the same moment. */

const checks = 1_000;

/** 1,000 scheduled checks are due at one moment every 30 s, and a session asks for all of them in between. */
export const thousandAtOnce: Scenario = {
  name: 'thousand-at-once',
  about: '1,000 scheduled checks are due at one moment, three times, and a session runs all of them at once',
  world: {
    agents: 2,
    replicas: 2,
    url: 500,
    api: 200,
    tcp: 150,
    dns: 150,
    everySeconds: 30,
    sameMoment: true,
  },
  run: async (world) => {
    await sleep(65_000);
    const sessions = await trigger(world);
    await until(
      async () => (await count(world, 'select count(*) from jobs where session_id is not null')) === 0,
      'all runs of the session to end',
      120_000,
    );
    const [results] = await world.database.query<{ jobs: string; results: string; passed: string }>(
      `select count(distinct o.id) as jobs, count(r.id) as results, count(r.id) filter (where r.status = 'passed') as passed
       from oracle_jobs o left join check_results r on r.job_id = o.id and r.result_type = 'FINAL'
       where o.session_id is not null`,
    );
    const seen = `${results?.jobs} runs of ${sessions} sessions have ${results?.results} results, of which ${results?.passed} passed`;
    // Some targets are bad at any moment, and those runs fail: judged as all others.
    const isWhole = Number(results?.jobs) === checks && Number(results?.results) === checks;
    return { measured: seen, wrong: isWhole ? [] : [`a session of ${checks} runs: ${seen}`] };
  },
};

/** Asks for a run of every check. Returns the number of sessions. */
async function trigger(world: World): Promise<number> {
  const answer = await world.api<{ sessions: unknown[] }>('POST', '/v2/check-sessions/trigger', {
    target: { checkId: world.checks.map(({ id }) => id) },
  });
  if (answer.status >= 300) throw new Error(`no sessions: ${JSON.stringify(answer.body)}`);
  return answer.body.sessions.length;
}

const count = async (world: World, sql: string): Promise<number> =>
  Number((await world.database.query<{ count: string }>(sql))[0]?.count);
