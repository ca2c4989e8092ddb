import { resolve } from 'node:path';
import { exitCodes } from '../../errors.ts';
import { isFields, type Fields } from '../../json-values.ts';
import { checkTypes } from '../../protocol/check-types.ts';
import { createProblems } from '../../service/http/problems.ts';
import { bodySchemas } from '../../service/projects/files/body-schemas.ts';
import { resourceTypes, type ResourceType } from '../../service/projects/kinds.ts';
import { resolved } from '../../service/projects/references.ts';
import { parseArguments, usageError, type Command } from '../command.ts';
import { validateLine } from '../line/project.ts';
import { withDefaults } from '../../service/http/fields/defaults.ts';
import { schemaErrors, type FieldErrors } from '../run/schema.ts';
import { printable } from '../terminal-text.ts';
import { readProject, type FileResource, type ProjectFiles } from './files.ts';

/** `validate [DIR]`: checks the files of a project without a service. */
export const validate: Command = async (args, { env, stdout, stderr }) => {
  const { positionals } = parseArguments(args, validateLine);
  const [folder = '.', ...others] = positionals;
  if (others.length > 0) throw usageError('validate takes one folder', validateLine);
  const files = await readProject(resolve(folder), null, { env, stderr });
  const problems = [...files.problems, ...problemsOf(files)];
  for (const problem of problems) stderr(`${printable(problem)}\n`);
  if (problems.length > 0) return exitCodes.failed;
  stdout(`${files.resources.length} resources of ${files.project.logicalId} are valid\n`);
  return exitCodes.done;
};

/** What the files break of the schemas of the API, and references that name nothing. */
export function problemsOf({ resources }: ProjectFiles): string[] {
  const places = new Map(resources.map(({ type, logicalId }, index) => [`${type}/${logicalId}`, index]));
  return resources.flatMap((resource) => {
    if (!isResourceType(resource.type)) {
      return [`${resource.place(['kind'])}: kind must be one of ${resourceTypes.join(', ')}`];
    }
    const problems = createProblems();
    const { payload } = resolved({
      payload: resource.payload,
      at: 'file',
      // Any id is valid in place of a reference; those of checks and services are texts.
      lookup: (type, logicalId) => {
        const at = places.get(`${type}/${logicalId}`);
        return at === undefined ? undefined : typesWithNumbers.includes(type) ? at + 1 : `id-${at}`;
      },
      problems,
    });
    const unknown = Object.entries(problems.attributes() ?? {}).map(([path, reasons]): [string, string[]] => [
      path.slice('file.'.length),
      reasons,
    ]);
    const invalid = Object.entries(schemaProblems(resource, payload)).filter(
      ([path]) => !unknown.some(([field]) => field === path),
    );
    return [...unknown, ...invalid].flatMap(([path, reasons]) =>
      reasons.map((reason) => `${resource.place(path.split('.'))}: ${path} ${reason}`),
    );
  });
}

const typesWithNumbers: readonly string[] = ['check-group', 'alert-channel', 'snippet'];

/** A suite's bundle gets its key when it is uploaded. */
const anyKey = 'bundle';

function schemaProblems({ type, member, suite }: FileResource, payload: Fields): FieldErrors {
  const schema = isResourceType(type) ? bodySchemas[type](payload) : {};
  if (member === false) return {};
  if (schema === null) return { checkType: [`must be one of ${checkTypes.join(', ')}`] };
  const { checkType: _type, ...body } = payload;
  const bundle = suite === undefined ? {} : { codeBundlePath: anyKey };
  return errorsOf(schema, { ...(type === 'check' ? body : payload), ...bundle });
}

const isResourceType = (type: string): type is ResourceType => resourceTypes.some((known) => known === type);

function errorsOf(schema: object, body: unknown): FieldErrors {
  const whole = withDefaults(schema, body);
  return isFields(whole) ? (schemaErrors(schema, whole) ?? {}) : {};
}
