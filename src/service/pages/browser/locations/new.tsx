import { go } from '../base/router.ts';
import { useMay } from '../base/user.ts';
import { sayDone } from '../parts/messages.tsx';
import { Problem } from '../parts/notice.tsx';
import { LocationForm } from './form.tsx';

/** A new location. */
export function Page() {
  const mayChange = useMay('ADMIN');
  return (
    <>
      <div class="page-head">
        <nav class="crumbs" aria-label="Where this page is">
          <a href="/locations">Locations</a>
        </nav>
        <h1>New location</h1>
      </div>
      {mayChange ? (
        <LocationForm
          onSaved={({ id, name }) => {
            sayDone(`Created the location ${name}. Its agents need a key.`);
            go(`/locations/${id}?tab=keys`);
          }}
        />
      ) : (
        <Problem title="Your key may not create locations">This needs a key with the role ADMIN.</Problem>
      )}
    </>
  );
}
