import type { FieldsOf, ProjectFields } from '../../schemas/resources.d.ts';
import { Construct, register, type Existing } from './construct.ts';

/** What `import { … } from 'private-location-agent'` has: one class for each kind of resource. */

export type { FieldsOf, ProjectFields, Reference } from '../../schemas/resources.d.ts';
export type { Existing } from './construct.ts';

/** Stands for the value of an environment variable, which is read when the project is planned or applied. */
export const env = (name: string): { readonly env: string } => ({ env: name });

/** The project itself, in place of `project.yaml`. */
export class Project {
  readonly logicalId: string;
  constructor(logicalId: string, fields: ProjectFields = {}) {
    this.logicalId = logicalId;
    register({ kind: 'project', logicalId, fields });
  }
}

/** A check. `checkType` decides which fields it has. */
export class Check extends Construct<'check'> {
  constructor(logicalId: string, fields: FieldsOf['check'] | Existing) {
    super('check', logicalId, fields);
  }
}

/** A group of checks, with settings that they share. */
export class CheckGroup extends Construct<'check-group'> {
  constructor(logicalId: string, fields: FieldsOf['check-group'] | Existing) {
    super('check-group', logicalId, fields);
  }
}

/** Where alerts are sent. `type` decides which `config` it has. */
export class AlertChannel extends Construct<'alert-channel'> {
  constructor(logicalId: string, fields: FieldsOf['alert-channel'] | Existing) {
    super('alert-channel', logicalId, fields);
  }
}

/** A subscription of a check or a group to a channel, as a resource of its own. */
export class AlertChannelSubscription extends Construct<'alert-channel-subscription'> {
  constructor(logicalId: string, fields: FieldsOf['alert-channel-subscription'] | Existing) {
    super('alert-channel-subscription', logicalId, fields);
  }
}

/** A variable of the account. */
export class Variable extends Construct<'variable'> {
  constructor(logicalId: string, fields: FieldsOf['variable'] | Existing) {
    super('variable', logicalId, fields);
  }
}

/** A piece of code that setup and teardown scripts share. */
export class Snippet extends Construct<'snippet'> {
  constructor(logicalId: string, fields: FieldsOf['snippet'] | Existing) {
    super('snippet', logicalId, fields);
  }
}

/** A time in which alerts are silent. */
export class MaintenanceWindow extends Construct<'maintenance-window'> {
  constructor(logicalId: string, fields: FieldsOf['maintenance-window'] | Existing) {
    super('maintenance-window', logicalId, fields);
  }
}

/** A page that shows the state of services to the public. */
export class StatusPage extends Construct<'status-page'> {
  constructor(logicalId: string, fields: FieldsOf['status-page'] | Existing) {
    super('status-page', logicalId, fields);
  }
}

/** A service that status pages show. */
export class StatusPageService extends Construct<'status-page-service'> {
  constructor(logicalId: string, fields: FieldsOf['status-page-service'] | Existing) {
    super('status-page-service', logicalId, fields);
  }
}

/** A location of your own. Its keys are not part of the project. */
export class PrivateLocation extends Construct<'private-location'> {
  constructor(logicalId: string, fields: FieldsOf['private-location'] | Existing) {
    super('private-location', logicalId, fields);
  }
}

/** A URL that runs a check. */
export class CheckTrigger extends Construct<'check-trigger'> {
  constructor(logicalId: string, fields: FieldsOf['check-trigger'] | Existing) {
    super('check-trigger', logicalId, fields);
  }
}

/** A URL that runs the checks of a group. */
export class CheckGroupTrigger extends Construct<'check-group-trigger'> {
  constructor(logicalId: string, fields: FieldsOf['check-group-trigger'] | Existing) {
    super('check-group-trigger', logicalId, fields);
  }
}
