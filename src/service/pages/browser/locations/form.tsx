import { Button } from '../parts/button.tsx';
import { AsText } from '../parts/form/as-text.tsx';
import { Form, useForm } from '../parts/form/form.tsx';
import { errorAt } from '../parts/form/field.tsx';
import { SwitchField, TextField } from '../parts/form/inputs.tsx';
import { WordsField } from '../parts/form/lists.tsx';
import type { Location } from './types.ts';
import { locationsPath } from './types.ts';

/** The form of a location, for a new one and for a change. */

export type LocationBody = Pick<
  Location,
  'name' | 'slugName' | 'icon' | 'proxyUrl' | 'allowedNetworks' | 'stopsInOutages'
>;

const emptyBody: LocationBody = {
  name: '',
  slugName: '',
  icon: 'location',
  proxyUrl: null,
  allowedNetworks: null,
  stopsInOutages: false,
};

const slugOf = (name: string) =>
  name
    .trim()
    .toLowerCase()
    .replaceAll(/[^a-z0-9]+/g, '-')
    .replaceAll(/^-|-$/g, '')
    .slice(0, 30);

export function LocationForm({
  location,
  onSaved,
}: {
  location?: Location;
  onSaved: (location: Location) => void;
}) {
  const initial =
    location === undefined
      ? emptyBody
      : {
          name: location.name,
          slugName: location.slugName,
          icon: location.icon,
          proxyUrl: location.proxyUrl,
          allowedNetworks: location.allowedNetworks,
          stopsInOutages: location.stopsInOutages,
        };
  const form = useForm<LocationBody>(initial);
  const { body, change } = form;
  const isNew = location === undefined;
  const [method, path] = isNew
    ? (['POST', locationsPath] as const)
    : (['PUT', `${locationsPath}/${location.id}`] as const);
  const submit = async () => {
    const saved = await form.save(method, path);
    if (saved !== undefined) onSaved(saved as Location); // the answer of both routes
  };
  const error = (field: string) => errorAt(form.errors, field);
  return (
    <Form
      message={form.message}
      onSubmit={() => void submit()}
      buttons={
        <Button type="submit" class="main" isOff={form.isBusy}>
          {isNew ? 'Create location' : 'Save'}
        </Button>
      }
    >
      <div class="field-grid">
        <TextField
          label="Name"
          required
          value={body.name}
          error={error('name')}
          onChange={(name) =>
            change(isNew && body.slugName === slugOf(body.name) ? { name, slugName: slugOf(name) } : { name })
          }
        />
        <TextField
          label="Slug"
          required
          hint="Checks name the location by it: 1 to 30 letters, digits or hyphens."
          value={body.slugName}
          error={error('slugName')}
          onChange={(slugName) => change({ slugName })}
        />
        <TextField
          label="Icon"
          hint="The name of an icon; only stored for other programs."
          value={body.icon}
          error={error('icon')}
          onChange={(icon) => change({ icon })}
        />
      </div>
      <TextField
        label="Proxy URL"
        placeholder="http://user:password@proxy:3128"
        hint="API and URL checks use this proxy here. It may contain {{VARIABLE}}; its password is shown masked."
        value={body.proxyUrl ?? ''}
        error={error('proxyUrl')}
        onChange={(text) => change({ proxyUrl: text === '' ? null : text })}
      />
      <SwitchField
        label="Limit the networks that scripts and suites may reach"
        hint="Without a limit, they reach every network except loopback, link-local, metadata and multicast addresses."
        value={body.allowedNetworks !== null}
        onChange={(isLimited) => change({ allowedNetworks: isLimited ? [] : null })}
      />
      {body.allowedNetworks !== null && (
        <WordsField
          label="Allowed networks"
          placeholder="10.0.0.0/8"
          hint="Such as 10.0.0.0/8, 10.1.2.3:443 or [fd00::/8]:8000-8100. An empty list allows no network."
          value={body.allowedNetworks}
          error={error('allowedNetworks')}
          onChange={(allowedNetworks) => change({ allowedNetworks })}
        />
      )}
      <SwitchField
        label="Stop held checks while the service is away"
        hint="Without it, agents that hold checks continue during an outage, and deliver the results afterwards."
        value={body.stopsInOutages}
        onChange={(stopsInOutages) => change({ stopsInOutages })}
      />
      <AsText
        method={method}
        path={path}
        body={body}
        resource={{ kind: 'private-location', name: body.slugName }}
      />
    </Form>
  );
}
