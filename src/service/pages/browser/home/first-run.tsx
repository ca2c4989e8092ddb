import { useMay } from '../base/user.ts';

/** What to do in an account that has no checks yet. */
export function FirstRun() {
  const mayWrite = useMay('READ_WRITE');
  const mayAdminister = useMay('ADMIN');
  return (
    <section class="card first-run" aria-labelledby="first-run">
      <h2 id="first-run">Three steps to the first result</h2>
      <ol>
        <li>
          <h3>Create a location</h3>
          <p>A location is a place that checks run at: a data center, an office, or this computer.</p>
          {mayAdminister && (
            <a class="button" href="/locations/new">
              Create a location
            </a>
          )}
        </li>
        <li>
          <h3>Connect an agent</h3>
          <p>
            An agent runs the checks of its location. The location's page has the command that starts one.
          </p>
          <a class="button" href="/locations">
            Connect an agent
          </a>
        </li>
        <li>
          <h3>Create a check</h3>
          <p>An address is enough to begin. The first run starts within a minute.</p>
          {mayWrite && (
            <a class="button main" href="/checks/new">
              Create a check
            </a>
          )}
        </li>
      </ol>
      {!mayWrite && (
        <p class="note">Your API key may only read. A key with the role READ_WRITE may create.</p>
      )}
    </section>
  );
}
